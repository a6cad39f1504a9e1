/** Measures what the pages for people ask of a long list: a first page in each order, a search, and whom that delays. */
import { get } from 'node:http';
import { type Figure, median, pairedRatio } from './figures.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { STUDY } from './study.ts';

export interface PagingPlan {
  /** Participants of the list. */
  readonly listed: number;
  readonly rounds: number;
}

/** What a page asks for. Each is asked twice: the second time, its order is there already. */
const PAGES = {
  'in the order of randomization': {},
  'by id': { 'urn.sort': 'id' },
  'by site': { 'urn.sort': 'f_site' },
  'of a search': { 'urn.search': '77' },
  'of a search, by id': { 'urn.sort': 'id', 'urn.order': 'desc', 'urn.search': '77' },
} as const;
const TARGET = { relation: 'below', value: 1000 } as const;

export async function measurePaging(processes: Processes, plan: PagingPlan): Promise<Figure[]> {
  const apiKey = await populate({ data: processes.folder }, plan.listed, ['read', 'randomize']);
  const { port } = await processes.startService();
  const of = `of ${plan.listed.toLocaleString('en-US')}`;
  const inTime: number[] = [];
  const figures: Figure[] = [];
  let longestWait = 0;
  for (const [name, parameters] of Object.entries(PAGES)) {
    const [first, second]: [number[], number[]] = [[], []];
    for (let round = 0; round < plan.rounds; round++) {
      // Whoever comes in makes the kept order useless.
      await randomize(port, apiKey, `${name} ${round}`);
      const waiting = startAsking(port);
      first.push(await page(port, apiKey, parameters));
      second.push(await page(port, apiKey, parameters));
      longestWait = Math.max(longestWait, await waiting.stop());
    }
    if (name === 'in the order of randomization') inTime.push(...first);
    const ms = { unit: 'ms', target: TARGET } as const;
    figures.push({ name: `page ${of}, ${name}, after a change`, value: median(first), ...ms });
    figures.push({ name: `page ${of}, ${name}, again`, value: median(second), ...ms });
    if (name === 'by id')
      figures.push({
        name: 'the first of these / in the order of randomization',
        value: pairedRatio(first, inTime),
        unit: '',
      });
  }
  const delay = { name: 'longest answer of /healthz meanwhile', value: longestWait, unit: 'ms' };
  return [...figures, { ...delay, target: { relation: 'below', value: 100 } }];
}

/** Asks for something short, again and again. `stop` returns how long the longest answer took, in ms. */
function startAsking(port: number): { stop(): Promise<number> } {
  let isStopped = false;
  let longest = 0;
  const asking = (async () => {
    while (!isStopped) longest = Math.max(longest, await timed(port, 'GET', '/healthz', {}));
  })();
  return {
    stop: async () => {
      isStopped = true;
      await asking;
      return longest;
    },
  };
}

function page(port: number, apiKey: string, parameters: Readonly<Record<string, string>>): Promise<number> {
  const query = new URLSearchParams({ study: STUDY.name, 'urn.limit': '50', ...parameters });
  return timed(port, 'GET', `/study_participants?${query}`, { 'X-API-Key': apiKey });
}

function randomize(port: number, apiKey: string, id: string): Promise<number> {
  const levels = Object.fromEntries(STUDY.factors.map(({ name, levels: [level = ''] }) => [name, level]));
  const query = new URLSearchParams({ study: STUDY.name, id, ...levels });
  return timed(port, 'POST', `/study_participants?${query}`, { 'X-API-Key': apiKey });
}

/** How long the answer took to its last byte, in ms. */
function timed(port: number, method: string, path: string, headers: Record<string, string>): Promise<number> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', method, path, headers, agent: false };
    const request = get(options, (response) => {
      response.resume();
      response.once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - started);
        else reject(new Error(`${method} ${path.split('?')[0]} answered ${response.statusCode}`));
      });
    });
    request.once('error', reject);
  });
}
