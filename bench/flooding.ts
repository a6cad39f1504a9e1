/** Measures how long others wait while somebody floods the service with one request, for each route in turn. */
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { ROUTES } from '../src/service/http/routes.ts';
import type { Figure } from './figures.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { levelsOf, STUDY } from './study.ts';

export interface FloodPlan {
  readonly participants: number;
  readonly connections: number;
  /** How long each flood lasts. */
  readonly measuredMs: number;
}

/** By then all connections of a flood have been accepted, one in each turn of the event loop. */
const SETTLE_MS = 1500;
const study = `study=${encodeURIComponent(STUDY.name)}`;
const PARTICIPANT = 'populated-7';

/** Whose key a route is asked with: its scopes. */
const ASKERS = {
  nobody: undefined,
  reader: ['read', 'audit'],
  blinded: ['blinded'],
  site: ['randomize', 'correct'],
  manager: ['manage', 'supply', 'force', 'unblind'],
} as const;
type Asker = keyof typeof ASKERS;

/** What is asked of each route that is not asked with the study alone by a reader. */
const QUERIES: Readonly<Record<string, string>> = {
  '/study_participants': study,
  '/participant_history': `${study}&id=${PARTICIPANT}`,
  '/explanation': `${study}&id=${PARTICIPANT}`,
  '/inclusion_proof': `${study}&revision=7`,
  '/consistency_proof': `${study}&first=7`,
  '/studies': '',
  '/session': '',
  '/healthz': '',
  '/readyz': '',
  '/operations': '',
};

const MANAGED = /amendments|codes|forced|lists|studies|pack|visits|unblind|code_breaks|withdraw/;

interface FloodedRoute {
  readonly name: string;
  readonly asker: Asker;
  readonly head: string;
  readonly body?: string;
}

function floodedRoutes(): FloodedRoute[] {
  const routes: FloodedRoute[] = [
    ...['/openapi.json', '/docs/swagger-ui-bundle.js', '/', '/pages/studies', '/no-such-path', '/metrics'],
  ].map((path) => ({ name: `GET ${path}`, asker: 'nobody', head: `GET ${path}` }));
  for (const { path, GET, POST } of ROUTES) {
    const query = QUERIES[path] ?? study;
    if (GET && path !== '/changes')
      for (const asker of ['reader', 'blinded'] as const)
        routes.push({ name: `GET ${path} (${asker})`, asker, head: `GET ${path}?${query}` });
    if (POST && path === '/study_participants')
      routes.push({ name: `POST ${path}`, asker: 'site', head: `POST ${path}?${study}` });
    else if (POST) {
      const asker = MANAGED.test(path) ? 'manager' : 'site';
      const body = JSON.stringify({ study: STUDY.name, id: PARTICIPANT, dry_run: true });
      routes.push({ name: `POST ${path}`, asker, head: `POST ${path}`, body });
    }
  }
  routes.push({ name: 'GET /studies without a key', asker: 'nobody', head: 'GET /studies' });
  const page = `${study}&urn.limit=50&urn.search=9999`;
  const search = `GET /study_participants?${page}`;
  routes.push({ name: 'GET /study_participants, searched', asker: 'blinded', head: search });
  const past = `GET /study_participants?${study}&urn.revision=39000`;
  routes.push({ name: 'GET /study_participants of the past', asker: 'reader', head: past });
  return routes;
}

export async function measureFlooding(processes: Processes, plan: FloodPlan): Promise<Figure[]> {
  const data = join(processes.folder, 'flooded');
  const keys: Partial<Record<Asker, string>> = {};
  for (const [asker, scopes] of Object.entries(ASKERS))
    if (scopes)
      keys[asker as Asker] = await populate({ data }, asker === 'reader' ? plan.participants : 0, scopes);
  const emergencyKey = await populate({ data }, 0, ['unblind']);
  const { port } = await processes.startService(['--data', data]);
  const flood = processes.startFlood();
  const figures: Figure[] = [];
  for (const route of floodedRoutes()) {
    await flood.begin({ port, connections: plan.connections, request: requestOf(route, keys[route.asker]) });
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const health: number[] = [];
    const emergencies: number[] = [];
    const end = performance.now() + plan.measuredMs;
    await Promise.all([
      repeatUntil(end, async () => health.push(await latencyOf(port, 'GET', '/healthz'))),
      repeatUntil(end, async () =>
        emergencies.push(await latencyOf(port, 'POST', '/code_breaks', emergencyKey)),
      ),
    ]);
    await flood.end();
    const name = `${plan.connections} connections flood ${route.name}`;
    const below = (value: number) => ({ relation: 'below', value }) as const;
    figures.push(
      { name: `${name}: /healthz, longest`, value: Math.max(...health), unit: 'ms', target: below(250) },
      {
        name: `${name}: emergency, longest`,
        value: Math.max(...emergencies),
        unit: 'ms',
        target: below(1000),
      },
    );
  }
  return figures;
}

function requestOf({ head, body = '' }: FloodedRoute, apiKey: string | undefined): string {
  const levels = head.startsWith('POST /study_participants')
    ? levelsOf(STUDY.factors).map((level, i) => `&${STUDY.factors[i]?.name}=${encodeURIComponent(level)}`)
    : [];
  const id = levels.length > 0 ? '&id=flood' : '';
  const key = apiKey === undefined ? '' : `X-API-Key: ${apiKey}\r\n`;
  const type = body === '' ? '' : 'Content-Type: application/json\r\n';
  return `${head}${id}${levels.join('')} HTTP/1.1\r\nHost: 127.0.0.1\r\n${key}${type}Content-Length: ${body.length}\r\n\r\n${body}`;
}

async function repeatUntil(end: number, run: () => Promise<unknown>): Promise<void> {
  while (performance.now() < end) {
    await run();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** On a new connection. */
function latencyOf(port: number, method: string, path: string, apiKey?: string): Promise<number> {
  const began = performance.now();
  const body =
    apiKey && JSON.stringify({ study: STUDY.name, id: PARTICIPANT, category: 'emergency', reason: 'flood' });
  const headers = apiKey ? { 'X-API-Key': apiKey, 'Content-Type': 'application/json' } : {};
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, host: '127.0.0.1', method, path, headers, agent: false },
      (response) => {
        response.resume();
        response.once('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - began);
          else reject(new Error(`${path} answered ${response.statusCode}`));
        });
      },
    );
    request.once('error', reject);
    request.end(body);
  });
}
