/** The way of every request about a study: the order of checks of the contract, up to the route's own. */
import type { Request, Response } from 'express';
import type { Scope } from '../../../events/access.ts';
import type { RefusalReason } from '../../../events/operations.ts';
import type { ApiKey } from '../../../projections/access.ts';
import { type Participant, type Participants, participants } from '../../../projections/participants.ts';
import type { Runner } from '../../../projections/runner.ts';
import type { Accepted } from '../../access/keys.ts';
import type { History } from '../../history/history.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Disclosed, Recorder } from '../../operations/recorder.ts';
import type { Studies, Study } from '../../study/studies.ts';
import type { Verifications } from '../../verify/verifications.ts';
import { type Authentication, apiKeyOf } from './credentials.ts';
import type { KeyLimits } from './key-limits.ts';
import type { Locals } from './locals.ts';
import { MIN_REVISION, minRevisionShown } from './min-revision.ts';
import { HttpProblem } from './problem.ts';
import { parseQuery, type Query } from './query.ts';
import { noteRefusal } from './refusal.ts';
import { type Reply, send, sendSlices } from './reply.ts';
import { type DatetimeFormat, StudyView } from './study-view.ts';

/** What the routes need of the running service. */
export interface StudyRoutes {
  readonly authentication: Authentication;
  readonly studies: Studies;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly history: History;
  readonly verifications: Verifications;
  /** As the origins of its checkpoints begin. */
  readonly logName: string;
  readonly views: StudyViews;
  readonly recorder: Pick<Recorder, 'refused' | 'disclosed' | 'disclosedAlways'>;
  readonly limits: KeyLimits;
  /** Why the service is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
}

/** A request with a valid key. */
export interface KeyRequest {
  readonly http: Request;
  readonly response: Response;
  readonly query: Query;
  readonly accepted: Accepted;
}

/** A request that passed all checks up to the key's scope. */
export interface StudyRequest extends KeyRequest {
  readonly study: Study;
  readonly view: StudyView;
  readonly participants: Participants;
}

export interface StudyReply extends Omit<Reply, 'results'> {
  /** JSON text; of what is too long to be rendered at once, slice by slice. */
  readonly results: string | Iterator<string>;
  /** Revision of the study, or other stream, that the answer shows. */
  readonly revision: number;
  /** What it shows that is recorded before it is sent; the study is the request's. */
  readonly discloses?: Omit<Disclosed, 'study'> | undefined;
  /** Must be answered however much the key was shown before: outside its budget of disclosures. */
  readonly isAlwaysShown?: boolean;
  /** Why a request is refused, where the status does not say it. */
  readonly refused?: RefusalReason;
}

export class StudyViews {
  readonly #views = new Map<string, StudyView>();
  readonly #datetimeFormat: DatetimeFormat;

  constructor(datetimeFormat: DatetimeFormat) {
    this.#datetimeFormat = datetimeFormat;
  }

  /** A registered configuration never changes, so its view is made once. */
  of({ stream, registered }: Study): StudyView {
    const existing = this.#views.get(stream);
    if (existing) return existing;
    const view = new StudyView(registered.configuration, this.#datetimeFormat);
    this.#views.set(stream, view);
    return view;
  }
}

/**
 * An Express handler of a route about a study.
 * @param early checks of form that come before the key is looked at; they throw HttpProblem 400
 * @param scopes one of which the key must have
 */
export function studyHandler(
  routes: StudyRoutes,
  scopes: readonly Scope[],
  answer: (request: StudyRequest) => StudyReply | Promise<StudyReply>,
  early?: (http: Request, query: Query) => void,
) {
  return keyHandler(
    routes,
    async (request, locals) => {
      const { http, response, accepted } = request;
      const name = request.query.get('study');
      let study = studyFor(routes, accepted.key, name);
      locals.study = study.registered.studyId;
      locals.studyName = study.registered.configuration.name;
      locals.revision = study.revision;
      requireScope(accepted.key, scopes);
      let { query } = request;
      if (http.method !== 'POST' && query.has(MIN_REVISION)) {
        query = await minRevisionShown(routes.runner, study.stream, query);
        study = studyFor(routes, accepted.key, name);
      }
      const view = routes.views.of(study);
      // Member by member: a spread costs more than all the rest of this function.
      return answer({
        http,
        response,
        query,
        accepted,
        study,
        view,
        participants: routes.runner.state(participants, study.stream),
      });
    },
    early,
  );
}

/** @throws HttpProblem 403 */
export function requireScope(key: ApiKey, scopes: readonly Scope[]): void {
  if (!scopes.some((scope) => key.scopes.includes(scope)))
    throw new HttpProblem(403, `This API key lacks the scope ${scopes.join(' or ')}`);
}

/** As `studyHandler`, of a route that anybody with a valid key may ask. */
export function keyHandler(
  routes: StudyRoutes,
  answer: (request: KeyRequest, locals: Locals) => Promise<StudyReply>,
  early: (http: Request, query: Query) => void = () => undefined,
) {
  return async (http: Request, response: Response): Promise<void> => {
    const locals = response.locals as Locals;
    const query = parseQuery(http.url);
    const apiKey = apiKeyOf(http, query);
    early(http, query);
    ready(routes.notReady);
    const asked = routes.authentication.accept(apiKey, http);
    const accepted = asked instanceof Promise ? await asked : asked;
    const { keyId, user } = accepted.key;
    const actor = { accessRevision: accepted.accessRevision, keyId, user };
    locals.keyId = keyId;
    locals.user = user;
    locals.actor = actor;
    const reply = await answer({ http, response, query, accepted }, locals);
    locals.revision = reply.revision;
    const { status, message, results, revision, discloses } = reply;
    const { studyName } = locals;
    if (discloses && studyName !== undefined) {
      const { recorder } = routes;
      const disclosed = { ...discloses, study: studyName };
      await (reply.isAlwaysShown
        ? recorder.disclosedAlways(actor, disclosed)
        : recorder.disclosed(actor, disclosed));
    }
    if (status >= 400) noteRefusal(routes, http, locals, status, reply.refused);
    const headers = Object.assign({ 'Urn-Revision': String(revision) }, reply.headers);
    if (typeof results === 'string') send(response, { status, message, results, headers });
    else await sendSlices(response, { status, message, headers }, results, routes.limits.lists);
  };
}

/** @throws HttpProblem 503 while the service is not ready */
export function ready(notReady: StudyRoutes['notReady']): void {
  const why = notReady();
  if (why !== undefined) throw new HttpProblem(503, why, { 'Retry-After': '1' });
}

/** A study that is not among the key's is told from one that does not exist by nothing. */
export function studyFor(
  { studies, runner }: Pick<StudyRoutes, 'studies' | 'runner'>,
  key: ApiKey,
  asked: string | undefined,
): Study {
  const name = nameFor(key, asked);
  const study = studies.find(name);
  const notFound = () => noStudy(name);
  const has = (factor: string) =>
    study?.registered.configuration.factors.some((candidate) => candidate.name === factor);
  if (study && key.where?.some((limit) => !has(limit.factor))) throw notFound();
  if (runner.halted(studies.streamOf(name)))
    throw new HttpProblem(
      503,
      'This study cannot be read completely; its operator finds the reason in the log of the service',
      {
        'Retry-After': '300',
      },
    );
  if (!study) throw notFound();
  return study;
}

/** As `studyFor`, but also one of which not all records can be read: all that is known of it is what it is called. */
export function studyNameFor(
  routes: Pick<StudyRoutes, 'studies' | 'runner'>,
  key: ApiKey,
  asked: string | undefined,
): { readonly name: string; readonly stream: string } {
  const name = nameFor(key, asked);
  const stream = routes.studies.streamOf(name);
  if (!routes.runner.halted(stream)) studyFor(routes, key, name);
  return { name, stream };
}

/** @throws HttpProblem 400, 404 */
function nameFor(key: ApiKey, name: string | undefined): string {
  if (name === undefined || name === '') throw new HttpProblem(400, 'study is missing');
  if (key.studies && !key.studies.includes(name)) throw noStudy(name);
  return name;
}

function noStudy(name: string): HttpProblem {
  return new HttpProblem(404, `There is no study named ${JSON.stringify(name)}`);
}

/** Whether levels (one per factor, in the study's order) lie within the key's limits: of one factor any, of several all. */
export function withinLimits(key: ApiKey, study: Study, levels: Participant['levels']): boolean {
  if (!key.where) return true;
  const { factors } = study.registered.configuration;
  return key.where.every((limit) => {
    const index = factors.findIndex(({ name }) => name === limit.factor);
    return limit.levels.includes(levels[index] ?? '');
  });
}
