/** Compares the POST throughput of this checkout's program with that of another checkout. Both services run throughout. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Figure } from './figures.ts';
import { absoluteFigures, type InTurnPlan, inTurn, ratioFigures } from './in-turn.ts';
import { OWN_PROGRAM, type Processes } from './processes.ts';
import { STUDY } from './study.ts';

/** @param checkout folder of the other checkout, already built */
export async function measureAgainst(
  processes: Processes,
  checkout: string,
  plan: InTurnPlan,
): Promise<Figure[]> {
  const other = resolve(checkout, 'bin/urn.js');
  if (!existsSync(resolve(checkout, 'dist/src/main.js')))
    throw new Error(`${checkout} has no built program (hint: npm ci && npm run build there)`);
  const contenders = [
    { name: 'this', order: await startOn(processes, 'this', OWN_PROGRAM) },
    { name: 'other', order: await startOn(processes, 'other', other) },
  ] as const;
  const reports = await inTurn(processes.startLoadGenerator(), contenders, plan);
  return [
    ...absoluteFigures('POST, 64 connections, this program', reports.this),
    ...absoluteFigures('POST, 64 connections, the other one', reports.other),
    ...ratioFigures('this / other', reports.this, reports.other, 0.97),
  ];
}

/** Creates a new log with the program that serves it. */
async function startOn(processes: Processes, name: string, program: string) {
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
  return { port, apiKey, studies: [STUDY.name] };
}
