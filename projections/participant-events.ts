/** What happened to the participants of a study after their randomization. */
import type { LogEvent } from '../events/record.ts';
import { isCorrection, type WholeCorrection } from './enrolled.ts';
import type { Projection } from './projection.ts';

/** Somebody learned the arm of a participant. */
export type UnblindingEvent = Extract<LogEvent, { type: 'AllocationRevealed' | 'UnblindingReported' }>;
/** An event about one participant, besides the one that enrolled them. */
export type ParticipantEvent = UnblindingEvent | WholeCorrection;

export interface ParticipantEvents {
  /** In the order of the records. */
  readonly inOrder: ParticipantEvent[];
  /** By the id as randomized. Most participants have no such event, and are not in the map. */
  readonly byId: Map<string, ParticipantEvent[]>;
}

export const participantEvents: Projection<ParticipantEvents> = {
  name: 'participant-events',
  stream: 'study',
  initial: () => ({ inOrder: [], byId: new Map() }),
  apply(state, event) {
    if (!isUnblinding(event) && !isCorrection(event)) return state;
    const { participantId } = event.data;
    state.inOrder.push(event);
    const earlier = state.byId.get(participantId);
    if (earlier) earlier.push(event);
    else state.byId.set(participantId, [event]);
    return state;
  },
};

export function isUnblinding(event: LogEvent): event is UnblindingEvent {
  return event.type === 'AllocationRevealed' || event.type === 'UnblindingReported';
}
