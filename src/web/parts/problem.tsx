/** What went wrong with a request, and what to do next: in the words of the page, or as the service says it. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiProblem, ConnectionLost } from '../api/client.ts';
import { refused } from '../words/en/refused.ts';

export function ProblemNotice({ error }: { error: Error | null | undefined }) {
  const { t } = useTranslation();
  if (!error) return null;
  const word = explainedWord(error);
  if (word)
    return (
      <RefusalNotice word={word}>
        {'withMessage' in refused[word] && <p lang="en">{error.message}</p>}
      </RefusalNotice>
    );
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

type Table = typeof refused;
type Explained = {
  [W in keyof Table]: Table[W] extends { readonly what: string } ? W : never;
}[keyof Table];

/** The word of a refusal that the pages explain: nothing was recorded. */
export function explainedWord(error: unknown): Explained | undefined {
  const word = error instanceof ApiProblem ? error.reason : undefined;
  const rows: Readonly<Record<string, object>> = refused;
  return word !== undefined && 'what' in (rows[word] ?? {}) ? (word as Explained) : undefined;
}

/** @param children what else is known about it */
export function RefusalNotice({ word, children }: { word: Explained; children?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Notice what={t(`refused.${word}.what`)} next={t(`refused.${word}.next`)}>
      {children}
    </Notice>
  );
}

/** For what a refusal means in one form alone. */
export function Notice({ what, next, children }: { what: string; next: string; children: ReactNode }) {
  return (
    <div className="notice warn" role="alert">
      <strong>{what}</strong>
      {children}
      <p>{next}</p>
    </div>
  );
}
