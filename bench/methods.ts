/** Compares the POST throughput of studies that allocate by different methods, all in one service. */
import type { Figure } from './figures.ts';
import { absoluteFigures, type InTurnPlan, inTurn, ratioFigures } from './in-turn.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { MANY_FACTORS, METHODS } from './study.ts';

export async function measureMethods(processes: Processes, plan: InTurnPlan): Promise<Figure[]> {
  const apiKey = await populate({ data: processes.folder }, 0, ['read', 'randomize'], METHODS);
  const { port } = await processes.startService();
  const contenders = METHODS.map(({ name }) => ({
    name,
    order: { port, apiKey, studies: [name], factors: MANY_FACTORS },
  }));
  const reports = await inTurn(processes.startLoadGenerator(), contenders, plan);
  const of = (name: string) => reports[name] ?? [];
  const [urn = '', ...others] = METHODS.map(({ name }) => name);
  return [
    ...[urn, ...others].flatMap((name) =>
      absoluteFigures(`POST, 64 connections, ${MANY_FACTORS.length} factors, ${name}`, of(name)),
    ),
    ...others.flatMap((name) => ratioFigures(`${name} / ${urn}`, of(name), of(urn), 1)),
  ];
}
