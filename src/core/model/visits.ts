/** Which names of visits, and which codes of packs, say too much or are ambiguous. */
import { foldedVisit } from '../../../projections/design.ts';

/** Short names occur in codes by chance. */
const MIN_LENGTH = 4;

/** Whether the code, or the visit, is the name of an arm, or contains one that is not short. */
export function revealsArm(text: string, treatments: readonly string[]): boolean {
  const folded = text.toLowerCase();
  return treatments.some((treatment) => {
    const name = treatment.toLowerCase();
    return folded === name || (name.length >= MIN_LENGTH && folded.includes(name));
  });
}

export interface VisitProblem {
  /** Of the visit in the list. */
  readonly index: number;
  /** Of a sentence about the visit, without its beginning. It names neither an arm nor the visit. */
  readonly why: string;
}

/** What is wrong with visits of the right form that a study with these arms declares. */
export function visitProblems(visits: readonly string[], treatments: readonly string[]): VisitProblem[] {
  const folded = visits.map(foldedVisit);
  return visits.flatMap((visit, index) => {
    const first = folded.indexOf(folded[index] ?? '');
    if (first < index)
      return [{ index, why: `is the same as visit ${first + 1} (capital letters do not matter)` }];
    return revealsArm(visit, treatments) ? [{ index, why: 'is, or contains, the name of an arm' }] : [];
  });
}
