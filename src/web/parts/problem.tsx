import { useTranslation } from 'react-i18next';
import { ApiProblem, ConnectionLost } from '../api/client.ts';

/** Says what went wrong, and what to do next. */
export function ProblemNotice({ error }: { error: Error | null | undefined }) {
  const { t } = useTranslation();
  if (!error) return null;
  return (
    <div className="notice danger" role="alert">
      <strong>{t(headingOf(error))}</strong>
      {error instanceof ApiProblem && <p lang="en">{error.message}</p>}
      {error instanceof ApiProblem && error.retryAfter !== undefined && (
        <p>{t('common.tryAgainIn', { count: error.retryAfter })}</p>
      )}
      {error instanceof ConnectionLost && <p>{t('common.connectionLostNext')}</p>}
    </div>
  );
}

function headingOf(error: Error) {
  if (error instanceof ConnectionLost) return 'common.connectionLost';
  if (!(error instanceof ApiProblem)) return 'common.pageFailed';
  if (error.status === 403) return 'common.notPermitted';
  if (error.status === 404) return 'common.notFound';
  if (error.status === 429 || error.status === 503) return 'common.notNow';
  return error.status >= 500 ? 'common.serviceFailed' : 'common.refused';
}
