/** Loads contenders in turn, on the same machine at the same time, and compares them round by round. */
import { type Figure, median, medianInterval, pairedRatios } from './figures.ts';
import type { LoadOrder, LoadReport } from './load.ts';

export interface InTurnPlan {
  /** At least 6: with fewer there is no interval. */
  readonly rounds: number;
  readonly measuredMs: number;
}

export interface Measured extends LoadReport {
  /** Requests per second of processor time, over all threads of the service. */
  readonly cpuPerSecond: number;
}

/** What is loaded: a study of a service. */
export interface Contender<Name extends string> {
  readonly name: Name;
  readonly order: Pick<LoadOrder, 'studies' | 'apiKey' | 'factors'> & { readonly port: number };
}

/** How long the optimizing compiler needs to warm up. */
const COMPILED_MS = 3000;

/**
 * Each contender is measured twice in a round, in an order that is the same from either end, and begins with another
 * contender in the next round. So neither a machine that slows down nor the place in a round favours one of them.
 * @returns what was measured of each, two for each round
 */
export async function inTurn<Name extends string>(
  load: (order: LoadOrder) => Promise<LoadReport>,
  contenders: readonly Contender<Name>[],
  { rounds, measuredMs }: InTurnPlan,
): Promise<Record<Name, Measured[]>> {
  const reports = Object.fromEntries(contenders.map(({ name }) => [name, []])) as unknown as Record<
    Name,
    Measured[]
  >;
  for (const { order } of contenders) await measured(load, order, COMPILED_MS);
  for (let round = 0; round < rounds; round++) {
    const first = round % contenders.length;
    const order = [...contenders.slice(first), ...contenders.slice(0, first)];
    for (const one of [...order, ...order.toReversed()])
      reports[one.name].push(await measured(load, one.order, measuredMs));
  }
  return reports;
}

async function measured(
  load: (order: LoadOrder) => Promise<LoadReport>,
  { port, ...order }: Contender<string>['order'],
  measuredMs: number,
): Promise<Measured> {
  const before = await cpuSeconds(port);
  const report = await load({
    ...{ ports: [port], path: '/study_participants', connections: 64, ...order },
    ...{ warmUpMs: measuredMs / 5, measuredMs },
  });
  return { ...report, cpuPerSecond: report.answered / ((await cpuSeconds(port)) - before) };
}

/** Processor time of all threads of a service since it started. */
async function cpuSeconds(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, seconds] = /^process_cpu_seconds_total (\S+)$/m.exec(metrics) ?? [];
  if (seconds === undefined) throw new Error('the service does not report its processor time');
  return Number(seconds);
}

/** POSTs per second, and how long they took. */
export function absoluteFigures(name: string, reports: readonly Measured[]): Figure[] {
  const of = (pick: (report: Measured) => number) => median(reports.map(pick));
  return [
    { name, value: of(({ perSecond }) => perSecond), unit: 'per second' },
    { name: `${name}: p50`, value: of(({ p50 }) => p50), unit: 'ms' },
    { name: `${name}: p99`, value: of(({ p99 }) => p99), unit: 'ms' },
  ];
}

/**
 * The medians of the rounds' ratios, and the bounds of their intervals: by time, then by processor time.
 * @param sides what is compared, as in `this / other`
 * @param least the target of the ratio by time
 */
export function ratioFigures(
  sides: string,
  ours: readonly Measured[],
  theirs: readonly Measured[],
  least: number,
): Figure[] {
  const compared = (what: string, pick: (report: Measured) => number): [Figure, ...Figure[]] => {
    const ratios = pairedRatios(byRound(ours.map(pick)), byRound(theirs.map(pick)));
    const { low, high } = medianInterval(ratios);
    const name = `${what}, ${sides}: median of ${ratios.length} rounds`;
    return [
      { name, value: median(ratios), unit: `(95 % interval ${low.toFixed(3)} to ${high.toFixed(3)})` },
      { name: `${name}, lower end of its 95 % interval`, value: low, unit: '' },
      { name: `${name}, upper end of its 95 % interval`, value: high, unit: '' },
    ];
  };
  const [ratio, ...ends] = compared('POSTs per second', ({ perSecond }) => perSecond);
  return [
    { ...ratio, target: { relation: 'at least', value: least } },
    ...ends,
    ...compared('POSTs per second of processor time', ({ cpuPerSecond }) => cpuPerSecond),
  ];
}

/** Each is measured twice in a round. */
function byRound(values: readonly number[]): number[] {
  const of = (i: number) => values[i] ?? Number.NaN;
  return Array.from({ length: values.length / 2 }, (_, round) => of(2 * round) + of(2 * round + 1));
}
