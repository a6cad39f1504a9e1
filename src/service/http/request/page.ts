/** Which part of a list of participants is wanted, and in which order: the parameters `urn.limit`, `urn.from` and others. */
import { parseRevision, REVISION_FORM } from '../../../evidence/history/history.ts';
import type { Query } from './query.ts';

const MAX_LIMIT = 1000;
/** The longest text to search for: as long as an id. */
const MAX_SEARCH = 128;
const ORDERS = ['asc', 'desc'] as const;
/** With any of these, the answer says how many participants there are on all pages. */
const COUNTED = ['urn.limit', 'urn.sort', 'urn.order', 'urn.search', 'urn.offset'] as const;

export interface Page {
  /** Participants randomized at this revision or later. */
  readonly from: number;
  /** How many participants at most, or undefined for all. */
  readonly limit: number | undefined;
  /** How many participants come before the page. */
  readonly offset: number;
  readonly isDescending: boolean;
  /** Part of the id, as `searchForm` makes it. */
  readonly search: string | undefined;
  /** Whether all participants on the list are counted, including those before and after the page. */
  readonly isCounted: boolean;
  /** Whether `urn.from` can say where the next page begins. */
  readonly continuesByRevision: boolean;
}

/** The page that the request asks for. Any problem with it is added to `problems`. */
export function pageOf(query: Query, problems: string[]): Page {
  const from = parseRevision(query.get('urn.from') ?? '0');
  if (from === undefined) problems.push(`urn.from is not ${REVISION_FORM}`);
  const asked = query.get('urn.limit');
  const limit = asked === undefined ? undefined : (parseRevision(asked) ?? 0);
  if (limit !== undefined && (limit < 1 || limit > MAX_LIMIT))
    problems.push(`urn.limit is not a whole number from 1 to ${MAX_LIMIT}`);
  const offset = parseRevision(query.get('urn.offset') ?? '0');
  if (offset === undefined) problems.push(`urn.offset is not ${REVISION_FORM}`);
  if (query.has('urn.offset') && asked === undefined)
    problems.push('urn.offset needs urn.limit, which says how long a page is');
  const order = query.get('urn.order') ?? 'asc';
  if (!ORDERS.some((one) => one === order)) problems.push(`urn.order must be ${ORDERS.join(' or ')}`);
  const isByTime = (query.get('urn.sort') ?? 'time') === 'time' && order === 'asc';
  const continuesByRevision = isByTime && !query.has('urn.offset');
  if (query.has('urn.from') && !continuesByRevision)
    problems.push(
      'urn.from is a place in the order of randomization, and cannot be combined with urn.offset or another order (hint: leave urn.from out, and page with urn.offset and urn.limit)',
    );
  return {
    from: from ?? 0,
    limit,
    offset: offset ?? 0,
    isDescending: order === 'desc',
    search: searchOf(query, problems),
    isCounted: !query.has('urn.from') && COUNTED.some((name) => query.has(name)),
    continuesByRevision,
  };
}

function searchOf(query: Query, problems: string[]): string | undefined {
  const asked = query.get('urn.search');
  if (asked === undefined) return undefined;
  if (asked === '') problems.push('urn.search is empty (hint: leave it out)');
  if ([...asked].length > MAX_SEARCH) problems.push(`urn.search has more than ${MAX_SEARCH} characters`);
  return searchForm(asked);
}

/** A search for an id ignores case, and how a keyboard composes accents. */
export function searchForm(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
