import { z } from 'zod';
import { UnblindingReported, UnblindingWay } from '../../../events/unblinding.ts';
import { grounds, PastInstant } from '../model/members.ts';
import { impossible } from '../model/outcomes.ts';
import { STATUSES } from '../model/status.ts';
import { aboutParticipant, participantAct } from './act.ts';

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
    ...grounds,
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
