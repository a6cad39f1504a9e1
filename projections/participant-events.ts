/** What happened to the participants of a study after their randomization. */
import type { LogEvent } from '../events/record.ts';
import { isEnrolment, type WholeEnrolment } from './enrolled.ts';

/** Somebody learned the arm of a participant. */
export type UnblindingEvent = Extract<LogEvent, { type: 'AllocationRevealed' | 'UnblindingReported' }>;
/** An event about one participant, besides the one that enrolled them. A code-break can be about a pack that nobody had. */
export type ParticipantEvent =
  | Extract<LogEvent, { readonly data: { readonly randomizedAt: number } }>
  | UnblindingEvent;

export interface ParticipantEvents {
  /** In the order of the records. */
  readonly inOrder: ParticipantEvent[];
  /** By the revision of the event that enrolled the participant. Most have no such event, and are not in the map. */
  readonly byEnrolment: Map<number, ParticipantEvent[]>;
}

export function isUnblinding(event: LogEvent): event is UnblindingEvent {
  return event.type === 'AllocationRevealed' || event.type === 'UnblindingReported';
}

/**
 * Everything that happened to one participant, in the order of the records. Wrong entries that others have replaced are
 * part of it: they are about the same person.
 * @param revision of the event that enrolled the participant
 */
export async function historyOf(
  { byEnrolment }: Pick<ParticipantEvents, 'byEnrolment'>,
  revision: number,
  read: (revision: number) => Promise<LogEvent | undefined>,
): Promise<(WholeEnrolment | ParticipantEvent)[]> {
  const enrolling = await read(revision);
  if (!enrolling || !isEnrolment(enrolling)) throw new Error('a participant without a record');
  const events = [enrolling, ...(byEnrolment.get(revision) ?? [])];
  const replaced = 'replaces' in enrolling.data ? enrolling.data.replaces : undefined;
  return replaced === undefined ? events : [...(await historyOf({ byEnrolment }, replaced, read)), ...events];
}
