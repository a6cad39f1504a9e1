import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { reloadIfServed } from './reload.ts';

/** Loads the page again as soon as the service answers. */
export function TryAgain() {
  const { t } = useTranslation();
  const [state, setState] = useState<'ready' | 'asking' | 'unanswered'>('ready');
  const again = async () => {
    setState('asking');
    if (!(await reloadIfServed())) setState('unanswered');
  };
  return (
    <>
      <Button className="button go" isPending={state === 'asking'} onPress={() => void again()}>
        {t('common.tryAgain')}
      </Button>
      {state === 'unanswered' && <p role="status">{t('common.stillUnreachable')}</p>}
    </>
  );
}
