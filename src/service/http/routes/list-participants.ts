/**
 * GET /study_participants: all participants of a study, those with some levels, or a page of them; now, or as they were at a
 * moment. The work on a long list is done in slices, so that other requests get their turns. What is listed stays as it was at
 * the start, although the study grows and is amended meanwhile.
 */
import type { Scope } from '../../../../events/access.ts';
import type { Design, Factor } from '../../../core/model/design.ts';
import { isWithin } from '../../../core/model/key-limits.ts';
import {
  currentId,
  currentLevels,
  type Participant,
  type Participants,
} from '../../../core/model/participants.ts';
import { design, hasVisits, participants } from '../../../core/study/fold.ts';
import { type Moment, parseRevision, REVISION_FORM } from '../../../evidence/history/history.ts';
import { filteredInTurns, type Turn } from '../request/in-progress.ts';
import {
  BG_STATE_PARAMETER,
  ERRORS,
  EXAMPLE_RECORD,
  EXCEL_PARAMETER,
  idParameter,
  levelParameters,
  MIN_REVISION,
  MOMENT,
  operation,
  RECORDS,
  STUDY,
  URN_NEXT,
  VARY,
} from '../request/openapi-operation.ts';
import { type Query, refuseProblems, VIEW } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import {
  momentOf,
  type Services,
  type StudyReply,
  type StudyRequest,
  scopesShown,
  statesIn,
  studyAt,
  studyHandler,
} from '../request/study-request.ts';
import {
  BARE_CSV,
  CSV,
  isForExcel,
  levelsShown,
  type RecordView,
  SHOWN_LEVELS,
  SLICE,
  type SortedBy,
  type StudyView,
  wantsCsv,
} from '../request/study-view.ts';

/** The longest page. */
const MAX_LIMIT = 1000;
/** The longest text to search for: as long as an id. */
const MAX_SEARCH = 128;
const ORDERS = ['asc', 'desc'] as const;

const PAGE_OPTIONS = [
  {
    name: 'urn.limit',
    in: 'query',
    description:
      'Maximum number of participants in the response. The header Urn-Next says where the next page begins, in the order of randomization and without urn.offset.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
  },
  {
    name: 'urn.from',
    in: 'query',
    description:
      'Only participants randomized at this revision or later. For pages that are consistent while the study grows, give each request the same urn.revision.',
    schema: { type: 'integer', minimum: 0 },
  },
  {
    name: 'urn.offset',
    in: 'query',
    description:
      'How many participants of the sorted and filtered list come before the page. Needs urn.limit, and cannot be combined with urn.from.',
    schema: { type: 'integer', minimum: 0 },
  },
  {
    name: 'urn.sort',
    in: 'query',
    description:
      'What the list is sorted by: `time`, the order of randomization (default); `id`, with numbers in ids compared as numbers; `f_` and the name of a factor, with its levels in the order of the configuration. Ties stay in the order of randomization. There is no order by treatment.',
    schema: { type: 'string' },
    example: 'f_local_site',
  },
  {
    name: 'urn.order',
    in: 'query',
    description: '`desc` reverses the whole list. By default `asc`.',
    schema: { type: 'string', enum: ORDERS },
  },
  {
    name: 'urn.search',
    in: 'query',
    description:
      'Only participants whose id contains this text, or whose id as randomized does if it was corrected. Case is ignored.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_SEARCH },
  },
];

const URN_TOTAL = {
  'Urn-Total': {
    description:
      'How many participants are on all pages of the list. Given with urn.limit, urn.offset, urn.sort, urn.order or urn.search, unless there is urn.from.',
    schema: { type: 'integer' },
  },
};

const VIEW_PARAMETER = {
  name: VIEW,
  in: 'query',
  description:
    'Which levels the records show, and the filters mean: the current ones (default), or those as randomized. Either way they have their current names, or those of the moment asked for. Each record then has `urn.sequence` and `urn.revision`.',
  schema: { type: 'string', enum: SHOWN_LEVELS },
};

const EXAMPLE_CSV = [
  'sequence,revision,id,id_as_randomized,f_sex,randomized_f_sex,treatment,randomized_at,occurred_at,user,on_behalf_of,kind,voided_cause,pack_code',
  '1,1,001,001,Male,Male,RMC-Q,2021-02-10T00:01:08.417Z,,site-30,,drawn,,',
  '',
].join('\r\n');

export const listParticipantsOperation = operation(
  'List participants, by default in the order of randomization',
  'listParticipants',
  ['read', 'blinded'],
  {
    parameters: [
      STUDY,
      idParameter(false),
      levelParameters('Only participants with these levels'),
      MIN_REVISION,
      ...MOMENT,
      ...PAGE_OPTIONS,
      BG_STATE_PARAMETER,
      VIEW_PARAMETER,
      EXCEL_PARAMETER,
    ],
    result: RECORDS,
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: {
      ...URN_NEXT,
      ...URN_TOTAL,
      ...VARY,
    },
    content: {
      [CSV]: {
        schema: {
          type: 'string',
          description:
            'With `Accept: text/csv`: RFC 4180, in UTF-8. The first line names the columns: sequence, revision, id, id_as_randomized, for each factor its current level (`f_<factor>`), for each factor its level as randomized (`randomized_f_<factor>`), treatment (with the scope `read`), randomized_at, occurred_at (for an allocation that was entered by hand), user, on_behalf_of, kind, voided_cause, pack_code (the pack that the participant has) and, if the study ever had visits, packs (those of visits: `V2=104233; V3=104518`). No generator states. Errors are JSON.',
        },
        example: EXAMPLE_CSV,
      },
    },
    errors: ERRORS,
  },
);

interface ListOptions {
  readonly moment: Moment | undefined;
  readonly page: WantedPage;
  readonly scopes: readonly Scope[];
  readonly shown: RecordView;
  readonly isForExcel: boolean;
}

interface Selection {
  readonly id: string | undefined;
  /** Undefined: all participants are wanted. */
  readonly isWanted: ((participant: Participant) => boolean) | undefined;
  readonly sortedBy: SortedBy;
}

/** The study at the moment that is listed. Its parts stay consistent if it grows or is amended meanwhile. */
interface ListedStudy {
  readonly design: Design;
  readonly hasVisits: boolean;
  readonly participants: Participants;
  readonly revision: number;
}

export function listParticipants(services: Services) {
  const { lists } = services.limits;
  return studyHandler(services, ['read', 'blinded'], async (request) => {
    const options = optionsOf(request);
    // A list that is rendered in one slice delays nobody.
    if (mostExamined(services, request, options) > SLICE) {
      await lists.begin(request.accepted.key.keyId, request.response);
      if (options.moment) lists.beginPast(request.response);
    }
    const listed = await listedAt(services, request, options);
    const view = services.views.of(listed.design);
    const wanted = wantedIn(request, view, listed.design, options);
    const { turn } = request;
    const found = options.page.isCounted
      ? await countedPage(await inWantedOrder(listed, options, wanted, turn), options, wanted, turn)
      : await uncountedPage(candidates(listed.participants, options, wanted), options, wanted, turn);
    return listReply(request, view, options, found, listed);
  });
}

/** @throws HttpProblem 400 naming every problem at once, 403 */
function optionsOf(request: StudyRequest): ListOptions {
  const { query, view } = request;
  const problems: string[] = [];
  const moment = momentOf(request, problems);
  const page = pageOf(query, problems);
  const scopes = scopesShown(request, problems);
  const shown = shownBy(query, problems);
  const forExcel = isForExcel(request, problems);
  // The study may have had different levels at that moment.
  if (moment) refuseProblems(problems);
  else view().filter(query, problems);
  return { moment, page, scopes, shown, isForExcel: forExcel };
}

interface WantedPage {
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

/** With any of these, the answer says how many participants there are on all pages. */
const COUNTED_WITH = ['urn.limit', 'urn.sort', 'urn.order', 'urn.search', 'urn.offset'] as const;

/** The page that the request asks for. Any problem with it is added to `problems`. */
export function pageOf(query: Query, problems: string[]): WantedPage {
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
    isCounted: !query.has('urn.from') && COUNTED_WITH.some((name) => query.has(name)),
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

/** Adds any problem with the parameter to the list. */
function shownBy(query: StudyRequest['query'], problems: string[]): RecordView {
  const value = query.get(VIEW);
  const levels = SHOWN_LEVELS.find((one) => one === value);
  if (value !== undefined && levels === undefined)
    problems.push(`${VIEW} must be ${SHOWN_LEVELS.join(' or ')}`);
  return { levels: levels ?? 'current', place: value !== undefined };
}

/** How many participants must be examined for the list, as far as that is known before the study is read. */
function mostExamined(services: Services, request: StudyRequest, options: ListOptions): number {
  const { participants } = request;
  if (options.moment) return request.query.has('id') ? 1 : participants.inOrder.length;
  const inForce = request.design();
  const wanted = wantedIn(request, services.views.of(inForce), inForce, options);
  const isSorted = wanted.sortedBy !== 'time' && wanted.id === undefined;
  if (isSorted || (options.page.isCounted && wanted.isWanted && wanted.id === undefined))
    return participants.inOrder.length;
  return candidates(participants, options, wanted).length;
}

/** The study at the moment that is asked for, or now. */
async function listedAt(
  services: Services,
  request: StudyRequest,
  { moment }: ListOptions,
): Promise<ListedStudy> {
  if (moment) {
    const { states, revision } = await studyAt(services, request, moment, {
      ...{ design, hasVisits, participants },
    });
    if (!states.design) throw new Error('a moment of a study that is before its registration');
    return { ...states, design: states.design, revision };
  }
  const { runner } = services;
  const { stream } = request.study;
  return {
    design: request.design(),
    hasVisits: runner.state(hasVisits, stream),
    participants: runner.state(participants, stream),
    revision: runner.revision(stream),
  };
}

/** @throws HttpProblem 400 */
function wantedIn(
  { query, accepted: { key } }: StudyRequest,
  view: StudyView,
  inForce: Design,
  { page: { search }, shown }: ListOptions,
): Selection {
  const { id, levels: asked, sortedBy } = view.filter(query);
  const isAnyLevel = asked.every((level) => level === undefined);
  if (isAnyLevel && search === undefined && !key.where) return { id, isWanted: undefined, sortedBy };
  const isWanted = (participant: Participant) => {
    const levels = levelsShown(participant, shown.levels);
    const has = asked.every((level, i) => level === undefined || level === levels[i]);
    return has && isNamed(participant, search) && isWithin(key.where, inForce, currentLevels(participant));
  };
  return { id, isWanted, sortedBy };
}

function isNamed(participant: Participant, search: string | undefined): boolean {
  if (search === undefined) return true;
  const { participantId } = participant;
  const id = currentId(participant);
  return (
    searchForm(id).includes(search) || (id !== participantId && searchForm(participantId).includes(search))
  );
}

/** All participants, or the one with the id, in the order of the list. It is a copy, so it does not grow. */
async function inWantedOrder(
  { design: { factors }, participants: all }: ListedStudy,
  { page: { isDescending }, shown }: ListOptions,
  { id, sortedBy }: Selection,
  turn: Turn,
): Promise<readonly Participant[]> {
  if (id !== undefined) {
    const one = all.find(id);
    return one ? [one] : [];
  }
  let ordered: readonly Participant[];
  if (sortedBy === 'time') ordered = all.inOrder.slice();
  else {
    const compare =
      sortedBy === 'id'
        ? byId
        : byLevel(sortedBy.factor, factors[sortedBy.factor] ?? { levels: [] }, shown.levels);
    ordered = await sortedInTurns(all.inOrder, compare, turn);
  }
  return isDescending ? ordered.toReversed() : ordered;
}

type Compare = (a: Participant, b: Participant) => number;

/** Numbers in ids are compared as numbers. The locale is fixed, so that a list has the same order on every machine. */
const ID_COLLATOR = new Intl.Collator('en', { numeric: true });

/** Ids that compare as equal, such as 1 and 01, stay in the order of randomization. */
export const byId: Compare = (a, b) => ID_COLLATOR.compare(currentId(a), currentId(b));

/**
 * In the order of the configuration. Participants who came after the factor was retired have no level, and come last.
 */
export function byLevel(
  index: number,
  { levels }: Pick<Factor, 'levels'>,
  which: RecordView['levels'],
): Compare {
  const places = new Map(levels.map((level, place) => [level, place]));
  const place = (one: Participant) => places.get(levelsShown(one, which)[index] ?? '') ?? levels.length;
  return (a, b) => place(a) - place(b);
}

/** How many participants are sorted or merged before others get a turn: some 2 ms of comparing ids. */
export const SORTED_AT_ONCE = 1_000;

/** A sorted copy of the list as it is at the time of the call. Those that compare as equal keep their order. */
export async function sortedInTurns(
  list: readonly Participant[],
  compare: Compare,
  turn: Pick<Turn, 'slice'>,
): Promise<readonly Participant[]> {
  const runs: Participant[][] = [];
  for (let from = 0; from < list.length; from += SORTED_AT_ONCE)
    runs.push(list.slice(from, from + SORTED_AT_ONCE));
  for (const run of runs) await turn.slice(() => run.sort(compare));
  const merging = merged(runs, compare);
  const sorted: Participant[] = [];
  for (const { length } of runs)
    await turn.slice(() => {
      for (let n = 0; n < length; n++) sorted.push(merging.next().value as Participant);
    });
  return sorted;
}

function* merged(runs: readonly Participant[][], compare: Compare): Generator<Participant, undefined> {
  if (runs.length <= 1) {
    yield* runs[0] ?? [];
    return;
  }
  const half = Math.ceil(runs.length / 2);
  const others = merged(runs.slice(half), compare);
  let other = others.next();
  for (const one of merged(runs.slice(0, half), compare)) {
    for (; !other.done && compare(other.value, one) < 0; other = others.next()) yield other.value;
    yield one;
  }
  for (; !other.done; other = others.next()) yield other.value;
}

/** The participants among whom those on the list are found. It is a copy, so it does not grow. */
function candidates(
  participants: Participants,
  { page }: ListOptions,
  { id, isWanted }: Selection,
): readonly Participant[] {
  if (id !== undefined) {
    const one = participants.find(id);
    return one && one.revision >= page.from ? [one] : [];
  }
  const { inOrder } = participants;
  const start = firstFrom(inOrder, page.from);
  // One more than fits on the page shows whether there is a next page.
  return inOrder.slice(start, isWanted || page.limit === undefined ? undefined : start + page.limit + 1);
}

/** The index of the first participant randomized at the revision or later. */
function firstFrom(inOrder: readonly Participant[], revision: number): number {
  let [low, high] = [0, inOrder.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((inOrder[middle]?.revision ?? 0) < revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface FoundPage {
  readonly shown: readonly Participant[];
  /** The revision at which the next page begins. */
  readonly next: number | undefined;
  /** How many participants all pages have. */
  readonly total?: number;
}

async function countedPage(
  among: readonly Participant[],
  { page }: ListOptions,
  { isWanted }: Selection,
  turn: Turn,
): Promise<FoundPage> {
  const found = isWanted ? await filteredInTurns(among, isWanted, turn) : among;
  const { offset, limit = found.length, continuesByRevision } = page;
  return {
    shown: found.slice(offset, offset + limit),
    next: continuesByRevision ? found[limit]?.revision : undefined,
    total: found.length,
  };
}

async function uncountedPage(
  among: readonly Participant[],
  { page: { limit = among.length } }: ListOptions,
  { isWanted }: Selection,
  turn: Turn,
): Promise<FoundPage> {
  const found = isWanted ? await filteredInTurns(among, isWanted, turn) : among;
  return { shown: found.slice(0, limit), next: found[limit]?.revision };
}

function listReply(
  { http }: StudyRequest,
  view: StudyView,
  { scopes, shown: levels, isForExcel: forExcel }: ListOptions,
  { shown, next, total }: FoundPage,
  listed: ListedStudy,
): StudyReply {
  const { hasVisits: withVisits, revision } = listed;
  const common = {
    status: 200,
    message: SUCCESS,
    revision,
    headers: {
      Vary: 'Accept',
      ...(next !== undefined && { 'Urn-Next': String(next) }),
      ...(total !== undefined && { 'Urn-Total': String(total) }),
    },
  };
  if (wantsCsv(http)) {
    const table = { isForExcel: forExcel, hasVisits: withVisits };
    return { ...common, results: view.csvSlices(shown, scopes, table), frame: BARE_CSV };
  }
  return {
    ...common,
    results: shown.length > SLICE ? view.slices(shown, scopes, levels) : view.records(shown, scopes, levels),
    discloses: statesIn(shown, scopes, revision),
  };
}
