/**
 * POST /study_participants: randomizes a new participant. The parameters are in the query string, as in the contract: a body is
 * ignored, and so are parameters that are neither the route's own nor factors of the study. But a client must not believe that
 * it was understood when it was not. An error says so if there is a body. A name that could be a misspelt parameter of the
 * service is refused: a misspelt dry run would randomize somebody. Every other one that is not read is named in the header
 * `Urn-Ignored`.
 */
import type { IncomingMessage } from 'node:http';
import type { Scope } from '../../../../events/access.ts';
import { DomainError } from '../../../base/errors.ts';
import { lookAlikeProblem } from '../../../base/text.ts';
import { nearestTo } from '../../../base/wording.ts';
import type { Ledger } from '../../../core/log/ledger.ts';
import type { Design } from '../../../core/model/design.ts';
import { isWithin, retiredLimit } from '../../../core/model/key-limits.ts';
import type { StudyOutcome } from '../../../core/model/outcomes.ts';
import { newIdProblem, problemsOfId } from '../../../core/model/participant-id.ts';
import { currentId, type Participant } from '../../../core/model/participants.ts';
import type { Randomize } from '../../../core/study/commands.ts';
import { participants } from '../../../core/study/fold.ts';
import { StoreError } from '../../../store/event-store.ts';
import {
  ACT_HEADERS,
  DRY_RUN_HEADER,
  DRY_RUN_RESULT,
  dryRunReply,
  outsideLimits,
  REPEATED_HEADER,
  receiptHeader,
  refusedReply,
} from '../request/command-reply.ts';
import {
  BG_STATE_PARAMETER,
  DRY_RUN_PARAMETER,
  ERRORS,
  EXAMPLE_RECORD,
  FORBIDDEN_NOW,
  idParameter,
  levelParameters,
  operation,
  RECORDS,
  STUDY,
  WRITE_HEADERS,
} from '../request/openapi-operation.ts';
import {
  BG_STATE,
  bareForm,
  DRY_RUN,
  hintsAmong,
  idempotencyKeyOf,
  onBehalfOf,
  orUnavailable,
  PREFIX,
  type Query,
  SERVICE_PARAMETERS,
} from '../request/parameters.ts';
import { HttpProblem, problemList } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import {
  actorOf,
  mayKnowOf,
  type Services,
  type StudyReply,
  type StudyRequest,
  scopesShown,
  statesIn,
  studyHandler,
} from '../request/study-request.ts';

const MAX_IGNORED_NAMES = 10;
const MAX_IGNORED_BYTES = 500;
const MORE_IGNORED = encodeURIComponent('…');

/** For the OpenAPI document. */
const URN_IGNORED = {
  'Urn-Ignored': {
    description: `Parameters that were not read, percent-encoded and separated by commas: at most ${MAX_IGNORED_NAMES} names and ${MAX_IGNORED_BYTES} bytes, then \`${MORE_IGNORED}\`. Absent if there are none.`,
    schema: { type: 'string', maxLength: MAX_IGNORED_BYTES },
  },
};

export const randomizeParticipantOperation = operation(
  'Randomize a new participant',
  'randomizeParticipant',
  ['randomize'],
  {
    parameters: [
      STUDY,
      idParameter(true),
      levelParameters('One level of every factor that is not retired'),
      BG_STATE_PARAMETER,
      DRY_RUN_PARAMETER,
      ...WRITE_HEADERS,
    ],
    result: { anyOf: [RECORDS, DRY_RUN_RESULT] },
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: { ...ACT_HEADERS, ...URN_IGNORED },
    errors: {
      ...ERRORS,
      400: `${ERRORS[400]} Also if the id is already assigned: \`results\` then holds the existing record, provided that its levels are the same and the key may read it.`,
      409: FORBIDDEN_NOW,
      422: 'The Idempotency-Key was used for a different request',
    },
  },
);

export function randomizeParticipant(services: Services) {
  const randomize = async (request: StudyRequest): Promise<StudyReply> => {
    const { http, query, accepted, study, design } = request;
    const problems = misspeltParameters(request);
    const shownScopes = scopesShown(request, problems);
    const isDry = isDryRun(query, problems);
    const behalf = onBehalfOf(http);
    const ofNames = nameProblems(query.get('id'), behalf);
    if (ofNames.length > 0 && (await isUnknown(services, request))) problems.push(...ofNames);
    const inForce = design();
    const asked = withBodyUnread(http, () => services.views.of(inForce).newParticipant(query, problems));
    const { id, levels } = asked;
    if (!isWithin(accepted.key.where, inForce, levels)) throw outsideLimits(accepted.key.where, inForce);
    const { keyId, user } = accepted.key;
    const actor = actorOf(request);
    const command = {
      type: 'randomize' as const,
      participantId: id,
      levels,
      user,
      idempotencyKey: idempotencyKeyOf(http),
      suspended: services.studies.isSuspended(study.stream),
      amendment: inForce.amendment,
    };
    if (asked.problems.length > 0)
      return (await isAmendedElsewhere(services, request, inForce))
        ? randomize(request)
        : notInDesign(services, request, shownScopes, command, asked.problems);
    if (isDry) {
      const { outcome, revision } = await services.studies.tryOut(study.stream, command);
      if (outcome.type === 'amended-meanwhile') return randomize(request);
      return outcome.type === 'randomized'
        ? dryRunReply('moves', revision, inForce)
        : {
            ...answer(request, shownScopes, services.ledger, outcome, revision),
            // Not even the record of a participant who exists already: a dry run names no arm.
            ...{ results: '[]', discloses: undefined, headers: DRY_RUN_HEADER },
          };
    }
    const { posts } = services.limits;
    posts.enter(keyId);
    try {
      const { outcome, revision } = await services.studies.submit(study.stream, command, actor);
      if (outcome.type === 'amended-meanwhile') return randomize(request);
      return answer(request, shownScopes, services.ledger, outcome, revision);
    } finally {
      posts.leave(keyId);
    }
  };
  return studyHandler(services, ['randomize'], randomize, checkForm);
}

/** What is checked before the key. @throws HttpProblem 400 */
function checkForm(http: IncomingMessage, query: Query): void {
  refuseBodyInstead(http, query);
  idempotencyKeyOf(http);
  onBehalfOf(http);
}

/**
 * A problem for each misspelt parameter. Others that are not read are named in a header, which is set here so that nothing
 * can fail after the decision.
 */
function misspeltParameters({ query, design, response }: StudyRequest): string[] {
  const { factors } = design();
  const asked = factors.filter(({ isRetired }) => !isRetired).map(({ name }) => name);
  const names = factors.map(({ name }) => name);
  const { ignored, problems } = unreadParameters(query, OWN_PARAMETERS, names, ['id', ...asked]);
  if (ignored.length > 0) response.setHeader('Urn-Ignored', ignoredHeader(ignored));
  return problems;
}

const OWN_PARAMETERS = new Set(['api_key', 'study', 'id', BG_STATE, DRY_RUN]);

/** Adds any problem with the parameter to the list. */
function isDryRun(query: Query, problems: string[]): boolean {
  const value = query.get(DRY_RUN);
  if (value !== undefined && value !== 'true') problems.push(`${DRY_RUN} must be true`);
  return value === 'true';
}

/** What is wrong with the names of a new participant. Recorded participants are found under any name. */
function nameProblems(id = '', behalf = ''): string[] {
  const ofId = newIdProblem(id);
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
  const isRecorded = () => runner.state(participants, stream).find(query.get('id') ?? '') !== undefined;
  if (!isRecorded()) await orUnavailable(runner.catchUp(stream));
  return !isRecorded();
}

/**
 * Whether another process has amended the design, so that it may have the level, or allow the id, that this one refuses.
 * While the log cannot be read, what is known here decides: whoever is refused is not randomized.
 */
async function isAmendedElsewhere(
  { runner }: Services,
  { design, study }: StudyRequest,
  { amendment }: Design,
): Promise<boolean> {
  try {
    await runner.catchUp(study.stream);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  return design().amendment !== amendment;
}

/**
 * A participant whom the design in force does not have. An amendment does not change the answer to a request that was
 * answered before it.
 */
async function notInDesign(
  services: Services,
  request: StudyRequest,
  shownScopes: readonly Scope[],
  command: Randomize,
  problems: readonly string[],
): Promise<StudyReply> {
  const { where } = request.accepted.key;
  const inForce = request.design();
  const refusal =
    retiredLimit(where, inForce) === undefined
      ? new HttpProblem(400, problemList(problems))
      : outsideLimits(where, inForce);
  if (inForce.amendment === 0) throw refusal;
  const { outcome, revision } = await services.studies
    .tryOut(request.study.stream, command)
    .catch((error) => {
      throw error instanceof DomainError && error.code === 'unavailable' ? refusal : error;
    });
  if (!ANSWERED_BEFORE.has(outcome.type)) throw refusal;
  return answer(request, shownScopes, services.ledger, outcome, revision);
}

const ANSWERED_BEFORE: ReadonlySet<StudyOutcome['type']> = new Set([
  'repeated',
  'duplicate',
  'idempotency-key-reused',
]);

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
    case 'repeated': {
      const receipt = receiptHeader(ledger, request.study.stream, revision);
      return {
        status: 200,
        message: SUCCESS,
        revision,
        ...recordOf(request, shownScopes, outcome.participantId, revision),
        headers: outcome.type === 'repeated' ? { ...receipt, ...REPEATED_HEADER } : receipt,
        // The allocation is made. It must be shown even if the key has used up its budget of disclosures.
        isAlwaysShown: outcome.type === 'randomized',
      };
    }
    case 'duplicate': {
      const refused = { status: 400, revision, refused: 'duplicate' } as const;
      const taken = recordedParticipant(request, outcome.participantId);
      if (!mayReadOf(request, taken))
        return {
          ...refused,
          message: `Participant ${outcome.participantId} is already assigned`,
          results: '[]',
        };
      const message = `Participant ${namesOf(taken)} is already assigned`;
      const differ = outcome.differingFactors;
      if (differ.length === 0)
        return { ...refused, message, ...recordOf(request, shownScopes, outcome.participantId, revision) };
      return { ...refused, message: `${message}, with other levels of: ${differ.join(', ')}`, results: '[]' };
    }
    default: {
      const refused = refusedReply(outcome, revision, '[]');
      if (!refused) throw new Error(`unexpected outcome ${outcome.type}`);
      return refused;
    }
  }
}

function recordedParticipant({ participants }: StudyRequest, participantId: string): Participant {
  const participant = participants.find(participantId);
  if (!participant) throw new Error('a participant that was decided is not in the projection');
  return participant;
}

/** How a participant differs reveals their levels, so a key learns nothing of participants outside its limits. */
function mayReadOf(request: StudyRequest, participant: Participant): boolean {
  const { scopes } = request.accepted.key;
  const mayRead = scopes.includes('read') || scopes.includes('blinded');
  return mayRead && mayKnowOf(request, participant);
}

/** The id in use, and the one as randomized if that differs. */
function namesOf(participant: Participant): string {
  const [now, then] = [currentId(participant), participant.participantId];
  return now === then ? now : `${now} (randomized as ${then})`;
}

/** The record of the participant who was just randomized or was already there. */
function recordOf(
  request: StudyRequest,
  scopes: readonly Scope[],
  participantId: string,
  revision: number,
): Pick<StudyReply, 'results' | 'discloses'> {
  const participant = recordedParticipant(request, participantId);
  // A correction may have moved them out of the key's limits since.
  if (!mayKnowOf(request, participant)) return { results: '[]', discloses: undefined };
  const shown = [participant];
  return { results: request.view().records(shown, scopes), discloses: statesIn(shown, scopes, revision) };
}

// What is sent and not read

const BODY_UNREAD = 'the body of the request is not read: parameters belong in the query string';
const BODY_HINT =
  "(POST /study_participants?study=…&id=…, percent-encoded; with curl: -G and --data-urlencode; with Python's requests: params=)";

/** @throws HttpProblem 400 when the query names no participant, and there is a body that might */
function refuseBodyInstead(request: IncomingMessage, query: Query): void {
  if (hasBody(request) && !(query.has('study') && query.has('id')))
    throw new HttpProblem(400, `The parameters are missing, and ${BODY_UNREAD} ${BODY_HINT}`);
}

/** Adds to any problem with the parameters that the request has a body, which is not read. */
function withBodyUnread<T>(request: IncomingMessage, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HttpProblem && hasBody(request))) throw error;
    throw new HttpProblem(error.status, `${error.message}; ${BODY_UNREAD} ${BODY_HINT}`, error.headers);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

const SPELLINGS = new Map([...SERVICE_PARAMETERS].map((name) => [bareForm(name), name]));
const IDEMPOTENCY_KEY = bareForm('Idempotency-Key');
const BARE_DRY_RUN = bareForm(DRY_RUN);

/**
 * The parameters that are not read, and a problem for each that could be meant for the service.
 * @param own the parameters of the route
 * @param factors the names of all factors of the study, retired ones too
 * @param required names without which the request is refused anyway
 */
export function unreadParameters(
  query: Query,
  own: ReadonlySet<string>,
  factors: readonly string[],
  required: readonly string[],
): { readonly ignored: readonly string[]; readonly problems: string[] } {
  const hintForOwn = hintsAmong([...SERVICE_PARAMETERS]);
  const hintForMissing = hintsAmong(required.filter((name) => !query.has(name)));
  const ignored: string[] = [];
  const problems: string[] = [];
  for (const name of query.keys()) {
    // Names with the prefix of records are reported elsewhere.
    if (own.has(name) || factors.includes(name) || name.startsWith('f_')) continue;
    const hint =
      (SERVICE_PARAMETERS.has(name) ? undefined : misspelling(name, hintForOwn)) ?? hintForMissing(name);
    if (hint !== undefined) problems.push(`${name} is not a parameter (hint: ${hint})`);
    else if (name !== '') ignored.push(name);
  }
  return { ignored, problems };
}

/** How to write a name that could be meant for the service; undefined if it could not. */
function misspelling(name: string, hintFor: ReturnType<typeof hintsAmong>): string | undefined {
  const form = bareForm(name);
  if (form === IDEMPOTENCY_KEY) return 'send the header Idempotency-Key';
  const meant = isLikeDryRun(form) ? DRY_RUN : SPELLINGS.get(form);
  if (meant !== undefined) return `did you mean ${meant}?`;
  if (!name.toLowerCase().startsWith(PREFIX)) return undefined;
  return hintFor(name) ?? `names with ${PREFIX} are the service's`;
}

/** Only this one is refused for being similar: if another parameter is not read, nobody is randomized by mistake. */
function isLikeDryRun(form: string): boolean {
  return form.includes(BARE_DRY_RUN) || nearestTo(form, [BARE_DRY_RUN]) !== undefined;
}

/** The value of the header `Urn-Ignored`: the names, percent-encoded, and an ellipsis if some are left out. */
export function ignoredHeader(names: readonly string[]): string {
  const shown = names.slice(0, MAX_IGNORED_NAMES).map((name) => encodeURIComponent(name));
  const text = () => [...shown, ...(shown.length < names.length ? [MORE_IGNORED] : [])].join(', ');
  while (text().length > MAX_IGNORED_BYTES) shown.pop();
  return text();
}
