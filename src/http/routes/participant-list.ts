/** GET /study_participants: all of them, those of some levels, or a page. */
import type { Scope } from '../../../events/access.ts';
import { type Participant, type Participants, participants } from '../../../projections/participants.ts';
import type { Moment } from '../../history/moment.ts';
import { scopesShown, statesIn } from '../request/generator-states.ts';
import type { Lists } from '../request/key-limits.ts';
import { momentOf, studyAt } from '../request/moment.ts';
import { type Page, pageOf } from '../request/page.ts';
import { SUCCESS } from '../request/reply.ts';
import {
  type StudyReply,
  type StudyRequest,
  type StudyRoutes,
  studyHandler,
  withinLimits,
} from '../request/study-request.ts';
import { type Filter, SLICE } from '../request/study-view.ts';

interface Asked {
  readonly moment: Moment | undefined;
  readonly page: Page;
  readonly wanted: Filter;
  readonly scopes: readonly Scope[];
  /** Undefined: everybody is. */
  readonly isWanted: ((participant: Participant) => boolean) | undefined;
}

export function listParticipants(routes: StudyRoutes) {
  return studyHandler(routes, ['read', 'blinded'], async (request) => {
    const asked = askedFor(request);
    const { lists } = routes.limits;
    // What is rendered in one slice holds nobody up.
    if (candidates(request.participants, asked).length > SLICE) {
      await lists.begin(request.accepted.key.keyId, request.response);
      if (asked.moment) lists.beginPast(request.response);
    }
    const { among, revision } = await listAt(routes, request, asked);
    return listed(request, asked, { among, revision }, lists);
  });
}

/** @throws HttpProblem 400 naming every problem at once, 403 */
function askedFor(request: StudyRequest): Asked {
  const { query, accepted, study, view } = request;
  const problems: string[] = [];
  const moment = momentOf(request, problems);
  const page = pageOf(query, problems);
  const scopes = scopesShown(request, problems);
  const wanted = view.filter(query, problems);
  const isUnfiltered = wanted.levels.every((level) => level === undefined) && !accepted.key.where;
  const isWanted = ({ levels }: Participant) =>
    wanted.levels.every((level, i) => level === undefined || level === levels[i]) &&
    withinLimits(accepted.key, study, levels);
  return { moment, page, wanted, scopes, isWanted: isUnfiltered ? undefined : isWanted };
}

/** Who may be on the list, and the revision at which they were. The study may have grown since the request came. */
async function listAt(
  routes: StudyRoutes,
  request: StudyRequest,
  asked: Asked,
): Promise<{ among: readonly Participant[]; revision: number }> {
  const { stream } = request.study;
  if (asked.moment) {
    const { states, revision } = await studyAt(routes, request, asked.moment, { participants });
    return { among: candidates(states.participants, asked), revision };
  }
  const { runner } = routes;
  return { among: candidates(runner.state(participants, stream), asked), revision: runner.revision(stream) };
}

/** Those among whom the list is to be found: a copy, which does not grow. */
function candidates(
  { inOrder, byId }: Participants,
  { page, wanted, isWanted }: Asked,
): readonly Participant[] {
  if (wanted.id !== undefined) {
    const one = byId.get(wanted.id);
    return one && one.revision >= page.from ? [one] : [];
  }
  const start = firstFrom(inOrder, page.from);
  // One more than the page has tells whether there is another page.
  return inOrder.slice(start, isWanted || page.limit === undefined ? undefined : start + page.limit + 1);
}

/** Index of the first participant that was randomized at the revision or later. */
function firstFrom(inOrder: readonly Participant[], revision: number): number {
  let [low, high] = [0, inOrder.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((inOrder[middle]?.revision ?? 0) < revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function listed(
  { view }: StudyRequest,
  { page, scopes, isWanted }: Asked,
  { among, revision }: { among: readonly Participant[]; revision: number },
  lists: Lists,
): Promise<StudyReply> {
  const { limit = among.length } = page;
  const found = isWanted ? await matching(among, isWanted, limit + 1, lists) : among;
  const shown = found.slice(0, limit);
  const next = found[limit]?.revision;
  return {
    status: 200,
    message: SUCCESS,
    revision,
    headers: next === undefined ? {} : { 'Urn-Next': String(next) },
    results: shown.length > SLICE ? view.slices(shown, scopes) : view.records(shown, scopes),
    discloses: statesIn(shown, scopes, revision),
  };
}

/** How many are looked at without letting others in between: about as much work as rendering a slice. */
const LOOKED_AT = 10 * SLICE;

/** The first of them that are wanted. */
async function matching(
  among: readonly Participant[],
  isWanted: (participant: Participant) => boolean,
  most: number,
  lists: Lists,
): Promise<Participant[]> {
  const found: Participant[] = [];
  for (let from = 0; from < among.length && found.length < most; from += LOOKED_AT) {
    if (from > 0) await lists.slice(() => undefined);
    found.push(...among.slice(from, from + LOOKED_AT).filter(isWanted));
  }
  return found.slice(0, most);
}
