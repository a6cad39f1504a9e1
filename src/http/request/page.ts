/** The parameters `urn.limit` and `urn.from`: a list of participants in pages. */
import { parseRevision, REVISION_FORM } from '../../history/moment.ts';
import type { Query } from './query.ts';

const MOST = 1000;

export interface Page {
  /** Participants randomized at this revision or later. */
  readonly from: number;
  /** At most so many; undefined: all. */
  readonly limit: number | undefined;
}

/** The page that is asked for. What is wrong with it is added to the problems. */
export function pageOf(query: Query, problems: string[]): Page {
  const from = parseRevision(query.get('urn.from') ?? '0');
  if (from === undefined) problems.push(`urn.from is not ${REVISION_FORM}`);
  const asked = query.get('urn.limit');
  const limit = asked === undefined ? undefined : (parseRevision(asked) ?? 0);
  if (limit !== undefined && (limit < 1 || limit > MOST))
    problems.push(`urn.limit is not a whole number from 1 to ${MOST}`);
  return { from: from ?? 0, limit };
}
