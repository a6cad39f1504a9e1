/** GET and POST /code_breaks: who was unblinded, and breaking the code of one participant. */
import { z } from 'zod';
import { RevealCategory, UnblindingWay } from '../../../../events/unblinding.ts';
import { breakCode } from '../../../core/acts/unblinding.ts';
import type { Members } from '../../../core/model/outcomes.ts';
import { currentId } from '../../../core/model/participants.ts';
import { type CodeBreak, codeBreaksIn } from '../../../core/study/code-breaks.ts';
import { breakCommand } from '../../../core/study/decide.ts';
import { participantEvents } from '../../../core/study/fold.ts';
import { askedIn, bodyOf } from '../request/body-form.ts';
import {
  ACT_HEADERS,
  dryRunReply,
  REPEATED_HEADER,
  receiptHeader,
  refusedReply,
} from '../request/command-reply.ts';
import {
  bodyOperation,
  ERRORS,
  EXAMPLE_RECORD,
  jsonSchema,
  MIN_REVISION,
  NOT_FOUND,
  operation,
  RECORDS,
  ref,
  STUDY,
} from '../request/openapi-operation.ts';
import { idempotencyKeyOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { listJson, SUCCESS } from '../request/reply.ts';
import {
  actorOf,
  type BodyRequest,
  bodyHandler,
  mayKnowOf,
  type Services,
  type StudyReply,
  studyEvenIfHalted,
  studyHandler,
} from '../request/study-request.ts';

const RevealBody = bodyOf('AllocationRevealed');

/** For the OpenAPI document. */
const PACK_RESULT = {
  type: 'array',
  description: 'For a pack that nobody had',
  items: {
    type: 'object',
    required: ['code', 'trt'],
    additionalProperties: false,
    properties: { code: { type: 'string' }, trt: { type: 'string' } },
  },
};

export const breakCodeOperation = bodyOperation(
  'Break the code of one participant, or of one pack',
  'breakCode',
  breakCode.may.scopes,
  {
    body: jsonSchema(RevealBody),
    bodyExample: {
      study: 'CHS JCOIN',
      id: '001-0007',
      category: 'emergency',
      reason: 'anaphylaxis, ICU',
      requested_by: 'Dr. K.',
    },
    result: { anyOf: [RECORDS, PACK_RESULT] },
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: {
      ...ACT_HEADERS,
      'Urn-Repeated': {
        ...ACT_HEADERS['Urn-Repeated'],
        description:
          '`true` if the same request, with the same Idempotency-Key, had been answered before. On a full disk also if the key had asked for the same participant in the same category less than a minute before: then this is the answer to that, and neither this reason nor this Idempotency-Key is recorded',
      },
      'Urn-Reason-Cut': {
        description: '`true` if the disk is full, so that only 200 characters of the reason are recorded',
        schema: { type: 'string', enum: ['true'] },
      },
      'Urn-Share-Used': {
        description:
          '`true` if the disk is full, and the key has had its share of the room that is kept for emergencies (8 code-breaks an hour; 16 with all keys of its user): the code-break waits until there is room',
        schema: { type: 'string', enum: ['true'] },
      },
      'Urn-Recorded': {
        description:
          '`log`: the code-break is in the log. `pending`, only in an emergency: the log could not be written, so the code-break is in a file of the service, and will go to the log as soon as possible. `none`, only in an emergency: it could not be recorded anywhere yet. The service tries until it is. Write it down, and report it if it is not in the list later.',
        schema: { type: 'string', enum: ['log', 'pending', 'none'] },
      },
    },
    errors: {
      ...ERRORS,
      404: NOT_FOUND,
      422: 'The Idempotency-Key was used for a different request',
    },
  },
);

/** No limit on what a key may have in progress applies here, and no state of the study stops it. */
export function postCodeBreak(services: Services) {
  const { studies } = services;
  const answer = async (request: BodyRequest<{ readonly study: string }>): Promise<StudyReply> => {
    const { http, accepted, study, view } = request;
    const body = request.body as Members & { readonly study: string };
    const { where, user } = accepted.key;
    const asked = askedIn('AllocationRevealed', body);
    if ((asked.participantId === undefined) === (asked.code === undefined))
      throw new HttpProblem(400, 'either id or code must be given');
    const { reason, requestedBy, ...about } = asked;
    const by = { user, where, idempotencyKey: idempotencyKeyOf(http) };
    if (body['dry_run'] === true) {
      const { outcome, revision } = await studies.tryOut(study.stream, breakCommand(asked, by));
      return refusedReply(outcome, revision, '[]') ?? dryRunReply('stays', revision, request.design());
    }
    const revealed = await services.codeBreaks.reveal(
      study,
      { ...about, grounds: { reason, requestedBy }, ...by },
      actorOf(request),
    );
    const { revision } = revealed;
    if (revealed.type === 'not-revealed') {
      const problem = refusedReply(revealed.outcome, revision, '[]');
      if (!problem) throw new Error(`unexpected outcome ${revealed.outcome.type}`);
      return problem;
    }
    const { subject, recordedIn, isRepeated, isReasonCut, isShareUsed } = revealed;
    const receipt = recordedIn === 'log' ? receiptHeader(services.ledger, study.stream, revision) : {};
    return {
      status: 200,
      message: SUCCESS,
      // The arm is what was asked for, whatever else the key may read.
      results:
        'pack' in subject
          ? JSON.stringify([{ code: subject.pack.code, trt: subject.pack.treatment }])
          : view().records([subject.participant], ['read']),
      revision,
      headers: {
        'Urn-Recorded': recordedIn,
        ...receipt,
        ...(isRepeated && REPEATED_HEADER),
        ...(isReasonCut && { 'Urn-Reason-Cut': 'true' }),
        ...(isShareUsed && { 'Urn-Share-Used': 'true' }),
      },
    };
  };
  return bodyHandler(services, RevealBody, breakCode.may.scopes, answer, studyEvenIfHalted);
}

export const CodeBreaksResult = z.array(
  z.strictObject({
    revision: z.int(),
    at: z.string().meta({ description: 'When it was recorded, in ISO 8601 (UTC)' }),
    id: z.string().optional().meta({ description: 'The participant. Absent for a pack that nobody had' }),
    import_given_up: z.literal(true).optional().meta({
      description:
        'The participant came with an import that was given up: this is about nobody in the study, even if somebody has the id now',
    }),
    code: z
      .string()
      .optional()
      .meta({ description: 'The pack, if the code-break was requested by its code' }),
    type: z.enum(['revealed', 'reported']).meta({
      description:
        '`revealed`: the service showed the arm. `reported`: somebody reported that it became known in another way',
    }),
    category: RevealCategory.optional().meta({ description: 'If it was revealed' }),
    how: UnblindingWay.optional().meta({ description: 'If it was reported' }),
    inadvertent: z
      .boolean()
      .optional()
      .meta({ description: 'If it was reported: whether it was unintentional' }),
    revealed_at: z.int().optional().meta({
      description: 'If it was reported: the revision of a code-break that was a mistake',
    }),
    known_at: z.string().meta({ description: 'When the arm became known, in ISO 8601 (UTC)' }),
    recorded_late: z.boolean().meta({
      description: 'Whether the arm was shown before this could be recorded',
    }),
    user: z.string(),
    key_id: z.string().optional().meta({ description: 'Absent for somebody at the command line' }),
    on_behalf_of: z.string().optional(),
    reason: z.string().optional().meta({ description: 'Only for a key with the scope `read` or `audit`' }),
    requested_by: z.string().optional().meta({ description: 'Who asked for it; shown like `reason`' }),
  }),
);

export const listCodeBreaksOperation = operation(
  'List who was unblinded, without the arms',
  'listCodeBreaks',
  ['blinded', 'read', 'audit'],
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('CodeBreaks'),
    example: [
      {
        revision: 42,
        at: '2027-03-04T02:11:09.120Z',
        id: '001-0007',
        type: 'revealed',
        category: 'emergency',
        known_at: '2027-03-04T02:11:09.120Z',
        recorded_late: false,
        user: 'site-11',
        key_id: 'k5f1c09ab34d2',
      },
    ],
    empty: [],
    errors: ERRORS,
  },
);

const LIST_PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

export function listCodeBreaks(services: Services) {
  return studyHandler(services, ['blinded', 'read', 'audit'], (request) => {
    refuseProblems(unknownParameters(request.query, LIST_PARAMETERS, 'code_breaks'));
    const { study } = request;
    const events = services.runner.state(participantEvents, study.stream);
    const shown = codeBreaksIn(events).flatMap((one): ShownCodeBreak[] => {
      const { participantId: id, randomizedAt } = one;
      const isGone = randomizedAt !== undefined && !events.byEnrolment.has(randomizedAt);
      // Of nobody in the study: only a key without limits may know of it.
      if (id === undefined || isGone) return request.accepted.key.where ? [] : [{ ...one, id, isGone }];
      const participant = request.participants.get(id);
      return participant && mayKnowOf(request, participant)
        ? [{ ...one, id: currentId(participant), isGone }]
        : [];
    });
    const { scopes } = request.accepted.key;
    const withReason = scopes.includes('read') || scopes.includes('audit');
    const results = listJson(
      CodeBreaksResult,
      shown.map((one) => rendered(one, withReason)),
    );
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}

interface ShownCodeBreak extends CodeBreak {
  /** The one in use. */
  readonly id: string | undefined;
  /** Whether the participant came with an import that was given up. */
  readonly isGone: boolean;
}

function rendered(one: ShownCodeBreak, withReason: boolean): z.infer<typeof CodeBreaksResult>[number] {
  const { revision, at, id, isGone, code, how, knownAt, isLate } = one;
  const { user, keyId, onBehalfOf, reason, requestedBy } = one;
  return {
    ...{ revision, at, type: how.type },
    ...(id !== undefined && { id }),
    ...(isGone && { import_given_up: true as const }),
    ...(code !== undefined && { code }),
    ...(how.type === 'revealed'
      ? { category: how.category }
      : {
          how: how.way,
          inadvertent: how.inadvertent,
          ...(how.revealedAt !== undefined && { revealed_at: how.revealedAt }),
        }),
    known_at: knownAt,
    recorded_late: isLate,
    user,
    ...(keyId !== undefined && { key_id: keyId }),
    ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
    ...(withReason && { reason, ...(requestedBy !== undefined && { requested_by: requestedBy }) }),
  };
}
