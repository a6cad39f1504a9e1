/** The last event that is about the study as a whole, and about no single participant or pack. */
import type { LogEvent } from '../events/record.ts';
import { CORRECTIONS, ENROLMENTS } from './enrolled.ts';
import type { Projection } from './projection.ts';

const ABOUT_ONE: ReadonlySet<LogEvent['type']> = new Set([
  ...ENROLMENTS,
  ...CORRECTIONS,
  'CodeReplaced',
  'AllocationRevealed',
  'UnblindingReported',
]);

/** Its revision; -1 before the first. */
export const lastStudyWide: Projection<number> = {
  name: 'last-study-wide',
  stream: 'study',
  initial: () => -1,
  apply: (last, { type, revision }) => (ABOUT_ONE.has(type) ? last : revision),
};
