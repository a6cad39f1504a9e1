/** The last event that is about the study as a whole, and about no single participant or pack. */
import type { LogEvent } from '../events/record.ts';
import { isCorrection, isEnrolment } from './enrolled.ts';
import { isUnblinding } from './participant-events.ts';
import type { Projection } from './projection.ts';

/** Its revision; -1 before the first. */
export const lastStudyWide: Projection<number> = {
  name: 'last-study-wide',
  stream: 'study',
  initial: () => -1,
  apply: (last, event) => (isAboutOne(event) ? last : event.revision),
};

function isAboutOne(event: LogEvent): boolean {
  return isEnrolment(event) || isUnblinding(event) || isCorrection(event) || event.type === 'CodeReplaced';
}
