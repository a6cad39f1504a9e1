/** The state of a study that decisions depend on: its model, once it is registered. */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { Actor, LogEvent, PartialEvent } from '../../../events/record.ts';
import type { Projection } from '../../../projections/runner.ts';
import { forkOf, type Model } from '../model/model.ts';
import { fold, modelOf } from './fold.ts';

export type StudyState = { readonly status: 'unregistered' } | Model;

/** Changes the given state in place, once there is a study. */
export function evolve(state: StudyState, event: PartialEvent): StudyState {
  if (event.type === 'StudyRegistered') {
    if (state.status !== 'unregistered') throw new Error('a study was registered twice');
    return modelOf(event);
  }
  if (state.status === 'unregistered') throw new Error(`${event.type} comes before StudyRegistered`);
  fold(state, event);
  return state;
}

export function fork(state: StudyState): StudyState {
  return state.status === 'unregistered' ? state : forkOf(state);
}

/** Folds a record that is not written. @param model is changed, so pass a fork */
export function afterUnwritten(model: Model, fact: StudyFact, revision: number): Model {
  const actor: Actor = { cli: true, user: '' };
  // A fact has all that a fold reads of an event but for these members.
  fold(model, { ...fact, revision, actor, at: '' } as LogEvent);
  return model;
}

/** The one projection of a study. Whatever shows a study selects from it (views.ts). */
export const studyState: Projection<StudyState> = {
  name: 'study-state',
  stream: 'study',
  initial: () => ({ status: 'unregistered' }),
  apply: evolve,
};
