/** What applies to later events of a study unless its registration says something else. These defaults never change. */
import type { Policies, StudyConfiguration } from '../../events/study.ts';

/**
 * In a study whose sites know the arms, the discovery of a wrong level can depend on the arm, and would then steer the
 * next allocations. So by default the urns keep the level as randomized there.
 */
export function defaultLevelCounts(
  blinding: StudyConfiguration['blinding'],
): NonNullable<Policies['levelCounts']> {
  return blinding === 'blinded' ? 'as-corrected' : 'as-randomized';
}
