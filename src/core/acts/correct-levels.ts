import { z } from 'zod';
import { type LevelChange, LevelsCause, LevelsCorrected } from '../../../events/corrections.ts';
import { askedLevel, type Design } from '../model/design.ts';
import { noSuchLevel } from '../model/levels.ts';
import { Note } from '../model/members.ts';
import { placeOf } from '../model/model.ts';
import { type FieldProblem, impossible, type StudyOutcome, stale, unfit } from '../model/outcomes.ts';
import { asEnrolled, corrected, currentLevels } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';

type Factors = Design['factors'];

const Change = z
  .strictObject({
    factor: z.string(),
    from: z.string().meta({ description: 'The current level' }),
    to: z.string(),
  })
  .refine(({ from, to }) => from !== to, { error: 'from and to are the same level' });

const Changes = z
  .array(Change)
  .min(1, 'must have at least one change')
  .max(100)
  .superRefine((changes, context) => {
    const names = changes.map(({ factor }) => factor);
    for (const name of new Set(names.filter((factor, i) => names.indexOf(factor) < i)))
      context.addIssue({ code: 'custom', message: `${name} is given more than once` });
  });

const asks = {
  ...aboutParticipant,
  changes: Changes,
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
  asks,
  fits: ({ changes }, { design }) => strayLevel(changes, design.factors),
  resolve: (asked, { design }) => ({ ...asked, changes: inDesignOrder(asked.changes, design.factors) }),
  byPlace: ({ changes }, design) => ({
    changes: changes.map(({ factor, from, to }) => [
      factor,
      placeOf(factor, from, design),
      placeOf(factor, to, design),
    ]),
  }),
  // Either site may record a transfer. Nobody else can move a participant into or out of their own limits.
  limits: ({ cause }) => (cause === 'transfer' ? 'before-or-after' : 'before-and-after'),
  adds: ({ asked, model }) => ({
    counts: asked.cause === 'transfer' ? 'as-randomized' : model.design.policies.levelCounts,
  }),
  problem: changesProblem,
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

function changesProblem({
  asked: { changes },
  model,
  participant,
}: ParticipantContext<FormValues<typeof asks>>): StudyOutcome | undefined {
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
