/** POST /study_participants */
import type { Scope } from '../../../events/access.ts';
import type { Actor } from '../../../events/record.ts';
import { type Participant, participants } from '../../../projections/participants.ts';
import { lookAlikeProblem } from '../../base/text.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import { problemsOfId } from '../../study/participant-id.ts';
import { idempotencyKeyOf, onBehalfOf } from '../request/credentials.ts';
import { scopesShown, statesIn } from '../request/generator-states.ts';
import { orUnavailable } from '../request/min-revision.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import {
  type StudyReply,
  type StudyRequest,
  type StudyRoutes,
  studyHandler,
  withinLimits,
} from '../request/study-request.ts';
import { refuseBodyInstead, withBodyUnread } from '../request/unread-body.ts';

export function randomizeParticipant(routes: StudyRoutes) {
  const isWellFormed = (http: StudyRequest['http'], query: StudyRequest['query']) => {
    refuseBodyInstead(http, query);
    idempotencyKeyOf(http);
    onBehalfOf(http);
  };
  return studyHandler(
    routes,
    ['randomize'],
    async (request) => {
      const { http, query, accepted, study, view } = request;
      const problems: string[] = [];
      const shownScopes = scopesShown(request, problems);
      const behalf = onBehalfOf(http);
      const unfit = lookAlikeProblems(query.get('id'), behalf);
      if (unfit.length > 0 && (await isUnknown(routes, request))) problems.push(...unfit);
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
        suspended: routes.studies.isSuspended(study.stream),
      };
      const { posts } = routes.limits;
      posts.enter(keyId);
      try {
        const { outcome, revision } = await routes.studies.submit(study.stream, command, actor);
        return answer(request, shownScopes, routes.ledger, outcome, revision);
      } finally {
        posts.leave(keyId);
      }
    },
    isWellFormed,
  );
}

/** Names that people cannot tell from others make no new participant. Whoever is recorded is found by any name. */
function lookAlikeProblems(id = '', behalf = ''): string[] {
  const [worse] = problemsOfId(id);
  const named = [
    ['id', worse === undefined ? lookAlikeProblem(id) : undefined],
    ['the header X-On-Behalf-Of', lookAlikeProblem(behalf)],
  ];
  return named.flatMap(([what, problem]) => (problem === undefined ? [] : [`${what} ${problem}`]));
}

/** Whether the participant is not recorded, by another instance just now for example. */
async function isUnknown({ runner }: StudyRoutes, { query, study }: StudyRequest): Promise<boolean> {
  const { stream } = study;
  const isRecorded = () => runner.state(participants, stream).byId.has(query.get('id') ?? '');
  if (!isRecorded()) await orUnavailable(runner.catchUp(stream));
  return !isRecorded();
}

/** @param shownScopes for which the participant's record is rendered */
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
        // It is made, and is not to be lost because the key was shown too much before.
        isAlwaysShown: outcome.type === 'randomized',
      };
    case 'duplicate': {
      const refused = { status: 400, revision, refused: 'duplicate' } as const;
      const message = `Participant ${outcome.participantId} is already assigned`;
      if (!mayReadOf(request, decided(request, outcome.participantId)))
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
 * same, so that it is signed once.
 */
function receipt({ study }: StudyRequest, ledger: Ledger, revision: number): string {
  const { size, base64 } = ledger.checkpoint(study.stream);
  if (size <= revision) throw new Error('a participant that was decided is not in the ledger');
  return base64;
}

/** In what way a participant differs says what they are: of one outside the key's limits it learns nothing. */
function mayReadOf({ accepted: { key }, study }: StudyRequest, { levels }: Participant): boolean {
  const mayRead = key.scopes.includes('read') || key.scopes.includes('blinded');
  return mayRead && withinLimits(key, study, levels);
}

/** The participant that was decided, or was there already. */
function record(
  request: StudyRequest,
  scopes: readonly Scope[],
  participantId: string,
  revision: number,
): Pick<StudyReply, 'results' | 'discloses'> {
  const shown = [decided(request, participantId)];
  return { results: request.view.records(shown, scopes), discloses: statesIn(shown, scopes, revision) };
}

function decided({ participants }: StudyRequest, participantId: string): Participant {
  const participant = participants.byId.get(participantId);
  if (!participant) throw new Error('a participant that was decided is not in the projection');
  return participant;
}
