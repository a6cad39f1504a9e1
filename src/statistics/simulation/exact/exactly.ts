/**
 * Computes the figures of a simulation without simulating: dynamic programming over the counts of the arms, forward from the
 * first participant. This is possible for one factor with one level, and the simulation is checked against it.
 *
 * Every figure is a mean over all ways that a trial can go. Most are means of something that depends only on one step's state.
 * Two are not: the drift, for which the mean and the mean square of a sum along the way are carried with each state, and the
 * largest range over the course (course.ts).
 */
import { counted } from '../../../base/wording.ts';
import { type ComparatorRule, ownDesign, type SimulationPlan } from '../plan.ts';
import { coursePoints, RangeScale } from '../quantities.ts';
import type { CoursePoint, DesignResult, Figure } from '../result.ts';
import { Allocations } from './allocations.ts';
import { largestRange, type Trail } from './course.ts';
import { Distribution } from './distribution.ts';
import { layersOf, type Ways } from './layers.ts';
import { rangeOf } from './range.ts';
import { ruleOf, type State, sum } from './rules.ts';

const MAX_STATES = 5_000_000;

interface NamedRule {
  readonly name: string;
  readonly rule: ComparatorRule;
}

/** @returns why the figures of this plan cannot be computed exactly; undefined if they can */
export function exactProblem(plan: SimulationPlan): string | undefined {
  const { factors, ratio } = plan.design;
  if (factors.length !== 1 || factors[0]?.levels.length !== 1)
    return 'exact figures are for a study of one factor with one level';
  for (const { name, rule } of designsOf(plan)) {
    if (rule.kind === 'minimization' && ratio.some((share) => share > 1))
      return `exact figures of ${name} are for a study without a ratio`;
    if (statesOf(rule, ratio, plan.participants) > MAX_STATES)
      return (
        `exact figures of ${name} need more than ${MAX_STATES.toLocaleString('en')} states, with ` +
        `${counted(plan.participants, 'participant')} and ${counted(ratio.length, 'arm')}`
      );
  }
  return undefined;
}

/**
 * The study's own design first, then the comparators in their order.
 * @throws RangeError when there is an `exactProblem`
 */
export function exactly(plan: SimulationPlan): DesignResult[] {
  const problem = exactProblem(plan);
  if (problem !== undefined) throw new RangeError(problem);
  return designsOf(plan).map((design) => resultOf(plan, design));
}

function designsOf({ design, comparators }: SimulationPlan): NamedRule[] {
  return [ownDesign(design), ...comparators];
}

/** An upper bound for the number of states of all steps together. Infinite if there are too many to number. */
function statesOf(rule: ComparatorRule, ratio: readonly number[], participants: number): number {
  const arms = ratio.length;
  const largest = rule.kind === 'block' ? Math.max(...rule.sizes) : 1;
  if (largest * (participants + 1) ** arms > Number.MAX_SAFE_INTEGER) return Number.POSITIVE_INFINITY;
  if (rule.kind === 'block') return statesOfBlocks(rule.sizes, ratio, participants);
  // The number of ways to divide at most n participants among K arms: C(n + K, K).
  let ways = 1;
  for (let k = 1; k <= arms; k++) ways = (ways * (participants + k)) / k;
  return ways;
}

function statesOfBlocks(sizes: readonly number[], ratio: readonly number[], participants: number): number {
  const inBlock = sizes.map((size) =>
    ratio.reduce((product, share) => product * ((size * share) / sum(ratio) + 1), 1),
  );
  // Blocks of one size begin at known steps, so each state belongs to one step.
  const times = sizes.length === 1 ? Math.ceil(participants / (sizes[0] as number)) : participants;
  return sum(inBlock) * times;
}

/** For each state: its probability, and the mean of S and of S² over the ways to it, each times that probability. */
interface Moments {
  readonly zeroth: Float64Array;
  readonly first: Float64Array;
  readonly second: Float64Array;
}

function momentsOf(states: number): Moments {
  return {
    zeroth: new Float64Array(states),
    first: new Float64Array(states),
    second: new Float64Array(states),
  };
}

/** @param stepOf how much S grows when an arm is allocated */
function carry(before: Moments, ways: Ways, stepOf: (arm: number) => number): Moments {
  const { zeroth, first, second } = momentsOf(ways.reached);
  for (let way = 0; way < ways.from.length; way++) {
    const [from, to] = [ways.from[way] as number, ways.to[way] as number];
    const [chance, step] = [ways.chance[way] as number, stepOf(ways.arm[way] as number)];
    const [m0, m1, m2] = [before.zeroth[from], before.first[from], before.second[from]] as [
      number,
      number,
      number,
    ];
    zeroth[to] = (zeroth[to] as number) + chance * m0;
    first[to] = (first[to] as number) + chance * (m1 + step * m0);
    second[to] = (second[to] as number) + chance * (m2 + 2 * step * m1 + step * step * m0);
  }
  return { zeroth, first, second };
}

type SetFigure = (figure: string, value: number) => void;

function resultOf(plan: SimulationPlan, { name, rule }: NamedRule): DesignResult {
  const { participants, at, siteFactor } = plan;
  const { ratio } = plan.design;
  const [scale, exactRule] = [new RangeScale(ratio), ruleOf(ratio, rule)];
  const figures: Record<string, Figure> = {};
  const set: SetFigure = (figure, value) => {
    figures[figure] = { value, low: value, high: value };
  };

  const allocations = new Allocations(ratio);
  const points = new Set(coursePoints(participants));
  const course: CoursePoint[] = [];
  const trails: Trail[] = [];
  const [share] = ratio.map((one) => one / sum(ratio)) as [number];
  const middle = (participants + 1) / 2;
  let moments: Moments = { ...momentsOf(1), zeroth: Float64Array.of(1) };
  let distribution = new Distribution(new Map([[0, 1]]), scale);
  let [n, balanced] = [0, 0];
  const branches = rule.kind === 'block' ? rule.sizes.length : 1;
  for (const { states, ways } of layersOf(exactRule, ratio.length, participants, branches)) {
    const ranges = Int32Array.from(states, (state) => rangeOf(state, scale));
    trails.push({ ranges, ways });
    if (n > 0) {
      distribution = new Distribution(chancesOf(ranges, moments.zeroth), scale);
      balanced += distribution.at(0);
      if (points.has(n)) course.push(coursePoint(n, distribution));
      if (at.includes(n)) {
        for (const level of levelNames(plan)) setRange(set, `${level}.range@${n}`, distribution, n);
        if (ratio.length === 2) setDifference(set, n, states, moments.zeroth, ratio);
      }
    }
    if (ways === undefined) break;
    n++;
    allocations.add(states, moments.zeroth, exactRule.chances);
    const time = n - middle;
    moments = carry(moments, ways, (arm) => ((arm === 0 ? 1 : 0) - share) * time);
  }

  setRange(set, 'course.range', new Distribution(largestRange(trails), scale), participants);
  set('balanced', balanced / participants);
  allocations.set(set, siteFactor !== undefined);
  // With a single participant there is no drift.
  if (ratio.length === 2 && participants > 1) set('drift', driftOf(moments, share, participants));
  return { name, figures, course, distribution: distribution.shares };
}

/** With one level, every measure within levels equals the overall one. */
function levelNames({ design }: SimulationPlan): string[] {
  const [factor] = design.factors;
  return ['overall', `level.${factor?.name}.${factor?.levels[0]}`, 'levels', 'strata'];
}

function coursePoint(n: number, distribution: Distribution): CoursePoint {
  return {
    n,
    p05: distribution.quantile(0.05),
    p25: distribution.quantile(0.25),
    p50: distribution.quantile(0.5),
    p75: distribution.quantile(0.75),
    p95: distribution.quantile(0.95),
  };
}

function chancesOf(ranges: Int32Array, weights: Float64Array): Map<number, number> {
  const found = new Map<number, number>();
  for (const [state, range] of ranges.entries())
    found.set(range, (found.get(range) ?? 0) + (weights[state] as number));
  return found;
}

function setRange(set: SetFigure, name: string, distribution: Distribution, n: number): void {
  set(`${name}.mean`, distribution.mean());
  for (const [quantile, q] of [
    ['p05', 0.05],
    ['p25', 0.25],
    ['p50', 0.5],
    ['p75', 0.75],
    ['p95', 0.95],
  ] as const)
    set(`${name}.${quantile}`, distribution.quantile(q));
  set(`${name}.ge5`, distribution.atLeast(20, n));
  set(`${name}.ge10`, distribution.atLeast(10, n));
}

/** SD of D_n, and the loss: with the intercept alone, eff is n_A·n_B/n over what it would be in the ratio, n·(r_A/R)·(r_B/R). */
function setDifference(
  set: SetFigure,
  n: number,
  states: readonly State[],
  weights: Float64Array,
  ratio: readonly number[],
): void {
  const [shareA, shareB] = ratio.map((share) => share / sum(ratio)) as [number, number];
  let [mean, square, loss] = [0, 0, 0];
  for (const [place, { counts }] of states.entries()) {
    const weight = weights[place] as number;
    const [a, b] = counts as [number, number];
    mean += weight * (a - b);
    square += weight * (a - b) ** 2;
    loss += weight * n * (1 - (a * b) / (n * n * shareA * shareB));
  }
  set(`difference.sd@${n}`, Math.sqrt(Math.max(0, square - mean * mean)));
  set(`loss@${n}`, loss);
}

/** The sum of the second arm is minus that of the first, so both squares are the same. */
function driftOf({ second }: Moments, share: number, participants: number): number {
  const spread = (participants * (participants * participants - 1)) / 12; // Σ(i - ī)²
  return (2 * second.reduce((total, one) => total + one, 0)) / (2 * share * (1 - share) * spread);
}
