/** The state that a study's decisions depend on, folded from its events. */
import type { LogEvent } from '../../events/record.ts';
import type { BgState } from '../../events/study.ts';
import { countedLevels, isCorrection, type WholeCorrection } from '../../projections/enrolled.ts';
import type { Projection } from '../../projections/projection.ts';
import { Counts } from '../urn/counts.ts';
import { type Allocated, forkOfLife, type Life, lifeAfter, newLife } from './life.ts';

export interface RegisteredState extends Life {
  /** The index of each level, per factor. */
  readonly levelIndexes: readonly ReadonlyMap<string, number>[];
  readonly counts: Counts;
  /** State of the generator after the last allocation. Changed in place: a copy for each allocation would cost more. */
  bgState: BgState;
}

export type StudyState = { readonly status: 'unregistered' } | RegisteredState;

export function evolve(state: StudyState, event: LogEvent): StudyState {
  if (event.type === 'StudyRegistered') {
    if (state.status !== 'unregistered') throw new Error('a study was registered twice');
    const { configuration } = event.data;
    return {
      ...newLife(configuration),
      levelIndexes: configuration.factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i]))),
      counts: new Counts(configuration),
      bgState: event.sections.generator.bgState,
    };
  }
  if (state.status === 'unregistered') throw new Error(`${event.type} comes before StudyRegistered`);
  if (isCorrection(event)) return correct(state, event);
  const after = lifeAfter(state, event);
  switch (event.type) {
    case 'ParticipantRandomized': {
      const { treatment } = event.sections.allocation;
      const levels = levelIndexes(
        state,
        event.data.levels.map(({ level }) => level),
      );
      after.counts.add(levels, after.configuration.treatments.indexOf(treatment));
      after.bgState = event.sections.draw.bgStateAfter;
      return after;
    }
    case 'StudyRecovered':
      return { ...after, bgState: event.sections.generator.bgState };
    default:
      return after;
  }
}

/** Moves the participant in the urns, if the correction does. */
function correct(state: RegisteredState, event: WholeCorrection): RegisteredState {
  const { participantId } = event.data;
  const before = state.enrolled.get(participantId);
  const after = lifeAfter(state, event);
  if (before) count(after, before, -1);
  const corrected = after.enrolled.get(participantId);
  if (corrected) count(after, corrected, 1);
  return after;
}

function count(state: RegisteredState, participant: Allocated, by: 1 | -1): void {
  const levels = countedLevels(participant);
  if (levels) state.counts.add(levelIndexes(state, levels), participant.arm, by);
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
  return { ...forkOfLife(state), counts: state.counts.fork() };
}

/** The decider's state. The runner folds it like every read model. */
export const studyState: Projection<StudyState> = {
  name: 'study-state',
  stream: 'study',
  initial: () => ({ status: 'unregistered' }),
  apply: evolve,
};
