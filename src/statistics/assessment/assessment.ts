/** A simulated design with everything that is shown about it. */
import type { SimulationPlan } from '../simulation/plan.ts';
import type { DesignResult, Figure } from '../simulation/result.ts';
import { figuresByName } from './names.ts';
import type { JudgedRequirement } from './requirement.ts';
import { warningsOf } from './warnings.ts';

export interface Assessment {
  /** The version of this software. */
  readonly version: string;
  readonly plan: SimulationPlan;
  /** Computed, not simulated. */
  readonly isExact: boolean;
  readonly designs: readonly DesignResult[];
  /** Figures of the study's own design, those after all participants also without `@n`. */
  readonly own: ReadonlyMap<string, Figure>;
  readonly warnings: readonly string[];
  readonly judged: readonly JudgedRequirement[];
  /** The command line that gives the same. */
  readonly command: string;
}

export function assessmentOf(parts: Omit<Assessment, 'own' | 'warnings'>): Assessment {
  const { designs, plan, isExact } = parts;
  const [first] = designs;
  const own = first ? figuresByName(first, plan) : new Map<string, Figure>();
  return { ...parts, own, warnings: warningsOf({ plan, isExact, own }) };
}
