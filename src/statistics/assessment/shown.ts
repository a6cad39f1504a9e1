/** Figures in the form that people read. */
import type { Figure } from '../simulation/result.ts';

/** Probabilities, and shares of trials and of allocations. */
const IN_PERCENT = /^(guess|certain|drawn)\.|^(balanced|share)$|\.ge(5|10)$/;
const THREE_DECIMALS = /^(drift|entropy|forcing)$/;
const QUANTILE = /\.p\d\d$/;

/** @param name without `@n` */
export function shownValue(name: string, exact: number): string {
  // No minus sign before a number that is shown as zero.
  const value = Math.abs(exact) < 0.00005 ? 0 : exact;
  // What was rounded to zero, or not seen in these trials, may still happen.
  if (IN_PERCENT.test(name)) return value === 0 ? '< 0.01 %' : `${(100 * value).toFixed(2)} %`;
  if (THREE_DECIMALS.test(name)) return value.toFixed(3);
  if (QUANTILE.test(name)) return String(Number(value.toFixed(2)));
  return value.toFixed(2);
}

/** `9.24 [9.18, 9.30]`; an exact figure has no interval. */
export function figureText(name: string, { value, low, high }: Figure): string {
  if (low === high) return shownValue(name, value);
  const bound = (one: number) => shownValue(name, one).replace(' %', '');
  return `${shownValue(name, value)} [${bound(low)}, ${bound(high)}]`;
}

/** The figures that a design is judged by, with their words. `{n}` is the number of participants. */
export const MAIN_FIGURES: readonly { readonly name: string; readonly words: string }[] = [
  { name: 'overall.range.mean', words: 'arms: range after {n}, mean' },
  { name: 'overall.range.p50', words: '  median' },
  { name: 'overall.range.p95', words: '  95 % of trials at most' },
  { name: 'overall.range.ge5', words: '  trials with 5 % of {n} or more' },
  { name: 'overall.range.ge10', words: '  trials with 10 % of {n} or more' },
  { name: 'course.range.mean', words: '  largest on the way, mean' },
  { name: 'course.range.p95', words: '  largest on the way, 95 % at most' },
  { name: 'levels.range.mean', words: 'largest range within a level, mean' },
  { name: 'levels.range.p95', words: '  95 % of trials at most' },
  { name: 'strata.range.mean', words: 'largest range within a stratum, mean' },
  { name: 'strata.range.p95', words: '  95 % of trials at most' },
  { name: 'difference.sd', words: 'SD of the difference of the arms' },
  { name: 'balanced', words: 'exactly balanced' },
  { name: 'guess.naive', words: 'guess right: arm with the fewest' },
  { name: 'guess.site', words: '  the same within a site' },
  { name: 'guess.known', words: '  knows all arms and the settings' },
  { name: 'guess.blind', words: '  blind' },
  { name: 'certain.80', words: 'allocations with a chance >= 80 %' },
  { name: 'certain.90', words: '  >= 90 %' },
  { name: 'certain.100', words: '  certain' },
  { name: 'entropy', words: 'entropy (nats)' },
  { name: 'share', words: 'an arm off its share, at most' },
  { name: 'drift', words: 'drift (complete: 1)' },
  { name: 'loss', words: 'loss of efficiency (participants)' },
];
