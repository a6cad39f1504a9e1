/** Why a participant gets no pack, in plain words, and what to do next. */
import { useTranslation } from 'react-i18next';
import type { ApiProblem } from '../api/client.ts';

type Reason = 'duplicate' | 'stale' | 'no-code' | 'importing' | 'further';

/** Of these, the message of the service says no more than the reason. */
const ALWAYS: ReadonlySet<string> = new Set(['no-code', 'importing'] satisfies Reason[]);

/** @param own reasons that mean the same whenever this form is refused */
export function refusedPack(problem: ApiProblem, own: readonly ('duplicate' | 'stale')[] = []) {
  const reason = reasonOf(problem, own);
  return reason && <RefusedPack reason={reason} pack={problem.results as Pack} />;
}

function reasonOf({ status, reason = '' }: ApiProblem, own: readonly string[]): Reason | undefined {
  // Nothing else is impossible here: who had too many further packs.
  if (status === 422) return 'further';
  return ALWAYS.has(reason) || own.includes(reason) ? (reason as Reason) : undefined;
}

/** Of a visit that has one already, if the key may know it. */
interface Pack {
  readonly visit?: string;
  readonly code?: string;
}

function RefusedPack({ reason, pack: { visit = '', code } }: { reason: Reason; pack: Pack }) {
  const { t } = useTranslation();
  return (
    <div className="notice warn" role="alert">
      <strong>{t(`packs.refused.${reason}.what`)}</strong>
      {code !== undefined && <p>{t('packs.refused.itIs', { visit, code })}</p>}
      <p>{t(`packs.refused.${reason}.next`)}</p>
    </div>
  );
}
