/** How many entries the lists of a study have. */
import type { StudyState } from './state.ts';

/** Without those that an amendment voided. */
export interface EntryNumbers {
  readonly lists: number;
  /** By participants, or skipped. */
  readonly used: number;
  readonly left: number;
  /** Then nobody is randomized. */
  readonly skipOwed: boolean;
}

/** Says nothing about arms or strata. Undefined in a study that follows no list. */
export function entryNumbers(state: StudyState): EntryNumbers | undefined {
  if (state.status === 'unregistered' || state.methodDesign.method !== 'list') return undefined;
  const { entries } = state;
  const used = [...entries.strata.values()].reduce((sum, one) => sum + one.used, 0);
  return { lists: entries.lists, used, left: entries.leftInAll, skipOwed: entries.isSkipOwed };
}
