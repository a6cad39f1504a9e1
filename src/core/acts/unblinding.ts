/**
 * The acts by which an arm becomes known: through the service, or without it. Nothing about the study may get in the way of
 * an emergency. The events are in events/unblinding.ts.
 */
import { z } from 'zod';
import {
  AllocationRevealed,
  RevealCategory,
  UnblindingReported,
  UnblindingWay,
} from '../../../events/unblinding.ts';
import { ParticipantId, PastInstant, unblindingReason } from '../model/members.ts';
import type { Model } from '../model/model.ts';
import { impossible, type Members, STATUSES, type StudyOutcome } from '../model/outcomes.ts';
import { aboutParticipant, participantAct } from './act.ts';

/**
 * The service is asked for the arm of one participant, or of one pack and of whoever it was given to. A pack that nobody had is
 * about no participant (src/core/study/decide.ts).
 */
export const breakCode = participantAct({
  writes: AllocationRevealed,
  // An emergency does not wait for a study to open.
  may: { scopes: ['unblind'], commandLine: true, in: STATUSES },
  asks: {
    participantId: ParticipantId.optional().meta({ description: 'The participant. Either this or `code`' }),
    code: z.string().min(1).optional().meta({ description: 'The code of a pack. Either this or `id`' }),
    category: RevealCategory.meta({
      description:
        'An `emergency` is answered even if the log cannot be written; other categories are then refused',
    }),
    ...unblindingReason,
  },
  // A UUID made for the request; and when the arm was shown, if that was before this could be recorded.
  brings: ['reveal', 'shownAt'],
  limits: () => 'before-or-as-randomized',
  // No arm is shown again once its participant has left the limits of the key.
  isConfirmedWithin: true,
  done: ({ model, brings }) => recordedAlready(model, brings),
});

/** The same code-break is not recorded twice. */
export function recordedAlready({ reveals }: Model, brings: Members): StudyOutcome | undefined {
  const recorded = reveals.find(({ reveal }) => reveal === brings['reveal']);
  return recorded && { type: 'already-recorded', revision: recorded.revision };
}

/** Somebody learned the participant's arm without the service, or the service was asked by mistake. */
export const reportUnblinding = participantAct({
  writes: UnblindingReported,
  // An emergency does not wait for a study to open.
  may: { scopes: ['unblind', 'correct'], commandLine: true, in: STATUSES },
  asks: {
    ...aboutParticipant,
    occurredAt: PastInstant.meta({
      format: 'date-time',
      description: 'When the arm became known, in ISO 8601 (UTC). Not in the future',
    }),
    how: UnblindingWay.meta({ description: 'How the arm became known' }),
    inadvertent: z.boolean().optional().meta({ description: 'Whether it was unintentional' }),
    revealedAt: z.int().nonnegative().optional().meta({
      description: 'The revision of a code-break that was a mistake',
    }),
    ...unblindingReason,
  },
  resolve: (asked) => ({
    ...asked,
    occurredAt: new Date(asked.occurredAt).toISOString(),
    inadvertent: asked.inadvertent || undefined,
  }),
  // A correction must not get in the way of an emergency.
  limits: () => 'before-or-as-randomized',
  problem: ({ asked: { revealedAt }, model, participant }) => {
    const isOfIt = model.reveals.some(
      ({ revision, participantId }) => revision === revealedAt && participantId === participant.participantId,
    );
    return revealedAt === undefined || isOfIt
      ? undefined
      : impossible('revealedAt', 'no code of this participant was broken at this revision');
  },
});
