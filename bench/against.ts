/**
 * Compares the POST throughput of this checkout's program with that of another checkout, on the same machine at the same time.
 *
 * Both services run throughout and are loaded in turn. A round is this, other, other, this, or the reverse, so that neither a
 * machine that slows down nor the order within a round favours one side.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Figure, median, medianInterval, pairedRatios } from './figures.ts';
import type { LoadReport } from './load.ts';
import { OWN_PROGRAM, type Processes } from './processes.ts';
import { STUDY } from './study.ts';

export interface AgainstPlan {
  /** At least 6: with fewer there is no interval. */
  readonly rounds: number;
  readonly measuredMs: number;
}

interface Measured extends LoadReport {
  /** Requests per second of processor time, over all threads of the service. */
  readonly cpuPerSecond: number;
}

type Side = 'this' | 'other';
const SIDES = ['this', 'other'] as const;

/** How long the optimizing compiler needs to warm up. */
const COMPILED_MS = 3000;

/** @param checkout folder of the other checkout, already built */
export async function measureAgainst(
  processes: Processes,
  checkout: string,
  plan: AgainstPlan,
): Promise<Figure[]> {
  const other = resolve(checkout, 'bin/urn.js');
  if (!existsSync(resolve(checkout, 'dist/src/main.js')))
    throw new Error(`${checkout} has no built program (hint: npm ci && npm run build there)`);
  const servers = {
    this: await startOn(processes, 'this', OWN_PROGRAM),
    other: await startOn(processes, 'other', other),
  };
  const load = processes.startLoadGenerator();
  const measure = async (side: Side, measuredMs: number): Promise<Measured> => {
    const { port, apiKey } = servers[side];
    const before = await cpuSeconds(port);
    const report = await load({
      ports: [port],
      path: '/study_participants',
      studies: [STUDY.name],
      apiKey,
      connections: 64,
      warmUpMs: measuredMs / 5,
      measuredMs,
    });
    return { ...report, cpuPerSecond: report.answered / ((await cpuSeconds(port)) - before) };
  };
  for (const side of SIDES) await measure(side, COMPILED_MS);
  const reports: Record<Side, Measured[]> = { this: [], other: [] };
  for (let round = 0; round < plan.rounds; round++) {
    const [outer, inner] = round % 2 === 0 ? SIDES : SIDES.toReversed();
    for (const side of [outer, inner, inner, outer] as Side[])
      reports[side].push(await measure(side, plan.measuredMs));
  }
  return figures(reports);
}

/** Creates a new log with the program that serves it. */
async function startOn(processes: Processes, name: Side, program: string) {
  const data = join(processes.folder, name);
  mkdirSync(data, { mode: 0o700 });
  const studies = join(data, 'studies.yaml');
  const { treatments, D, w, alpha, beta, factors } = STUDY;
  const levels = Object.fromEntries(factors.map((factor) => [factor.name, factor.levels]));
  // JSON is YAML.
  writeFileSync(
    studies,
    JSON.stringify({ [STUDY.name]: { mode: 'live', treatments, D, w, alpha, beta, factors: levels } }),
  );
  const apiKey = processes.run(program, ['keys', 'add', 'bench', '--data', data]);
  const { port } = await processes.startService(['--data', data, '--studies', studies], program);
  return { port, apiKey };
}

/** Processor time of all threads of a service since it started. */
async function cpuSeconds(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, seconds] = /^process_cpu_seconds_total (\S+)$/m.exec(metrics) ?? [];
  if (seconds === undefined) throw new Error('the service does not report its processor time');
  return Number(seconds);
}

function figures(reports: Readonly<Record<Side, readonly Measured[]>>): Figure[] {
  const label = { this: 'POST, 64 connections, this program', other: 'POST, 64 connections, the other one' };
  const absolute = SIDES.flatMap((side) => {
    const of = (pick: (report: Measured) => number) => median(reports[side].map(pick));
    return [
      { name: label[side], value: of(({ perSecond }) => perSecond), unit: 'per second' },
      { name: `${label[side]}: p50`, value: of(({ p50 }) => p50), unit: 'ms' },
      { name: `${label[side]}: p99`, value: of(({ p99 }) => p99), unit: 'ms' },
    ];
  });
  const perSecond = compared('POSTs per second', reports, (report) => report.perSecond);
  const perCpu = compared('POSTs per second of processor time', reports, (report) => report.cpuPerSecond);
  const [ratio, ...ends] = perSecond;
  return [
    ...absolute,
    ...(ratio ? [{ ...ratio, target: { relation: 'at least', value: 0.97 } as const }] : []),
    ...ends,
    ...perCpu,
  ];
}

/** The median of the rounds' ratios, and the bounds of its interval. */
function compared(
  what: string,
  reports: Readonly<Record<Side, readonly Measured[]>>,
  pick: (report: Measured) => number,
): Figure[] {
  const [ours, theirs] = SIDES.map((side) => byRound(reports[side].map(pick)));
  const ratios = pairedRatios(ours ?? [], theirs ?? []);
  const { low, high } = medianInterval(ratios);
  const name = `${what}, this / other: median of ${ratios.length} rounds`;
  return [
    { name, value: median(ratios), unit: `(95 % interval ${low.toFixed(3)} to ${high.toFixed(3)})` },
    { name: `${name}, lower end of its 95 % interval`, value: low, unit: '' },
    { name: `${name}, upper end of its 95 % interval`, value: high, unit: '' },
  ];
}

/** A program is measured twice in each round. */
function byRound(values: readonly number[]): number[] {
  const of = (i: number) => values[i] ?? Number.NaN;
  return Array.from({ length: values.length / 2 }, (_, round) => of(2 * round) + of(2 * round + 1));
}
