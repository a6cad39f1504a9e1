/**
 * The design of a study as it is in force: the registration, with everything that has changed since. Defaults are written
 * out. It names no participant and no count.
 */
import type { Policies, StudyConfiguration } from '../events/study.ts';
import type { Protocol } from '../events/text.ts';
import type { Projection } from './projection.ts';

/** Which level the urns count after a correction, if the registration does not say. This default never changes. */
export function defaultLevelCounts(
  blinding: StudyConfiguration['blinding'],
): NonNullable<Policies['levelCounts']> {
  // Where sites know the arms, finding a wrong level can depend on the arm, and would then steer the next allocations.
  return blinding === 'blinded' ? 'as-corrected' : 'as-randomized';
}

export interface Design {
  readonly treatments: readonly string[];
  readonly factors: StudyConfiguration['factors'];
  readonly D: StudyConfiguration['D'];
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
  readonly idPattern: string | undefined;
  readonly target: number | undefined;
  readonly blinding: 'open' | 'blinded';
  readonly limits: StudyConfiguration['limits'];
  readonly policies: {
    readonly stopAtLimit: boolean;
    readonly levelCounts: 'as-randomized' | 'as-corrected';
    readonly voidCounts: 'kept' | 'removed';
    readonly forcedCounts: 'counted' | 'not-counted';
  };
  readonly protocol: Protocol | undefined;
}

export const design: Projection<Design | undefined> = {
  name: 'design',
  stream: 'study',
  initial: () => undefined,
  apply(state, event) {
    if (event.type === 'StudyRegistered') return registered(event.data.configuration);
    if (event.type !== 'StudyReopened' || !event.data.protocol || !state) return state;
    return { ...state, protocol: event.data.protocol };
  },
};

function registered(configuration: StudyConfiguration): Design {
  const { treatments, factors, D, w, alpha, beta, idPattern, targetEnrollment } = configuration;
  const { blinding, limits, policies = {}, protocol } = configuration;
  return {
    ...{ treatments, factors, D, w, alpha, beta, idPattern, target: targetEnrollment },
    ...{ blinding: blinding ?? 'open', limits, protocol },
    policies: {
      stopAtLimit: policies.stopAtLimit ?? false,
      levelCounts: policies.levelCounts ?? defaultLevelCounts(blinding),
      voidCounts: policies.voidCounts ?? 'kept',
      forcedCounts: policies.forcedCounts ?? 'counted',
    },
  };
}
