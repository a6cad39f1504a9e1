/** What people should see of a simulated design before they use it. */
import { quote } from '../../base/text.ts';
import type { SimulationPlan } from '../simulation/plan.ts';
import type { Figure } from '../simulation/result.ts';
import { shownValue } from './shown.ts';

/** With two factors each is drawn in about half of the allocations, so it takes more to say that one dominates. */
function ruling(factors: number): number {
  return factors === 2 ? 0.75 : 0.5;
}

/** An arm whose probability is this far from its share is worth a warning. */
const FAR_OFF = 0.005;
/** The largest of thousands of chance deviations is some four standard errors from zero. */
const STANDARD_ERRORS = 5;

/** With fewer trials, chance looks like a fault of the design. */
const FEWEST_TRIALS = 100;

interface Simulated {
  readonly plan: SimulationPlan;
  readonly isExact: boolean;
  /** Figures of the study's own design. */
  readonly own: ReadonlyMap<string, Figure>;
}

/** About the study's own design, which comes first. */
export function warningsOf({ plan, isExact, own }: Simulated): string[] {
  if (!isExact && plan.reps < FEWEST_TRIALS) return [];
  const { factors } = plan.design;
  const warnings: string[] = [];
  for (const { name } of factors) {
    const drawn = own.get(`drawn.${name}`);
    if (factors.length > 1 && drawn && drawn.low > ruling(factors.length))
      warnings.push(
        `${shownValue('drawn.', drawn.value)} of the allocations are drawn from urns of the factor ${quote(name)}: they restore balance within its levels, rather than overall or within the other factors (hint: are there many levels, or very unequal ones?)`,
      );
  }
  const share = own.get('share');
  const error = share ? (share.high - share.low) / 3.92 : 0;
  if (share && share.value > FAR_OFF && share.value > STANDARD_ERRORS * error)
    warnings.push(
      `at some step the chance of an arm, over all trials, is ${shownValue('share', share.value)} away from its share: rounding favours an arm (hint: with D: range no arm is favoured)`,
    );
  return warnings;
}
