/** The Express application: its routes, and what happens when something goes wrong. */
import type { Express, NextFunction, Request, Response } from 'express';
import express from 'express';
import type { Logger } from '../monitoring/logger.ts';
import { type Metrics, metricsGatherer } from '../monitoring/metrics.ts';
import { openApiDocument } from './openapi.ts';
import { docsRouter, pagesRouter } from './pages.ts';
import { refuseAmbiguous } from './request/ambiguity.ts';
import { InProgress } from './request/in-progress.ts';
import { type Locals, modeHeader, noteRefusal, observe } from './request/observation.ts';
import { HttpProblem, problemOf, refusedHeader, serviceProblem } from './request/problem.ts';
import { API_HEADERS, endInPieces, send } from './request/reply.ts';
import { callerNamed } from './request/study-request.ts';
import { getHealth } from './routes/probes.ts';
import { type Handler, ROUTES, type RouteParts } from './routes.ts';
import { holderOf } from './server.ts';

interface HttpParts extends RouteParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Whether /metrics is served here. Otherwise it has a port of its own. */
  readonly servesMetrics: boolean;
  /** Express's `trust proxy`: which proxies' X-Forwarded-For to believe. */
  readonly trustProxy: number | string | undefined;
  readonly version: string;
}

type Method = 'GET' | 'POST' | 'DELETE';

export function httpApp(parts: HttpParts): Express {
  const app = apiApp(parts);
  for (const { path, empty, ...methods } of ROUTES) {
    const served = Object.entries(methods).map(([method, [, handler]]) => [method, handler(parts)]);
    route(app, path, empty, Object.fromEntries(served));
  }
  routePlain(app, parts);
  app.use('/docs', docsRouter());
  app.use(pagesRouter());

  app.use((request) => {
    refuseAmbiguous(request);
    if (!isDecodable(request.path)) throw new HttpProblem(400, 'The path is not valid');
    throw new HttpProblem(404, 'There is no such path (the documentation is at /docs)');
  });
  app.use(errorHandler(parts));
  return app;
}

/** What is served while there is no log to answer from. @param why nothing else can be answered */
export function waitingApp(
  parts: Pick<HttpParts, 'logger' | 'metrics' | 'trustProxy'>,
  why: string,
): Express {
  return apiApp({ ...parts, limits: new InProgress() }).use((request, response) => {
    if (request.path === '/healthz') return getHealth(request, response);
    const results = request.path === '/readyz' ? '{}' : '[]';
    const { status, message, headers, word } = serviceProblem('starting', why);
    send(response, { status, message, results, headers: { ...headers, ...refusedHeader(word) } });
  });
}

/** The routes whose answers have no envelope. */
function routePlain(app: Express, parts: HttpParts): void {
  if (parts.servesMetrics) {
    const { registry } = parts.metrics;
    const gather = metricsGatherer(registry);
    route(app, '/metrics', '[]', {
      GET: async (_, response) => plain(response, registry.contentType, Buffer.from(await gather())),
    });
  }
  const document = Buffer.from(JSON.stringify(openApiDocument(parts.version), null, 2));
  route(app, '/openapi.json', '[]', { GET: (_, response) => plain(response, 'application/json', document) });
}

/** The application without its routes: what every request passes through first. */
export function apiApp(parts: Pick<HttpParts, 'logger' | 'metrics' | 'trustProxy' | 'limits'>): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // parseQuery parses queries, strictly.
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  if (parts.trustProxy !== undefined) app.set('trust proxy', parts.trustProxy);

  app.use(observe(parts.logger, parts.metrics));
  const { turns } = parts.limits;
  app.use((request, response, next) => {
    // Where it comes from is all that is known of it before its key is looked at.
    const turn = turns.next(callerNamed(holderOf(request.ip ?? ''), request));
    if (turn) void turn.then(() => response.destroyed || next());
    else next();
  });
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
    refuseAmbiguous(request);
    const handler = handlers[request.method === 'HEAD' ? 'GET' : (request.method as Method)];
    if (!handler || !allowed.includes(request.method))
      throw new HttpProblem(405, `${path} takes ${allowed.join(', ')}`, { Allow: allowed.join(', ') });
    locals.isServed = true;
    return handler(request, response);
  });
}

function plain(response: Response, contentType: string, content: Buffer): void {
  for (let i = 0; i < API_HEADERS.length; i += 2)
    response.setHeader(API_HEADERS[i] ?? '', API_HEADERS[i + 1] ?? '');
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', String(content.length));
  endInPieces(response, content);
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
    noteRefusal(parts, request, locals, problem.word);
    // Once an answer has begun, cutting it short is the only way to report an error.
    if (response.headersSent) response.destroy();
    if (response.destroyed) return;
    const { status, message, word } = problem;
    const revision = locals.revision === undefined ? {} : { 'Urn-Revision': String(locals.revision) };
    const headers = { ...problem.headers, ...revision, ...modeHeader(locals), ...refusedHeader(word) };
    send(response, { status, message, results: locals.emptyResults, headers });
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
