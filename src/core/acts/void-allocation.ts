import { z } from 'zod';
import { AllocationVoided, VoidAnalysis, VoidCause } from '../../../events/corrections.ts';
import { Note } from '../model/members.ts';
import type { Model } from '../model/model.ts';
import { alreadySo, impossible, type StudyOutcome, stale, unfit } from '../model/outcomes.ts';
import { corrected, type Voided } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';

const asks = {
  ...aboutParticipant,
  cause: VoidCause.meta({ description: '`entry` is for allocations that were made outside the service' }),
  analysis: VoidAnalysis.meta({
    description: 'Whether the participant should be analysed, as far as you know',
  }),
  duplicateOf: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The id of the participant who is the same person. Only with cause `duplicate`' }),
  note: Note,
};
type Context = ParticipantContext<FormValues<typeof asks>>;

/** The participant was randomized in error. */
export const voidAllocation = participantAct({
  writes: AllocationVoided,
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks,
  fits: ({ cause, duplicateOf }) =>
    duplicateOf !== undefined && cause !== 'duplicate'
      ? unfit([{ field: 'duplicateOf', why: 'is only for the cause duplicate' }])
      : undefined,
  resolve: (asked, model) => ({ ...asked, duplicateOf: originalId(model, asked.duplicateOf) }),
  adds: ({ asked, model }) => ({ counts: countsOf(asked.cause, model) }),
  problem: (context) => causeProblem(context) ?? originalProblem(context) ?? voidedProblem(context),
  apply: (participant, { data, revision }) => {
    const { cause, counts, duplicateOf } = data;
    return corrected(participant, {
      voided: { revision, cause, isRemoved: counts === 'removed', duplicateOf },
    });
  },
});

/** An id that nobody has stays as it is, and is refused later. */
function originalId(model: Model, id: string | undefined): string | undefined {
  return id === undefined ? undefined : (model.participants.find(id)?.participantId ?? id);
}

/** The policy is only for people who were counted twice or never there. A wrong entry is always removed; the rest stay. */
function countsOf(cause: VoidCause, { design: { policies } }: Model): 'kept' | 'removed' {
  if (cause === 'entry') return 'removed';
  const isNobody = cause === 'duplicate' || cause === 'never-enrolled';
  return isNobody ? policies.voidCounts : 'kept';
}

function causeProblem({ asked, participant }: Context): StudyOutcome | undefined {
  return asked.cause === 'entry' && !participant.forced
    ? impossible('cause', 'the allocation was not entered by hand, so it cannot be entered wrongly')
    : undefined;
}

function originalProblem({ asked, model, participant }: Context): StudyOutcome | undefined {
  const { cause, duplicateOf } = asked;
  if (duplicateOf === undefined) return undefined;
  const { participantId } = participant;
  if (cause !== 'duplicate') return impossible('duplicateOf', 'only a duplicate has it');
  if (duplicateOf === participantId) return impossible('duplicateOf', 'it is the same participant');
  if (!model.participants.get(duplicateOf)) return impossible('duplicateOf', 'there is no such participant');
  return isDuplicateOf(model, duplicateOf, participantId)
    ? impossible('duplicateOf', 'that participant is voided as a duplicate of this one')
    : undefined;
}

/** Whether one is voided as a duplicate of the other, or of a duplicate of the other. */
function isDuplicateOf(model: Model, id: string, other: string): boolean {
  const of = model.participants.get(id)?.corrected?.voided?.duplicateOf;
  return of !== undefined && (of === other || isDuplicateOf(model, of, other));
}

function voidedProblem({ asked, participant }: Context): StudyOutcome | undefined {
  const voided = participant.corrected?.voided;
  if (!voided) return undefined;
  const why = `the participant is voided already (${voided.cause}, revision ${voided.revision})`;
  return isAsAsked(voided, asked) ? alreadySo(why) : stale(why);
}

/** Whose duplicate it is may be left out. */
function isAsAsked(voided: Voided, { cause, duplicateOf }: Context['asked']): boolean {
  return voided.cause === cause && (duplicateOf ?? voided.duplicateOf) === voided.duplicateOf;
}
