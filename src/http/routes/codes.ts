/** GET /codes: packs of medication. */
import { z } from 'zod';
import { currentId } from '../../../projections/enrolled.ts';
import { isPackWithin } from '../../model/key-limits.ts';
import type { Model } from '../../model/model.ts';
import { PACK_STATES, packMap, stockOf } from '../../study/pack-map.ts';
import { studyState } from '../../study/state.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { mayKnowOf, type StudyRequest, studyHandler } from '../request/study-request.ts';

const Where = z.strictObject({ factor: z.string(), level: z.string() });
const where = Where.optional().meta({ description: 'Only participants with this level get it' });

export const CodesResult = z.strictObject({
  codes: z.array(
    z.strictObject({
      code: z.string(),
      trt: z.string(),
      where,
      state: z.enum(PACK_STATES),
      id: z.string().optional().meta({ description: 'The participant who has or had it' }),
    }),
  ),
  stock: z
    .array(z.strictObject({ trt: z.string(), where, free: z.int() }))
    .meta({ description: 'How many packs are free, by treatment and level' }),
});
type CodesResult = z.infer<typeof CodesResult>;

const EXAMPLE: CodesResult = {
  codes: [
    { code: 'AF5-0017', trt: 'MART', state: 'given', id: '001-0007' },
    { code: 'AF5-0018', trt: 'RMC-Q', state: 'free' },
  ],
  stock: [
    { trt: 'MART', free: 0 },
    { trt: 'RMC-Q', free: 1 },
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
    const state = services.runner.state(studyState, study.stream);
    if (state.status === 'unregistered') throw new Error('a study without a registration');
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

/** Only packs for levels of the key, and none of participants that the key may not know of. */
function codesFor(request: StudyRequest, state: Model): CodesResult {
  const { accepted, participants } = request;
  const holderOf = (id: string | undefined) => (id === undefined ? undefined : participants.find(id));
  const packs = packMap(state, (pack, id) => {
    const holder = holderOf(id);
    return isPackWithin(accepted.key.where, pack, state.design) && (!holder || mayKnowOf(request, holder));
  });
  return {
    codes: packs.map(({ treatment, participantId, ...pack }) => {
      const holder = holderOf(participantId);
      return { ...pack, trt: treatment, ...(holder && { id: currentId(holder) }) };
    }),
    stock: stockOf(packs).map(({ treatment, ...stock }) => ({ trt: treatment, ...stock })),
  };
}
