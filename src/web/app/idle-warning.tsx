/** Says that the session is about to end, and prolongs it on demand (WCAG 2.2, 2.2.1). */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { idleEndsAt, useSession } from '../session/session.tsx';
import { studiesQuery } from '../session/studies-query.ts';

const WARN_MS = 2 * 60_000;

export function IdleWarning() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const session = useSession();
  const [ending, setEnding] = useState<'soon' | 'for-good' | undefined>();
  useEffect(() => {
    const look = () => {
      const soon = Date.now() + WARN_MS;
      if (soon > Date.parse(session.ends_at)) setEnding('for-good');
      else setEnding(soon > idleEndsAt(session) ? 'soon' : undefined);
    };
    const timer = setInterval(look, 5_000);
    return () => clearInterval(timer);
  }, [session]);
  if (ending === undefined) return null;
  const stay = async () => {
    // Any request that a person makes prolongs the session; every page has this query.
    await queries.invalidateQueries({ queryKey: studiesQuery.queryKey });
    setEnding(undefined);
  };
  return (
    <div className="notice warn" role="alert">
      {t(ending === 'soon' ? 'common.endsSoon' : 'common.endsForGood')}{' '}
      {ending === 'soon' && (
        <Button className="button small" onPress={() => void stay()}>
          {t('common.stay')}
        </Button>
      )}
    </div>
  );
}
