/**
 * The rule of each design, and which designs fit a study. The methods of the service run as they are; designs that are
 * only compared with them (Efron's biased coin, the big stick) are here.
 */
import { type ImbalanceMeasure, MAX_WEIGHT } from '../../../events/study.ts';
import { PermutedBlocks } from '../../core/methods/blocks.ts';
import { Complete } from '../../core/methods/complete.ts';
import { fillCumulative, indexAt } from '../../core/methods/draw.ts';
import { Counts, OpenBlocks } from '../../core/methods/memory.ts';
import type { Memory, Method } from '../../core/methods/method.ts';
import { Minimization } from '../../core/methods/minimization.ts';
import { UrnKernel } from '../../core/methods/urn.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';
import type { Comparator, MinimizationRule, SimulatedDesign } from './plan.ts';

/** A design as a simulation runs it. */
export interface Rule {
  /** p_k of each arm for the last participant, before any lot between urns. */
  readonly chances: Float64Array;
  /** Index of the factor whose urn the last arm was drawn from; -1 if the design has no urns. */
  readonly drawnFactor: number;
  /** Forgets all participants. */
  restart(): void;
  /**
   * Fills `chances`, draws an arm and counts it.
   * @param participant index, from 0 on, in ascending order without gaps
   */
  allocate(participant: number, generator: Pcg64): number;
}

/** The participants of a replicate. The arrays are filled anew for each. */
export interface Participants {
  /** For each participant: the index of the level of each factor, in the order of the factors. */
  readonly levels: Int32Array;
  readonly factors: readonly { readonly name: string; readonly levels: readonly string[] }[];
  /** @returns for each participant, the number of the stratum by these factors, from 0 on without gaps */
  strata(within: readonly number[]): Int32Array;
}

export function ruleOf(
  { rule, within }: Comparator,
  ratio: readonly number[],
  participants: Participants,
): Rule {
  switch (rule.kind) {
    case 'urn':
      return urnRule(rule, ratio, participants, within);
    case 'complete':
      return completeRule(ratio, participants);
    case 'block':
      return blockRule(rule.sizes, ratio, participants, within);
    case 'minimization':
      return minimizationRule(rule, ratio, participants, within);
    case 'efron':
      return new TwoArms(biasedCoin(rule.p), participants, within);
    case 'bigstick':
      return new TwoArms(bigStick(rule.limit), participants, within);
  }
}

interface UrnSettings {
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
  readonly D: ImbalanceMeasure;
}

/** @param within indexes of the factors with urns; none: all factors */
function urnRule(
  rule: UrnSettings,
  ratio: readonly number[],
  participants: Participants,
  within: readonly number[] = [],
): Rule {
  const { factors } = participants;
  const used = within.length > 0 ? within : [...factors.keys()];
  const { slots, hasRatio } = openSlots(ratio);
  const kernel = new UrnKernel({
    ...rule,
    factors: used.map((factor) => factorAt(factors, factor)),
    ...{ slots, hasRatio, places: { slots: [...slots.keys()], factors: used } },
  });
  return new MethodRule(kernel, ratio, participants, () => used[kernel.selected] as number);
}

function completeRule(ratio: readonly number[], participants: Participants): Rule {
  return new MethodRule(new Complete(openSlots(ratio)), ratio, participants);
}

/** @param sizes multiples of the sum of the ratio. @param within indexes of the factors that make a stratum */
function blockRule(
  sizes: readonly number[],
  ratio: readonly number[],
  participants: Participants,
  within: readonly number[],
): Rule {
  const open = openSlots(ratio);
  const perSlot = sizes.map((size) => size / open.slots.length);
  return new MethodRule(new PermutedBlocks({ ...open, by: within, perSlot }), ratio, participants);
}

/** @param within indexes of the factors that are balanced; none: all factors */
function minimizationRule(
  { p, measure = 'range', weights }: MinimizationRule,
  ratio: readonly number[],
  participants: Participants,
  within: readonly number[],
): Rule {
  const { factors } = participants;
  const open = openSlots(ratio);
  const used = within.length > 0 ? within : [...factors.keys()];
  const parameters = {
    ...{ measure, pThousandths: Math.round(1000 * p) },
    ...(weights && { weights: [...weights] }),
  };
  const places = { slots: [...open.slots.keys()], factors: used };
  return new MethodRule(new Minimization({ ...open, factors, parameters, places }), ratio, participants);
}

function factorAt<T>(factors: readonly T[], index: number): T {
  const factor = factors[index];
  if (factor === undefined) throw new RangeError(`no factor ${index}`);
  return factor;
}

function openSlots(ratio: readonly number[]) {
  const slots = armsOf(ratio).map((arm, slot) => `${arm} ${slot}`);
  return { slots, hasRatio: slots.length > ratio.length };
}

function armsOf(ratio: readonly number[]): number[] {
  return ratio.flatMap((share, arm) => Array<number>(share).fill(arm));
}

/** A method of the service, as a simulation runs it. */
class MethodRule implements Rule {
  readonly chances: Float64Array;
  readonly #method: Method;
  readonly #drawnFactor: () => number;
  readonly #memory: Memory;
  /** The level of each factor, by participant. */
  readonly #levels: readonly Int32Array[];
  /** The arm of each slot. */
  readonly #arms: readonly number[];

  /** @param drawnFactor index of the factor whose urn was drawn from last; default: the method has no urns */
  constructor(
    method: Method,
    ratio: readonly number[],
    { factors, levels }: Participants,
    drawnFactor = () => -1,
  ) {
    this.#method = method;
    this.#drawnFactor = drawnFactor;
    this.#arms = armsOf(ratio);
    this.#memory = { counts: new Counts({ slots: this.#arms, factors }), blocks: new OpenBlocks() };
    this.#levels = Array.from({ length: levels.length / factors.length }, (_, participant) =>
      levels.subarray(participant * factors.length, (participant + 1) * factors.length),
    );
    this.chances = new Float64Array(ratio.length);
  }

  get drawnFactor(): number {
    return this.#drawnFactor();
  }

  restart(): void {
    this.#memory.counts.clear();
    this.#memory.blocks.clear();
  }

  allocate(participant: number, generator: Pcg64): number {
    const levels = this.#levels[participant] as Int32Array;
    const method = this.#method;
    method.look(this.#memory, levels);
    this.chances.fill(0);
    this.#arms.forEach((arm, slot) => {
      this.chances[arm] = (this.chances[arm] as number) + (method.chances[slot] as number);
    });
    const slot = method.draw(generator);
    this.#memory.counts.add(levels, slot, 1);
    method.use?.(this.#memory, levels, slot);
    return this.#arms[slot] as number;
  }
}

/** Efron's biased coin: the arm that is behind has the probability p. */
function biasedCoin(p: number): (ahead: number) => number {
  return (ahead) => (ahead === 0 ? 0.5 : ahead < 0 ? p : 1 - p);
}

/** The big stick: a fair coin until the difference is at its limit, then the arm that is behind. */
function bigStick(limit: number): (ahead: number) => number {
  return (ahead) => (ahead >= limit ? 0 : ahead <= -limit ? 1 : 0.5);
}

/** Two arms, each stratum a trial of its own: the probability of each arm depends on their difference in the stratum alone. */
class TwoArms implements Rule {
  readonly drawnFactor = -1;
  readonly chances = new Float64Array(2);
  /** p of the first arm, given by how many it is ahead of the second. */
  readonly #chance: (ahead: number) => number;
  readonly #strata: Int32Array;
  readonly #ahead: Int32Array;
  readonly #arm = new ArmDraw(2);

  constructor(chance: (ahead: number) => number, participants: Participants, within: readonly number[]) {
    this.#chance = chance;
    this.#strata = participants.strata(within);
    this.#ahead = new Int32Array(this.#strata.length);
  }

  restart(): void {
    this.#ahead.fill(0);
  }

  allocate(participant: number, generator: Pcg64): number {
    const stratum = this.#strata[participant] as number;
    const ahead = this.#ahead[stratum] as number;
    const chance = this.#chance(ahead);
    this.chances[0] = chance;
    this.chances[1] = 1 - chance;
    const arm = this.#arm.draw(this.chances, generator);
    this.#ahead[stratum] = ahead + (arm === 0 ? 1 : -1);
    return arm;
  }
}

/** Draws an arm with one double, from the cumulative sums of the probabilities. */
class ArmDraw {
  readonly #cumulative: Float64Array;

  constructor(arms: number) {
    this.#cumulative = new Float64Array(arms);
  }

  draw(chances: Float64Array, generator: Pcg64): number {
    fillCumulative(chances, this.#cumulative);
    return indexAt(this.#cumulative, generator.nextUniform53());
  }
}

/** Why a comparator does not fit the study; undefined if it does. The text follows its name and a colon. */
export function comparatorProblem(
  { rule, within }: Pick<Comparator, 'rule' | 'within'>,
  { ratio, factors }: Pick<SimulatedDesign, 'ratio' | 'factors'>,
): string | undefined {
  const sum = ratio.reduce((total, share) => total + share, 0);
  const hasRatio = sum > ratio.length;
  if (new Set(within).size < within.length) return 'a factor is named twice';
  if (within.some((factor) => factors[factor] === undefined)) return 'the study has no such factor';
  const isForTwo = rule.kind === 'efron' || rule.kind === 'bigstick';
  if (isForTwo && ratio.length !== 2) return `it is for two arms, and the study has ${ratio.length}`;
  if (isForTwo && hasRatio) return 'it is not for a study with a ratio';
  switch (rule.kind) {
    case 'urn':
      return (
        weightProblem('w', rule.w, 1) ??
        weightProblem('alpha', rule.alpha, 0) ??
        weightProblem('beta', rule.beta, 0)
      );
    case 'complete':
      return within.length > 0 ? 'it has no factors' : undefined;
    case 'block':
      return blockProblem(rule.sizes, sum, hasRatio);
    case 'minimization':
      if (!Number.isInteger(Math.round(rule.p * 1e9) / 1e6)) return 'p has at most three decimals';
      return chanceProblem(rule.p, 1 / sum, `1/${sum} (the share of ${hasRatio ? 'a slot' : 'an arm'})`);
    case 'efron':
      return chanceProblem(rule.p, 0.5, '0.5');
    case 'bigstick':
      return Number.isSafeInteger(rule.limit) && rule.limit >= 1
        ? undefined
        : 'the largest difference must be a whole number of at least 1';
  }
}

function weightProblem(name: string, value: number, min: number): string | undefined {
  if (Number.isSafeInteger(value) && value >= min && value <= MAX_WEIGHT) return undefined;
  return `${name} must be a whole number from ${min} to ${MAX_WEIGHT}`;
}

/** Blocks above this would not fit the counts. */
const MAX_BLOCK_SIZE = 1_000_000;

function blockProblem(sizes: readonly number[], sum: number, hasRatio: boolean): string | undefined {
  if (sizes.length === 0) return 'it has no size';
  const isWrong = (size: number) =>
    !Number.isSafeInteger(size) || size < sum || size > MAX_BLOCK_SIZE || size % sum !== 0;
  const wrong = sizes.find(isWrong);
  if (wrong === undefined) return undefined;
  return `the size ${wrong} is not a multiple of ${sum}, ${hasRatio ? 'the sum of the ratio' : 'the number of arms'}, up to ${MAX_BLOCK_SIZE}`;
}

function chanceProblem(p: number, min: number, shown: string): string | undefined {
  return p >= min && p <= 1 ? undefined : `p must be from ${shown} to 1`;
}
