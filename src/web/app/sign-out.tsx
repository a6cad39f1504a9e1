import { useMutation } from '@tanstack/react-query';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { useSessionContext } from '../session/session.tsx';

export function SignOut() {
  const { t } = useTranslation();
  const { signOut } = useSessionContext();
  const { mutate, isPending, isError } = useMutation({ mutationFn: signOut });
  return (
    <>
      <Button className="button small" isPending={isPending} onPress={() => mutate()}>
        {t('common.signOut')}
      </Button>
      {isError && <span role="alert">{t('common.signOutFailed')}</span>}
    </>
  );
}
