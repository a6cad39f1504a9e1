/** Events by their type. */
import type { StudyFact } from './catalogue.ts';
import type { LogEvent, PartialEvent } from './record.ts';

/** With all of its sections. */
export type EventOf<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;
/** With the sections that are included. */
export type PartialEventOf<T extends PartialEvent['type']> = Extract<PartialEvent, { type: T }>;
/** An event of a study, with the sections that are included. */
export type PartialStudyEvent = PartialEventOf<StudyFact['type']>;
