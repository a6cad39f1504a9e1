/** POST /study_participants: randomizes a new participant. */
import type { Scope } from '../../../events/access.ts';
import type { Actor } from '../../../events/record.ts';
import { type Participant, participants } from '../../../projections/participants.ts';
import { lookAlikeProblem } from '../../base/text.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import { problemsOfId } from '../../study/participant-id.ts';
import { BG_STATE, idParameter, STUDY } from '../request/documented-parameters.ts';
import { scopesShown, statesIn } from '../request/generator-states.ts';
import { idempotencyKeyOf, onBehalfOf } from '../request/headers.ts';
import { orUnavailable } from '../request/min-revision.ts';
import { ERRORS, operation } from '../request/operation.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import type { Services } from '../request/services.ts';
import { type StudyReply, type StudyRequest, studyHandler, withinLimits } from '../request/study-request.ts';
import { refuseBodyInstead, withBodyUnread } from '../request/unread-body.ts';
import { EXAMPLE_RECORD, levelParameters, RECORDS } from './participant-parts.ts';

const HEADERS = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes a retry safe: the same request with the same Idempotency-Key gets the same record. Scoped to study and user.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  {
    name: 'X-On-Behalf-Of',
    in: 'header',
    description:
      'The person who used a shared key. It is recorded with the event. It must be in NFC and have no invisible characters.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
];

export const randomizeParticipantOperation = operation(
  'Randomize a new participant',
  'randomizeParticipant',
  ['randomize'],
  {
    parameters: [
      STUDY,
      idParameter(true),
      levelParameters('One level of every factor'),
      BG_STATE,
      ...HEADERS,
    ],
    result: RECORDS,
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: {
      'Urn-Receipt': {
        description:
          'A signed checkpoint that includes the new allocation: the whole note (as in /checkpoint) in base64, at most 1000 characters. Keep it. Nothing that it covers can be changed unnoticed.',
        schema: { type: 'string', maxLength: 1000 },
      },
    },
    errors: {
      ...ERRORS,
      400: `${ERRORS[400]} Also if the id is already assigned: \`results\` then holds the existing record, provided that its levels are the same and the key may read it.`,
      409: 'The study is paused',
      422: 'The Idempotency-Key was used for a different request',
    },
  },
);

export function randomizeParticipant(services: Services) {
  const randomize = async (request: StudyRequest): Promise<StudyReply> => {
    const { http, query, accepted, study, view } = request;
    const problems: string[] = [];
    const shownScopes = scopesShown(request, problems);
    const behalf = onBehalfOf(http);
    const lookAlikes = lookAlikeProblems(query.get('id'), behalf);
    if (lookAlikes.length > 0 && (await isUnknown(services, request))) problems.push(...lookAlikes);
    const { id, levels } = withBodyUnread(http, () => view.newParticipant(query, problems));
    if (!withinLimits(accepted.key, study, levels))
      throw new HttpProblem(403, 'This API key is limited to other levels than these');
    const { keyId, user } = accepted.key;
    const { accessRevision } = accepted;
    const actor: Actor =
      behalf === undefined
        ? { accessRevision, keyId, user }
        : { accessRevision, keyId, onBehalfOf: behalf, user };
    const command = {
      type: 'randomize' as const,
      participantId: id,
      levels,
      user,
      idempotencyKey: idempotencyKeyOf(http),
      suspended: services.studies.isSuspended(study.stream),
    };
    const { posts } = services.limits;
    posts.enter(keyId);
    try {
      const { outcome, revision } = await services.studies.submit(study.stream, command, actor);
      return answer(request, shownScopes, services.ledger, outcome, revision);
    } finally {
      posts.leave(keyId);
    }
  };
  return studyHandler(services, ['randomize'], randomize, checkForm);
}

/** What is checked before the key. @throws HttpProblem 400 */
function checkForm(http: StudyRequest['http'], query: StudyRequest['query']): void {
  refuseBodyInstead(http, query);
  idempotencyKeyOf(http);
  onBehalfOf(http);
}

/**
 * A new participant needs names that people can tell apart. This does not apply to recorded participants, who are found by
 * whatever name they have.
 */
function lookAlikeProblems(id = '', behalf = ''): string[] {
  const ofId = lookAlikeProblem(id);
  const ofBehalf = lookAlikeProblem(behalf);
  const problems: string[] = [];
  // An id that breaks the rules for ids is reported as that alone.
  if (ofId !== undefined && [...problemsOfId(id)].length === 0) problems.push(`id ${ofId}`);
  if (ofBehalf !== undefined) problems.push(`the header X-On-Behalf-Of ${ofBehalf}`);
  return problems;
}

/** Whether the participant is not recorded yet. Catches up with the log first: another instance may just have recorded them. */
async function isUnknown({ runner }: Services, { query, study }: StudyRequest): Promise<boolean> {
  const { stream } = study;
  const isRecorded = () => runner.state(participants, stream).byId.has(query.get('id') ?? '');
  if (!isRecorded()) await orUnavailable(runner.catchUp(stream));
  return !isRecorded();
}

/** @param shownScopes the scopes for which the participant's record is rendered */
function answer(
  request: StudyRequest,
  shownScopes: readonly Scope[],
  ledger: Ledger,
  outcome: StudyOutcome,
  revision: number,
): StudyReply {
  switch (outcome.type) {
    case 'randomized':
    case 'repeated':
      return {
        status: 200,
        message: SUCCESS,
        revision,
        ...record(request, shownScopes, outcome.participantId, revision),
        headers: { 'Urn-Receipt': receipt(request, ledger, revision) },
        // The allocation is made. It must be shown even if the key has used up its budget of disclosures.
        isAlwaysShown: outcome.type === 'randomized',
      };
    case 'duplicate': {
      const refused = { status: 400, revision, refused: 'duplicate' } as const;
      const message = `Participant ${outcome.participantId} is already assigned`;
      if (!mayReadOf(request, recorded(request, outcome.participantId)))
        return { ...refused, message, results: '[]' };
      const differ = outcome.differingFactors;
      if (differ.length === 0)
        return { ...refused, message, ...record(request, shownScopes, outcome.participantId, revision) };
      return { ...refused, message: `${message}, with other levels of: ${differ.join(', ')}`, results: '[]' };
    }
    case 'idempotency-key-reused':
      return {
        status: 422,
        message: 'This Idempotency-Key was used for another request (use a new key for a new participant)',
        results: '[]',
        revision,
      };
    case 'refused':
      if (outcome.because === 'paused')
        return {
          status: 409,
          message: 'The study is paused and takes no participants',
          results: '[]',
          revision,
        };
      return {
        status: 503,
        message:
          'The study takes no participants: the studies file of the service differs from what was registered (its operator finds the differences with: urn studies check)',
        results: '[]',
        revision,
        refused: 'suspended',
        headers: { 'Retry-After': '60' },
      };
    default:
      throw new Error(`unexpected outcome ${outcome.type}`);
  }
}

/**
 * A signed checkpoint of the study that includes the record at this revision, in base64. All answers of a batch carry the
 * same checkpoint, which is signed once.
 */
function receipt({ study }: StudyRequest, ledger: Ledger, revision: number): string {
  const { size, base64 } = ledger.checkpoint(study.stream);
  if (size <= revision) throw new Error('a participant that was decided is not in the ledger');
  return base64;
}

/** How a participant differs reveals their levels, so a key learns nothing of participants outside its limits. */
function mayReadOf({ accepted: { key }, study }: StudyRequest, { levels }: Participant): boolean {
  const mayRead = key.scopes.includes('read') || key.scopes.includes('blinded');
  return mayRead && withinLimits(key, study, levels);
}

/** The record of the participant who was just randomized or was already there. */
function record(
  request: StudyRequest,
  scopes: readonly Scope[],
  participantId: string,
  revision: number,
): Pick<StudyReply, 'results' | 'discloses'> {
  const shown = [recorded(request, participantId)];
  return { results: request.view.records(shown, scopes), discloses: statesIn(shown, scopes, revision) };
}

function recorded({ participants }: StudyRequest, participantId: string): Participant {
  const participant = participants.byId.get(participantId);
  if (!participant) throw new Error('a participant that was decided is not in the projection');
  return participant;
}
