/** Parts of a design in words, as rows of a table. */

import type { Design } from '../core/model/design.ts';
import { limitTexts, methodText } from '../core/model/design.ts';

export function blindingText({ blinding }: Pick<Design, 'blinding'>): string {
  return blinding === 'open' ? 'open (the sites know the arms)' : blinding;
}

/** Each limit on a row, and whether it stops anybody. */
export function limitRows({
  limits,
  policies: { stopAtLimit },
}: Pick<Design, 'limits' | 'policies'>): string[][] {
  const remark = stopAtLimit ? 'nobody is taken beyond it' : 'information only: nobody is stopped';
  return limitTexts(limits).map((text) => ['limit', `${text} (${remark})`]);
}

/** As in the studies file. */
export function policiesText({ policies }: Pick<Design, 'policies'>): string {
  const { stopAtLimit, levelCounts, voidCounts, forcedCounts } = policies;
  return [
    ...(stopAtLimit ? ['stop_at_limit true'] : []),
    `level_counts ${levelCounts}`,
    `void_counts ${voidCounts}`,
    `forced_counts ${forcedCounts}`,
  ].join(', ');
}

export function methodRow({ method }: Pick<Design, 'method'>): string[] {
  if (method.name !== 'urn') return ['method', methodText(method)];
  const { D, w, alpha, beta, urnSelection } = method;
  return ['urn', `D=${D} w=${w} alpha=${alpha} beta=${beta} urn_selection=${urnSelection}`];
}
