/** GET /study_participants: all participants of a study, those with some levels, or a page of them. */
import type { Scope } from '../../../events/access.ts';
import { type Participant, type Participants, participants } from '../../../projections/participants.ts';
import type { Moment } from '../../history/moment.ts';
import { CSV, wantsCsv } from '../request/accept.ts';
import {
  BG_STATE,
  idParameter,
  MIN_REVISION,
  MOMENT,
  STUDY,
  URN_NEXT,
} from '../request/documented-parameters.ts';
import { scopesShown, statesIn } from '../request/generator-states.ts';
import type { Lists } from '../request/key-limits.ts';
import { momentOf, studyAt } from '../request/moment.ts';
import { ERRORS, operation } from '../request/operation.ts';
import { type Page, pageOf } from '../request/page.ts';
import { VIEW } from '../request/parameters.ts';
import { bare, SUCCESS } from '../request/reply.ts';
import type { Services } from '../request/services.ts';
import { mayKnowOf, type StudyReply, type StudyRequest, studyHandler } from '../request/study-request.ts';
import { type Filter, levelsShown, SHOWN_LEVELS, type Shown, SLICE } from '../request/study-view.ts';
import { EXAMPLE_RECORD, levelParameters, RECORDS } from './participant-parts.ts';

const PAGE = [
  {
    name: 'urn.limit',
    in: 'query',
    description:
      'Maximum number of participants in the response. The header Urn-Next says where the next page begins.',
    schema: { type: 'integer', minimum: 1, maximum: 1000 },
  },
  {
    name: 'urn.from',
    in: 'query',
    description:
      'Only participants randomized at this revision or later. For pages that agree with each other while the study grows, give each request the same urn.revision.',
    schema: { type: 'integer', minimum: 0 },
  },
];

const VIEW_PARAMETER = {
  name: VIEW,
  in: 'query',
  description:
    'Which levels the records show, and the filters mean: the current ones (default), or those as randomized. Each record then has `urn.sequence` and `urn.revision`.',
  schema: { type: 'string', enum: SHOWN_LEVELS },
};

const EXAMPLE_CSV = [
  'sequence,revision,id,id_as_randomized,f_sex,randomized_f_sex,treatment,randomized_at,user,on_behalf_of,kind,voided_cause',
  '1,1,001,001,Male,Male,RMC-Q,2021-02-10T00:01:08.417Z,site-30,,drawn,',
  '',
].join('\r\n');

export const listParticipantsOperation = operation(
  'List participants, in the order of randomization',
  'listParticipants',
  ['read', 'blinded'],
  {
    parameters: [
      STUDY,
      idParameter(false),
      levelParameters('Only participants with these levels'),
      MIN_REVISION,
      ...MOMENT,
      ...PAGE,
      BG_STATE,
      VIEW_PARAMETER,
    ],
    result: RECORDS,
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: {
      ...URN_NEXT,
      Vary: { description: 'What the response depends on besides the URL', schema: { const: 'Accept' } },
    },
    content: {
      [CSV]: {
        schema: {
          type: 'string',
          description:
            'With `Accept: text/csv`: RFC 4180, in UTF-8. The first line names the columns: sequence, revision, id, id_as_randomized, for each factor its current level (`f_<factor>`), for each factor its level as randomized (`randomized_f_<factor>`), treatment (with the scope `read`), randomized_at, user, on_behalf_of, kind, voided_cause. No generator states. Errors are JSON.',
        },
        example: EXAMPLE_CSV,
      },
    },
    errors: ERRORS,
  },
);

/** Adds any problem with the parameter to the list. */
function shownBy(query: StudyRequest['query'], problems: string[]): Shown {
  const value = query.get(VIEW);
  const levels = SHOWN_LEVELS.find((one) => one === value);
  if (value !== undefined && levels === undefined)
    problems.push(`${VIEW} must be ${SHOWN_LEVELS.join(' or ')}`);
  return { levels: levels ?? 'current', place: value !== undefined };
}

interface ListOptions {
  readonly moment: Moment | undefined;
  readonly page: Page;
  readonly wanted: Filter;
  readonly scopes: readonly Scope[];
  readonly shown: Shown;
  /** Undefined: all participants are wanted. */
  readonly isWanted: ((participant: Participant) => boolean) | undefined;
}

export function listParticipants(services: Services) {
  return studyHandler(services, ['read', 'blinded'], async (request) => {
    const options = optionsOf(request);
    const { lists } = services.limits;
    // A list that is rendered in one slice delays nobody.
    if (candidates(request.participants, options).length > SLICE) {
      await lists.begin(request.accepted.key.keyId, request.response);
      if (options.moment) lists.beginPast(request.response);
    }
    const { among, revision } = await candidatesAt(services, request, options);
    return reply(request, options, { among, revision }, lists);
  });
}

/** @throws HttpProblem 400 naming every problem at once, 403 */
function optionsOf(request: StudyRequest): ListOptions {
  const { query, accepted, view } = request;
  const problems: string[] = [];
  const moment = momentOf(request, problems);
  const page = pageOf(query, problems);
  const scopes = scopesShown(request, problems);
  const shown = shownBy(query, problems);
  const wanted = view.filter(query, problems);
  const isUnfiltered = wanted.levels.every((level) => level === undefined) && !accepted.key.where;
  const isWanted = (participant: Participant) => {
    const levels = levelsShown(participant, shown.levels);
    const has = wanted.levels.every((level, i) => level === undefined || level === levels[i]);
    return has && mayKnowOf(request, participant);
  };
  return { moment, page, wanted, scopes, shown, isWanted: isUnfiltered ? undefined : isWanted };
}

/** The candidates for the list, and the revision they are from. The study may have grown since the request arrived. */
async function candidatesAt(
  services: Services,
  request: StudyRequest,
  options: ListOptions,
): Promise<{ among: readonly Participant[]; revision: number }> {
  const { stream } = request.study;
  if (options.moment) {
    const { states, revision } = await studyAt(services, request, options.moment, { participants });
    return { among: candidates(states.participants, options), revision };
  }
  const { runner } = services;
  return {
    among: candidates(runner.state(participants, stream), options),
    revision: runner.revision(stream),
  };
}

/** The participants among whom those on the list are found. It is a copy, so it does not grow. */
function candidates(
  participants: Participants,
  { page, wanted, isWanted }: ListOptions,
): readonly Participant[] {
  if (wanted.id !== undefined) {
    const one = participants.find(wanted.id);
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

async function reply(
  { view, http }: StudyRequest,
  { page, scopes, shown: levels, isWanted }: ListOptions,
  { among, revision }: { among: readonly Participant[]; revision: number },
  lists: Lists,
): Promise<StudyReply> {
  const { limit = among.length } = page;
  const found = isWanted ? await matching(among, isWanted, limit + 1, lists) : among;
  const shown = found.slice(0, limit);
  const next = found[limit]?.revision;
  const common = {
    status: 200,
    message: SUCCESS,
    revision,
    headers: { Vary: 'Accept', ...(next !== undefined && { 'Urn-Next': String(next) }) },
  };
  if (wantsCsv(http)) return { ...common, results: view.csvSlices(shown, scopes), frame: BARE_CSV };
  return {
    ...common,
    results: shown.length > SLICE ? view.slices(shown, scopes, levels) : view.records(shown, scopes, levels),
    discloses: statesIn(shown, scopes, revision),
  };
}

const BARE_CSV = bare(`${CSV}; charset=utf-8; header=present`);

/** How many participants are examined before other work gets a turn: about as much work as rendering a slice. */
const EXAMINED_AT_ONCE = 10 * SLICE;

/** The first `most` participants that are wanted. */
async function matching(
  among: readonly Participant[],
  isWanted: (participant: Participant) => boolean,
  most: number,
  lists: Lists,
): Promise<Participant[]> {
  const found: Participant[] = [];
  for (let from = 0; from < among.length && found.length < most; from += EXAMINED_AT_ONCE) {
    if (from > 0) await lists.slice(() => undefined);
    found.push(...among.slice(from, from + EXAMINED_AT_ONCE).filter(isWanted));
  }
  return found.slice(0, most);
}
