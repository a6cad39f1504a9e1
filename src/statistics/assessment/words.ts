/**
 * The words of an assessment, for the terminal, the page and the protocol alike: a plan with its designs, the names of figures, and
 * figures in the form that people read.
 */
import { ALGORITHMS } from '../../../events/study.ts';
import { ratioText } from '../../core/model/design.ts';
import { ownDesign, type SimulatedDesign, type SimulationPlan } from '../simulation/plan.ts';
import type { DesignResult, Figure } from '../simulation/summary.ts';
import { rangeNames, valueNames } from '../simulation/tally.ts';

/** `A, B, in equal numbers`, or with a ratio `2:1 ("A" 2, "B" 1)`. */
export function armsText({ treatments, ratio }: SimulatedDesign): string {
  return hasRatio({ ratio }) ? ratioText(treatments, ratio) : `${treatments.join(', ')}, in equal numbers`;
}

export function hasRatio({ ratio }: Pick<SimulatedDesign, 'ratio'>): boolean {
  return ratio.some((share) => share !== 1);
}

export function factorsText({ factors }: SimulatedDesign): string {
  return factors.map(({ name, levels }) => `${name} (${levels.join(', ')})`).join('; ');
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

/** With a ratio, the kernel computes imbalance differently: see docs/methods.md. */
export function algorithmText(design: SimulatedDesign): string {
  const { kind } = ownDesign(design).rule;
  if (kind === 'complete') return `${ALGORITHMS.complete}, version 1`;
  if (kind === 'block') return `${ALGORITHMS.blocks}, version 1`;
  if (kind === 'minimization') return `${ALGORITHMS.minimization}, version 1`;
  return `wei-urn-method1-pcg64, version ${hasRatio(design) ? 2 : 1}`;
}

export function replicatesText({ plan, isExact }: { plan: SimulationPlan; isExact: boolean }): string {
  return isExact ? 'computed exactly' : `${numberText(plan.reps)} simulated trials, seed ${plan.seed}`;
}

export function numberText(value: number): string {
  return value.toLocaleString('en');
}

/** As in the heads of tables. */
export function designName(name: string): string {
  return name === 'study' ? 'this study' : name;
}

/** The figures that a design is judged by, with their words. `{n}` is the number of participants. */
export const MAIN_FIGURES: readonly { readonly name: string; readonly words: string }[] = [
  { name: 'overall.range.mean', words: 'arms: range after {n}, mean' },
  { name: 'overall.range.p50', words: '  median' },
  { name: 'overall.range.p95', words: '  95 % of trials at most' },
  { name: 'overall.range.ge5', words: '  trials with 5 % of {n} or more' },
  { name: 'overall.range.ge10', words: '  trials with 10 % of {n} or more' },
  { name: 'course.range.mean', words: '  largest on the way, mean' },
  { name: 'course.range.p95', words: '  largest on the way, 95 % at most' },
  { name: 'levels.range.mean', words: 'largest range within a level, mean' },
  { name: 'levels.range.p95', words: '  95 % of trials at most' },
  { name: 'strata.range.mean', words: 'largest range within a stratum, mean' },
  { name: 'strata.range.p95', words: '  95 % of trials at most' },
  { name: 'difference.sd', words: 'SD of the difference of the arms' },
  { name: 'balanced', words: 'exactly balanced' },
  { name: 'guess.naive', words: 'guess right: arm with the fewest' },
  { name: 'guess.site', words: '  the same within a site' },
  { name: 'guess.known', words: '  knows all arms and the settings' },
  { name: 'guess.blind', words: '  blind' },
  { name: 'certain.80', words: 'allocations with a chance >= 80 %' },
  { name: 'certain.90', words: '  >= 90 %' },
  { name: 'certain.100', words: '  certain' },
  { name: 'entropy', words: 'entropy (nats)' },
  { name: 'share', words: 'an arm off its share, at most' },
  { name: 'drift', words: 'drift (complete: 1)' },
  { name: 'loss', words: 'loss of efficiency (participants)' },
];

interface FigureName {
  /** Without `@n`. */
  readonly name: string;
  /** Undefined for a figure that is about the whole course. */
  readonly n: number | undefined;
}

/** Parts a figure's name, as it is computed, from the number of participants in it. */
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

/** The names of the figures that the study's own design will have; those after all participants also without `@n`. */
export function figureNames(plan: SimulationPlan): string[] {
  const { design, at, participants } = plan;
  const factors = design.own ? [] : design.factors.map(({ name }) => name);
  const all = [
    ...rangeNames(plan).flatMap((range) => RANGE_FIGURES.map((what) => `${range}.${what}`)),
    ...(design.treatments.length === 2 ? at.map((n) => `difference.sd@${n}`) : []),
    ...valueNames(plan, factors),
    ...['guess.blind', 'share'],
  ];
  const atTheEnd = all.map(parted).filter(({ n }) => n === participants);
  return [...all, ...atTheEnd.map(({ name }) => name)];
}

const RANGE_FIGURES = ['mean', 'p05', 'p25', 'p50', 'p75', 'p95', 'ge5', 'ge10'] as const;

/** `9.24 [9.18, 9.30]`; an exact figure has no interval. */
export function figureText(name: string, { value, low, high }: Figure): string {
  if (low === high) return shownValue(name, value);
  const bound = (one: number) => shownValue(name, one).replace(' %', '');
  return `${shownValue(name, value)} [${bound(low)}, ${bound(high)}]`;
}

/** Probabilities, and shares of trials and of allocations. */
const IN_PERCENT = /^(guess|certain|drawn)\.|^(balanced|share)$|\.ge(5|10)$/;
const THREE_DECIMALS = /^(drift|entropy|forcing)$/;
const QUANTILE = /\.p\d\d$/;

/** @param name without `@n` */
export function shownValue(name: string, exact: number): string {
  // No minus sign before a number that is shown as zero.
  const value = Math.abs(exact) < 0.00005 ? 0 : exact;
  // What was rounded to zero, or not seen in these trials, may still happen.
  if (IN_PERCENT.test(name)) return value === 0 ? '< 0.01 %' : `${(100 * value).toFixed(2)} %`;
  if (THREE_DECIMALS.test(name)) return value.toFixed(3);
  if (QUANTILE.test(name)) return String(Number(value.toFixed(2)));
  return value.toFixed(2);
}

/** A list in a sentence. */
export function among(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
