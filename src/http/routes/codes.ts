/** GET /codes, POST /code_replacements and POST /code_withdrawals: packs of medication. */
import { z } from 'zod';
import type { Scope } from '../../../events/access.ts';
import { ReplacementCause } from '../../../events/codes.ts';
import { PackCode } from '../../../events/study.ts';
import { currentId } from '../../../projections/enrolled.ts';
import { ACTS } from '../../study/acts.ts';
import type { ReplaceCode, StudyOutcome, WithdrawCodes } from '../../study/commands.ts';
import { isPackWithin } from '../../study/key-limits.ts';
import { PACK_STATES, packMap, stockOf } from '../../study/pack-map.ts';
import { type RegisteredState, studyState } from '../../study/state.ts';
import { DryRun, Grounds, StudyName } from '../request/body-members.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { idempotencyKeyOf } from '../request/headers.ts';
import { answerCommand } from '../request/life-command.ts';
import { bodyOperation, ERRORS, jsonSchema, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { NOT_FOUND, participantProblem } from '../request/participant-command.ts';
import { ACT_HEADERS } from '../request/receipt.ts';
import { SUCCESS } from '../request/reply.ts';
import { ParticipantId, resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import {
  bodyHandler,
  mayKnowOf,
  type StudyReply,
  type StudyRequest,
  studyHandler,
} from '../request/study-request.ts';

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
function codesFor(request: StudyRequest, state: RegisteredState): CodesResult {
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

const ReplacementBody = z.strictObject({
  study: StudyName,
  id: ParticipantId,
  code: PackCode.meta({ description: 'The pack that the participant has' }),
  cause: ReplacementCause,
  dry_run: DryRun,
});

const ReplacementResult = z.strictObject({
  code: z.string().meta({ description: 'The pack that the participant had' }),
  by: z.string().meta({ description: 'The pack that the participant got instead, by this request' }),
});

export const replaceCodeOperation = bodyOperation(
  'Give a participant another pack of the same treatment',
  'replaceCode',
  ACTS.CodeReplaced.scopes,
  {
    body: jsonSchema(ReplacementBody),
    bodyExample: { study: 'CHS JCOIN', id: '001-0007', code: 'AF5-0017', cause: 'damaged' },
    result: jsonSchema(ReplacementResult),
    example: { code: 'AF5-0017', by: 'AF5-0021' },
    empty: {},
    headers: ACT_HEADERS,
    errors: {
      ...ERRORS,
      404: NOT_FOUND,
      409: 'The participant has another pack now, or is voided as somebody who gets none; or there are not enough packs left; or a history is being imported into the study',
      422: 'The packs of this participant were replaced too often without a key with the scope `supply`. Or the Idempotency-Key was used for a different request',
    },
  },
);

export function postCodeReplacement(services: Services) {
  return bodyHandler(services, ReplacementBody, ACTS.CodeReplaced.scopes, (request) => {
    const { http, accepted, body } = request;
    const { scopes, user, where: limits } = accepted.key;
    const { id, code, cause } = body;
    const command: ReplaceCode = {
      ...{ type: 'replace-code', participantId: id, code, cause, isSupply: scopes.includes('supply') },
      ...{ mayRead: scopes.some((scope) => READERS.has(scope)), where: limits },
      ...{ user, idempotencyKey: idempotencyKeyOf(http) },
    };
    return answerCommand(services, request, command, {
      problemOf: (outcome, revision) => withoutList(participantProblem(outcome, revision)),
      // The pack of this event: the participant may have had another one since.
      results: (outcome) => resultJson(ReplacementResult, { code, by: packIn(outcome) }),
    });
  });
}

/** Who may be told which pack a participant has. Others are shown only what they get themselves. */
const READERS: ReadonlySet<Scope> = new Set(['read', 'blinded', 'supply']);

function packIn(outcome: StudyOutcome): string {
  const isReplaced = outcome.type === 'code-replaced' || outcome.type === 'done-before';
  if (!isReplaced || outcome.by === undefined) throw new Error(`no pack was given out: ${outcome.type}`);
  return outcome.by;
}

const WithdrawalBody = z.strictObject({
  study: StudyName,
  codes: z.array(PackCode).min(1).max(4000).meta({ description: 'Packs that are free' }),
  reason: Grounds,
  dry_run: DryRun,
});

const WithdrawalResult = z.strictObject({ withdrawn: z.int() });

export const withdrawCodesOperation = bodyOperation(
  'Withdraw packs that nobody has',
  'withdrawCodes',
  ACTS.CodesWithdrawn.scopes,
  {
    body: jsonSchema(WithdrawalBody),
    bodyExample: { study: 'CHS JCOIN', codes: ['AF5-0018'], reason: 'the cold chain was broken' },
    result: jsonSchema(WithdrawalResult),
    example: { withdrawn: 1 },
    empty: {},
    headers: ACT_HEADERS,
    errors: {
      ...ERRORS,
      409: 'A history is being imported into the study',
      422: 'A pack is unknown, is not free, or is for other levels than those of the key. Or the Idempotency-Key was used for a different request',
    },
  },
);

export function postCodeWithdrawal(services: Services) {
  return bodyHandler(services, WithdrawalBody, ACTS.CodesWithdrawn.scopes, (request) => {
    const { http, accepted, body } = request;
    const { user, where: limits } = accepted.key;
    const { codes, reason } = body;
    const command: WithdrawCodes = {
      ...{ type: 'withdraw-codes', codes, reason, where: limits },
      ...{ user, idempotencyKey: idempotencyKeyOf(http) },
    };
    return answerCommand(services, request, command, {
      problemOf: (outcome: StudyOutcome, revision) => withoutList(participantProblem(outcome, revision)),
      results: () => resultJson(WithdrawalResult, { withdrawn: codes.length }),
    });
  });
}

/** `results` of these routes is an object. */
function withoutList(reply: StudyReply | undefined): StudyReply | undefined {
  return reply && { ...reply, results: '{}' };
}
