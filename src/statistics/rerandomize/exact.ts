/**
 * The exact p-value: every way in which the study could have gone, with its probability. Participants come in a fixed
 * order, so this moves forward one participant at a time. All it keeps of the past is the counts or the places in blocks that
 * later draws see, and for each arm the number of participants with an outcome and the sum of their scores. Equal states are
 * merged.
 */
import { counted } from '../../base/wording.ts';
import { OpenBlocks } from '../../core/methods/memory.ts';
import { stratumOf } from '../../core/methods/method.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';
import { Replicate, Setting } from '../replicate/replicate.ts';
import { type PeopleStep, type Plan, Tally } from './plan.ts';
import { extremityOf, thresholdOf } from './statistic.ts';

const MAX_STATES = 5_000_000;

interface ExactResult {
  readonly p: number;
  /** Probability that some arm has nobody with an outcome, which counts as extreme. */
  readonly empty: number;
  /** The most states at one participant. */
  readonly states: number;
}

/** @throws ExactError */
export function exactP(
  plan: Plan,
  onProgress: (steps: number) => void = () => undefined,
  most = MAX_STATES,
): ExactResult {
  const [design, ...people] = plan.steps;
  if (design?.kind !== 'design') throw new Error('a study begins with its design');
  if (people.some(({ kind }) => kind === 'design' || kind === 'move'))
    throw new ExactError(
      'the exact computation is for a study that was neither amended nor corrected in what is counted',
    );
  const tree = new Tree(plan, new Setting(design), people as PeopleStep[], most);
  people.forEach((_, i) => {
    tree.grow(i);
    onProgress(i + 1);
  });
  return tree.result();
}

/** There are too many states to enumerate, or something else makes the tree infeasible. */
export class ExactError extends Error {
  override readonly name = 'ExactError';
}

/** One possible state of what later draws see. */
interface Branch {
  /** The counts of the cells that they see. */
  readonly counts: readonly number[];
  readonly blocks: OpenBlocks;
  /** For all arms but the last: the numbers of participants with an outcome, then the sums of their scores. */
  readonly states: States;
}

/** All ways in which the study could have gone so far, merged into branches. */
class Tree {
  readonly #plan: Plan;
  readonly #setting: Setting;
  readonly #people: readonly PeopleStep[];
  readonly #mostAllowed: number;
  readonly #tally: Tally;
  /** Holds the counts of one branch at a time. */
  readonly #replicate: Replicate;
  /** For each cell of the counts: the last step that sees it. */
  readonly #lastSeen: Int32Array;
  /** For each person with an outcome: the score as an integer, so that a sum does not depend on the order. */
  readonly #scores: ReadonlyMap<number, number>;
  readonly #scale: Scale;
  /** All arms but the last, whose numbers and sums follow from the others. */
  readonly #arms: number;
  /** For each stratum of permuted blocks: the last step that draws from its blocks. */
  readonly #lastDrawn: ReadonlyMap<string, number>;
  /** The cells that distinguish the branches. */
  #cells: readonly number[] = [];
  #branches: readonly Branch[];
  #most = 1;

  constructor(plan: Plan, setting: Setting, people: readonly PeopleStep[], most: number) {
    const { analysed, statistic, compared } = plan;
    this.#plan = plan;
    this.#setting = setting;
    this.#people = people;
    this.#mostAllowed = most;
    this.#tally = new Tally(plan);
    this.#replicate = new Replicate(Pcg64.fromSeed(0n), setting);
    this.#scale = scaleOf(statistic.scores);
    const { by } = this.#scale;
    const scoreAt = (i: number) => Math.round((statistic.scores[i] as number) * by);
    this.#scores = new Map([...analysed].map((person, i) => [person, scoreAt(i)]));
    this.#lastSeen = lastSeen(people, setting);
    this.#lastDrawn = lastDrawn(people, setting);
    this.#arms = compared.length - 1;
    const states = new States(2 * this.#arms);
    states.add(new Float64Array(2 * this.#arms), 1);
    this.#branches = [{ counts: [], blocks: new OpenBlocks(), states }];
  }

  /** Advances by one step. @throws ExactError when there are too many states */
  grow(index: number): void {
    const step = this.#people[index] as PeopleStep;
    const { counts } = this.#replicate;
    const strata = [...this.#lastDrawn].flatMap(([stratum, last]) => (last > index ? [stratum] : []));
    const cells = [...this.#lastSeen.keys()].filter((cell) => (this.#lastSeen[cell] as number) > index);
    const next = new Map<string, Branch>();
    const before = new Int32Array(this.#lastSeen.length);
    let size = 0;
    for (const branch of this.#branches) {
      this.#cells.forEach((cell, i) => {
        before[cell] = branch.counts[i] as number;
      });
      for (const { slot, chance } of this.#ways(step, branch, before)) {
        counts.set(before);
        this.#replicate.blocks = branch.blocks.fork();
        if (step.kind === 'draw') this.#replicate.allocate(step, slot);
        else this.#replicate.take(step);
        const after = cells.map((cell) => counts.cells[cell] as number);
        const { blocks } = this.#replicate;
        const left = strata.map((stratum) => blocks.latest(stratum)?.left.join());
        const key = `${after.join()};${left.join(';')}`;
        const found = next.get(key) ?? { counts: after, blocks, states: new States(2 * this.#arms) };
        next.set(key, found);
        size -= found.states.size;
        found.states.addAll(branch.states, this.#shift(step.person), chance);
        size += found.states.size;
      }
      if (size > this.#mostAllowed)
        throw new ExactError(
          `there are more than ${this.#mostAllowed} states after ${index + 1} of ${counted(this.#people.length, 'participant')}`,
        );
    }
    this.#most = Math.max(this.#most, size);
    this.#branches = [...next.values()];
    this.#cells = cells;
  }

  /** What the person, on the arm they have now, adds to a state. */
  #shift(person: number): Float64Array {
    const shift = new Float64Array(2 * this.#arms);
    const place = this.#tally.place(this.#replicate.arm(person));
    const score = this.#scores.get(person);
    if (score === undefined || place < 0 || place === this.#arms) return shift;
    shift[place] = 1;
    shift[this.#arms + place] = score;
    return shift;
  }

  /** The slots that a person can get, with their probabilities. Someone on another arm keeps the recorded slot. */
  #ways(step: PeopleStep, { blocks }: Branch, before: Int32Array): { slot: number; chance: number }[] {
    if (step.kind !== 'draw') return [{ slot: -1, chance: 1 }];
    this.#replicate.counts.set(before);
    this.#replicate.blocks = blocks;
    const { slots, chances } = this.#replicate.look(step);
    this.#tally.keepPossible(chances, slots, step, this.#setting);
    return [...chances].flatMap((chance, i) => (chance > 0 ? [{ slot: slots[i] as number, chance }] : []));
  }

  /** After the last step. Where other arms are kept, the probabilities of all ways sum to less than 1. */
  result(): ExactResult {
    const { statistic, recorded } = this.#plan;
    const tally = this.#tally;
    const { numbers, sums } = tally;
    const { by, error } = this.#scale;
    const total = sumOf(this.#scores.values());
    numbers.fill(0);
    sums.fill(0);
    for (const [person, score] of this.#scores) {
      const place = tally.place(recorded[person] as number);
      numbers[place] = (numbers[place] as number) + 1;
      sums[place] = (sums[place] as number) + score;
    }
    const extremity = () =>
      extremityOf(
        statistic,
        numbers,
        sums.map((sum) => sum / by),
      );
    const threshold = thresholdOf(extremity(), Math.max(1e-12, error));
    const arms = this.#arms;
    let [all, extreme, empty] = [0, 0, 0];
    for (const { states } of this.#branches)
      for (let i = 0; i < states.size; i++) {
        let [number, sum] = [this.#scores.size, total];
        for (let arm = 0; arm < arms; arm++) {
          numbers[arm] = states.value(i, arm);
          sums[arm] = states.value(i, arms + arm);
          number -= numbers[arm] as number;
          sum -= sums[arm] as number;
        }
        numbers[arms] = number;
        sums[arms] = sum;
        const probability = states.probability(i);
        all += probability;
        if (numbers.includes(0)) empty += probability;
        if (numbers.includes(0) || extremity() >= threshold) extreme += probability;
      }
    return { p: extreme / all, empty: empty / all, states: this.#most };
  }
}

interface Scale {
  readonly by: number;
  /** How much a relative difference may come from rounding. */
  readonly error: number;
}

const MAX_DECIMALS = 9;

/** The factor that turns scores into integers with exact sums: a power of ten, or a power of two with a rounding error. */
function scaleOf(scores: Float64Array): Scale {
  const largest = scores.reduce((most, score) => Math.max(most, Math.abs(score)), 1);
  const most = 2 ** 52 / (scores.length * largest);
  for (let decimals = 0, by = 1; decimals <= MAX_DECIMALS && by < most; decimals++, by *= 10) {
    const power = by;
    if (scores.every((score) => Math.round(score * power) / power === score)) return { by, error: 0 };
  }
  return { by: 2 ** Math.floor(Math.log2(most)), error: scores.length / 2 ** 48 };
}

/** The last step, counted from 0, that sees each cell. -1: none does. */
function lastSeen(people: readonly PeopleStep[], setting: Setting): Int32Array {
  const { layout, design } = setting;
  const seen = new Int32Array(layout.rowCount * layout.stride).fill(-1);
  const see = (row: number | undefined, index: number) => {
    if (row !== undefined) seen.fill(index, row * layout.stride, (row + 1) * layout.stride);
  };
  const hasSlots = design.arms.length > design.treatments.length;
  const { drawsFromCounts } = setting.method();
  people.forEach((step, index) => {
    if (step.kind === 'draw' && drawsFromCounts)
      for (const [factor, level] of step.levels.entries()) see(layout.rows[factor]?.[level], index);
    // If an arm has several slots, the counts of everybody decide which one is used.
    else if (step.kind === 'fixed' && hasSlots) see(0, index);
  });
  return seen;
}

/** The last step that draws from the blocks of each stratum. */
function lastDrawn(
  people: readonly PeopleStep[],
  { design: { methodDesign } }: Setting,
): Map<string, number> {
  const drawn = new Map<string, number>();
  if (methodDesign.method !== 'blocks') return drawn;
  people.forEach((step, index) => {
    if (step.kind === 'draw') drawn.set(stratumOf(methodDesign, step.levels), index);
  });
  return drawn;
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

const FREE_PLACE = -1;

/** There are many lists of states, and most are short. */
const FIRST_CAPACITY = 4;

/** States and their probabilities. Equal states are merged. A state is a list of numbers; there may be millions. */
class States {
  readonly #width: number;
  #values: Float64Array;
  #probabilities: Float64Array;
  /** A hash table of the states, with linear probing. */
  #places: Int32Array;
  #size = 0;

  /** @param width how many numbers a state has */
  constructor(width: number) {
    this.#width = width;
    this.#values = new Float64Array(width * FIRST_CAPACITY);
    this.#probabilities = new Float64Array(FIRST_CAPACITY);
    this.#places = new Int32Array(2 * FIRST_CAPACITY).fill(FREE_PLACE);
  }

  get size(): number {
    return this.#size;
  }

  probability(index: number): number {
    return this.#probabilities[index] as number;
  }

  /** One number of a state. */
  value(index: number, column: number): number {
    return this.#values[index * this.#width + column] as number;
  }

  add(state: Float64Array, probability: number): void {
    const mask = this.#places.length - 1;
    let place = this.#hash(state, 0) & mask;
    for (
      let index = this.#places[place] as number;
      index !== FREE_PLACE;
      index = this.#places[place] as number
    ) {
      if (this.#isAt(index, state)) {
        this.#probabilities[index] = (this.#probabilities[index] as number) + probability;
        return;
      }
      place = (place + 1) & mask;
    }
    if (this.#size === this.#probabilities.length) {
      this.#grow();
      this.add(state, probability);
      return;
    }
    const index = this.#size++;
    this.#places[place] = index;
    for (let i = 0; i < this.#width; i++) this.#values[index * this.#width + i] = state[i] as number;
    this.#probabilities[index] = probability;
  }

  /** Adds every state of another list, with `shift` added to its numbers and its probability times `chance`. */
  addAll(from: States, shift: Float64Array, chance: number): void {
    const width = this.#width;
    const state = new Float64Array(width);
    for (let i = 0; i < from.#size; i++) {
      for (let column = 0; column < width; column++)
        state[column] = (from.#values[i * width + column] as number) + (shift[column] as number);
      this.add(state, (from.#probabilities[i] as number) * chance);
    }
  }

  #isAt(index: number, state: Float64Array): boolean {
    for (let i = 0; i < this.#width; i++)
      if (this.#values[index * this.#width + i] !== state[i]) return false;
    return true;
  }

  /** Mixes the halves of each number, as MurmurHash3 mixes words. */
  #hash(state: Float64Array, from: number): number {
    let hash = 0;
    for (let i = 0; i < this.#width; i++) {
      const value = state[from + i] as number;
      hash = Math.imul(hash ^ value, 0xcc9e2d51);
      hash = Math.imul((hash << 15) | (hash >>> 17), 0x1b873593);
      hash ^= Math.floor(value / 2 ** 32);
    }
    hash ^= hash >>> 16;
    hash = Math.imul(hash, 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  #grow(): void {
    const values = new Float64Array(2 * this.#values.length);
    values.set(this.#values);
    const probabilities = new Float64Array(2 * this.#probabilities.length);
    probabilities.set(this.#probabilities);
    this.#values = values;
    this.#probabilities = probabilities;
    this.#places = new Int32Array(2 * this.#places.length).fill(FREE_PLACE);
    const mask = this.#places.length - 1;
    for (let index = 0; index < this.#size; index++) {
      let place = this.#hash(values, index * this.#width) & mask;
      while (this.#places[place] !== FREE_PLACE) place = (place + 1) & mask;
      this.#places[place] = index;
    }
  }
}
