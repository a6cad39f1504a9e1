import { AllocationReinstated } from '../../../events/corrections.ts';
import { Note } from '../model/members.ts';
import { alreadySo } from '../model/outcomes.ts';
import { corrected } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, participantAct } from './act.ts';

/** The participant was voided by mistake. */
export const reinstate = participantAct({
  writes: AllocationReinstated,
  // Mistakes are found at any time, and most of them late.
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks: { ...aboutParticipant, note: Note },
  adds: ({ participant }) => ({ voidedAt: participant.corrected?.voided?.revision ?? 0 }),
  problem: ({ participant }) =>
    participant.corrected?.voided ? undefined : alreadySo('the participant is not voided'),
  apply: (participant) => corrected(participant, { voided: undefined }),
});
