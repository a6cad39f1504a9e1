/** The Express application: its routes, and what happens when something goes wrong. */
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Logger } from '../service/logger.ts';
import type { Metrics } from '../service/metrics.ts';
import { docsRouter } from './docs.ts';
import { openApiDocument } from './openapi.ts';
import { pagesRouter } from './pages.ts';
import { actHandler } from './request/act-route.ts';
import { type Locals, modeHeader } from './request/locals.ts';
import { observe } from './request/observe.ts';
import { HttpProblem, problemOf } from './request/problem.ts';
import { noteRefusal } from './request/refusal.ts';
import { API_HEADERS, send } from './request/reply.ts';
import { ACT_ROUTES } from './routes/act-routes.ts';
import { postAmendment } from './routes/amendments.ts';
import { getBalance } from './routes/balance.ts';
import { getBundle } from './routes/bundle.ts';
import { type ChangeServices, getChanges } from './routes/changes.ts';
import { getCheckpoint } from './routes/checkpoint.ts';
import { listCodeBreaks, postCodeBreak } from './routes/code-breaks.ts';
import { listCodes } from './routes/codes.ts';
import { getConsistencyProof } from './routes/consistency-proof.ts';
import { getEnrolment } from './routes/enrolment.ts';
import { getExpectedBalance } from './routes/expected-balance.ts';
import { getExplanation } from './routes/explanation.ts';
import { postForcedAllocation } from './routes/forced-allocations.ts';
import { getHealth } from './routes/health.ts';
import { getInclusionProof } from './routes/inclusion-proof.ts';
import { listParticipants } from './routes/list-participants.ts';
import { listStudies } from './routes/list-studies.ts';
import { getOperations } from './routes/operations.ts';
import { listAccountability } from './routes/pack-accountability.ts';
import { getParticipantHistory } from './routes/participant-history.ts';
import { randomizeParticipant } from './routes/randomize-participant.ts';
import { getReadiness, type ReadinessParts } from './routes/readiness.ts';
import { getRecords } from './routes/records.ts';
import { deleteSession, getSession, postSession, type SessionServices } from './routes/session.ts';
import { getStudyConfig } from './routes/study-config.ts';
import { getStudyDesign } from './routes/study-design.ts';
import { getStudyForm } from './routes/study-form.ts';
import { getVerification } from './routes/verification.ts';
import { getVerificationProgress } from './routes/verification-progress.ts';
import { refuseUnsound } from './soundness.ts';

export interface HttpParts extends SessionServices, ChangeServices, ReadinessParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Whether /metrics is served here. Otherwise it has a port of its own. */
  readonly servesMetrics: boolean;
  /** Express's `trust proxy`: which proxies' X-Forwarded-For to believe. */
  readonly trustProxy: number | string | undefined;
  readonly version: string;
}

type Method = 'GET' | 'POST' | 'DELETE';
type Handler = (request: Request, response: Response) => void | Promise<void>;

export function httpApp(parts: HttpParts): Express {
  const app = apiApp(parts);
  routeAllocations(app, parts);
  routeStudies(app, parts);
  routeEvidence(app, parts);
  routeSession(app, parts);
  routeOperation(app, parts);
  app.use('/docs', docsRouter());
  app.use(pagesRouter());

  app.use((request) => {
    refuseUnsound(request);
    if (!isDecodable(request.path)) throw new HttpProblem(400, 'The path is not valid');
    throw new HttpProblem(404, 'There is no such path (the documentation is at /docs)');
  });
  app.use(errorHandler(parts));
  return app;
}

/** Randomizing, and why and how evenly it was done. */
function routeAllocations(app: Express, parts: HttpParts): void {
  route(app, '/studies', '[]', { GET: listStudies(parts) });
  route(app, '/study_participants', '[]', {
    GET: listParticipants(parts),
    POST: randomizeParticipant(parts),
  });
  route(app, '/study_config', '{}', { GET: getStudyConfig(parts) });
  route(app, '/explanation', '[]', { GET: getExplanation(parts) });
  route(app, '/balance', '[]', { GET: getBalance(parts) });
  route(app, '/expected_balance', '{}', { GET: getExpectedBalance(parts) });
}

/** What a study is, how it changes, and what happens to its participants after randomization. */
function routeStudies(app: Express, parts: HttpParts): void {
  route(app, '/study_design', '{}', { GET: getStudyDesign(parts) });
  route(app, '/study_form', '{}', { GET: getStudyForm(parts) });
  route(app, '/enrolment', '{}', { GET: getEnrolment(parts) });
  route(app, '/code_breaks', '[]', { GET: listCodeBreaks(parts), POST: postCodeBreak(parts) });
  route(app, '/codes', '{}', { GET: listCodes(parts) });
  route(app, '/pack_accountability', '[]', { GET: listAccountability(parts) });
  route(app, '/forced_allocations', '[]', { POST: postForcedAllocation(parts) });
  route(app, '/amendments', '{}', { POST: postAmendment(parts) });
  route(app, '/participant_history', '[]', { GET: getParticipantHistory(parts) });
  for (const row of ACT_ROUTES) route(app, row.path, row.results.empty, { POST: actHandler(parts, row) });
}

/** What shows that the log is sound. */
function routeEvidence(app: Express, parts: HttpParts): void {
  route(app, '/records', '[]', { GET: getRecords(parts) });
  route(app, '/operations', '[]', { GET: getOperations(parts) });
  route(app, '/verification', '[]', { GET: getVerification(parts) });
  route(app, '/verification_progress', '{}', { GET: getVerificationProgress(parts) });
  route(app, '/bundle', '[]', { GET: getBundle(parts) });
  route(app, '/checkpoint', '{}', { GET: getCheckpoint(parts) });
  route(app, '/inclusion_proof', '{}', { GET: getInclusionProof(parts) });
  route(app, '/consistency_proof', '{}', { GET: getConsistencyProof(parts) });
}

/** What only the pages in a browser need. */
function routeSession(app: Express, parts: HttpParts): void {
  route(app, '/changes', '{}', { GET: getChanges(parts) });
  route(app, '/session', '{}', {
    GET: getSession(parts),
    POST: postSession(parts),
    DELETE: deleteSession(parts),
  });
}

/** For operators of the service, and for programs that use it. */
function routeOperation(app: Express, parts: HttpParts): void {
  route(app, '/healthz', '[]', { GET: getHealth });
  route(app, '/readyz', '[]', { GET: getReadiness(parts) });
  if (parts.servesMetrics)
    route(app, '/metrics', '[]', {
      GET: async (_, response) => {
        const { registry } = parts.metrics;
        const text = await registry.metrics();
        plain(response, registry.contentType, text);
      },
    });
  const document = JSON.stringify(openApiDocument(parts.version), null, 2);
  route(app, '/openapi.json', '[]', { GET: (_, response) => plain(response, 'application/json', document) });
}

/** The application without its routes: what every request passes through first. */
export function apiApp(parts: Pick<HttpParts, 'logger' | 'metrics' | 'trustProxy'>): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // query.ts parses queries, strictly.
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  if (parts.trustProxy !== undefined) app.set('trust proxy', parts.trustProxy);

  app.use(observe(parts.logger, parts.metrics));
  return app;
}

export function route(
  app: Express,
  path: string,
  emptyResults: Locals['emptyResults'],
  handlers: Partial<Record<Method, Handler>>,
): void {
  const allowed = Object.keys(handlers).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  // app.all would be slower: it tries each of Node's 35 methods in turn.
  app.route(path).all((request, response) => {
    const locals = response.locals as Locals;
    locals.route = path;
    locals.emptyResults = emptyResults;
    refuseUnsound(request);
    const handler = handlers[request.method === 'HEAD' ? 'GET' : (request.method as Method)];
    if (!handler || !allowed.includes(request.method))
      throw new HttpProblem(405, `${path} takes ${allowed.join(', ')}`, { Allow: allowed.join(', ') });
    locals.isServed = true;
    return handler(request, response);
  });
}

function plain(response: Response, contentType: string, text: string): void {
  for (let i = 0; i < API_HEADERS.length; i += 2)
    response.setHeader(API_HEADERS[i] ?? '', API_HEADERS[i + 1] ?? '');
  response.setHeader('Content-Type', contentType);
  response.end(text);
}

/** Whether the path is printable ASCII, and its percent-encoded parts are UTF-8. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return /^[\x21-\x7e]*$/.test(path);
  } catch {
    return false;
  }
}

function errorHandler(parts: Pick<HttpParts, 'logger' | 'authentication' | 'sessionCookies' | 'recorder'>) {
  // Express recognizes an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const locals = response.locals as Locals;
    const problem = problemOf(error) ?? unexpected(error, parts.logger, locals);
    noteRefusal(parts, request, locals, problem.status);
    // Once an answer has begun, cutting it short is the only way to report an error.
    if (response.headersSent) response.destroy();
    if (response.destroyed) return;
    const { status, message, results = locals.emptyResults } = problem;
    const revision = locals.revision === undefined ? {} : { 'Urn-Revision': String(locals.revision) };
    const headers = { ...problem.headers, ...revision, ...modeHeader(locals) };
    send(response, { status, message, results, headers });
  };
}

function unexpected(error: unknown, logger: Logger, { route: path }: Locals): HttpProblem {
  // Express reports a path that it cannot decode as an error with a status.
  if ((error as { status?: unknown }).status === 400) return new HttpProblem(400, 'The path is not valid');
  const { name, stack } = error as Error;
  logger.error({ route: path, error: name, stack }, 'a request failed unexpectedly');
  return new HttpProblem(
    500,
    'Internal error: it is not known whether anything was recorded; the log of the service has the details',
  );
}
