/** Measures `urn simulate` from start to end, compared with the kernel alone on the same participants. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pcg64 } from '../src/core/random/pcg64.ts';
import { levelSource } from '../src/statistics/simulation/arrivals.ts';
import { ruleOf } from '../src/statistics/simulation/rules.ts';
import { type Figure, median, pairedRatio } from './figures.ts';
import { OWN_PROGRAM, type Processes } from './processes.ts';

export interface SimulatingPlan {
  readonly replicates: number;
  readonly rounds: number;
}

const PARTICIPANTS = 300;
const THREADS = 2;
const ARMS = ['A', 'B', 'C'];
const LEVELS = ['1', '2', '3'];
const KERNEL_REPLICATES = 1000;
/** The promised time, in seconds, is for 10,000 replicates. */
const PROMISED = 10_000;
const SIZES = [
  { factors: 2, seconds: 4, ratio: 4 },
  { factors: 13, seconds: 12, ratio: 2.5 },
];

export function measureSimulating(processes: Processes, { replicates, rounds }: SimulatingPlan): Figure[] {
  return SIZES.flatMap(({ factors, seconds, ratio }) => {
    const names = Array.from({ length: factors }, (_, i) => `factor ${i + 1}`);
    const file = studiesFile(processes.folder, names);
    const times: number[] = [];
    const each: number[] = [];
    const alone: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const started = performance.now();
      const startedCpu = childrenSeconds();
      runCommand(processes, file, names[0] ?? '', replicates);
      times.push((performance.now() - started) / 1000);
      each.push(((childrenSeconds() - startedCpu) * 1e6) / (replicates * PARTICIPANTS));
      alone.push(timeKernel(names, KERNEL_REPLICATES));
    }
    const what = `simulate ${replicates.toLocaleString('en-US')} × ${PARTICIPANTS}, ${factors} factors`;
    return [
      {
        name: what,
        value: median(times),
        unit: 's',
        ...(replicates === PROMISED && { target: { relation: 'below', value: seconds } }),
      },
      { name: `${what}: processor time per participant`, value: median(each), unit: 'µs' },
      { name: `the kernel alone, ${factors} factors`, value: median(alone), unit: 'µs' },
      {
        name: `${what}: the same / the kernel alone`,
        value: pairedRatio(each, alone),
        unit: '',
        target: { relation: 'below', value: ratio },
      },
    ];
  });
}

function runCommand(processes: Processes, file: string, siteFactor: string, replicates: number): void {
  processes.run(OWN_PROGRAM, [
    ...['simulate', '--studies', file, '--participants', String(PARTICIPANTS)],
    ...['--reps', String(replicates), '--threads', String(THREADS), '--site-factor', siteFactor, '--json'],
  ]);
}

/** Processor time of all children that have ended, in seconds. Only Linux provides it: proc(5), cutime and cstime. */
function childrenSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const TICKS_PER_SECOND = 100;
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

/** @returns microseconds of processor time per participant, in one thread, levels drawn */
function timeKernel(names: readonly string[], replicates: number): number {
  const factors = names.map((name) => ({ name, levels: LEVELS }));
  const levels = new Int32Array(PARTICIPANTS * factors.length);
  const shares = factors.map(() => LEVELS.map(() => 1));
  const source = levelSource({ kind: 'shares', shares, opens: [] }, PARTICIPANTS);
  const rule = ruleOf(
    { name: '', rule: { kind: 'urn', w: 1, alpha: 0, beta: 1, D: 'chisquare' }, within: [] },
    ARMS.map(() => 1),
    { levels, factors, strata: () => new Int32Array(PARTICIPANTS) },
  );
  const started = process.cpuUsage();
  for (let replicate = 0; replicate < replicates; replicate++) {
    const generator = Pcg64.fromSeed(BigInt(replicate));
    source.fill(generator, levels);
    rule.restart();
    for (let participant = 0; participant < PARTICIPANTS; participant++)
      rule.allocate(participant, generator);
  }
  const { user, system } = process.cpuUsage(started);
  return (user + system) / (replicates * PARTICIPANTS);
}

function studiesFile(folder: string, names: readonly string[]): string {
  const file = join(folder, `studies-${names.length}.yaml`);
  const study = {
    mode: 'test',
    treatments: ARMS,
    D: 'chisquare',
    factors: Object.fromEntries(names.map((name) => [name, LEVELS])),
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ bench: study }));
  return file;
}
