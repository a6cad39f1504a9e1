/** The list of who was unblinded, by the service or without it. It names no arm. */
import type { RevealCategory, UnblindingWay } from '../../../events/unblinding.ts';
import type { ParticipantEvent, ParticipantEvents, UnblindingEvent } from '../model/participants.ts';

/** Who was unblinded, by the service or without it. */
export interface CodeBreak {
  readonly revision: number;
  /** When it was recorded. */
  readonly at: string;
  /** As randomized. Undefined for a pack that nobody had. */
  readonly participantId: string | undefined;
  /** Of the event that enrolled the participant. */
  readonly randomizedAt: number | undefined;
  /** Of the pack, if the code-break was asked for by it. */
  readonly code: string | undefined;
  readonly how:
    | { readonly type: 'revealed'; readonly category: RevealCategory }
    | {
        readonly type: 'reported';
        readonly way: UnblindingWay;
        readonly inadvertent: boolean;
        /** Revision of a code-break that was a mistake. */
        readonly revealedAt: number | undefined;
      };
  /** When the arm became known. */
  readonly knownAt: string;
  /** Whether the arm was shown before this could be recorded. */
  readonly isLate: boolean;
  readonly user: string;
  /** Undefined for somebody at the command line. */
  readonly keyId: string | undefined;
  readonly onBehalfOf: string | undefined;
  readonly reason: string;
  readonly requestedBy: string | undefined;
}

/** In the order of the records. */
export function codeBreaksIn({ inOrder }: ParticipantEvents): CodeBreak[] {
  return inOrder.filter(isUnblinding).map(codeBreakOf);
}

function isUnblinding(event: ParticipantEvent): event is UnblindingEvent {
  return event.type === 'AllocationRevealed' || event.type === 'UnblindingReported';
}

function codeBreakOf(event: UnblindingEvent): CodeBreak {
  const { revision, at, actor } = event;
  const { grounds } = event.sections;
  const common = {
    revision,
    at,
    participantId: event.data.participantId,
    randomizedAt: event.data.randomizedAt,
    code: event.type === 'AllocationRevealed' ? event.data.code : undefined,
    user: actor.user,
    keyId: 'keyId' in actor ? actor.keyId : undefined,
    onBehalfOf: 'keyId' in actor ? actor.onBehalfOf : undefined,
    reason: grounds.reason,
    requestedBy: grounds.requestedBy,
  };
  if (event.type === 'AllocationRevealed') {
    const { category, shownAt } = event.data;
    return {
      ...common,
      how: { type: 'revealed', category },
      knownAt: shownAt ?? at,
      isLate: shownAt !== undefined,
    };
  }
  const { how, inadvertent = false, revealedAt, occurredAt } = event.data;
  return {
    ...common,
    how: { type: 'reported', way: how, inadvertent, revealedAt },
    knownAt: occurredAt,
    isLate: false,
  };
}
