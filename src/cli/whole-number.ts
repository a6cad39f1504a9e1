import { quote } from '../base/text.ts';
import { UsageError } from './options.ts';

/**
 * The whole number that an option gives.
 * @param name of the option, such as `--reps`
 * @throws UsageError
 */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${name} ${quote(text)} is not a whole number from ${least} to ${most}`);
}
