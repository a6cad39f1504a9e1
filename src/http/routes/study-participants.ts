/** GET and POST /study_participants */

import type { Actor } from '../../../events/record.ts';
import { type Participant, type Participants, participants } from '../../../projections/participants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import { problemsOfId } from '../../study/participant-id.ts';
import { lookAlikeProblem } from '../../text.ts';
import { idempotencyKeyOf, onBehalfOf } from '../credentials.ts';
import { orUnavailable } from '../min-revision.ts';
import { momentOf, studyAt } from '../moment.ts';
import { HttpProblem } from '../problem.ts';
import { SUCCESS } from '../reply.ts';
import {
  type StudyReply,
  type StudyRequest,
  type StudyRoutes,
  studyHandler,
  withinLimits,
} from '../study-request.ts';
import type { Filter } from '../study-view.ts';

export function listParticipants(routes: StudyRoutes) {
  return studyHandler(routes, ['read', 'blinded'], async (request) => {
    const problems: string[] = [];
    const moment = momentOf(request, problems);
    const wanted = request.view.filter(request.query, problems);
    if (!moment) return listed(request, wanted, request.participants, request.study.revision);
    const { states, revision } = await studyAt(routes, request, moment, { participants });
    return listed(request, wanted, states.participants, revision);
  });
}

function listed(
  request: StudyRequest,
  wanted: Filter,
  { inOrder, byId }: Participants,
  revision: number,
): StudyReply {
  const { study, accepted } = request;
  const candidates = wanted.id === undefined ? inOrder : [byId.get(wanted.id)].flatMap((one) => one ?? []);
  const unfiltered = wanted.levels.every((level) => level === undefined) && !accepted.key.where;
  const shown = unfiltered
    ? candidates
    : candidates.filter(
        ({ levels }) =>
          wanted.levels.every((level, i) => level === undefined || level === levels[i]) &&
          withinLimits(accepted.key, study, levels),
      );
  return { status: 200, message: SUCCESS, revision, ...rendered(request, shown, revision) };
}

/** Records for the key's scopes. With `audit` each shows a state of the generator. */
function rendered(
  { view, accepted }: StudyRequest,
  shown: readonly Participant[],
  toRevision: number,
): Pick<StudyReply, 'results' | 'discloses'> {
  const { scopes } = accepted.key;
  const results = view.records(shown, scopes);
  const [one, ...others] = shown;
  if (!scopes.includes('audit') || !one) return { results };
  const participant = others.length === 0 ? { participant: one.participantId } : {};
  return { results, discloses: { what: 'generator-states', toRevision, ...participant } };
}

export function randomizeParticipant(routes: StudyRoutes) {
  const headersAreSound = (http: StudyRequest['http']) => {
    idempotencyKeyOf(http);
    onBehalfOf(http);
  };
  return studyHandler(
    routes,
    ['randomize'],
    async (request) => {
      const { http, query, accepted, study, view } = request;
      const behalf = onBehalfOf(http);
      const unfit = lookAlikeProblems(query.get('id'), behalf);
      const isNew = unfit.length > 0 && (await isUnknown(routes, request));
      const { id, levels } = view.newParticipant(query, isNew ? unfit : []);
      if (!withinLimits(accepted.key, study, levels))
        throw new HttpProblem(403, 'This API key is limited to other levels than these');
      const { keyId, user } = accepted.key;
      const { accessRevision } = accepted;
      const actor: Actor =
        behalf === undefined
          ? { accessRevision, keyId, user }
          : { accessRevision, keyId, onBehalfOf: behalf, user };
      const { outcome, revision } = await routes.studies.submit(
        study.stream,
        {
          type: 'randomize',
          participantId: id,
          levels,
          user,
          idempotencyKey: idempotencyKeyOf(http),
          suspended: routes.studies.isSuspended(study.stream),
        },
        actor,
      );
      return answer(request, routes.ledger, outcome, revision);
    },
    headersAreSound,
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

function answer(request: StudyRequest, ledger: Ledger, outcome: StudyOutcome, revision: number): StudyReply {
  const { scopes } = request.accepted.key;
  switch (outcome.type) {
    case 'randomized':
    case 'repeated':
      return {
        status: 200,
        message: SUCCESS,
        revision,
        ...rendered(request, [decided(request, outcome.participantId)], revision),
        headers: { 'Urn-Receipt': receipt(request, ledger, revision) },
      };
    case 'duplicate': {
      const mayRead = scopes.includes('read') || scopes.includes('blinded');
      const differ = outcome.differingFactors;
      const taken = `Participant ${outcome.participantId} is already assigned`;
      const message =
        mayRead && differ.length > 0 ? `${taken}, with other levels of: ${differ.join(', ')}` : taken;
      const shown = mayRead && differ.length === 0 ? [decided(request, outcome.participantId)] : [];
      return { status: 400, message, revision, refused: 'duplicate', ...rendered(request, shown, revision) };
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

function decided({ participants }: StudyRequest, participantId: string): Participant {
  const participant = participants.byId.get(participantId);
  if (!participant) throw new Error('a participant that was decided is not in the projection');
  return participant;
}
