/** What the treatments of a file are called in the study: `--treatment-map`. */

import { quote } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import type { Design } from '../../core/model/design.ts';
import { slotsOf } from '../../core/study/force.ts';

export interface MappedTreatment {
  readonly to: string;
  /** Index of the slot, if each slot of the arm has a name of its own in the file. */
  readonly slot?: number;
}

/** By the name in the file, in the order given. */
export type TreatmentMap = ReadonlyMap<string, MappedTreatment>;

/** Several names of one arm take its slots in the order given. */
export function treatmentMapOf(
  pairs: ReadonlyMap<string, string>,
  design: Pick<Design, 'slots'>,
): TreatmentMap {
  const targets = [...pairs.values()];
  const all = [...pairs].map(([from, to], i): [string, MappedTreatment] => {
    const slots = slotsOf(design, to);
    const names = targets.filter((one) => one === to).length;
    const slot = slots[targets.slice(0, i).filter((one) => one === to).length];
    return [from, { to, ...(names > 1 && names === slots.length && slot !== undefined && { slot }) }];
  });
  return new Map(all);
}

/** An arm has one name in the file, or one for each of its slots. */
export function mapProblems(map: TreatmentMap, design: Pick<Design, 'treatments' | 'slots'>): string[] {
  const targets = [...map.values()].map(({ to }) => to);
  return [...new Set(targets)].flatMap((to) => {
    if (!design.treatments.includes(to)) return [`--treatment-map: the study has no treatment ${quote(to)}`];
    const names = targets.filter((one) => one === to).length;
    const slots = slotsOf(design, to).length;
    if (names === 1 || names === slots) return [];
    return slots === 1
      ? [`--treatment-map: several names stand for ${quote(to)}, which has one slot`]
      : [
          `--treatment-map: ${names} names stand for ${quote(to)}, which has ${counted(slots, 'slot')} (hint: one for each slot, or one in all)`,
        ];
  });
}

/**
 * Why the treatments that the other system was set up with are not those of the study. Rows are drawn again with its slots
 * in this order.
 * @param theirs as it has them
 */
export function setupProblem(
  theirs: readonly string[],
  map: TreatmentMap,
  { slots }: Pick<Design, 'slots'>,
): string | undefined {
  const called = theirs.map((name) => map.get(name)?.to ?? name);
  if (called.join('\n') !== slots.join('\n'))
    return `treatments is ${JSON.stringify(theirs)} in the database, and ${JSON.stringify(slots)} in the study`;
  const misplaced = theirs.some((name, place) => (map.get(name)?.slot ?? place) !== place);
  return misplaced
    ? `--treatment-map gives the slots of an arm in another order than the database (hint: the order there is ${theirs.map(quote).join(', ')})`
    : undefined;
}
