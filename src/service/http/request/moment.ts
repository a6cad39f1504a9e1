/** The parameters `urn.revision` and `urn.at`: a study as it was at a moment, for keys with the scope `audit`. */
import type { Readable } from '../../../../projections/runner.ts';
import type { Past } from '../../../evidence/history/history.ts';
import {
  INSTANT_FORM,
  isBeyond,
  type Moment,
  parseInstant,
  parseRevision,
  REVISION_FORM,
} from '../../../evidence/history/history.ts';
import { HttpProblem } from './problem.ts';
import type { Services } from './services.ts';
import type { StudyRequest } from './study-request.ts';

/**
 * The moment that a request asks about, or undefined for now. Any problem with it is added to `problems`.
 * @throws HttpProblem 403 without the scope `audit`
 */
export function momentOf({ query, accepted, study }: StudyRequest, problems: string[]): Moment | undefined {
  const revision = query.get('urn.revision');
  const at = query.get('urn.at');
  if (revision === undefined && at === undefined) return undefined;
  if (!accepted.key.scopes.includes('audit'))
    throw new HttpProblem(403, 'This API key lacks the scope audit, which urn.revision and urn.at need');
  if (revision !== undefined && at !== undefined) {
    problems.push('urn.revision and urn.at cannot be combined');
    return undefined;
  }
  if (revision !== undefined) {
    const wanted = parseRevision(revision);
    if (wanted === undefined) problems.push(`urn.revision is not ${REVISION_FORM}`);
    else if (wanted > study.revision)
      problems.push(`urn.revision is beyond the study, which is at revision ${study.revision}`);
    return wanted === undefined ? undefined : { type: 'revision', revision: wanted };
  }
  const instant = parseInstant(at ?? '');
  const { registeredAt } = study.registered;
  if (instant === undefined) problems.push(`urn.at is not ${INSTANT_FORM}`);
  else if (instant < registeredAt)
    problems.push(`urn.at is before the study, which was registered at ${registeredAt}`);
  return instant === undefined ? undefined : { type: 'instant', at: instant };
}

/** The study at that moment. @throws DomainError as `History.foldUntil` does */
export function studyAt<P extends Readonly<Record<string, Readable<unknown>>>>(
  { history }: Services,
  { study }: StudyRequest,
  moment: Moment,
  projections: P,
): Promise<Past<P>> {
  return history.foldUntil(study.stream, projections, isBeyond(moment));
}
