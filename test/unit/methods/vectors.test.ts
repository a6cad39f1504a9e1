/** The studies of test/vectors/methods.json, which a program made from the description of the methods alone. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { DesignChange, History } from '../../../events/study.ts';
import {
  ALGORITHMS,
  type BgState,
  type MethodParameters,
  type StudyConfiguration,
} from '../../../events/study.ts';
import type { Written } from '../../support/acts.ts';
import { amend } from '../../support/arbitrary-life.ts';
import { beginImport, IMPORT } from '../../support/import-facts.ts';
import { APPROVAL } from '../../support/life.ts';
import { TrialRun } from '../../support/trial-run.ts';

interface Row {
  readonly participantId: string;
  /** Of a factor that was retired before, nobody has a level. */
  readonly levels: readonly (string | null)[];
  readonly treatment: string;
}
/** Of its members, those of its type. Of `NoEntry`, nothing is recorded: nobody with these levels can be randomized. */
interface Step extends Row {
  readonly type: string;
  readonly pick: { readonly weights: readonly number[] };
  readonly after: Omit<BgState, 'state' | 'bit_generator'> & { readonly state: string };
  readonly entry?: { readonly list: number; readonly entry: number };
  readonly changes: readonly DesignChange[];
  readonly history: History;
  readonly seed: string;
  readonly bgState: BgState;
  readonly rows: readonly Row[];
}
interface Vector {
  readonly about: string;
  readonly configuration: StudyConfiguration;
  readonly seed: string;
  readonly bgState: BgState;
  readonly parameters: MethodParameters;
  readonly steps: readonly Step[];
}

const FILE = new URL('../../vectors/methods.json', import.meta.url);
const { studies } = JSON.parse(readFileSync(FILE, 'utf8')) as { readonly studies: readonly Vector[] };

const given = (levels: readonly (string | null)[]) => levels.map((level) => level ?? '');

const NOTED = { user: 'nurse', note: 'source record' };

function commandsOf(step: Step, { facts }: TrialRun): object[] {
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

function importOf({ seed, bgState, rows }: Step): Written[] {
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
function expected(step: Step, before: BgState) {
  const { treatment } = step;
  if (step.entry) return { treatment, entry: step.entry };
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
    it('allocates as an independent program does, on forks of forks, on which batches are decided', () => {
      const trial = new TrialRun(configuration, BigInt(seed), parameters);
      expect(trial.bgState).toEqual(bgState);
      for (const [place, step] of steps.entries()) {
        const before = trial.onFork().bgState;
        for (const command of commandsOf(step, trial) as Written[]) {
          const { length } = trial.facts;
          const outcome = trial.ask(command);
          const said = `step ${place}, ${step.type}: ${JSON.stringify(outcome)}`;
          expect(trial.facts, said).toHaveLength(step.type === 'NoEntry' ? length : length + 1);
          if (step.type === 'NoEntry') expect(outcome.type, said).toBe('no-entry');
        }
        if (step.type === 'ParticipantRandomized') {
          expect(recorded(trial), `step ${place}`).toEqual(expected(step, before));
          if (step.entry) expect(trial.bgState).toEqual(before);
        }
        if ('bgState' in step) expect(trial.bgState).toEqual(step.bgState);
      }
    });
  },
);
