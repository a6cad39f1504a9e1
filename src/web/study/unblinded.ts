/** Whom the list of code-breaks is about, for the tile that counts them and the list that marks them. */

interface CodeBreak {
  readonly id?: string;
  readonly import_given_up?: true;
}

/** The ids of participants whose arm somebody learned: a pack that nobody had is of none, nor is who is in the study no longer. */
export function unblindedIn(breaks: readonly CodeBreak[]): ReadonlySet<string> {
  return new Set(breaks.flatMap(({ id, import_given_up: isGone }) => (id === undefined || isGone ? [] : id)));
}
