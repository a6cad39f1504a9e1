/** A study's configuration as it was registered, and whether it takes participants now. */
import type { StudyConfiguration } from '../events/study.ts';
import type { Projection } from './projection.ts';

export interface RegisteredStudy {
  readonly studyId: string;
  readonly configuration: StudyConfiguration;
  /** Decimal. Whoever knows it can compute every assignment: for `audit` only. */
  readonly seed: string;
  readonly seedSource: 'configured' | 'drawn';
  readonly seedWeak: boolean;
  readonly registeredAt: string;
  /** Why it is paused; undefined while it takes participants. */
  readonly paused: { readonly reason: string; readonly at: string } | undefined;
}

export const studyConfig: Projection<RegisteredStudy | undefined> = {
  name: 'study-config',
  stream: 'study',
  initial: () => undefined,
  apply(state, event) {
    switch (event.type) {
      case 'StudyRegistered': {
        const { studyId, configuration, seedSource, seedWeak } = event.data;
        const { seed } = event.sections.generator;
        return {
          studyId,
          configuration,
          seed,
          seedSource,
          seedWeak,
          registeredAt: event.at,
          paused: undefined,
        };
      }
      case 'StudyPaused':
        return state && { ...state, paused: { reason: event.data.reason, at: event.at } };
      case 'StudyResumed':
        return state && { ...state, paused: undefined };
      default:
        return state;
    }
  },
};
