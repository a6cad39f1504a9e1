/** A plan in words: its design, its participants, and the names of comparators. */
import { ratioText } from '../../../projections/describe-design.ts';
import type { SimulatedDesign, SimulationPlan } from '../simulation/plan.ts';

/** Three arms, 2:1:1 */
export function armsText({ treatments, ratio }: SimulatedDesign): string {
  return hasRatio({ ratio }) ? ratioText(treatments, ratio) : `${treatments.join(', ')}, in equal numbers`;
}

export function hasRatio({ ratio }: Pick<SimulatedDesign, 'ratio'>): boolean {
  return ratio.some((share) => share !== 1);
}

export function urnText({ w, alpha, beta, D }: SimulatedDesign): string {
  return `w = ${w}, alpha = ${alpha}, beta = ${beta}, D = ${D}`;
}

export function factorsText({ factors }: SimulatedDesign): string {
  return factors.map(({ name, levels }) => `${name} (${levels.join(', ')})`).join('; ');
}

/** With a ratio, the kernel computes imbalance differently: see docs/method.md. */
export function algorithmText(design: SimulatedDesign): string {
  return `wei-urn-method1-pcg64, version ${hasRatio(design) ? 2 : 1}`;
}

export function numberText(value: number): string {
  return value.toLocaleString('en');
}

export function replicatesText({ plan, isExact }: { plan: SimulationPlan; isExact: boolean }): string {
  return isExact ? 'computed exactly' : `${numberText(plan.reps)} simulated trials, seed ${plan.seed}`;
}

/** As in the heads of tables. */
export function designName(name: string): string {
  return name === 'study' ? 'this study' : name;
}
