/** The way of every request about a study: the order of checks of the contract, up to the route's own. */
import type { Request, Response } from 'express';
import type { Scope } from '../../events/access.ts';
import type { ApiKey } from '../../projections/access.ts';
import { type Participant, type Participants, participants } from '../../projections/participants.ts';
import type { Runner } from '../../projections/runner.ts';
import type { Accepted } from '../access/keys.ts';
import type { History } from '../audit/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Studies, Study } from '../study/studies.ts';
import { type Authentication, apiKeyOf } from './credentials.ts';
import { HttpProblem } from './problem.ts';
import { parseQuery, type Query } from './query.ts';
import { type Reply, send } from './reply.ts';
import { type DatetimeFormat, StudyView } from './study-view.ts';

/** What the routes need of the running service. */
export interface StudyRoutes {
  readonly authentication: Authentication;
  readonly studies: Studies;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly history: History;
  readonly views: StudyViews;
  /** Why the service is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
}

/** A request that passed all checks up to the key's scope. */
export interface StudyRequest {
  readonly http: Request;
  readonly query: Query;
  readonly accepted: Accepted;
  readonly study: Study;
  readonly view: StudyView;
  readonly participants: Participants;
}

export interface StudyReply extends Reply {
  /** Revision of the study that the answer shows. */
  readonly revision: number;
}

/** What a route leaves for the log, the metrics and the error handler. */
export interface Locals {
  route: string;
  emptyResults: '{}' | '[]';
  keyId?: string;
  user?: string;
  study?: string;
  revision?: number;
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
  early: (http: Request) => void = () => undefined,
) {
  return async (http: Request, response: Response): Promise<void> => {
    const locals = response.locals as Locals;
    const query = parseQuery(http.url);
    const apiKey = apiKeyOf(http, query);
    early(http);
    ready(routes.notReady);
    const asked = routes.authentication.accept(apiKey, http);
    const accepted = asked instanceof Promise ? await asked : asked;
    locals.keyId = accepted.key.keyId;
    locals.user = accepted.key.user;
    const study = studyFor(routes, accepted.key, query.get('study'));
    locals.study = study.registered.studyId;
    locals.revision = study.revision;
    if (!scopes.some((scope) => accepted.key.scopes.includes(scope)))
      throw new HttpProblem(403, `This API key lacks the scope ${scopes.join(' or ')}`);
    const reply = await answer({
      http,
      query,
      accepted,
      study,
      view: routes.views.of(study),
      participants: routes.runner.state(participants, study.stream),
    });
    locals.revision = reply.revision;
    send(response, { ...reply, headers: { ...reply.headers, 'Urn-Revision': String(reply.revision) } });
  };
}

/** @throws HttpProblem 503 while the service is not ready */
export function ready(notReady: StudyRoutes['notReady']): void {
  const why = notReady();
  if (why !== undefined) throw new HttpProblem(503, why, { 'Retry-After': '1' });
}

/** A study that is not among the key's is told from one that does not exist by nothing. */
function studyFor({ studies, runner }: StudyRoutes, key: ApiKey, name: string | undefined): Study {
  if (name === undefined || name === '') throw new HttpProblem(400, 'study is missing');
  const study = studies.find(name);
  const notFound = () => new HttpProblem(404, `There is no study named ${JSON.stringify(name)}`);
  if (key.studies && !key.studies.includes(name)) throw notFound();
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

/** Whether levels (one per factor, in the study's order) lie within the key's limits: of one factor any, of several all. */
export function withinLimits(key: ApiKey, study: Study, levels: Participant['levels']): boolean {
  if (!key.where) return true;
  const { factors } = study.registered.configuration;
  return key.where.every((limit) => {
    const index = factors.findIndex(({ name }) => name === limit.factor);
    return limit.levels.includes(levels[index] ?? '');
  });
}
