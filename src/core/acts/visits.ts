/** What the acts about packs of visits have in common. */
import { type Design, declaredVisit, revealsArm } from '../model/design.ts';
import { type StudyOutcome, unfit } from '../model/outcomes.ts';
import type { ParticipantContext } from './act.ts';

export function inDeclaredSpelling(visit: string, design: Pick<Design, 'visits'>): string {
  return declaredVisit(design, visit) ?? visit;
}

/** Visits that the study does not have are for whoever supplies packs. No visit tells an arm. */
export function undeclaredProblem(
  { by, model: { design } }: ParticipantContext<unknown>,
  field: string,
  visit: string,
): StudyOutcome | undefined {
  if (declaredVisit(design, visit) !== undefined) return undefined;
  if (by.isSupply)
    return revealsArm(visit, design.treatments)
      ? unfit([{ field, why: 'is, or contains, the name of an arm' }])
      : undefined;
  const { visits } = design;
  const known = visits.length > 0 ? `one of ${visits.join(', ')}` : 'the study has no visits';
  return unfit([{ field, why: `${known} (others need a key with the scope supply)` }]);
}
