/** The studies of test/vectors/methods.json, which a program made from the description of the methods alone. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DesignChange, History } from '../../../events/amendment.ts';
import { ForcedCause } from '../../../events/forced.ts';
import { ALGORITHMS, BgState, StudyConfiguration } from '../../../events/study.ts';
import type { Written } from '../../support/acts.ts';
import { amend } from '../../support/arbitrary-life.ts';
import { beginImport, IMPORT } from '../../support/import-facts.ts';
import { TrialRun } from '../../support/trial-run.ts';

const PARTICIPANT = { participantId: z.string(), levels: z.array(z.string().nullable()) };
const Step = z.discriminatedUnion('type', [
  z.strictObject({
    ...{ type: z.literal('ParticipantRandomized'), ...PARTICIPANT, treatment: z.string() },
    pick: z.looseObject({ weights: z.array(z.int()) }),
    after: BgState.omit({ bit_generator: true }).extend({ state: z.string() }),
  }),
  z.strictObject({
    ...{ type: z.literal('AllocationForced'), ...PARTICIPANT, treatment: z.string(), cause: ForcedCause },
    ...{ occurredAt: z.string(), replaces: z.int().optional() },
  }),
  z.strictObject({
    ...{ type: z.literal('LevelsCorrected'), participantId: z.string(), cause: z.string() },
    changes: z.array(z.strictObject({ factor: z.string(), from: z.string(), to: z.string() })),
  }),
  z.strictObject({
    ...{ type: z.literal('AllocationVoided'), participantId: z.string(), cause: z.string() },
    ...{ analysis: z.string(), duplicateOf: z.string().optional() },
  }),
  z.strictObject({ type: z.literal('AllocationReinstated'), participantId: z.string() }),
  z.strictObject({
    ...{ type: z.literal('StudyAmended'), changes: z.array(DesignChange), history: History.optional() },
  }),
  z.strictObject({ type: z.literal('StudyRecovered'), seed: z.string(), bgState: BgState }),
  z.strictObject({
    ...{ type: z.literal('HistoryImported'), seed: z.string(), bgState: BgState },
    rows: z.array(z.strictObject({ ...PARTICIPANT, treatment: z.string() })),
  }),
]);
type Step = z.infer<typeof Step>;
type Draw = Extract<Step, { type: 'ParticipantRandomized' }>;

const Vector = z.strictObject({
  about: z.string(),
  configuration: StudyConfiguration,
  seed: z.string(),
  bgState: BgState,
  parameters: z.looseObject({}),
  steps: z.array(Step),
});

const FILE = new URL('../../vectors/methods.json', import.meta.url);
const WithMethod = z.looseObject({
  configuration: z.looseObject({ method: z.looseObject({ name: z.string() }) }),
});
const read = z
  .strictObject({ numpy: z.string(), studies: z.array(WithMethod) })
  .parse(JSON.parse(readFileSync(FILE, 'utf8')));
/** The decider does not know lists yet. */
const studies = z
  .array(Vector)
  .parse(read.studies.filter(({ configuration }) => configuration.method.name !== 'list'));

/** Of a factor that was retired before, nobody has a level. */
const given = (levels: readonly (string | null)[]) => levels.map((level) => level ?? '');

const NOTED = { user: 'nurse', note: 'source record' };

function commandsOf(step: Step, { facts }: TrialRun): Written[] {
  const number = 1 + facts.filter(({ type }) => type === step.type).length;
  switch (step.type) {
    case 'ParticipantRandomized': {
      const { participantId, levels } = step;
      return [{ type: 'randomize', user: 'nurse', participantId, levels: given(levels) }];
    }
    case 'AllocationForced':
      return [{ ...step, ...NOTED, type: 'force', levels: given(step.levels) }];
    case 'StudyAmended':
      return [amend(step.changes, number, { history: step.history })];
    case 'StudyRecovered':
      return [{ type: 'recover', recovery: number, kept: facts.length, seed: BigInt(step.seed) }];
    case 'HistoryImported':
      return importOf(step);
    default: {
      const { type: act, ...asked } = step;
      return [{ ...NOTED, act, ...asked }];
    }
  }
}

function importOf({ seed, bgState, rows }: Extract<Step, { type: 'HistoryImported' }>): Written[] {
  const source = { format: 'csv', rows: rows.length } as const;
  return [
    beginImport([], {
      ...{ source, seed: BigInt(seed), bgState, seedKnown: undefined },
      proof: { redrawn: 0, unproven: rows.length },
    }),
    ...rows.map(
      (row, i): Written => ({
        ...{ type: 'import-participant', import: IMPORT, row: i + 1, ...row, levels: given(row.levels) },
        original: { datetime: `2026-01-01 00:00:${String(i).padStart(2, '0')}.000000`, user: 'other' },
      }),
    ),
    { type: 'end-import', import: IMPORT },
  ];
}

/** What the draw should have recorded. `before` is the state of the generator. */
function expected({ treatment, pick, after }: Draw, before: BgState) {
  const state = { state: after.state, inc: before.state.inc };
  const bgStateAfter = { ...before, ...after, state };
  return { treatment, pick: { ...pick, bgStateBefore: before, bgStateAfter } };
}

function recorded(trial: TrialRun) {
  const fact = trial.facts.at(-1);
  if (fact?.type !== 'ParticipantRandomized') throw new Error(`a ${fact?.type} in place of a draw`);
  const { allocation, pick } = fact.sections;
  return { treatment: allocation.treatment, pick };
}

it('every method has studies in the file', () => {
  const methods = new Set(
    studies.map(({ configuration }) => 'method' in configuration && configuration.method.name),
  );
  expect([...methods, 'list']).toEqual(Object.keys(ALGORITHMS));
  expect(studies).toHaveLength(40);
});

describe.each(studies)(
  '$configuration.name: $about',
  ({ configuration, parameters, seed, bgState, steps }) => {
    it('draws as an independent program does', () => {
      const trial = new TrialRun(configuration, BigInt(seed), parameters);
      expect(trial.bgState).toEqual(bgState);
      for (const [place, step] of steps.entries()) {
        const before = trial.bgState;
        for (const command of commandsOf(step, trial)) {
          const { length } = trial.facts;
          const outcome = trial.ask(command);
          expect(trial.facts, `step ${place}, ${step.type}: ${JSON.stringify(outcome)}`).toHaveLength(
            length + 1,
          );
        }
        if (step.type === 'ParticipantRandomized')
          expect(recorded(trial), `step ${place}`).toEqual(expected(step, before));
        if ('bgState' in step) expect(trial.bgState).toEqual(step.bgState);
      }
    });
  },
);
