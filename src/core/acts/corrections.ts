/**
 * The acts that say that something recorded of a participant was wrong: the id, a level, the allocation itself; and that
 * voiding it was. Each has its form, its rules, and what becomes of the participant. A closed study takes them too, because
 * mistakes are found at any time, and most of them late. The events are in events/corrections.ts.
 */
import { z } from 'zod';
import {
  AllocationReinstated,
  AllocationVoided,
  IdCause,
  type LevelChange,
  LevelsCause,
  LevelsCorrected,
  ParticipantIdCorrected,
  VoidAnalysis,
  VoidCause,
} from '../../../events/corrections.ts';
import { isSameUser } from '../../base/text.ts';
import { askedLevel, type Design } from '../model/design.ts';
import { patternProblem } from '../model/id-pattern.ts';
import { noSuchLevel } from '../model/limits.ts';
import { Note } from '../model/members.ts';
import { levelPlace, type Model } from '../model/model.ts';
import {
  alreadySo,
  type FieldProblem,
  impossible,
  SETTLED,
  type StudyOutcome,
  stale,
  unfit,
} from '../model/outcomes.ts';
import { newIdProblem, problemsOfId } from '../model/participant-id.ts';
import { asEnrolled, corrected, currentId, currentLevels, type Voided } from '../model/participants.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';

const RightId = z
  .string()
  .superRefine((id, context) => {
    for (const problem of problemsOfId(id))
      context.addIssue({ code: 'custom', message: problem.replace(/^id /, '') });
  })
  .meta({ description: 'The right id' });

const CORRECT_ID_MEMBERS = {
  ...aboutParticipant,
  to: RightId,
  cause: IdCause.meta({
    description: "`entry`: a slip when it was entered. `pattern`: it did not match the study's pattern",
  }),
};

/** The participant has the wrong id. */
export const correctId = participantAct({
  writes: ParticipantIdCorrected,
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks: CORRECT_ID_MEMBERS,
  fits: ({ to }, model) => unfitId(to, model),
  isJudgedOnce: true,
  adds: ({ participant }) => ({ from: currentId(participant) }),
  problem: takenIdProblem,
  apply: (participant, { data }) => corrected(participant, { id: data.to }),
});

function unfitId(to: string, model: Model): StudyOutcome | undefined {
  const ofNewId = model.participants.find(to) ? undefined : newIdProblem(to);
  if (ofNewId !== undefined) return unfit([{ field: 'to', why: ofNewId }]);
  const problem = patternProblem(to, model.design);
  return problem === undefined ? undefined : impossible('to', problem);
}

function takenIdProblem({
  asked: { to },
  model,
  participant,
}: ParticipantContext<FormValues<typeof CORRECT_ID_MEMBERS>>): StudyOutcome | undefined {
  if (to === currentId(participant)) return alreadySo('the participant has this id already');
  const holder = model.participants.find(to);
  // Their own former id is free for them.
  return holder && holder.participantId !== participant.participantId
    ? impossible('to', 'another participant has, or had, this id')
    : undefined;
}

const AskedChange = z
  .strictObject({
    factor: z.string(),
    from: z.string().meta({ description: 'The current level' }),
    to: z.string(),
  })
  .refine(({ from, to }) => from !== to, { error: 'from and to are the same level' });

const AskedChanges = z
  .array(AskedChange)
  .min(1, 'must have at least one change')
  .max(100)
  .superRefine((changes, context) => {
    const names = changes.map(({ factor }) => factor);
    for (const name of new Set(names.filter((factor, i) => names.indexOf(factor) < i)))
      context.addIssue({ code: 'custom', message: `${name} is given more than once` });
  });

const CORRECT_LEVELS_MEMBERS = {
  ...aboutParticipant,
  changes: AskedChanges,
  cause: LevelsCause.meta({
    description:
      '`entry`: a slip when it was entered. `source`: the source record was wrong. `definition`: the level was misunderstood. `transfer`: the participant has moved to another site',
  }),
  note: Note,
};

/** A level of the participant was recorded wrongly, or has changed. */
export const correctLevels = participantAct({
  writes: LevelsCorrected,
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks: CORRECT_LEVELS_MEMBERS,
  fits: ({ changes }, { design }) => strayLevel(changes, design.factors),
  resolve: (asked, { design }) => ({ ...asked, changes: inDesignOrder(asked.changes, design.factors) }),
  byPlace: ({ changes }, design) => ({
    changes: changes.map(({ factor, from, to }) => [
      factor,
      levelPlace(factor, from, design),
      levelPlace(factor, to, design),
    ]),
  }),
  // Either site may record a transfer. Nobody else can move a participant into or out of their own limits.
  limits: ({ cause }) => (cause === 'transfer' ? 'before-or-after' : 'before-and-after'),
  adds: ({ asked, model }) => ({
    counts: asked.cause === 'transfer' ? 'as-randomized' : model.design.policies.levelCounts,
  }),
  problem: levelChangesProblem,
  apply: (participant, { data }, { factors }) => {
    const changed = (levels: readonly string[]) =>
      levels.map((level, i) => data.changes.find(({ factor }) => factor === factors[i]?.name)?.to ?? level);
    const { levels, countedLevels } = participant.corrected ?? asEnrolled(participant);
    return corrected(participant, {
      levels: changed(levels),
      ...(data.counts === 'as-corrected' && { countedLevels: changed(countedLevels) }),
    });
  },
});

type Factors = Design['factors'];

/** Every factor and level that the study does not have; otherwise the first level that belongs to another factor. */
function strayLevel(changes: readonly LevelChange[], factors: Factors): StudyOutcome | undefined {
  const problems: FieldProblem[] = [];
  let stray: StudyOutcome | undefined;
  for (const [i, { factor, ...levels }] of changes.entries()) {
    const known = factors.find(({ name }) => name === factor);
    if (!known) {
      const names = factors.map(({ name }) => name).join(', ');
      const why = `the study has no factor ${JSON.stringify(factor)} (it has: ${names})`;
      problems.push({ field: `changes[${i}].factor`, why });
      continue;
    }
    for (const member of ['from', 'to'] as const) {
      const level = levels[member];
      if (askedLevel(known, level) !== undefined) continue;
      const field = `changes[${i}].${member}`;
      const why = noSuchLevel(known, level);
      const other = factors.find((one) => one.levels.includes(level));
      if (other) stray ??= impossible(field, `${why}; it is a level of ${other.name}`);
      else problems.push({ field, why });
    }
  }
  return unfit(problems) ?? stray;
}

/** Unknown factors come first. They and unknown levels are refused later. */
function inDesignOrder(changes: readonly LevelChange[], factors: Factors): LevelChange[] {
  const place = ({ factor }: LevelChange) => factors.findIndex(({ name }) => name === factor);
  return changes
    .map(({ factor, from, to }) => {
      const known = factors.find(({ name }) => name === factor);
      const asked = (level: string) => (known && askedLevel(known, level)) ?? level;
      return { factor, from: asked(from), to: asked(to) };
    })
    .sort((a, b) => place(a) - place(b));
}

function levelChangesProblem({
  asked: { changes },
  model,
  participant,
}: ParticipantContext<FormValues<typeof CORRECT_LEVELS_MEMBERS>>): StudyOutcome | undefined {
  const { factors } = model.design;
  const current = currentLevels(participant);
  let staleChange: StudyOutcome | undefined;
  for (const [i, { factor, from, to }] of changes.entries()) {
    const index = factors.findIndex(({ name }) => name === factor);
    if (index < 0) return impossible(`changes[${i}].factor`, 'the study has no such factor');
    if (factors[index]?.isRetired) return impossible(`changes[${i}].factor`, 'the factor is retired');
    if (changes[i - 1]?.factor === factor)
      return impossible(`changes[${i}].factor`, 'it is changed twice at once');
    if (!factors[index]?.levels.includes(to))
      return impossible(`changes[${i}].to`, 'the factor has no such level');
    if (from === to) return impossible(`changes[${i}].to`, 'it is the same level as from');
    const level = current[index] ?? '';
    if (from !== level)
      staleChange ??= stale(`${factor} is ${JSON.stringify(level)} now`, `changes[${i}].from`);
  }
  return staleChange;
}

const VOID_ALLOCATION_MEMBERS = {
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

type VoidAllocationContext = ParticipantContext<FormValues<typeof VOID_ALLOCATION_MEMBERS>>;

/** The participant was randomized in error. */
export const voidAllocation = participantAct({
  writes: AllocationVoided,
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks: VOID_ALLOCATION_MEMBERS,
  fits: ({ cause, duplicateOf }) =>
    duplicateOf !== undefined && cause !== 'duplicate'
      ? unfit([{ field: 'duplicateOf', why: 'is only for the cause duplicate' }])
      : undefined,
  resolve: (asked, model) => ({ ...asked, duplicateOf: originalId(model, asked.duplicateOf) }),
  adds: ({ asked, model }) => ({ counts: countsAfterVoiding(asked.cause, model) }),
  problem: (context) =>
    ownAllocation(context) ??
    voidCauseProblem(context) ??
    duplicateProblem(context) ??
    alreadyVoidedProblem(context),
  apply: (participant, { data, revision }) => {
    const { cause, counts, duplicateOf } = data;
    return corrected(participant, {
      voided: { revision, cause, isRemoved: counts === 'removed', duplicateOf },
    });
  },
});

/** Whoever randomizes and voids could draw again until the arm suits. What came by hand or by an import was not drawn here. */
function ownAllocation(context: ParticipantContext<unknown>): StudyOutcome | undefined {
  const { by, model, occasion, participant } = context;
  if (occasion.mode === 'replay') return undefined;
  const { forced, original, user } = participant;
  const isOwn = by.isKey && !forced && !original && isSameUser(user, by.user);
  return isOwn && model.design.mode === 'live' ? { type: 'own-allocation' } : undefined;
}

/** An id that nobody has stays as it is, and is refused later. */
function originalId(model: Model, id: string | undefined): string | undefined {
  return id === undefined ? undefined : (model.participants.find(id)?.participantId ?? id);
}

/** The policy is only for people who were counted twice or never there. A wrong entry is always removed; the rest stay. */
function countsAfterVoiding(cause: VoidCause, { design: { policies } }: Model): 'kept' | 'removed' {
  if (cause === 'entry') return 'removed';
  const isNobody = cause === 'duplicate' || cause === 'never-enrolled';
  return isNobody ? policies.voidCounts : 'kept';
}

function voidCauseProblem({ asked, participant }: VoidAllocationContext): StudyOutcome | undefined {
  return asked.cause === 'entry' && !participant.forced
    ? impossible('cause', 'the allocation was not entered by hand, so it cannot be entered wrongly')
    : undefined;
}

function duplicateProblem({ asked, model, participant }: VoidAllocationContext): StudyOutcome | undefined {
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

function alreadyVoidedProblem({ asked, participant }: VoidAllocationContext): StudyOutcome | undefined {
  const voided = participant.corrected?.voided;
  if (!voided) return undefined;
  const why = `the participant is voided already (${voided.cause}, revision ${voided.revision})`;
  return isVoidedAsAsked(voided, asked) ? alreadySo(why) : stale(why);
}

/** Whose duplicate it is may be left out. */
function isVoidedAsAsked(voided: Voided, { cause, duplicateOf }: VoidAllocationContext['asked']): boolean {
  return voided.cause === cause && (duplicateOf ?? voided.duplicateOf) === voided.duplicateOf;
}

/** The participant was voided by mistake. */
export const reinstate = participantAct({
  writes: AllocationReinstated,
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks: { ...aboutParticipant, note: Note },
  adds: ({ participant }) => ({ voidedAt: participant.corrected?.voided?.revision ?? 0 }),
  problem: (context) =>
    ownAllocation(context) ??
    (context.participant.corrected?.voided ? undefined : alreadySo('the participant is not voided')),
  apply: (participant) => corrected(participant, { voided: undefined }),
});
