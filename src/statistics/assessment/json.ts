/** An assessment for programs: JSON and CSV. */
import type { Arrivals, SimulationPlan } from '../simulation/plan.ts';
import type { Assessment } from './assessment.ts';
import { figuresByName, parted } from './names.ts';
import { paragraphOf } from './paragraph.ts';

export function jsonOf(assessment: Assessment): string {
  const { version, plan, isExact, designs, warnings, judged } = assessment;
  const { study, design, participants, reps, seed, at } = plan;
  return JSON.stringify(
    {
      version,
      study,
      design,
      participants,
      reps: isExact ? null : reps,
      // JSON's numbers are doubles.
      seed: seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : String(seed),
      exact: isExact,
      at,
      levels: levelsOf(plan),
      designs: designs.map((one) => ({
        name: one.name,
        figures: Object.fromEntries(figuresByName(one, plan)),
      })),
      requirements: judged,
      warnings,
      paragraph: paragraphOf(assessment),
    },
    null,
    2,
  );
}

/** The share of each level, and its source. The shares do not say everything about levels that are drawn together in rows. */
function levelsOf({ design, arrivals, arrivalsSource }: SimulationPlan) {
  const shares = sharesOf(arrivals, design.factors);
  const named = design.factors.map(({ name, levels }, f) => ({
    factor: name,
    levels: levels.map((level, l) => ({ level, share: shares[f]?.[l] ?? 0 })),
  }));
  const rows = arrivals.kind === 'rows' ? { rows: arrivals.rows.length } : {};
  const opens =
    arrivals.kind === 'shares' && arrivals.opens.length > 0
      ? {
          opens: arrivals.opens.map(({ factor, level, from }) => ({
            factor: design.factors[factor]?.name,
            level: design.factors[factor]?.levels[level],
            from,
          })),
        }
      : {};
  return { source: arrivalsSource, shares: named, ...rows, ...opens };
}

/** For each level of each factor. The sum over a factor is 1. */
export function sharesOf(arrivals: Arrivals, factors: SimulationPlan['design']['factors']): number[][] {
  const sums =
    arrivals.kind === 'shares'
      ? arrivals.shares.map((one) => [...one])
      : factors.map(({ levels }) => levels.map(() => 0));
  if (arrivals.kind === 'rows')
    arrivals.rows.forEach((row, i) => {
      row.forEach((level, f) => {
        const ofFactor = sums[f] ?? [];
        ofFactor[level] = (ofFactor[level] ?? 0) + (arrivals.weights[i] ?? 0);
      });
    });
  return sums.map((ofFactor) => {
    const sum = ofFactor.reduce((total, one) => total + one, 0);
    return ofFactor.map((one) => one / sum);
  });
}

export const CSV_HEAD = ['design', 'figure', 'n', 'value', 'low', 'high'] as const;

/** A figure about the whole course is given with the total number of participants. */
export function csvRowsOf({ designs, plan }: Assessment): string[][] {
  return designs.flatMap((design) =>
    Object.entries(design.figures).map(([full, { value, low, high }]) => {
      const { name, n = plan.participants } = parted(full);
      return [design.name, name, String(n), String(value), String(low), String(high)];
    }),
  );
}
