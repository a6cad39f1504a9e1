/** Measures what the web pages ask of a long list (a page in each order, a search, the charts), and whom that delays. */
import { startAsking, timed } from './asking.ts';
import { type Figure, median, pairedRatio } from './figures.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { STUDY } from './study.ts';

export interface PagingPlan {
  /** Participants of the list. */
  readonly listed: number;
  readonly rounds: number;
}

/** The requests. Each is sent twice: the second time, the counts for charts have been kept from the first. */
const ASKED = {
  'page in the order of randomization': listed({}),
  'page by id': listed({ 'urn.sort': 'id' }),
  'page by site': listed({ 'urn.sort': 'f_site' }),
  'page of a search': listed({ 'urn.search': '77' }),
  'page of a search, by id': listed({ 'urn.sort': 'id', 'urn.order': 'desc', 'urn.search': '77' }),
  'counts for charts': `/enrolment?${new URLSearchParams({ study: STUDY.name })}`,
};
const TARGET = { relation: 'below', value: 1000 } as const;

export async function measurePaging(processes: Processes, plan: PagingPlan): Promise<Figure[]> {
  const apiKey = await populate({ data: processes.folder }, plan.listed, ['read', 'randomize']);
  const { port } = await processes.startService();
  const of = `of ${plan.listed.toLocaleString('en-US')}`;
  const inTime: number[] = [];
  const figures: Figure[] = [];
  let longestWait = 0;
  for (const [name, path] of Object.entries(ASKED)) {
    const [first, second]: [number[], number[]] = [[], []];
    for (let round = 0; round < plan.rounds; round++) {
      // A new participant makes the kept counts useless.
      await randomize(port, apiKey, `${name} ${round}`);
      const waiting = startAsking(port);
      first.push(await timed(port, 'GET', path, { 'X-API-Key': apiKey }));
      second.push(await timed(port, 'GET', path, { 'X-API-Key': apiKey }));
      longestWait = Math.max(longestWait, await waiting.stop());
    }
    if (inTime.length === 0) inTime.push(...first);
    const ms = { unit: 'ms', target: TARGET } as const;
    figures.push({ name: `${name}, ${of}, after a change`, value: median(first), ...ms });
    figures.push({ name: `${name}, ${of}, again`, value: median(second), ...ms });
    if (name === 'page by id')
      figures.push({
        name: 'the first of these / in the order of randomization',
        value: pairedRatio(first, inTime),
        unit: '',
      });
  }
  const delay = { name: 'longest answer of /healthz meanwhile', value: longestWait, unit: 'ms' };
  return [...figures, { ...delay, target: { relation: 'below', value: 250 } }];
}

function listed(parameters: Readonly<Record<string, string>>): string {
  return `/study_participants?${new URLSearchParams({ study: STUDY.name, 'urn.limit': '50', ...parameters })}`;
}

function randomize(port: number, apiKey: string, id: string): Promise<number> {
  const levels = Object.fromEntries(STUDY.factors.map(({ name, levels: [level = ''] }) => [name, level]));
  const query = new URLSearchParams({ study: STUDY.name, id, ...levels });
  return timed(port, 'POST', `/study_participants?${query}`, { 'X-API-Key': apiKey });
}
