/**
 * The first yardstick for POST: every request goes through the project's own parts (application, log line, metrics, body
 * limit, strict query, API key, security headers) and gets a constant answer. What a POST of the service costs beyond
 * this is the randomization itself: input checks, decision, record, seals, log, flush.
 *
 * With the argument `plain` it runs on Node's own server, which makes requests and responses without Express's prototypes.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cliActor } from '../src/cli/options.ts';
import { apiApp, route } from '../src/service/http/app.ts';
import { Authentication, apiKeyOf } from '../src/service/http/request/credentials.ts';
import { InProgress } from '../src/service/http/request/in-progress.ts';
import type { Locals } from '../src/service/http/request/observation.ts';
import { parseQuery } from '../src/service/http/request/parameters.ts';
import { SUCCESS, send } from '../src/service/http/request/reply.ts';
import { HttpServer } from '../src/service/http/server.ts';
import { makeLogger } from '../src/service/monitoring/logger.ts';
import { makeMetrics } from '../src/service/monitoring/metrics.ts';
import { openLog } from '../src/service/open/open-log.ts';
import { CONSTANT_RECORD } from './study.ts';

const log = await openLog({ data: '.', store: 'memory:' }, cliActor());
await log.rebuild();
const issued = await log.keys.issue({ user: 'bench', scopes: ['read', 'randomize'] }, cliActor());
if ('refused' in issued) throw new Error(issued.refused);
const authentication = new Authentication(log.keys);
const results = JSON.stringify([CONSTANT_RECORD]);

const app = apiApp({
  logger: makeLogger('info'),
  metrics: makeMetrics({ lagSeconds: () => 0, studies: () => new Map() }),
  trustProxy: undefined,
  limits: new InProgress(),
});
route(app, '/study_participants', '[]', {
  POST: async (request, response) => {
    const locals = response.locals as Locals;
    const query = parseQuery(request.url);
    const accepted = await authentication.accept(apiKeyOf(request, query), request);
    locals.keyId = accepted.key.keyId;
    locals.user = accepted.key.user;
    send(response, { status: 200, message: SUCCESS, results, headers: { 'Urn-Revision': '1' } });
  },
});
const address =
  process.argv[2] === 'plain' ? await plainServer() : await new HttpServer(app).listen('127.0.0.1', 0);
process.stdout.write(`${JSON.stringify({ address, apiKey: issued.apiKey })}\n`);

async function plainServer(): Promise<string> {
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
