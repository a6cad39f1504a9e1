/** A method of the service, as a simulation runs it. */
import type { ImbalanceMeasure } from '../../../events/study.ts';
import { PermutedBlocks } from '../../core/methods/blocks.ts';
import { Complete } from '../../core/methods/complete.ts';
import { Counts, OpenBlocks } from '../../core/methods/memory.ts';
import type { Memory, Method } from '../../core/methods/method.ts';
import { Minimization } from '../../core/methods/minimization.ts';
import { Kernel } from '../../core/methods/urn.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';
import type { MinimizationRule } from './plan.ts';
import type { Participants, Rule } from './rule.ts';

export interface UrnRule {
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
  readonly D: ImbalanceMeasure;
}

export class MethodRule implements Rule {
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

function armsOf(ratio: readonly number[]): number[] {
  return ratio.flatMap((share, arm) => Array<number>(share).fill(arm));
}

function openSlots(ratio: readonly number[]) {
  const slots = armsOf(ratio).map((arm, slot) => `${arm} ${slot}`);
  return { slots, hasRatio: slots.length > ratio.length };
}

/** @param within indexes of the factors with urns; none: all factors */
export function urns(
  rule: UrnRule,
  ratio: readonly number[],
  participants: Participants,
  within: readonly number[] = [],
): Rule {
  const { factors } = participants;
  const used = within.length > 0 ? within : [...factors.keys()];
  const { slots, hasRatio } = openSlots(ratio);
  const kernel = new Kernel({
    ...rule,
    factors: used.map((factor) => factorAt(factors, factor)),
    ...{ slots, hasRatio, places: { slots: [...slots.keys()], factors: used } },
  });
  return new MethodRule(kernel, ratio, participants, () => used[kernel.selected] as number);
}

export function complete(ratio: readonly number[], participants: Participants): Rule {
  return new MethodRule(new Complete(openSlots(ratio)), ratio, participants);
}

/** @param sizes multiples of the sum of the ratio. @param within indexes of the factors that make a stratum */
export function blocks(
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
export function minimization(
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
