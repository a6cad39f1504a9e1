/** The ratio of a study: how many slots each treatment has in the urns. */

import { greatestCommonDivisor } from '../../base/whole-numbers.ts';
import { counted } from '../../base/wording.ts';

/** Ratios of real trials need far fewer. */
const MAX_SLOTS = 40;

/**
 * Why a study cannot have this ratio; undefined if it can. All ones, which mean no ratio, are possible here.
 * @param ratio a number for each treatment, each from 1 to 20
 */
export function ratioProblem(treatments: readonly string[], ratio: readonly number[]): string | undefined {
  if (ratio.length !== treatments.length)
    return `it has ${counted(ratio.length, 'number')} for ${counted(treatments.length, 'treatment')}`;
  const divisor = ratio.reduce(greatestCommonDivisor);
  if (divisor > 1) return `all its numbers can be divided by ${divisor}`;
  return tooManySlots(ratio.reduce((sum, slots) => sum + slots, 0));
}

/** @param slots how many there would be in all */
export function tooManySlots(slots: number): string | undefined {
  return slots > MAX_SLOTS ? `there would be ${slots} slots (there can be ${MAX_SLOTS})` : undefined;
}

/** A ratio of all ones is left out. */
export function isEqualAllocation(ratio: readonly number[]): boolean {
  return ratio.every((slots) => slots === 1);
}
