/**
 * The packs of medication of a study: GET /codes, with the treatment that each one holds, and GET /pack_accountability, what
 * became of each pack, without treatments. Both show only packs for levels of the key, and none of participants that it may not
 * know of.
 */
import { z } from 'zod';
import { DispensationCause, ReplacementCause } from '../../../../events/packs.ts';
import { isPackWithin } from '../../../core/model/key-limits.ts';
import type { Model } from '../../../core/model/model.ts';
import type { Pack } from '../../../core/model/packs.ts';
import { currentId } from '../../../core/model/participants.ts';
import { studyState } from '../../../core/study/fold.ts';
import {
  ACCOUNTED_STATES,
  type AccountedPack,
  packAccountability,
} from '../../../core/study/pack-accountability.ts';
import { PACK_STATES, packMap, stockOf } from '../../../core/study/pack-map.ts';
import { ACCOUNTABILITY_COLUMNS, accountabilityCsv } from '../../../evidence/export/accountability.ts';
import { OfRevision } from '../request/in-progress.ts';
import {
  ERRORS,
  EXCEL_PARAMETER,
  MIN_REVISION,
  operation,
  ref,
  STUDY,
  VARY,
} from '../request/openapi-operation.ts';
import { EXCEL, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { listJson, listPieces, resultJson, SUCCESS } from '../request/reply.ts';
import { mayKnowOf, type Services, type StudyRequest, studyHandler } from '../request/study-request.ts';
import { BARE_CSV, CSV, isForExcel, wantsCsv } from '../request/study-view.ts';

const Where = z.strictObject({ factor: z.string(), level: z.string() });
const where = Where.optional().meta({ description: 'Only participants with this level get it' });

const low = z.literal(true).optional().meta({
  description:
    'In a study with visits: so few are free that sites may be refused before everybody who may get such a pack got another one. Never for a stopped arm',
});

export const CodesResult = z.strictObject({
  codes: z.array(
    z.strictObject({
      code: z.string(),
      trt: z.string(),
      where,
      state: z.enum(PACK_STATES),
      id: z.string().optional().meta({ description: 'The participant who has or had it' }),
      visit: z.string().optional().meta({ description: 'The visit for which the participant has it' }),
    }),
  ),
  stock: z.array(z.strictObject({ trt: z.string(), where, free: z.int(), low })).meta({
    description: 'How many packs are free, by treatment and level',
  }),
});
type CodesResult = z.infer<typeof CodesResult>;

const CODES_EXAMPLE: CodesResult = {
  codes: [
    { code: 'AF5-0017', trt: 'MART', state: 'given', id: '001-0007' },
    { code: 'AF5-0036', trt: 'MART', state: 'given', id: '001-0007', visit: 'V2' },
    { code: 'AF5-0018', trt: 'RMC-Q', state: 'free' },
  ],
  stock: [
    { trt: 'MART', free: 0, low: true },
    { trt: 'RMC-Q', free: 1, low: true },
  ],
};

export const listCodesOperation = operation(
  'List packs, with the treatment that each one holds',
  'listCodes',
  ['supply'],
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('Codes'),
    example: CODES_EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

const CODES_PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

/** GET /codes: the packs, with the treatment that each one holds. */
export function listCodes(services: Services) {
  const maps = new OfRevision<CodesResult>();
  return studyHandler(services, ['supply'], async (request) => {
    refuseProblems(unknownParameters(request.query, CODES_PARAMETERS, 'codes'));
    const shown = await madeOnce(services, request, maps, (state) => codesFor(request, state));
    const { revision } = request.study;
    return {
      status: 200,
      message: SUCCESS,
      results: codesJson(shown),
      revision,
      discloses: { what: 'codes', toRevision: revision },
    };
  });
}

/** What the packs of a study come to: once for all who see the same, until the study changes. */
function madeOnce<T>(
  services: Services,
  request: StudyRequest,
  made: OfRevision<T>,
  make: (state: Model) => T,
): Promise<T> {
  const { study, participants, accepted } = request;
  const name = JSON.stringify(accepted.key.where ?? 'all');
  // In one piece, because packs and participants must be of the same moment.
  return made.of(participants, study.revision, name, async () => make(modelFor(services, request)));
}

function* codesJson({ codes, stock }: CodesResult): Generator<string, void> {
  yield '{"codes":';
  yield* listPieces(CodesResult.shape.codes, codes);
  yield `,"stock":${resultJson(CodesResult.shape.stock, stock)}}`;
}

/** The study, with what is sealed. */
function modelFor({ runner }: Services, { study }: StudyRequest): Model {
  const state = runner.state(studyState, study.stream);
  if (state.status === 'unregistered') throw new Error('a study without a registration');
  return state;
}

function codesFor(request: StudyRequest, state: Model): CodesResult {
  const packs = packMap(state, packsShown(request, state));
  return {
    codes: packs.map(({ treatment, participantId, ...pack }) => {
      const holder = participantId === undefined ? undefined : request.participants.find(participantId);
      return { ...pack, trt: treatment, ...(holder && { id: currentId(holder) }) };
    }),
    stock: stockOf(state, packs).map(({ treatment, ...stock }) => ({ trt: treatment, ...stock })),
  };
}

/** Whether the key may see a pack, and whoever holds it. */
function packsShown(request: StudyRequest, { design }: Model) {
  const { accepted, participants } = request;
  return (pack: Pack, participantId: string | undefined): boolean => {
    const holder = participantId === undefined ? undefined : participants.find(participantId);
    return isPackWithin(accepted.key.where, pack, design) && (!holder || mayKnowOf(request, holder));
  };
}

export const AccountabilityResult = z.array(
  z.strictObject({
    code: z.string(),
    visit: z.string().optional().meta({
      description: 'For which the participant has it, or had it. Absent for a pack of the enrolment',
    }),
    state: z.enum(ACCOUNTED_STATES).meta({
      description:
        '`free`: nobody has it. `held`: the participant has it. `replaced`: they have another one in its place. `void`: it was recorded for the participant, who never got it. `nobody`: only a wrong entry had it, and that was replaced. `withdrawn`: it is not given out',
    }),
    id: z.string().optional().meta({
      description: 'The participant who has it, had it, or was said to have got it, by the id in use',
    }),
    dispensed_at: z.string().optional().meta({
      description:
        'When it was given out, in ISO 8601 (UTC): of an allocation that was made outside the service, when that was',
    }),
    user: z.string().optional().meta({ description: 'Who gave it out, or entered that' }),
    on_behalf_of: z.string().optional(),
    replaced_by: z.string().optional().meta({ description: 'The pack that the participant got instead' }),
    cause: z
      .enum([...new Set([...ReplacementCause.options, ...DispensationCause.options])])
      .optional()
      .meta({
        description: 'Why it was replaced, or why it is void',
      }),
  }),
);
type AccountabilityResult = z.infer<typeof AccountabilityResult>;

const ACCOUNTABILITY_EXAMPLE: AccountabilityResult = [
  {
    ...{ code: 'AF5-0028', state: 'replaced', id: '001-0007', dispensed_at: '2027-03-01T09:12:44.310Z' },
    ...{ user: 'site-11', replaced_by: 'AF5-0031', cause: 'damaged' },
  },
  {
    ...{ code: 'AF5-0036', visit: 'V2', state: 'held', id: '001-0007' },
    ...{ dispensed_at: '2027-04-02T08:30:01.007Z', user: 'site-11', on_behalf_of: 'm.jones' },
  },
  { code: 'AF5-0037', state: 'free' },
];

export const accountabilityOperation = operation(
  'List what became of each pack, without the treatments',
  'listAccountability',
  ['supply'],
  {
    description:
      'In the order of registration. Only packs for levels of the key, and none of participants that it may not know of. Recorded as `codes`.',
    parameters: [STUDY, MIN_REVISION, EXCEL_PARAMETER],
    result: ref('Accountability'),
    example: ACCOUNTABILITY_EXAMPLE,
    empty: [],
    headers: VARY,
    content: {
      [CSV]: {
        schema: {
          type: 'string',
          description: `With \`Accept: text/csv\`: RFC 4180, in UTF-8. The first line names the columns: ${ACCOUNTABILITY_COLUMNS.join(', ')}. Errors are JSON.`,
        },
        example: `${ACCOUNTABILITY_COLUMNS.join(',')}\r\nAF5-0037,,free,,,,,,\r\n`,
      },
    },
    errors: ERRORS,
  },
);

const ACCOUNTABILITY_PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision', EXCEL]);

/** GET /pack_accountability: what became of each pack, without treatments. */
export function listAccountability(services: Services) {
  const made = new OfRevision<readonly AccountedPack[]>();
  return studyHandler(services, ['supply'], async (request) => {
    const { http, query, study } = request;
    const problems = unknownParameters(query, ACCOUNTABILITY_PARAMETERS, 'pack_accountability');
    const forExcel = isForExcel(request, problems);
    refuseProblems(problems);
    const packs = await madeOnce(services, request, made, (state) =>
      packAccountability(state, {
        isShown: packsShown(request, state),
        mayKnowOf: (participant) => mayKnowOf(request, participant),
      }),
    );
    const { revision } = study;
    const common = {
      ...{ status: 200, message: SUCCESS, revision, headers: { Vary: 'Accept' } },
      discloses: { what: 'codes' as const, toRevision: revision },
    };
    if (wantsCsv(http)) return { ...common, results: accountabilityCsv(packs, forExcel), frame: BARE_CSV };
    return { ...common, results: listJson(AccountabilityResult, packs.map(accountabilityRow)) };
  });
}

function accountabilityRow({ dispensedAt, onBehalfOf, replacedBy, ...others }: AccountedPack) {
  return {
    ...others,
    ...(dispensedAt !== undefined && { dispensed_at: dispensedAt }),
    ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
    ...(replacedBy !== undefined && { replaced_by: replacedBy }),
  };
}
