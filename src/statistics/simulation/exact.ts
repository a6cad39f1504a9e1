/**
 * Computes the figures of a simulation without simulating: dynamic programming over the counts of the arms, forward from the
 * first participant. This is possible for one factor with one level, and the simulation is checked against it.
 *
 * Every figure is a mean over all ways that a trial can go. Most are means of something that depends only on one step's state.
 * Two are not: the drift, for which the mean and the mean square of a sum along the way are carried with each state, and the
 * largest range over the course (`largestRange`).
 *
 * The chances of each arm are written from the definitions, and separate from the code that simulates and allocates, because
 * the exact figures check that code.
 */
import { counted } from '../../base/wording.ts';
import { type ComparatorRule, type MinimizationRule, ownDesign, type SimulationPlan } from './plan.ts';
import type { CoursePoint, DesignResult, Figure } from './summary.ts';
import { coursePoints, RangeScale } from './tally.ts';

/**
 * The study's own design first, then the comparators in their order.
 * @throws RangeError when there is an `exactProblem`
 */
export function exactly(plan: SimulationPlan): DesignResult[] {
  const problem = exactProblem(plan);
  if (problem !== undefined) throw new RangeError(problem);
  return designsOf(plan).map((design) => resultOf(plan, design));
}

const MAX_STATES = 5_000_000;

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

interface NamedRule {
  readonly name: string;
  readonly rule: ComparatorRule;
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

function chancesOf(ranges: Int32Array, weights: Float64Array): Map<number, number> {
  const found = new Map<number, number>();
  for (const [state, range] of ranges.entries())
    found.set(range, (found.get(range) ?? 0) + (weights[state] as number));
  return found;
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

/** With one level, every measure within levels equals the overall one. */
function levelNames({ design }: SimulationPlan): string[] {
  const [factor] = design.factors;
  return ['overall', `level.${factor?.name}.${factor?.levels[0]}`, 'levels', 'strata'];
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

/** The sum of the second arm is minus that of the first, so both squares are the same. */
function driftOf({ second }: Moments, share: number, participants: number): number {
  const spread = (participants * (participants * participants - 1)) / 12; // Σ(i - ī)²
  return (2 * second.reduce((total, one) => total + one, 0)) / (2 * share * (1 - share) * spread);
}

/** What the next allocation depends on. */
export interface State {
  /** n_k of each arm. */
  readonly counts: readonly number[];
  /** The size of the current block; 0 between two blocks and without blocks. */
  readonly block: number;
  /** How many places of it are allocated. */
  readonly filled: number;
}

/** The chances of each arm under a design, for one factor with one level. */
interface ExactRule {
  /** p_k of each arm. */
  chances(state: State): number[];
  /** Where the draw of an arm may lead, all equally likely. */
  after(state: State, arm: number): State[];
}

export function ruleOf(ratio: readonly number[], rule: ComparatorRule): ExactRule {
  if (rule.kind === 'block') return blocks(ratio, rule.sizes);
  return { chances: ({ counts }) => chancesUnder(rule, ratio, counts), after: oneMore };
}

function oneMore({ counts }: State, arm: number): State[] {
  return [{ counts: counts.map((count, k) => (k === arm ? count + 1 : count)), block: 0, filled: 0 }];
}

function chancesUnder(
  rule: Exclude<ComparatorRule, { kind: 'block' }>,
  ratio: readonly number[],
  counts: readonly number[],
): number[] {
  switch (rule.kind) {
    case 'urn':
      return urn(rule, ratio, counts);
    case 'complete':
      return shares(ratio);
    case 'minimization':
      return minimization(rule, counts);
    case 'efron':
      return towardsSmaller(counts, rule.p);
    case 'bigstick': {
      const [a = 0, b = 0] = counts;
      return towardsSmaller(counts, Math.abs(a - b) >= rule.limit ? 1 : 1 / 2);
    }
  }
}

/**
 * An arm with r_k slots has B_k = r_k·w + α·n_k + β·(r_k·N - n_k) balls: each of its slots has w, each participant in a slot
 * adds α to it and β to every other one. It does not matter how the n_k are spread over the arm's slots.
 */
function urn(
  { w, alpha, beta }: { w: number; alpha: number; beta: number },
  ratio: readonly number[],
  counts: readonly number[],
): number[] {
  const all = sum(counts);
  const balls = counts.map((count, k) => {
    const slots = ratio[k] as number;
    return slots * w + alpha * count + beta * (slots * all - count);
  });
  const total = sum(balls);
  // With w = 0 the urn is empty before the first participant.
  return total === 0 ? shares(ratio) : balls.map((held) => held / total);
}

const shares = (ratio: readonly number[]): number[] => ratio.map((share) => share / sum(ratio));

/** Two arms: the one with fewer participants gets p. */
function towardsSmaller([a = 0, b = 0]: readonly number[], p: number): number[] {
  if (a === b) return [1 / 2, 1 / 2];
  return a < b ? [p, 1 - p] : [1 - p, p];
}

/**
 * Pocock & Simon 1975 with the range or the variance of one factor's level: of the F arms that would leave the least of it, one at
 * random has the probability p, and all other arms share the rest equally.
 */
function minimization({ p, measure }: MinimizationRule, counts: readonly number[]): number[] {
  const arms = counts.length;
  const ranges = counts.map((_, arm) => {
    if (measure === 'variance') return counts[arm] as number;
    const after = counts.map((count, k) => (k === arm ? count + 1 : count));
    return Math.max(...after) - Math.min(...after);
  });
  const least = Math.min(...ranges);
  const tied = ranges.filter((range) => range === least).length;
  return ranges.map((range) =>
    range === least ? (p * (arms - 1) + (tied - 1) * (1 - p)) / (tied * (arms - 1)) : (1 - p) / (arms - 1),
  );
}

/** Every block holds the arms in the ratio, in random order. Its size is one of `sizes`, by lot. */
function blocks(ratio: readonly number[], sizes: readonly number[]): ExactRule {
  const share = shares(ratio);
  return {
    chances({ counts, block, filled }) {
      if (block === 0) return share;
      const before = sum(counts) - filled;
      return counts.map((count, k) => {
        const [inBlock, already] = [block * (share[k] as number), count - before * (share[k] as number)];
        // Whole numbers, apart from rounding.
        return (Math.round(inBlock) - Math.round(already)) / (block - filled);
      });
    },
    after(state, arm) {
      const counts = state.counts.map((count, k) => (k === arm ? count + 1 : count));
      const begun = state.block === 0 ? sizes : [state.block];
      return begun.map((block) => {
        const filled = state.filled + 1;
        return filled === block ? { counts, block: 0, filled: 0 } : { counts, block, filled };
      });
    },
  };
}

interface Layer {
  readonly states: readonly State[];
  /** The ways to the next layer. Undefined for the last. */
  readonly ways: Ways | undefined;
}

/** The ways from the states before a participant to those after. One element per way. */
interface Ways {
  readonly from: Int32Array;
  readonly arm: Uint8Array;
  readonly to: Int32Array;
  readonly chance: Float64Array;
  /** How many states the next layer has. */
  readonly reached: number;
}

/**
 * All states that a design can be in, step by step, and the ways from each step to the next.
 * @param participants how many are allocated; there is one layer before each of them, and one at the end
 * @param branches the most states that one draw of an arm may lead to
 */
function* layersOf(rule: ExactRule, arms: number, participants: number, branches: number): Generator<Layer> {
  const keyOf = keyOfStates(arms, participants);
  let states: State[] = [{ counts: Array.from({ length: arms }, () => 0), block: 0, filled: 0 }];
  for (let step = 0; step < participants; step++) {
    const room = states.length * arms * branches;
    const from = new Int32Array(room);
    const arm = new Uint8Array(room);
    const to = new Int32Array(room);
    const chance = new Float64Array(room);
    const next: State[] = [];
    const places = new Map<number, number>();
    let ways = 0;
    for (const [place, state] of states.entries())
      for (const [drawn, p] of rule.chances(state).entries()) {
        if (p === 0) continue;
        const reached = rule.after(state, drawn);
        for (const one of reached) {
          const key = keyOf(one);
          let index = places.get(key);
          if (index === undefined) {
            index = next.push(one) - 1;
            places.set(key, index);
          }
          from[ways] = place;
          arm[ways] = drawn;
          to[ways] = index;
          chance[ways++] = p / reached.length;
        }
      }
    yield {
      states,
      ways: {
        from: from.subarray(0, ways),
        arm: arm.subarray(0, ways),
        to: to.subarray(0, ways),
        chance: chance.subarray(0, ways),
        reached: next.length,
      },
    };
    states = next;
  }
  yield { states, ways: undefined };
}

/** Encodes a state of a layer as one number. The last arm's count follows from the others; none exceeds `participants`. */
function keyOfStates(arms: number, participants: number): (state: State) => number {
  const base = participants + 1;
  return ({ counts, block, filled }) => {
    let key = filled;
    for (let k = 0; k < arms - 1; k++) key = key * base + (counts[k] as number);
    return block === 0 ? key : key + block * base ** arms;
  };
}

/** The range of the counts of the arms, in units of the scale. */
function rangeOf({ counts }: State, { factors }: RangeScale): number {
  let [most, least] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const [k, count] of counts.entries()) {
    const scaled = count * (factors[k] as number);
    most = Math.max(most, scaled);
    least = Math.min(least, scaled);
  }
  return most - least;
}

/** Sums of probabilities have rounding errors: a share of exactly one half must count as reached. */
const ROUNDING = 1e-12;

/** The distribution of a range, exactly. */
class Distribution {
  /** Ascending. */
  readonly #values: { readonly steps: number; readonly chance: number }[];
  readonly #scale: RangeScale;

  /**
   * @param chances the probability of each range, in units of the scale
   */
  constructor(chances: ReadonlyMap<number, number>, scale: RangeScale) {
    this.#scale = scale;
    this.#values = [...chances]
      .map(([steps, chance]) => ({ steps, chance }))
      .filter(({ chance }) => chance > 0)
      .sort((a, b) => a.steps - b.steps);
  }

  get shares(): { range: number; share: number }[] {
    return this.#values.map(({ steps, chance }) => ({ range: steps * this.#scale.unit, share: chance }));
  }

  /** The probability of one range, counted in units. */
  at(steps: number): number {
    return this.#values.find((value) => value.steps === steps)?.chance ?? 0;
  }

  mean(): number {
    return this.#values.reduce((total, { steps, chance }) => total + steps * chance, 0) * this.#scale.unit;
  }

  /** The smallest value with a share of at least q at or below it. */
  quantile(q: number): number {
    let below = 0;
    for (const { steps, chance } of this.#values) {
      below += chance;
      if (below >= q - ROUNDING) return steps * this.#scale.unit;
    }
    return (this.#values.at(-1)?.steps ?? 0) * this.#scale.unit;
  }

  /** The probability of a range of at least n / `parts`, for n participants. */
  atLeast(parts: number, n: number): number {
    return this.#values
      .filter(({ steps }) => this.#scale.isAtLeast(steps, parts, n))
      .reduce((total, { chance }) => total + chance, 0);
  }
}

const NEARLY = 1e-12;

/** The quantities that are averaged, for one allocation. */
interface Terms {
  known: number;
  naive: number;
  certain80: number;
  certain90: number;
  certain100: number;
  forcing: number;
  entropy: number;
}

/** How well the next allocation can be guessed: means over the steps, and over the states at each step. */
class Allocations {
  readonly #ratio: readonly number[];
  readonly #total: Terms = {
    known: 0,
    naive: 0,
    certain80: 0,
    certain90: 0,
    certain100: 0,
    forcing: 0,
    entropy: 0,
  };
  #steps = 0;
  /** The largest difference between an arm's mean chance at a step and its share in the ratio. */
  #furthest = 0;

  constructor(ratio: readonly number[]) {
    this.#ratio = ratio;
  }

  /**
   * The states before one more participant.
   * @param weights the probability of each state
   */
  add(states: readonly State[], weights: Float64Array, chancesOf: (state: State) => readonly number[]): void {
    const means = this.#ratio.map(() => 0);
    for (const [place, state] of states.entries()) {
      const weight = weights[place] as number;
      const chances = chancesOf(state);
      const terms = termsOf(chances, state.counts, this.#ratio);
      for (const term of Object.keys(terms) as (keyof Terms)[]) this.#total[term] += weight * terms[term];
      for (const [k, p] of chances.entries()) means[k] = (means[k] as number) + weight * p;
    }
    const all = sum(this.#ratio);
    for (const [k, mean] of means.entries())
      this.#furthest = Math.max(this.#furthest, Math.abs(mean - (this.#ratio[k] as number) / all));
    this.#steps++;
  }

  /** @param site whether a site guesses as well: with one level, it sees what everybody sees */
  set(set: (figure: string, value: number) => void, site: boolean): void {
    const mean = (term: keyof Terms): number => this.#total[term] / this.#steps;
    set('guess.naive', mean('naive'));
    if (site) set('guess.site', mean('naive'));
    set('guess.known', mean('known'));
    set('guess.blind', Math.max(...this.#ratio) / sum(this.#ratio));
    set('certain.80', mean('certain80'));
    set('certain.90', mean('certain90'));
    set('certain.100', mean('certain100'));
    if (this.#ratio.length === 2) set('forcing', mean('forcing'));
    set('entropy', mean('entropy'));
    set('share', this.#furthest);
  }
}

function termsOf(chances: readonly number[], counts: readonly number[], ratio: readonly number[]): Terms {
  const known = Math.max(...chances);
  const atLeast = (limit: number): number => (known >= limit - NEARLY ? 1 : 0);
  return {
    known,
    naive: naiveGuess(chances, counts, ratio),
    certain80: atLeast(0.8),
    certain90: atLeast(0.9),
    certain100: atLeast(1),
    forcing: 4 * Math.abs((chances[0] as number) - 1 / 2),
    entropy: sum(chances.map((p) => (p > 0 ? -p * Math.log(p) : 0))),
  };
}

/** The chance of the arm with the least n_k/r_k. Among several, those with the largest r_k count, one of them at random. */
function naiveGuess(chances: readonly number[], counts: readonly number[], ratio: readonly number[]): number {
  const arms = [...counts.keys()];
  const filled = (k: number): number => (counts[k] as number) / (ratio[k] as number);
  // n_k/r_k of two arms are equal as doubles if they are equal at all: division is correctly rounded.
  const least = Math.min(...arms.map(filled));
  const emptiest = arms.filter((k) => filled(k) === least);
  const largest = Math.max(...emptiest.map((k) => ratio[k] as number));
  const guessed = emptiest.filter((k) => ratio[k] === largest);
  return sum(guessed.map((k) => chances[k] as number)) / guessed.length;
}

interface Trail {
  /** For each state of a step, in units. */
  readonly ranges: Int32Array;
  /** The ways to the next step. Undefined for the last. */
  readonly ways: Ways | undefined;
}

/** Larger limits are ignored when no more than this probability is left for them. */
const NEGLIGIBLE = 1e-12;

/**
 * The largest range over the steps of a trial.
 *
 * P(the largest is at most m) is the probability of the ways on which no range is above m. It is computed for one m after
 * another, and each increase is the probability of m.
 *
 * @param trails one for each step
 * @returns the probability of each largest range, in units
 */
function largestRange(trails: readonly Trail[]): Map<number, number> {
  const limits = new Set<number>();
  let states = 0;
  for (const { ranges } of trails) {
    states = Math.max(states, ranges.length);
    for (const range of ranges) limits.add(range);
  }
  const found = new Map<number, number>();
  const room = [new Float64Array(states), new Float64Array(states)] as const;
  let below = 0;
  for (const limit of [...limits].sort((a, b) => a - b)) {
    const within = chanceWithin(limit, trails, room);
    found.set(limit, within - below);
    below = within;
    if (1 - below < NEGLIGIBLE) break;
  }
  return found;
}

function chanceWithin(
  limit: number,
  trails: readonly Trail[],
  [one, other]: readonly [Float64Array, Float64Array],
): number {
  let [before, after] = [one, other];
  before[0] = 1;
  let states = 1;
  for (const [step, { ways }] of trails.entries()) {
    if (ways === undefined) break;
    const ranges = (trails[step + 1] as Trail).ranges;
    states = ways.reached;
    after.fill(0, 0, states);
    for (let way = 0; way < ways.from.length; way++) {
      const chance = before[ways.from[way] as number] as number;
      const to = ways.to[way] as number;
      if (chance > 0 && (ranges[to] as number) <= limit)
        after[to] = (after[to] as number) + chance * (ways.chance[way] as number);
    }
    [before, after] = [after, before];
  }
  let total = 0;
  for (let state = 0; state < states; state++) total += before[state] as number;
  return total;
}

const sum = (terms: readonly number[]): number => terms.reduce((total, term) => total + term, 0);
