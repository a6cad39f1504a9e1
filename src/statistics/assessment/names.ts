/** Names of figures, with the number of participants (as they are computed) and without it. */

import type { SimulationPlan } from '../simulation/plan.ts';
import { rangeNames, valueNames } from '../simulation/quantities.ts';
import type { DesignResult, Figure } from '../simulation/result.ts';

/** A list in a sentence. */
export function among(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

export interface FigureName {
  /** Without `@n`. */
  readonly name: string;
  /** Undefined for a figure that is about the whole course. */
  readonly n: number | undefined;
}

export function parted(full: string): FigureName {
  // The name of a factor may end in the same way.
  const found = full.startsWith('drawn.') ? null : /^(.*)@(\d+)((?:\.(?:mean|p\d\d|ge5|ge10))?)$/s.exec(full);
  if (!found) return { name: full, n: undefined };
  const [, before = '', n, after = ''] = found;
  return { name: before + after, n: Number(n) };
}

/** The figures of a design, those after all participants also without `@n`. */
export function figuresByName(
  { figures }: DesignResult,
  { participants }: SimulationPlan,
): Map<string, Figure> {
  const all = new Map(Object.entries(figures));
  for (const [full, figure] of Object.entries(figures)) {
    const { name, n } = parted(full);
    if (n === participants) all.set(name, figure);
  }
  return all;
}

const OF_A_RANGE = ['mean', 'p05', 'p25', 'p50', 'p75', 'p95', 'ge5', 'ge10'] as const;

/** The names that the study's own design will have; those after all participants also without `@n`. */
export function figureNames(plan: SimulationPlan): string[] {
  const { design, at, participants } = plan;
  const factors = design.own ? [] : design.factors.map(({ name }) => name);
  const all = [
    ...rangeNames(plan).flatMap((range) => OF_A_RANGE.map((what) => `${range}.${what}`)),
    ...(design.treatments.length === 2 ? at.map((n) => `difference.sd@${n}`) : []),
    ...valueNames(plan, factors),
    ...['guess.blind', 'share'],
  ];
  const atTheEnd = all.map(parted).filter(({ n }) => n === participants);
  return [...all, ...atTheEnd.map(({ name }) => name)];
}
