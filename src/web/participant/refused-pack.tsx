/** Why a participant gets no pack, where that means something else than in other forms. */
import { useTranslation } from 'react-i18next';
import type { ApiProblem } from '../api/client.ts';
import { Notice } from '../parts/problem.tsx';

type Reason = 'duplicate' | 'stale' | 'further';

/** @param own reasons that mean the same whenever this form is refused */
export function refusedPack({ status, reason, results }: ApiProblem, own: readonly Reason[] = []) {
  // Nothing else is impossible here: who had too many further packs.
  const known = status === 422 ? 'further' : own.find((one) => one === reason);
  return known && <RefusedPack reason={known} pack={results as Pack} />;
}

/** Of a visit that has one already, if the key may know it. */
interface Pack {
  readonly visit?: string;
  readonly code?: string;
}

function RefusedPack({ reason, pack: { visit = '', code } }: { reason: Reason; pack: Pack }) {
  const { t } = useTranslation();
  return (
    <Notice what={t(`packs.refused.${reason}.what`)} next={t(`packs.refused.${reason}.next`)}>
      {code !== undefined && <p>{t('packs.refused.itIs', { visit, code })}</p>}
    </Notice>
  );
}
