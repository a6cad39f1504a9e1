/**
 * Several instances of the service on one log: how many POSTs per second 1, 2 and 4 processes handle, all into one study and
 * spread over many, and the cost of a conflict between processes.
 *
 * Processes and load generator share the processors of one machine. The figures show how much instances cost one another, not
 * what the same number of machines would reach.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '../events/record.ts';
import { type LogSettings, openLog } from '../src/service/open/open-log.ts';
import { type Figure, median, pairedRatio, quantile } from './figures.ts';
import type { LoadOrder, LoadReport } from './load.ts';
import { populate } from './populate.ts';
import type { Processes, Running } from './processes.ts';
import { randomLevels, STUDY } from './study.ts';

export interface InstancesPlan {
  readonly rounds: number;
  readonly measuredMs: number;
  /** Store of the log; undefined: a SQLite file. */
  readonly store: string | undefined;
}

const NUMBERS = [1, 2, 4] as const;
const CONNECTIONS = 64;
const OTHER_STUDIES = Array.from({ length: 15 }, (_, i) => ({
  name: `${STUDY.name} ${i + 2}`,
  configuration: STUDY,
  parameters: {},
}));
const STUDIES = [STUDY.name, ...OTHER_STUDIES.map(({ name }) => name)];
/** The studies that get requests, for this number of processes. */
const SPREADS = {
  'one study': () => [STUDY.name],
  '16 studies': () => STUDIES,
  '16 studies, each at one process': (processes: number) =>
    Array.from({ length: processes }, (_, at) => STUDIES.filter((_study, i) => i % processes === at)),
} as const;
type Spread = keyof typeof SPREADS;

/** How long the optimizing compiler needs to warm up in each of four processes. */
const COMPILED_MS = 3000;

interface Measured extends LoadReport {
  /** Batches decided again because another process was first, per POST. */
  readonly conflicts: number;
}

export async function measureInstances(processes: Processes, plan: InstancesPlan): Promise<Figure[]> {
  const load = processes.startLoadGenerator();
  const measured = new Map<string, Measured[]>();
  for (let round = 0; round < plan.rounds; round++)
    for (const number of NUMBERS) {
      const log = newLog(processes.folder, `${round}-${number}`, plan.store);
      const apiKey = await populate(log, 0, ['randomize'], OTHER_STUDIES);
      const services: Running[] = [];
      for (let i = 0; i < number; i++) services.push(await processes.startService(optionsOf(log)));
      const ports = services.map(({ port }) => port);
      const order = { ports, path: '/study_participants', apiKey, connections: CONNECTIONS };
      await load({ ...order, studies: STUDIES, warmUpMs: 0, measuredMs: COMPILED_MS });
      for (const spread of Object.keys(SPREADS) as Spread[]) {
        const { measuredMs } = plan;
        const result = await under(services, load, {
          ...order,
          studies: SPREADS[spread](number),
          warmUpMs: measuredMs / 5,
          measuredMs,
        });
        const name = `${spread}, ${number}`;
        measured.set(name, [...(measured.get(name) ?? []), result]);
      }
      for (const service of services) await service.stop();
    }
  const followed = await measureFollowing(processes, newLog(processes.folder, 'follow', plan.store), plan);
  const conflict = await measureConflict(newLog(processes.folder, 'conflict', plan.store), plan.rounds * 200);
  return [...loadFigures(measured), ...followed, ...conflict];
}

let logs = 0;

function newLog(folder: string, name: string, store: string | undefined): LogSettings {
  const data = join(folder, name);
  mkdirSync(data);
  return store === undefined ? { data } : { data, store, streamPrefix: `bench-${process.pid}-${++logs}` };
}

function optionsOf({ data, store, streamPrefix }: LogSettings): string[] {
  const elsewhere = store === undefined ? [] : ['--store', store, '--stream-prefix', streamPrefix ?? 'urn'];
  return ['--data', data, ...elsewhere];
}

async function under(
  services: readonly Running[],
  load: (order: LoadOrder) => Promise<LoadReport>,
  order: LoadOrder,
): Promise<Measured> {
  const before = await conflictsOf(services);
  const report = await load(order);
  const conflicts = (await conflictsOf(services)) - before;
  const all = (report.perSecond * (order.measuredMs + order.warmUpMs)) / 1000;
  return { ...report, conflicts: conflicts / all };
}

async function conflictsOf(services: readonly Running[]): Promise<number> {
  let sum = 0;
  for (const { port } of services) {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    sum += Number(/^urn_append_conflicts_total (\d+)$/m.exec(metrics)?.[1]);
  }
  return sum;
}

function loadFigures(measured: ReadonlyMap<string, readonly Measured[]>): Figure[] {
  return (Object.keys(SPREADS) as Spread[]).flatMap((spread) => {
    const of = (number: number) => measured.get(`${spread}, ${number}`) ?? [];
    const middle = (number: number, pick: (one: Measured) => number) => median(of(number).map(pick));
    return NUMBERS.flatMap((number): Figure[] => {
      const name = `POST, ${spread}, ${number === 1 ? '1 process' : `${number} processes`}`;
      const ratio = pairedRatio(
        of(number).map(({ perSecond }) => perSecond),
        of(1).map(({ perSecond }) => perSecond),
      );
      return [
        { name, value: middle(number, ({ perSecond }) => perSecond), unit: 'per second' },
        { name: `${name}: p50`, value: middle(number, ({ p50 }) => p50), unit: 'ms' },
        { name: `${name}: p99`, value: middle(number, ({ p99 }) => p99), unit: 'ms' },
        ...(number === 1
          ? []
          : [
              { name: `${name}: throughput / 1 process`, value: ratio, unit: '' },
              {
                name: `${name}: batches decided again`,
                value: middle(number, ({ conflicts }) => conflicts),
                unit: 'per POST',
              },
            ]),
      ];
    });
  });
}

/** How often to ask the other process, in ms. */
const ASK_MS = 5;

/** Time from the answer of one process, under load, until another process shows the participant. */
async function measureFollowing(
  processes: Processes,
  log: LogSettings,
  { rounds, measuredMs }: InstancesPlan,
): Promise<Figure[]> {
  const apiKey = await populate(log, 0, ['read', 'randomize']);
  const [busy, other] = [
    await processes.startService(optionsOf(log)),
    await processes.startService(optionsOf(log)),
  ];
  const load = processes.startLoadGenerator();
  const path = '/study_participants';
  const order = { ports: [busy.port], path, studies: [STUDY.name], apiKey, connections: CONNECTIONS };
  await load({ ...order, warmUpMs: 0, measuredMs: COMPILED_MS });
  const levels = STUDY.factors.map((factor): [string, string] => [factor.name, factor.levels[0] ?? '']);
  const ask = async (method: string, port: number, id: string) => {
    const query = new URLSearchParams([
      ['study', STUDY.name],
      ['id', id],
      ...(method === 'POST' ? levels : []),
    ]);
    const url = `http://127.0.0.1:${port}${path}?${query}`;
    const response = await fetch(url, { method, headers: { 'X-API-Key': apiKey } });
    return (await response.json()) as { status: number; results: unknown[] };
  };
  const times: number[] = [];
  const loaded = load({ ...order, warmUpMs: 0, measuredMs: 2 * rounds * measuredMs });
  for (const end = performance.now() + 2 * rounds * measuredMs - 500; performance.now() < end; ) {
    const id = `followed-${times.length}`;
    const { status } = await ask('POST', busy.port, id);
    if (status !== 200) throw new Error(`a POST was answered with ${status}`);
    const answered = performance.now();
    while ((await ask('GET', other.port, id)).results.length === 0)
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    times.push(performance.now() - answered);
  }
  const { perSecond } = await loaded;
  for (const service of [busy, other]) await service.stop();
  const name = 'from the answer of a loaded process until another one shows the participant';
  return [
    { name: 'load on the one process meanwhile', value: perSecond, unit: 'per second' },
    { name: `${name}: p50`, value: median(times), unit: 'ms' },
    { name: `${name}: p99`, value: quantile(times, 0.99), unit: 'ms', target: BELOW_A_SECOND },
  ];
}

const BELOW_A_SECOND = { relation: 'below', value: 1000 } as const;

/**
 * One command at a time. When two writers on one log take turns, each finds that the other was first, and must read the
 * other's event, fold it and decide again. A single writer never has to.
 */
async function measureConflict(settings: LogSettings, pairs: number): Promise<Figure[]> {
  const cli: Actor = { cli: true, user: 'bench' };
  await populate(settings, 0, ['read']);
  const both = [await openLog(settings, cli), await openLog(settings, cli)];
  try {
    // They do not follow the log live, so each turn is a conflict.
    for (const log of both) await log.rebuild();
    let next = 0;
    const randomize = async (which: number): Promise<number> => {
      const { studies } = both[which] ?? fail();
      const started = performance.now();
      await studies.submit(
        studies.streamOf(STUDY.name),
        { type: 'randomize', participantId: `turn-${++next}`, levels: randomLevels(), user: 'bench' },
        cli,
      );
      return performance.now() - started;
    };
    const alone: number[] = [];
    const second: number[] = [];
    for (let i = 0; i < pairs; i++) {
      second.push(await randomize(i % 2));
      alone.push(await randomize(i % 2));
    }
    const [p50, withConflict] = [median(alone), median(second)];
    return [
      { name: 'one command at a time, no conflict: p50', value: p50, unit: 'ms' },
      { name: 'one command at a time, another process was first: p50', value: withConflict, unit: 'ms' },
      { name: 'the same: p99', value: quantile(second, 0.99), unit: 'ms' },
      { name: 'a conflict: its command / a command without', value: withConflict / p50, unit: '' },
    ];
  } finally {
    for (const log of both) await log.close();
  }
}

function fail(): never {
  throw new Error('two logs are open');
}
