/** A plan in words: its design, its participants, and the names of comparators. */
import { ALGORITHMS } from '../../../events/study.ts';
import { ratioText } from '../../core/model/design.ts';
import { ownDesign, type SimulatedDesign, type SimulationPlan } from '../simulation/plan.ts';

/** Three arms, 2:1:1 */
export function armsText({ treatments, ratio }: SimulatedDesign): string {
  return hasRatio({ ratio }) ? ratioText(treatments, ratio) : `${treatments.join(', ')}, in equal numbers`;
}

export function hasRatio({ ratio }: Pick<SimulatedDesign, 'ratio'>): boolean {
  return ratio.some((share) => share !== 1);
}

/** The study's own method, without what nobody at a site may know. */
export function methodText(design: SimulatedDesign): string {
  const { rule, within } = ownDesign(design);
  if (rule.kind === 'complete') return 'complete randomization';
  if (rule.kind === 'minimization') return 'minimization';
  if (rule.kind !== 'block') return "Wei's urn";
  const names = within.map((factor) => design.factors[factor]?.name);
  return `permuted blocks ${names.length > 0 ? `within ${names.join(', ')}` : 'over the whole study'}`;
}

/** What the method is set to, for those who know it all. */
export function settingsText(design: SimulatedDesign): string {
  const { rule } = ownDesign(design);
  if (rule.kind === 'block') return `${methodText(design)}, of the sizes ${rule.sizes.join(', ')}`;
  if (rule.kind === 'minimization') {
    const { p, measure = 'range', weights } = rule;
    const weighed =
      weights && `, weights ${weights.map((weight, i) => `${design.factors[i]?.name} ${weight}`).join(', ')}`;
    return `minimization, p = ${p}, by ${measure}${weighed ?? ''}`;
  }
  return rule.kind === 'urn' ? urnText(design) : methodText(design);
}

export function urnText({ w, alpha, beta, D }: SimulatedDesign): string {
  return `w = ${w}, alpha = ${alpha}, beta = ${beta}, D = ${D}`;
}

export function factorsText({ factors }: SimulatedDesign): string {
  return factors.map(({ name, levels }) => `${name} (${levels.join(', ')})`).join('; ');
}

/** With a ratio, the kernel computes imbalance differently: see docs/methods.md. */
export function algorithmText(design: SimulatedDesign): string {
  const { kind } = ownDesign(design).rule;
  if (kind === 'complete') return `${ALGORITHMS.complete}, version 1`;
  if (kind === 'block') return `${ALGORITHMS.blocks}, version 1`;
  if (kind === 'minimization') return `${ALGORITHMS.minimization}, version 1`;
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
