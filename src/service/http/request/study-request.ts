/**
 * What every request about a study goes through before its route answers it, in the contract's order: the form of the request,
 * the credential, the study, the key's scope, and the body if there is one. What the route then says is sent here, once the
 * disclosure in it is recorded. At the end is what a request may ask of participants' records: as of which moment they are
 * shown, and whether with states of the generator.
 *
 * A key must not learn of studies and participants outside its limits: to it, they do not exist.
 */
import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Scope } from '../../../../events/access.ts';
import type { StudyConfiguration } from '../../../../events/study.ts';
import type { ApiKey } from '../../../../projections/access.ts';
import type { Readable as ReadModel, Runner } from '../../../../projections/runner.ts';
import type { RefusalWord } from '../../../base/refusals.ts';
import type { AcceptedKey } from '../../../core/access/keys.ts';
import type { Ledger } from '../../../core/log/ledger.ts';
import type { Design } from '../../../core/model/design.ts';
import { isWithin } from '../../../core/model/key-limits.ts';
import { currentLevels, type Participant, type Participants } from '../../../core/model/participants.ts';
import { design, participants } from '../../../core/study/fold.ts';
import type { Studies, Study } from '../../../core/study/studies.ts';
import type { Bundles } from '../../../evidence/bundle/bundles.ts';
import {
  type History,
  INSTANT_FORM,
  isBeyond,
  type Moment,
  type Past,
  parseInstant,
  parseRevision,
  REVISION_FORM,
} from '../../../evidence/history/history.ts';
import type { Verifications } from '../../../evidence/verify/verifications.ts';
import type { ExpectedBands } from '../../../statistics/expected/expected-bands.ts';
import type { CodeBreaks } from '../../code-break/code-breaks.ts';
import type { DisclosedEvidence, KeyActor, Recorder } from '../../operations/recorder.ts';
import type { Session } from '../../session/sessions.ts';
import { type Authentication, apiKeyOf, type SessionCookies } from './credentials.ts';
import type { InProgress, Turn } from './in-progress.ts';
import { conforming, expectJson, readJson } from './json-body.ts';
import { type Locals, modeHeader, noteRefusal } from './observation.ts';
import {
  BG_STATE,
  idempotencyKeyOf,
  MIN_REVISION,
  minRevisionShown,
  onBehalfOf,
  parseQuery,
  type Query,
  studyMissing,
} from './parameters.ts';
import { HttpProblem, refusedHeader, serviceProblem } from './problem.ts';
import { beginEvents, type Frame, type Reply, send, sendFile, sendSlices } from './reply.ts';
import type { StudyView, StudyViews } from './study-view.ts';

/** The parts of the running service that routes use. */
export interface Services {
  readonly authentication: Authentication;
  readonly sessionCookies: SessionCookies;
  readonly studies: Studies;
  readonly codeBreaks: CodeBreaks;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly history: History;
  readonly verifications: Verifications;
  readonly bundles: Bundles;
  readonly expectedBands: Pick<ExpectedBands, 'of'>;
  /** The name with which the origins of its checkpoints begin. */
  readonly logName: string;
  readonly views: StudyViews;
  readonly recorder: Pick<Recorder, 'refused' | 'disclosed' | 'disclosedAlways'>;
  readonly limits: InProgress;
  /** Why the service is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
}

/** A request with a valid key, or with a session of one. */
interface KeyRequest {
  readonly http: Request;
  readonly response: Response;
  readonly query: Query;
  readonly accepted: AcceptedKey;
  /** Undefined if the key itself was sent. */
  readonly session: Session | undefined;
  /** The turns of the key. */
  readonly turn: Turn;
}

interface KeyReply extends Omit<Reply, 'results'> {
  /** JSON text. A result that is too long to render at once comes slice by slice. A file comes without the envelope. */
  readonly results: string | Iterator<string> | Readable;
  /** In place of results: a stream of events. Called when the head has been written. */
  readonly beginStream?: () => void;
  /** Around results that come slice by slice. Default: the envelope. */
  readonly frame?: Frame;
  /** The revision of the study, or of another stream, that the answer shows; undefined if it shows several. */
  readonly revision?: number;
  /** The disclosure to record before the answer is sent. Its study is that of the request. */
  readonly discloses?: Omit<DisclosedEvidence, 'study'> | undefined;
  /** The answer must be sent however much the key was shown before: it ignores the key's budget of disclosures. */
  readonly isAlwaysShown?: boolean;
  /** Why the request is refused. */
  readonly refused?: RefusalWord;
}

/**
 * An Express handler for a route that is open to every valid key and session. It sends what the route answers.
 * @param checkForm checks that run before the key is checked; they throw HttpProblem 400
 */
export function keyHandler(
  services: Services,
  answer: (request: KeyRequest, locals: Locals) => Promise<KeyReply>,
  checkForm: (http: Request, query: Query) => void = () => undefined,
) {
  return async (http: Request, response: Response): Promise<void> => {
    const locals = response.locals as Locals;
    const query = parseQuery(http.url);
    const { authentication, sessionCookies } = services;
    const apiKey = apiKeyOf(http, query);
    const cookie = sessionCookies.valueIn(http);
    if (cookie !== undefined && apiKey !== undefined)
      throw new HttpProblem(400, 'An API key and the cookie of a session are given; send one of them');
    checkForm(http, query);
    requireReady(services.notReady);
    const signedIn = cookie === undefined ? undefined : await sessionCookies.accept(http, response, cookie);
    if (signedIn?.session.onBehalfOf !== undefined) personActing(http, signedIn.session);
    const result = signedIn ? signedIn.accepted : authentication.accept(apiKey, http);
    const accepted = result instanceof Promise ? await result : result;
    const actor = recognize(locals, accepted);
    const turn = services.limits.turns.of(callerNamed(accepted.key.keyId, http));
    const wait = turn.next();
    if (wait) await wait;
    const reply = await answer({ http, response, query, accepted, session: signedIn?.session, turn }, locals);
    const { status, message, results, revision, discloses } = reply;
    if (revision !== undefined) locals.revision = revision;
    const { studyName } = locals;
    if (discloses && studyName !== undefined) {
      const { recorder } = services;
      const disclosed = { ...discloses, study: studyName };
      await (reply.isAlwaysShown
        ? recorder.disclosedAlways(actor, disclosed)
        : recorder.disclosed(actor, disclosed));
    }
    const { refused } = reply;
    if (refused !== undefined) noteRefusal(services, http, locals, refused);
    const shownRevision = revision === undefined ? {} : { 'Urn-Revision': String(revision) };
    const headers: Record<string, string> = Object.assign(shownRevision, modeHeader(locals), reply.headers);
    if (refused !== undefined) Object.assign(headers, refusedHeader(refused));
    if (reply.beginStream) {
      locals.answeredAt = performance.now();
      beginEvents(response, headers);
      if (http.method === 'HEAD') response.end();
      else reply.beginStream();
    } else if (typeof results === 'string') send(response, { status, message, results, headers });
    else if (results instanceof Readable) await sendFile(response, { status, headers }, results);
    else await sendSlices(response, { status, message, headers }, results, turn, reply.frame);
  };
}

/** What must be answered whatever else the same caller asks for: health checks and code-breaks have turns of their own. */
const URGENT: ReadonlySet<string> = new Set(['GET /healthz', 'GET /readyz', 'POST /code_breaks']);

export function callerNamed(who: string, { method, path }: Pick<Request, 'method' | 'path'>): string {
  const asked = `${method} ${path}`;
  return URGENT.has(asked) ? `${who} ${asked}` : who;
}

/** @throws HttpProblem 503 while the service is not ready */
export function requireReady(notReady: Services['notReady']): void {
  const why = notReady();
  if (why !== undefined) throw serviceProblem('starting', why);
}

/**
 * The person who signed in; if nobody was named then, the one whom the header names.
 * @throws HttpProblem 400 if they are two
 */
function personActing(http: Request, session: Session | undefined): string | undefined {
  const named = onBehalfOf(http);
  const signedIn = session?.onBehalfOf;
  if (signedIn !== undefined && named !== undefined && named !== signedIn)
    throw new HttpProblem(
      400,
      'The header X-On-Behalf-Of names somebody else than the session: leave it out, or sign in again as that person',
    );
  return signedIn ?? named;
}

/** Notes whose request it is. */
export function recognize(locals: Locals, { key: { keyId, user }, accessRevision }: AcceptedKey): KeyActor {
  const actor = { accessRevision, keyId, user };
  locals.keyId = keyId;
  locals.user = user;
  locals.actor = actor;
  return actor;
}

/** Checks the credential of a request again, for a stream of changes. */
export function stillAccepted(
  { authentication, sessionCookies }: Pick<Services, 'authentication' | 'sessionCookies'>,
  { accepted, session }: Pick<KeyRequest, 'accepted' | 'session'>,
): boolean {
  return authentication.isValid(accepted.key.keyId) && (!session || sessionCookies.isOpen(session));
}

/** A request that passed all checks up to the key's scope. */
export interface StudyRequest extends KeyRequest {
  readonly study: Study;
  /** The design in force at the time of the call. */
  readonly design: () => Design;
  /** For that design. An amendment may be recorded during any `await`. */
  readonly view: () => StudyView;
  readonly participants: Participants;
}

export interface StudyReply extends KeyReply {
  readonly revision: number;
}

/**
 * Like `keyHandler`, for a route about a study.
 * @param scopes the key must have at least one of these
 */
export function studyHandler(
  services: Services,
  scopes: readonly Scope[],
  answer: (request: StudyRequest) => StudyReply | Promise<StudyReply>,
  checkForm?: (http: Request, query: Query) => void,
) {
  return keyHandler(
    services,
    async (request, locals) => {
      const { http, accepted } = request;
      const name = request.query.get('study');
      if (name === undefined) throw studyMissing(request.query.keys());
      const study = studyNamed(services, accepted.key, name, scopes, locals);
      if (http.method === 'POST' || !request.query.has(MIN_REVISION))
        return answer(aboutStudy(services, request, study));
      const query = await minRevisionShown(services.runner, study.stream, request.query);
      return answer(aboutStudy(services, { ...request, query }, studyFor(services, accepted.key, name)));
    },
    checkForm,
  );
}

/** The study, once the key has a scope for the route. Whatever is refused from then on is recorded as about this study. */
function studyNamed(
  services: Services,
  key: ApiKey,
  name: string | undefined,
  scopes: readonly Scope[],
  locals: Locals,
  find: typeof studyFor = studyFor,
): Study {
  const study = find(services, key, name);
  locals.study = study.registered.studyId;
  const { name: registeredName, mode } = study.registered.configuration;
  locals.studyName = registeredName;
  locals.isTest = mode === 'test';
  locals.revision = study.revision;
  requireScope(key, scopes);
  return study;
}

/** @throws HttpProblem 403 */
export function requireScope(key: ApiKey, scopes: readonly Scope[]): void {
  if (!scopes.some((scope) => key.scopes.includes(scope)))
    throw new HttpProblem(403, `This API key lacks the scope ${scopes.join(' or ')}`);
}

function aboutStudy(
  services: Services,
  { http, response, query, accepted, session, turn }: KeyRequest,
  study: Study,
): StudyRequest {
  const { views, runner } = services;
  const inForce = () => runner.state(design, study.stream) ?? study.design;
  // Listed one by one: a spread costs more than the rest of this function.
  return {
    http,
    response,
    query,
    accepted,
    session,
    turn,
    study,
    design: inForce,
    view: () => views.of(inForce()),
    participants: runner.state(participants, study.stream),
  };
}

/** A request whose parameters are in a JSON body. */
export interface BodyRequest<T> extends StudyRequest {
  readonly body: T;
}

/** What is looked at before the study and the scope are known. */
const NamesStudy = z.looseObject({ study: z.string().optional() });

/**
 * Like `studyHandler`, for a route that reads a JSON body, which names the study. Nobody without a key has a body read, and
 * nobody without the scope has one checked.
 * @param find how the study is found; default: any study that the key may know of and that can be read
 */
export function bodyHandler<T extends { readonly study: string }>(
  services: Services,
  schema: z.ZodType<T>,
  scopes: readonly Scope[],
  answer: (request: BodyRequest<T>) => Promise<StudyReply>,
  find: typeof studyFor = studyFor,
) {
  const checkForm = (http: Request, query: Query) => {
    expectJson(http, query);
    idempotencyKeyOf(http);
    onBehalfOf(http);
  };
  return keyHandler(
    services,
    async (request, locals) => {
      const json = await readJson(request.http);
      const { study: name, ...others } = conforming(json, NamesStudy);
      if (name === undefined) throw studyMissing(Object.keys(others));
      const study = studyNamed(services, request.accepted.key, name, scopes, locals, find);
      return answer({ ...aboutStudy(services, request, study), body: conforming(json, schema) });
    },
    checkForm,
  );
}

/**
 * Who writes an event with the key.
 * @throws HttpProblem 400
 */
export function actorOf({
  http,
  accepted,
  session,
}: Pick<KeyRequest, 'http' | 'accepted' | 'session'>): KeyActor {
  return actorFor(accepted, personActing(http, session));
}

export function actorFor({ key, accessRevision }: AcceptedKey, onBehalfOf: string | undefined): KeyActor {
  const { keyId, user } = key;
  return onBehalfOf === undefined
    ? { accessRevision, keyId, user }
    : { accessRevision, keyId, onBehalfOf, user };
}

// Which studies and participants a key may know of

/** A study outside the key's limits is indistinguishable from one that does not exist. */
export function studyFor(
  services: Pick<Services, 'studies' | 'runner'>,
  key: ApiKey,
  asked: string | undefined,
): Study {
  const { studies, runner } = services;
  const name = nameFor(key, asked);
  const study = knownStudy(services, key, name);
  if (runner.halted(studies.streamOf(name)))
    throw serviceProblem(
      'halted',
      'This study cannot be read completely; its operator finds the reason in the log of the service',
    );
  if (!study) throw noStudy(name);
  return study;
}

/** Like `studyFor`, but accepts a study even if only its first records could be read. */
export function studyEvenIfHalted(
  services: Pick<Services, 'studies' | 'runner'>,
  key: ApiKey,
  asked: string | undefined,
): Study {
  const name = nameFor(key, asked);
  const study = knownStudy(services, key, name);
  if (!study) throw noStudy(name);
  return study;
}

/** Like `studyFor`, but accepts a study whose records cannot all be read. Only the name of such a study is known. */
export function studyNameFor(
  services: Pick<Services, 'studies' | 'runner'>,
  key: ApiKey,
  asked: string | undefined,
): { readonly name: string; readonly stream: string } {
  const name = nameFor(key, asked);
  const stream = services.studies.streamOf(name);
  if (!services.runner.halted(stream)) studyFor(services, key, name);
  return { name, stream };
}

/** @throws HttpProblem 400, 404 */
function nameFor(key: ApiKey, name: string | undefined): string {
  if (name === undefined || name === '') throw studyMissing([]);
  if (key.studies && !key.studies.includes(name)) throw noStudy(name);
  return name;
}

function knownStudy({ studies }: Pick<Services, 'studies'>, key: ApiKey, name: string): Study | undefined {
  const study = studies.find(name);
  if (study && !hasLimitedFactors(key, study)) throw noStudy(name);
  return study;
}

/** A key that is limited to levels of a factor must not know of studies without that factor. */
function hasLimitedFactors({ where = [] }: ApiKey, { registered }: Study): boolean {
  const { factors } = registered.configuration;
  return where.every((limit) => factors.some(({ name }) => name === limit.factor));
}

function noStudy(name: string): HttpProblem {
  return new HttpProblem(404, `There is no study named ${JSON.stringify(name)}`);
}

export interface VisibleStudy {
  readonly name: string;
  /** Undefined if even the registration cannot be read. */
  readonly mode: StudyConfiguration['mode'] | undefined;
  /** Undefined if its records cannot all be read. */
  readonly study: Study | undefined;
}

/** The studies that the key may know of, in order of registration. */
export function studiesFor(
  { studies, runner }: Pick<Services, 'studies' | 'runner'>,
  key: ApiKey,
): VisibleStudy[] {
  const registered = studies.list().flatMap((study) => {
    const { name, mode } = study.registered.configuration;
    if (key.studies && !key.studies.includes(name)) return [];
    if (!hasLimitedFactors(key, study)) return [];
    return [{ name, mode, study: runner.halted(study.stream) ? undefined : study }];
  });
  // If the registration of a study cannot be read, its name can only come from the key.
  const others = [...new Set(key.studies)].filter(
    (name) => !studies.find(name) && runner.halted(studies.streamOf(name)),
  );
  return [...registered, ...others.map((name) => ({ name, mode: undefined, study: undefined }))];
}

/** Whether the key's limits let it know of a participant, as they are now. */
export function mayKnowOf(
  { accepted: { key }, design: inForce }: Pick<StudyRequest, 'accepted' | 'design'>,
  participant: Participant,
): boolean {
  return isWithin(key.where, inForce(), currentLevels(participant));
}

// A study as it was at a moment, and states of the generator in the records of its participants

/**
 * The moment that a request asks about with `urn.revision` or `urn.at`, for keys with the scope `audit`; undefined for now. Any
 * problem with it is added to `problems`.
 * @throws HttpProblem 403 without the scope `audit`
 */
export function momentOf({ query, accepted, study }: StudyRequest, problems: string[]): Moment | undefined {
  const revision = query.get('urn.revision');
  const at = query.get('urn.at');
  if (revision === undefined && at === undefined) return undefined;
  if (!accepted.key.scopes.includes('audit'))
    throw new HttpProblem(403, 'This API key lacks the scope audit, which urn.revision and urn.at need');
  if (revision !== undefined && at !== undefined) {
    problems.push('urn.revision and urn.at cannot be combined');
    return undefined;
  }
  if (revision !== undefined) {
    const wanted = parseRevision(revision);
    if (wanted === undefined) problems.push(`urn.revision is not ${REVISION_FORM}`);
    else if (wanted > study.revision)
      problems.push(`urn.revision is beyond the study, which is at revision ${study.revision}`);
    return wanted === undefined ? undefined : { type: 'revision', revision: wanted };
  }
  const instant = parseInstant(at ?? '');
  const { registeredAt } = study.registered;
  if (instant === undefined) problems.push(`urn.at is not ${INSTANT_FORM}`);
  else if (instant < registeredAt)
    problems.push(`urn.at is before the study, which was registered at ${registeredAt}`);
  return instant === undefined ? undefined : { type: 'instant', at: instant };
}

/** The study at that moment. @throws DomainError as `History.foldUntil` does */
export function studyAt<P extends Readonly<Record<string, ReadModel<unknown>>>>(
  { history }: Services,
  { study, turn }: StudyRequest,
  moment: Moment,
  projections: P,
): Promise<Past<P>> {
  return turn.inOrder(() => history.foldUntil(study.stream, projections, isBeyond(moment)));
}

/**
 * The scopes for which records are rendered: those of the key, without `audit` when the request wants no states, or
 * when the study follows a list, which moves no generator. Any problem with the parameter is added to `problems`.
 */
export function scopesShown({ query, accepted, design }: StudyRequest, problems: string[]): readonly Scope[] {
  const { scopes } = accepted.key;
  const value = query.get(BG_STATE);
  if (value !== undefined && value !== 'omit') problems.push(`${BG_STATE} must be omit`);
  const hasStates = value === undefined && design().method.name !== 'list';
  return hasStates ? scopes : scopes.filter((scope) => scope !== 'audit');
}

/** The disclosure to record: with the scope `audit`, each record shows a state of the generator. */
export function statesIn(
  shown: readonly Participant[],
  scopes: readonly Scope[],
  toRevision: number,
): StudyReply['discloses'] {
  const [one] = shown;
  if (!scopes.includes('audit') || !one) return undefined;
  const participant = shown.length === 1 ? { participant: one.participantId } : {};
  return { what: 'generator-states', toRevision, ...participant };
}
