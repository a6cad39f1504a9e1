/** GET /pack_accountability: what became of each pack, without arms. */
import { z } from 'zod';
import { DispensationCause, ReplacementCause } from '../../../../events/packs.ts';
import {
  ACCOUNTED_STATES,
  type AccountedPack,
  packAccountability,
} from '../../../core/study/pack-accountability.ts';
import { ACCOUNTABILITY_COLUMNS, accountabilityCsv } from '../../../evidence/export/accountability.ts';
import { BARE_CSV, CSV, isForExcel, wantsCsv } from '../request/accept.ts';
import { EXCEL_PARAMETER, MIN_REVISION, STUDY, VARY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { EXCEL, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { mayKnowOf, studyHandler } from '../request/study-request.ts';
import { modelFor, packsShown } from './codes.ts';

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

const EXAMPLE: AccountabilityResult = [
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
    example: EXAMPLE,
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

const PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision', EXCEL]);

export function listAccountability(services: Services) {
  return studyHandler(services, ['supply'], (request) => {
    const { http, query, study } = request;
    const problems = unknownParameters(query, PARAMETERS, 'pack_accountability');
    const forExcel = isForExcel(request, problems);
    refuseProblems(problems);
    const state = modelFor(services, request);
    const packs = packAccountability(state, {
      isShown: packsShown(request, state),
      mayKnowOf: (participant) => mayKnowOf(request, participant),
    });
    const { revision } = study;
    const common = {
      ...{ status: 200, message: SUCCESS, revision, headers: { Vary: 'Accept' } },
      discloses: { what: 'codes' as const, toRevision: revision },
    };
    if (wantsCsv(http)) return { ...common, results: accountabilityCsv(packs, forExcel), frame: BARE_CSV };
    return { ...common, results: resultJson(AccountabilityResult, packs.map(rowOf)) };
  });
}

function rowOf({ dispensedAt, onBehalfOf, replacedBy, ...others }: AccountedPack) {
  return {
    ...others,
    ...(dispensedAt !== undefined && { dispensed_at: dispensedAt }),
    ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
    ...(replacedBy !== undefined && { replaced_by: replacedBy }),
  };
}
