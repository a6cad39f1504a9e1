/**
 * Wei's urn, from the balls to the evidence. Each level of each factor has an urn. A participant is drawn from the most
 * imbalanced of the urns of their levels, and ties are broken by lot. The steps are numbered as in docs/methods.md.
 *
 * `UrnKernel` is the one implementation. It works on typed arrays, which are used again for each allocation: under the write
 * path, and under simulations, which allocate millions. `workOut` shows every number on the way to one allocation.
 *
 * Sources: L. J. Wei, "The Adaptive Biased Coin Design for Sequential Experiments", Annals of Statistics 6(1), 1978;
 * the urn UD(w, alpha, beta) of Wei and Lachin, Controlled Clinical Trials 9(4), 1988, for several treatments; the reference
 * implementation for method 1 (which urn is drawn from) and for the order of the two draws (the lot first).
 */
import type { BgState, ImbalanceMeasure } from '../../../events/study.ts';
import { boundedInteger, Pcg64 } from '../random/pcg64.ts';
import { fillCumulative, fillProbabilities, indexAt, listOf } from './draw.ts';
import type { Counts } from './memory.ts';
import type { Evidence, Memory, Method, OpenSlots } from './method.ts';

/** What of a study's design an allocation sees. With a ratio, the imbalance does not depend on the order of the slots. */
export interface UrnDesign extends OpenSlots, UrnWeights {
  /** Those whose urns can be drawn from. */
  readonly factors: readonly { readonly name: string }[];
  readonly D: ImbalanceMeasure;
}

interface UrnWeights {
  /** Balls per treatment at the start. */
  readonly w: number;
  /** Balls added for the assigned treatment. */
  readonly alpha: number;
  /** Balls added for every other treatment. */
  readonly beta: number;
}

/**
 * The urns that one participant may be drawn from. `look` and `draw` leave the numbers on the way in the arrays until the
 * next participant. Indexes are those of the design's factors and slots, unless stated otherwise; an array over both has the
 * slots of the first factor, then of the second, and so on.
 */
export class UrnKernel implements Method {
  readonly drawsFromCounts = true;
  readonly #design: UrnDesign;
  /** Index, in the counts, of each factor. */
  readonly #factors: Int32Array;
  /** Indexes of the factors, sorted by name by code point. */
  readonly #byName: Int32Array;
  readonly #ascending: Float64Array;
  readonly slots: Int32Array;
  readonly chances: Float64Array;
  /** n_k before this participant. */
  readonly counts: Float64Array;
  /** b_k. */
  readonly balls: Float64Array;
  /** T of each urn. */
  readonly totals: Float64Array;
  /** d of each urn, by the study's measure. */
  readonly imbalances: Float64Array;
  /** Indexes of the factors whose urns are most imbalanced, sorted by name by code point. After `candidateCount`: anything. */
  readonly candidates: Int32Array;
  candidateCount = 0;
  /** Index of the candidate chosen by lot. If there is only one candidate, it is 0 and there is no draw. */
  lot = 0;
  /** Index of the factor whose urn is drawn from. */
  selected = 0;
  /** p_k of the selected urn. */
  readonly probabilities: Float64Array;
  /** cdf_k of the selected urn; the last is 1. */
  readonly cumulative: Float64Array;
  /** The uniform is u = uniform53 * 2^-53. */
  uniform53 = 0;
  /** Index of the drawn slot. */
  drawn = 0;

  constructor(design: UrnDesign) {
    const { slots, factors, places } = design;
    this.#design = design;
    this.#factors = Int32Array.from(places?.factors ?? factors.keys());
    this.#byName = Int32Array.from(byCodePoint(factors.map(({ name }) => name)));
    this.#ascending = new Float64Array(slots.length);
    this.slots = Int32Array.from(places?.slots ?? slots.keys());
    this.chances = new Float64Array(slots.length);
    this.counts = new Float64Array(factors.length * slots.length);
    this.balls = new Float64Array(factors.length * slots.length);
    this.totals = new Float64Array(factors.length);
    this.imbalances = new Float64Array(factors.length);
    this.candidates = new Int32Array(factors.length);
    this.probabilities = new Float64Array(slots.length);
    this.cumulative = new Float64Array(slots.length);
  }

  /**
   * 1. to 3. The urns of the participant's levels, how imbalanced they are, and which are so most. The chances are the mean
   * over these.
   * @throws RangeError when an index is out of range, the counts belong to another design, or an urn would be empty, or hold
   *   more than 2^53 - 1 balls
   */
  look({ counts }: Pick<Memory, 'counts'>, levels: ArrayLike<number>): void {
    const { layout } = counts;
    if (levels.length !== layout.rows.length)
      throw new RangeError(`${levels.length} levels given for ${layout.rows.length} factors`);
    if (!this.#design.places && layout.slots !== this.slots.length)
      throw new RangeError('counts of another design');
    for (let i = 0; i < this.#factors.length; i++) {
      const factor = this.#factors[i] as number;
      this.#see(i, counts.cells, layout.row(factor, levels[factor] as number) * layout.stride);
    }
    this.candidateCount = fillCandidates(this.imbalances, this.#byName, this.candidates);
    this.#fillChances();
  }

  /** @param from where n_k of the participant's level of the factor begin */
  #see(factor: number, cells: ArrayLike<number>, from: number): void {
    const slots = this.slots.length;
    const start = factor * slots;
    for (let slot = 0; slot < slots; slot++)
      this.counts[start + slot] = cells[from + (this.slots[slot] as number)] as number;
    this.totals[factor] = fillBalls(this.#design, this.counts, this.balls, start, slots);
    this.imbalances[factor] = this.#design.hasRatio
      ? this.#imbalanceInOrder(start)
      : imbalance(this.#design.D, this.balls, start, slots);
  }

  /** Sums of doubles depend on their order, and an urn must not depend on the order of the slots. */
  #imbalanceInOrder(start: number): number {
    const ascending = this.#ascending;
    for (let slot = 0; slot < ascending.length; slot++) ascending[slot] = this.balls[start + slot] as number;
    ascending.sort();
    return imbalance(this.#design.D, ascending, 0, ascending.length);
  }

  #fillChances(): void {
    const { chances } = this;
    const slots = chances.length;
    chances.fill(0);
    for (let i = 0; i < this.candidateCount; i++) {
      const factor = this.candidates[i] as number;
      const total = this.totals[factor] as number;
      for (let slot = 0; slot < slots; slot++)
        chances[slot] = (chances[slot] as number) + (this.balls[factor * slots + slot] as number) / total;
    }
    for (let slot = 0; slot < slots; slot++) chances[slot] = (chances[slot] as number) / this.candidateCount;
  }

  /** 4. and 5. One of the candidates, by lot if there are several, and a ball from its urn. */
  draw(generator: Pcg64): number {
    this.lot = boundedInteger(generator, this.candidateCount);
    this.selected = this.candidates[this.lot] as number;
    this.uniform53 = generator.nextUniform53();
    fillProbabilities(this.balls, this.selected * this.slots.length, this.probabilities);
    fillCumulative(this.probabilities, this.cumulative);
    this.drawn = indexAt(this.cumulative, this.uniform53);
    return this.slots[this.drawn] as number;
  }

  evidence(bgStateBefore: BgState, bgStateAfter: BgState): { readonly draw: UrnDraw } {
    const { factors, hasRatio } = this.#design;
    const name = (factor: number) => factors[factor]?.name ?? '';
    const [start, end] = [this.selected * this.slots.length, (this.selected + 1) * this.slots.length];
    const draw = {
      balls: listOf(this.balls, start, end),
      bgStateAfter,
      bgStateBefore,
      candidates: listOf(this.candidates, 0, this.candidateCount).map(name),
      counts: listOf(this.counts, start, end),
      selectedFactor: name(this.selected),
      uniform53: this.uniform53,
    };
    return { draw: hasRatio ? { ...draw, slot: this.slots[this.drawn] as number } : draw };
  }
}

/** The evidence, in the order in which its members are recorded. */
export type UrnDraw = NonNullable<Evidence['draw']>;

/**
 * b_k = w + alpha * n_k + beta * (N - n_k), with N = sum of n_k.
 *
 * @param counts n_k, participants of the urn's level on each treatment; `count` of them from `start` on
 * @param balls is filled with b_k, at the same places; their sum is exact and above zero
 * @returns T, the sum
 * @throws RangeError when the urn would be empty, hold a negative number of balls, or more than a double counts exactly
 */
function fillBalls(
  { w, alpha, beta }: UrnWeights,
  counts: ArrayLike<number>,
  balls: number[] | Float64Array,
  start: number,
  count: number,
): number {
  const end = start + count;
  let participants = 0;
  for (let i = start; i < end; i++) participants += counts[i] as number;

  let total = 0;
  for (let i = start; i < end; i++) {
    const assigned = counts[i] as number;
    const held = w + alpha * assigned + beta * (participants - assigned);
    if (!(held >= 0)) throw new RangeError(`an urn cannot hold ${held} balls for a treatment`);
    total += held;
    balls[i] = held;
  }
  // No term is negative, so if the total is exact, so is every term.
  if (!Number.isSafeInteger(total)) throw new RangeError(`an urn cannot hold ${total} balls: above 2^53 - 1`);
  if (total === 0) throw new RangeError('the urn is empty: w must be at least 1');
  return total;
}

/** The balls of one urn, in the order of the counts. Errors are those of `fillBalls`. */
export function balls(weights: UrnWeights, counts: readonly number[]): number[] {
  const urn: number[] = [];
  fillBalls(weights, counts, urn, 0, counts.length);
  return urn;
}

/**
 * How far an urn is from holding equally many balls for every treatment.
 *
 * The order of operations is that of the reference implementation, and it is part of the algorithm: an urn is a candidate
 * when its d exactly equals the largest, so the last bit of a double decides ties. Do not reorder, fuse or factor out
 * operations, or sum in another way, even if the result is equal on paper.
 *
 * Known hazard: two urns whose variance or chisquare is equal as a rational number, say with the balls 2, 2, 1 and
 * 1, 2, 2, may differ in the last bit as doubles. Then the lot that method 1 describes is not cast between them. Instead,
 * the urn that rounded up is drawn from: the same one each time, so that three or more arms do not have exactly equal
 * chances (docs/methods.md). This was seen in about 0.3 % of allocations; 14 are among the 2,100 in
 * test/vectors/reference-histories.json. The reference implementation does the same, and its studies could not be
 * replayed otherwise. The range, a single rounded division, is not affected.
 *
 * @param measure the study's `D`
 * @param balls b_k of an urn, whole numbers, with a sum T above zero; `count` of them, at least two, from `start` on
 * @returns d, without unit, at least zero; zero for equal b_k (up to rounding for variance and chisquare):
 *   range (max b - min b) / T; variance sum (m - f_k)^2 / (K - 1); chisquare sum of (f_k - m)^2 / m;
 *   with f_k = b_k / T and m = (f_1 + f_2 + ...) / K
 */
export function imbalance(
  measure: ImbalanceMeasure,
  balls: ArrayLike<number>,
  start = 0,
  count = balls.length,
): number {
  const end = start + count;
  let total = 0;
  for (let i = start; i < end; i++) total += balls[i] as number;
  if (measure === 'range') return spread(balls, start, end) / total;

  let mean = 0;
  for (let i = start; i < end; i++) mean += (balls[i] as number) / total;
  mean /= count;
  let distance = 0;
  for (let i = start; i < end; i++) {
    const f = (balls[i] as number) / total;
    distance += measure === 'variance' ? (mean - f) * (mean - f) : ((f - mean) * (f - mean)) / mean;
  }
  return measure === 'variance' ? distance / (count - 1) : distance;
}

function spread(balls: ArrayLike<number>, start: number, end: number): number {
  let most = balls[start] as number;
  let least = most;
  for (let i = start + 1; i < end; i++) {
    const held = balls[i] as number;
    if (held > most) most = held;
    if (held < least) least = held;
  }
  return most - least;
}

/**
 * Method 1: which urns may be drawn from. Equality is exact equality of doubles (see `imbalance`). The order is Python's order
 * of strings, by code point, as in the reference implementation. It matters because the lot picks an index.
 *
 * @param imbalances d of each factor's urn
 * @param order the indexes of the factors, each once, in the order of their names
 * @param candidates is filled, from the start, with the indexes of the factors whose d equals the largest, in this order
 * @returns how many these are; at least one
 * @throws RangeError when there is no urn, or a d is not a number
 */
export function fillCandidates(
  imbalances: ArrayLike<number>,
  order: ArrayLike<number>,
  candidates: number[] | Int32Array,
): number {
  if (imbalances.length === 0) throw new RangeError('no urn to select from');
  let most = -1;
  for (let i = 0; i < imbalances.length; i++) {
    const one = imbalances[i] as number;
    if (Number.isNaN(one)) throw new RangeError('an imbalance is not a number');
    if (one > most) most = one;
  }
  let count = 0;
  for (let i = 0; i < order.length; i++) {
    const index = order[i] as number;
    if (imbalances[index] === most) candidates[count++] = index;
  }
  return count;
}

/** @returns the indexes of the names (well-formed Unicode, all different), in the order of the names by code point */
export function byCodePoint(names: readonly string[]): number[] {
  return [...names.keys()].sort((a, b) => compareCodePoints(names[a] ?? '', names[b] ?? ''));
}

/**
 * Order of two well-formed strings by code point. `<` on strings compares UTF-16 units, which sorts characters
 * beyond U+FFFF (surrogates, D800 to DFFF) before those from U+E000 to U+FFFF.
 *
 * @returns below zero when a comes first, zero when equal, above zero when b comes first
 */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    if (a.charCodeAt(i) === b.charCodeAt(i)) continue;
    // At the first difference, both are at the start of a character, or both at low surrogates after the same high one.
    return (a.codePointAt(i) ?? 0) - (b.codePointAt(i) ?? 0);
  }
  return a.length - b.length;
}

const kernels = new WeakMap<UrnDesign, UrnKernel>();

/** The kernel of a design, always the same one, so that its arrays are used again. */
export function kernelOf(design: UrnDesign): UrnKernel {
  const known = kernels.get(design);
  if (known) return known;
  const made = new UrnKernel(design);
  kernels.set(design, made);
  return made;
}

/** The urn of one of the participant's levels, and how far it is from holding equally many balls for every slot. */
interface Urn {
  /** n_k of the participant's level before this participant, in the order of the slots. */
  readonly counts: readonly number[];
  /** b_k, in the same order. */
  readonly balls: number[];
  /** d, by the study's measure. */
  readonly imbalance: number;
}

/** Every number on the way to an allocation. Indexes are those of the design's factors and slots. */
interface Working {
  /** One per factor. */
  readonly urns: readonly Urn[];
  /** Indexes of the factors whose urns are most imbalanced, sorted by name by code point. */
  readonly candidates: readonly number[];
  /** Index of the candidate chosen by lot. If there is only one candidate, it is 0 and there is no draw. */
  readonly lot: number;
  /** Index of the factor whose urn is drawn from. */
  readonly selected: number;
  /** The uniform is u = uniform53 * 2^-53. */
  readonly uniform53: number;
  /** p_k of the selected urn. */
  readonly probabilities: readonly number[];
  /** cdf_k of the selected urn; the last is 1. */
  readonly cumulative: readonly number[];
  /** Index of the first slot whose cdf_k is above u, among all slots of the study. */
  readonly slot: number;
  readonly treatment: string;
  /** What of all this is recorded. */
  readonly draw: UrnDraw;
}

/**
 * The method, step by step. A pure function; `counts` is only read.
 *
 * @param counts of the earlier participants, made for the same design
 * @param levelIndexes the participant's level of each factor, in the order of the counts' factors
 * @param bgStateBefore the study's generator state after the previous allocation
 * @throws RangeError when an index is out of range, the counts belong to another design, the state is malformed,
 *   or an urn would hold more than 2^53 - 1 balls
 */
export function workOut(
  design: UrnDesign,
  counts: Counts,
  levelIndexes: readonly number[],
  bgStateBefore: BgState,
): Working {
  const { factors, slots } = design;
  const kernel = kernelOf(design);
  kernel.look({ counts }, levelIndexes);
  const generator = Pcg64.restore(bgStateBefore);
  const slot = kernel.draw(generator);
  const urnOf = (_: unknown, factor: number): Urn => {
    const [start, end] = [factor * slots.length, (factor + 1) * slots.length];
    return {
      counts: listOf(kernel.counts, start, end),
      balls: listOf(kernel.balls, start, end),
      imbalance: at(kernel.imbalances, factor),
    };
  };
  return {
    urns: factors.map(urnOf),
    candidates: listOf(kernel.candidates, 0, kernel.candidateCount),
    lot: kernel.lot,
    selected: kernel.selected,
    uniform53: kernel.uniform53,
    probabilities: listOf(kernel.probabilities),
    cumulative: listOf(kernel.cumulative),
    slot,
    treatment: at(slots, kernel.drawn),
    ...kernel.evidence(bgStateBefore, generator.snapshot()),
  };
}

/** An element that must exist. An index out of range is a bug in this file. */
function at<T>(list: ArrayLike<T>, index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} among ${list.length}`);
  return element;
}

/** Which treatment a participant gets, and the evidence with which anyone can repeat the draw. */
export interface UrnAllocation {
  /** Index of the slot in the counts. */
  readonly slot: number;
  readonly treatment: string;
  readonly draw: UrnDraw;
}

/** The results of `workOut` that are recorded. Parameters and errors are the same. */
export function allocate(
  design: UrnDesign,
  counts: Counts,
  levelIndexes: readonly number[],
  bgStateBefore: BgState,
): UrnAllocation {
  const { slot, treatment, draw } = workOut(design, counts, levelIndexes, bgStateBefore);
  return { slot, treatment, draw };
}

/** n_k of one level of the counts, of the slots that the design sees. */
export function rowSeen(
  { places }: UrnDesign,
  counts: Counts,
  factor: number,
  level: number,
): readonly number[] {
  const row = counts.of(factor, level);
  return places ? places.slots.map((slot) => at(row, slot)) : row;
}
