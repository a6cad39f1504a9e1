/** Measures how long POSTs wait while many clients read a long list, each with its own key or all with the same one. */
import { get } from 'node:http';
import { type Figure, median } from './figures.ts';
import type { LoadReport } from './load.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { STUDY } from './study.ts';

export interface SharingPlan {
  /** Participants of the list. */
  readonly listed: number;
  readonly readers: number;
  readonly rounds: number;
  readonly measuredMs: number;
}

/** Clients that randomize, each as fast as it gets answers. */
const CONNECTIONS = 4;
/** How long a refused reader waits, as the answer asks, in ms. */
const RETRY_MS = 1000;
const PATH = `/study_participants?study=${encodeURIComponent(STUDY.name)}`;

export async function measureSharing(processes: Processes, plan: SharingPlan): Promise<Figure[]> {
  const { folder } = processes;
  const apiKey = await populate({ data: folder }, plan.listed, ['read', 'randomize']);
  const keys: string[] = [];
  while (keys.length < plan.readers) keys.push(await populate({ data: folder }, 0, ['read']));
  const { port } = await processes.startService();
  const load = processes.startLoadGenerator();
  const { measuredMs } = plan;
  const post = () =>
    load({
      ports: [port],
      path: '/study_participants',
      studies: [STUDY.name],
      apiKey,
      connections: CONNECTIONS,
      warmUpMs: measuredMs / 5,
      measuredMs,
    });
  await post();
  const alone: LoadReport[] = [];
  const beside: LoadReport[] = [];
  const besideOneKey: LoadReport[] = [];
  let lists = 0;
  for (let round = 0; round < plan.rounds; round++) {
    alone.push(await post());
    const own = startReaders(port, keys);
    beside.push(await post());
    lists += await own.stop();
    const shared = startReaders(port, Array(plan.readers).fill(keys[0]));
    besideOneKey.push(await post());
    await shared.stop();
  }
  const name = `POST, ${CONNECTIONS} connections, beside ${plan.readers} readers of ${plan.listed.toLocaleString('en-US')}`;
  const target = { relation: 'below', value: 100 } as const;
  return [
    ...latencies(`POST, ${CONNECTIONS} connections, no readers`, alone),
    ...latencies(`${name}, a key each`, beside, target),
    ...latencies(`${name}, one key`, besideOneKey, target),
    { name: 'lists read meanwhile, a key each', value: lists / plan.rounds, unit: 'a round' },
  ];
}

function latencies(name: string, reports: readonly LoadReport[], target?: Figure['target']): Figure[] {
  const of = (pick: (report: LoadReport) => number) => median(reports.map(pick));
  return [
    { name: `${name}: p50`, value: of(({ p50 }) => p50), unit: 'ms' },
    { name: `${name}: p99`, value: of(({ p99 }) => p99), unit: 'ms', ...(target && { target }) },
  ];
}

/** One reader for each key keeps reading its list. `stop` returns how many lists were read. */
function startReaders(port: number, keys: readonly string[]): { stop(): Promise<number> } {
  let isStopped = false;
  let lists = 0;
  const reader = async (apiKey: string) => {
    while (!isStopped)
      if ((await read(port, apiKey)) === 200) lists++;
      else await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  };
  const done = Promise.all(keys.map(reader));
  return {
    stop: async () => {
      isStopped = true;
      await done;
      return lists;
    },
  };
}

function read(port: number, apiKey: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(
      { port, host: '127.0.0.1', path: PATH, headers: { 'X-API-Key': apiKey }, agent: false },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
        response.once('error', reject);
      },
    );
    request.once('error', reject);
  });
}
