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
import { APPROVAL } from '../../support/life.ts';
import { TrialRun } from '../../support/trial-run.ts';

const PARTICIPANT = { participantId: z.string(), levels: z.array(z.string().nullable()) };
const RANDOMIZED = { type: z.literal('ParticipantRandomized'), ...PARTICIPANT, treatment: z.string() };
const Drawn = z.strictObject({
  ...RANDOMIZED,
  pick: z.looseObject({ weights: z.array(z.int()) }),
  after: BgState.omit({ bit_generator: true }).extend({ state: z.string() }),
});
const LookedUp = z.strictObject({
  ...RANDOMIZED,
  entry: z.strictObject({ list: z.int(), entry: z.int() }),
});
const STRATUM = { levels: z.array(z.string()).optional() };
const Step = z.union([
  Drawn,
  LookedUp,
  /** Nobody with these levels can be randomized: nothing is recorded. */
  z.strictObject({ type: z.literal('NoEntry'), ...PARTICIPANT }),
  z.strictObject({
    ...{ type: z.literal('ListRegistered'), list: z.int(), file: z.string(), first: z.int() },
    entries: z.array(z.strictObject({ ...STRATUM, treatment: z.string() })),
  }),
  z.strictObject({
    type: z.literal('EntriesSkipped'),
    skipped: z.array(z.strictObject({ ...STRATUM, count: z.int() })),
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
type Randomized = z.infer<typeof Drawn> | z.infer<typeof LookedUp>;

const Vector = z.strictObject({
  about: z.string(),
  configuration: StudyConfiguration,
  seed: z.string(),
  bgState: BgState,
  parameters: z.looseObject({}),
  steps: z.array(Step),
});

const FILE = new URL('../../vectors/methods.json', import.meta.url);
const { studies } = z
  .strictObject({ numpy: z.string(), studies: z.array(Vector) })
  .parse(JSON.parse(readFileSync(FILE, 'utf8')));

/** Of a factor that was retired before, nobody has a level. */
const given = (levels: readonly (string | null)[]) => levels.map((level) => level ?? '');

const NOTED = { user: 'nurse', note: 'source record' };

function commandsOf(step: Step, { facts }: TrialRun): Written[] {
  const number = 1 + facts.filter(({ type }) => type === step.type).length;
  switch (step.type) {
    case 'ParticipantRandomized':
    case 'NoEntry': {
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
    case 'ListRegistered':
      return [{ ...step, type: 'register-list', approvals: [APPROVAL] }];
    case 'EntriesSkipped':
      return [{ ...step, type: 'skip-entries', reason: 'told by the sites' }];
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

/** What should have been recorded. `before` is the state of the generator, which a list never moves. */
function expected(step: Randomized, before: BgState) {
  const { treatment } = step;
  if ('entry' in step) return { treatment, entry: step.entry };
  const state = { state: step.after.state, inc: before.state.inc };
  const bgStateAfter = { ...before, ...step.after, state };
  return { treatment, pick: { ...step.pick, bgStateBefore: before, bgStateAfter } };
}

function recorded(trial: TrialRun) {
  const fact = trial.facts.at(-1);
  if (fact?.type !== 'ParticipantRandomized') throw new Error(`a ${fact?.type} in place of an allocation`);
  const { allocation, ...how } = fact.sections;
  return { treatment: allocation.treatment, ...how };
}

it('every method has studies in the file', () => {
  const methods = new Set(
    studies.map(({ configuration }) => 'method' in configuration && configuration.method.name),
  );
  expect([...methods]).toEqual(Object.keys(ALGORITHMS));
  expect(studies).toHaveLength(51);
});

describe.each(studies)(
  '$configuration.name: $about',
  ({ configuration, parameters, seed, bgState, steps }) => {
    it('allocates as an independent program does', () => {
      const trial = new TrialRun(configuration, BigInt(seed), parameters);
      expect(trial.bgState).toEqual(bgState);
      for (const [place, step] of steps.entries()) {
        const before = trial.bgState;
        for (const command of commandsOf(step, trial)) {
          const { length } = trial.facts;
          const outcome = trial.ask(command);
          const said = `step ${place}, ${step.type}: ${JSON.stringify(outcome)}`;
          expect(trial.facts, said).toHaveLength(step.type === 'NoEntry' ? length : length + 1);
          if (step.type === 'NoEntry') expect(outcome.type, said).toBe('no-entry');
        }
        if (step.type === 'ParticipantRandomized') {
          expect(recorded(trial), `step ${place}`).toEqual(expected(step, before));
          if ('entry' in step) expect(trial.bgState).toEqual(before);
        }
        if ('bgState' in step) expect(trial.bgState).toEqual(step.bgState);
      }
    });
  },
);
