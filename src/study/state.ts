/** The state that a study's decisions depend on, folded from its events. */
import type { LogEvent } from '../../events/record.ts';
import type { BgState, StudyConfiguration } from '../../events/study.ts';
import type { Projection } from '../../projections/projection.ts';
import { Counts } from '../urn/counts.ts';
import { ForkableMap } from './forkable-map.ts';

export interface Enrolled {
  readonly participantId: string;
  readonly levels: readonly string[];
}

export interface RegisteredState {
  readonly status: 'open' | 'paused';
  readonly configuration: StudyConfiguration;
  /** The index of each level, per factor. */
  readonly levelIndexes: readonly ReadonlyMap<string, number>[];
  readonly counts: Counts;
  /** State of the generator after the last allocation. */
  readonly bgState: BgState;
  /** Number of the log's recovery after which the generator was last restarted; 0 if it never was. */
  readonly recovery: number;
  readonly enrolled: ForkableMap<string, Enrolled>;
  /** By `requestKey`: the participant that a request with an idempotency key enrolled. */
  readonly requests: ForkableMap<string, Enrolled>;
}

export type StudyState = { readonly status: 'unregistered' } | RegisteredState;

export function requestKey(user: string, idempotencyKey: string): string {
  return JSON.stringify([user, idempotencyKey]);
}

export function evolve(state: StudyState, event: LogEvent): StudyState {
  if (event.type === 'StudyRegistered') {
    if (state.status !== 'unregistered') throw new Error('a study was registered twice');
    const { configuration } = event.data;
    return {
      status: 'open',
      configuration,
      levelIndexes: configuration.factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i]))),
      counts: new Counts(configuration),
      bgState: event.sections.generator.bgState,
      recovery: 0,
      enrolled: new ForkableMap(),
      requests: new ForkableMap(),
    };
  }
  if (state.status === 'unregistered') throw new Error(`${event.type} comes before StudyRegistered`);
  switch (event.type) {
    case 'ParticipantRandomized':
      return enrol(state, event);
    case 'StudyPaused':
      return { ...state, status: 'paused' };
    case 'StudyResumed':
      return { ...state, status: 'open' };
    case 'StudyRecovered':
      return { ...state, bgState: event.sections.generator.bgState, recovery: event.data.recovery };
    default:
      throw new Error(`${event.type} does not belong in a study's stream`);
  }
}

function enrol(
  state: RegisteredState,
  event: Extract<LogEvent, { type: 'ParticipantRandomized' }>,
): RegisteredState {
  const { participantId } = event.data;
  if (state.enrolled.get(participantId)) throw new Error('a participant was randomized twice');
  const levels = event.data.levels.map(({ level }) => level);
  const enrolled = { participantId, levels };
  state.counts.add(
    levelIndexes(state, levels),
    state.configuration.treatments.indexOf(event.sections.allocation.treatment),
  );
  state.enrolled.set(participantId, enrolled);
  const { request } = event.sections;
  if (request) state.requests.set(requestKey(event.actor.user, request.idempotencyKey), enrolled);
  return { ...state, bgState: event.sections.draw.bgStateAfter };
}

/** @throws RangeError when a level is not in the configuration */
export function levelIndexes(state: RegisteredState, levels: readonly string[]): number[] {
  return levels.map((level, factor) => {
    const index = state.levelIndexes[factor]?.get(level);
    if (index === undefined) throw new RangeError(`level of factor ${factor} is not in the configuration`);
    return index;
  });
}

/** A state to decide a batch against. It may be dropped. The original must not change while the fork is in use. */
export function fork(state: StudyState): StudyState {
  if (state.status === 'unregistered') return state;
  return {
    ...state,
    counts: state.counts.fork(),
    enrolled: state.enrolled.fork(),
    requests: state.requests.fork(),
  };
}

/** The decider's state. The runner folds it like every read model. */
export const studyState: Projection<StudyState> = {
  name: 'study-state',
  stream: 'study',
  initial: () => ({ status: 'unregistered' }),
  apply: evolve,
};
