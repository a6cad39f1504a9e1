/** What an allocation sees of a design: the factors that are not retired, and the slots of the arms that are open. */
import { type Design, hasRatio } from '../../../projections/design.ts';
import type { UrnDesign } from '../methods/urn/kernel.ts';

export function urnDesignOf(design: Design): UrnDesign {
  const { w, alpha, beta, D, slots, factors, closedTreatments } = design;
  const weights = { w, alpha, beta, D, hasRatio: hasRatio(design) };
  if (closedTreatments.length === 0 && !factors.some(({ isRetired }) => isRetired))
    return { ...weights, slots, factors };
  const places = {
    slots: indexesOf(slots, (slot) => !closedTreatments.includes(slot)),
    factors: indexesOf(factors, ({ isRetired }) => !isRetired),
  };
  return {
    ...weights,
    slots: places.slots.map((slot) => slots[slot] ?? ''),
    factors: places.factors.flatMap((factor) => factors[factor] ?? []),
    places,
  };
}

function indexesOf<T>(list: readonly T[], applies: (one: T) => boolean): number[] {
  return list.flatMap((one, index) => (applies(one) ? [index] : []));
}
