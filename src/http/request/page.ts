/** The parameters `urn.limit` and `urn.from`: one page of a list of participants. */
import { parseRevision, REVISION_FORM } from '../../history/moment.ts';
import type { Query } from './query.ts';

const MAX_LIMIT = 1000;

export interface Page {
  /** Participants randomized at this revision or later. */
  readonly from: number;
  /** How many participants at most, or undefined for all. */
  readonly limit: number | undefined;
}

/** The page that the request asks for. Any problem with it is added to `problems`. */
export function pageOf(query: Query, problems: string[]): Page {
  const from = parseRevision(query.get('urn.from') ?? '0');
  if (from === undefined) problems.push(`urn.from is not ${REVISION_FORM}`);
  const asked = query.get('urn.limit');
  const limit = asked === undefined ? undefined : (parseRevision(asked) ?? 0);
  if (limit !== undefined && (limit < 1 || limit > MAX_LIMIT))
    problems.push(`urn.limit is not a whole number from 1 to ${MAX_LIMIT}`);
  return { from: from ?? 0, limit };
}
