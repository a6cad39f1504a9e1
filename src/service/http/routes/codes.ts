/** GET /codes: packs of medication. */
import { z } from 'zod';
import { isPackWithin } from '../../../core/model/key-limits.ts';
import type { Model } from '../../../core/model/model.ts';
import type { Pack } from '../../../core/model/packs.ts';
import { currentId } from '../../../core/model/participants.ts';
import { studyState } from '../../../core/study/fold.ts';
import { PACK_STATES, packMap, stockOf } from '../../../core/study/pack-map.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { mayKnowOf, type StudyRequest, studyHandler } from '../request/study-request.ts';

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

const EXAMPLE: CodesResult = {
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
  { parameters: [STUDY, MIN_REVISION], result: ref('Codes'), example: EXAMPLE, empty: {}, errors: ERRORS },
);

const LIST_PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

export function listCodes(services: Services) {
  return studyHandler(services, ['supply'], (request) => {
    refuseProblems(unknownParameters(request.query, LIST_PARAMETERS, 'codes'));
    const { study } = request;
    const state = modelFor(services, request);
    const results = resultJson(CodesResult, codesFor(request, state));
    const { revision } = study;
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision,
      discloses: { what: 'codes', toRevision: revision },
    };
  });
}

/** With what is sealed. */
export function modelFor({ runner }: Services, { study }: StudyRequest): Model {
  const state = runner.state(studyState, study.stream);
  if (state.status === 'unregistered') throw new Error('a study without a registration');
  return state;
}

/** Only packs for levels of the key, and none of participants that the key may not know of. */
export function packsShown(request: StudyRequest, { design }: Model) {
  const { accepted, participants } = request;
  return (pack: Pack, participantId: string | undefined): boolean => {
    const holder = participantId === undefined ? undefined : participants.find(participantId);
    return isPackWithin(accepted.key.where, pack, design) && (!holder || mayKnowOf(request, holder));
  };
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
