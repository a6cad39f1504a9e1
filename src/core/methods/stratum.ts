/** A stratum: all participants with the same levels of some factors. */

/** @param by indexes of these factors. None: the study is one stratum */
export interface Stratified {
  readonly by: readonly number[];
}

/** The name of a participant's stratum: by indexes, which no renaming changes. */
export function stratumOf({ by }: Stratified, levels: ArrayLike<number>): string {
  return by.map((factor) => levels[factor]).join();
}
