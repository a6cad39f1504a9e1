/** Measures the pure part of a randomization: deciding, folding in the fact, and making its record. No store, no HTTP. */
import type { Actor, LogEvent } from '../events/record.ts';
import { encodeRecord } from '../events/record.ts';
import type { MethodParameters, StudyConfiguration } from '../events/study.ts';
import { systemTools } from '../src/base/tools.ts';
import { studyDecider } from '../src/core/study/decide.ts';
import type { StudyState } from '../src/core/study/fold.ts';
import type { Occasion } from '../src/core/write/decider.ts';
import { type Figure, median, pairedRatio } from './figures.ts';
import { MANY_FACTORS, METHODS, manyLevels, randomLevels, STUDY } from './study.ts';

export interface DecidingPlan {
  /** Numbers of earlier participants, ascending. */
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** Allocations per measurement. */
  readonly allocations: number;
}

/** Allocations decided on one fork of the state, as the writer does for one batch. */
const BATCH = 64;
const LOG_ID = '0190163d-8694-739b-aea5-966c26f8ad91';
const ACTOR: Actor = { accessRevision: 1, keyId: 'k0123456789ab', user: 'bench' };
const tools = systemTools();
export const NOW: Occasion = { at: new Date().toISOString(), mode: 'request' };

export function measureDeciding({ sizes, rounds, allocations }: DecidingPlan): Figure[] {
  const states = statesOf(sizes);
  const bare = sizes.map((): number[] => []);
  const recorded = sizes.map((): number[] => []);
  // Round 0 warms up the optimizing compiler.
  for (let round = 0; round <= rounds; round++) {
    states.forEach((state, i) => {
      const micros = { bare: time(state, allocations, false), recorded: time(state, allocations, true) };
      if (round === 0) return;
      bare[i]?.push(micros.bare);
      recorded[i]?.push(micros.recorded);
    });
  }
  const shown = (size: number) => size.toLocaleString('en-US');
  const each = (what: string, times: readonly number[][]) =>
    sizes.map((size, i) => ({
      name: `${what}, after ${shown(size)} participants`,
      value: median(times[i] ?? []),
      unit: 'µs',
    }));
  const growth = (what: string, times: readonly number[][]): Figure => ({
    name: `${what}: cost after ${shown(sizes.at(-1) ?? 0)} / after ${shown(sizes[0] ?? 0)} participants`,
    value: pairedRatio(times.at(-1) ?? [], times[0] ?? []),
    unit: '',
    // Not exactly 1: a look-up among more ids misses the processor caches more often.
    target: { relation: 'below', value: 1.5 },
  });
  return [
    { name: 'decide and fold', value: 1e6 / median(bare.at(-1) ?? []), unit: 'per second' },
    ...each('decide and fold', bare),
    growth('decide and fold', bare),
    {
      name: 'decide, fold and make the record',
      value: 1e6 / median(recorded.at(-1) ?? []),
      unit: 'per second',
    },
    ...each('decide, fold and make the record', recorded),
    growth('decide, fold and make the record', recorded),
    ...methodFigures({ sizes, rounds, allocations }),
  ];
}

/** Each method against the urn, with as many factors as large trials have. */
function methodFigures({ rounds, allocations }: DecidingPlan): Figure[] {
  const states = METHODS.map(({ configuration, parameters }) => registeredState(configuration, parameters));
  const times = METHODS.map((): number[] => []);
  for (let round = 0; round <= rounds; round++)
    states.forEach((state, i) => {
      const micros = time(state, allocations, true, manyLevels);
      if (round > 0) times[i]?.push(micros);
    });
  return METHODS.slice(1).map(({ name }, i) => ({
    name: `decide, fold and make the record, ${MANY_FACTORS.length} factors: ${name} / the urn`,
    value: pairedRatio(times[i + 1] ?? [], times[0] ?? []),
    unit: '',
    target: { relation: 'below', value: 1 },
  }));
}

/** For each size, the state after that many participants. */
function statesOf(sizes: readonly number[]): StudyState[] {
  return sizes.map((size) => {
    let state = registeredState();
    for (let i = 0; i < size; i++) state = allocateOne(state, `earlier-${i}`, i + 1, false);
    return state;
  });
}

/** The study, without participants. */
export function registeredState(
  configuration: StudyConfiguration = STUDY,
  parameters: MethodParameters = {},
): StudyState {
  const { fact } = studyDecider.decide(
    { status: 'unregistered' },
    {
      ...{ type: 'register', studyId: LOG_ID, configuration, parameters },
      ...{ seed: 1n << 100n, seedSource: 'configured' },
    },
    NOW,
  );
  if (!fact) throw new Error('the study was not registered');
  return studyDecider.evolve({ status: 'unregistered' }, eventOf(fact, 0));
}

/** Microseconds per allocation. */
function time(base: StudyState, allocations: number, withRecord: boolean, levels = randomLevels): number {
  const started = performance.now();
  for (let done = 0; done < allocations; done += BATCH) {
    let state = studyDecider.fork(base);
    for (let i = 0; i < BATCH; i++) state = allocateOne(state, `new-${done + i}`, i + 1, withRecord, levels);
  }
  return ((performance.now() - started) * 1000) / allocations;
}

export function allocateOne(
  state: StudyState,
  participantId: string,
  revision: number,
  withRecord: boolean,
  levels = randomLevels,
): StudyState {
  const command = { type: 'randomize', participantId, levels: levels(), user: 'bench' } as const;
  const { fact } = studyDecider.decide(state, command, NOW);
  if (!fact) throw new Error('a new participant was not randomized');
  const event = eventOf(fact, revision);
  if (withRecord) encodeRecord(event, fact, tools.newSalt);
  return studyDecider.evolve(state, event);
}

type StudyFact = NonNullable<ReturnType<typeof studyDecider.decide>['fact']>;

export function eventOf(fact: StudyFact, revision: number): LogEvent {
  const at = tools.now().toISOString();
  return { id: tools.newId(), log: LOG_ID, stream: `study-${LOG_ID}`, revision, at, actor: ACTOR, ...fact };
}
