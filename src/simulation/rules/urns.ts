/** The service's own method, with the kernel that the write path uses. */
import type { ImbalanceMeasure } from '../../../events/study.ts';
import type { Pcg64 } from '../../random/pcg64.ts';
import { Kernel } from '../../urn/kernel.ts';
import type { Participants, Rule } from './rule.ts';

export interface UrnRule {
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
  readonly D: ImbalanceMeasure;
}

export class Urns implements Rule {
  readonly chances: Float64Array;
  drawnFactor = -1;
  readonly #kernel: Kernel;
  readonly #participants: Participants;
  /** Indexes of the factors with urns. */
  readonly #within: Int32Array;
  /** Where the counts of each of these factors begin. */
  readonly #starts: Int32Array;
  /** n_k of each level of these factors, by slot. */
  readonly #counts: Int32Array;
  /** The arm of each slot. */
  readonly #arms: Int32Array;
  readonly #slotChances: Float64Array;

  /** @param within indexes of the factors with urns; none: all factors */
  constructor(
    rule: UrnRule,
    ratio: readonly number[],
    participants: Participants,
    within: readonly number[] = [],
  ) {
    const all = participants.factors;
    const factors = (within.length > 0 ? within : [...all.keys()]).map((index) => ({
      index,
      ...factorAt(all, index),
    }));
    this.#arms = Int32Array.from(ratio.flatMap((share, arm) => Array<number>(share).fill(arm)));
    const slots = this.#arms.length;
    this.#participants = participants;
    this.#within = Int32Array.from(factors, ({ index }) => index);
    this.#starts = new Int32Array(factors.length);
    let length = 0;
    factors.forEach(({ levels }, i) => {
      this.#starts[i] = length;
      length += levels.length * slots;
    });
    this.#counts = new Int32Array(length);
    this.#kernel = new Kernel({
      ...rule,
      factors,
      slots: Array.from(this.#arms, (arm, slot) => `${arm} ${slot}`),
      hasRatio: ratio.some((share) => share > 1),
    });
    this.#slotChances = new Float64Array(slots);
    this.chances = slots === ratio.length ? this.#slotChances : new Float64Array(ratio.length);
  }

  restart(): void {
    this.#counts.fill(0);
  }

  allocate(participant: number, generator: Pcg64): number {
    const { levels, factors } = this.#participants;
    const slots = this.#arms.length;
    const kernel = this.#kernel;
    const first = participant * factors.length;
    for (let i = 0; i < this.#within.length; i++)
      kernel.see(i, this.#counts, this.#urn(i, first, levels, slots));
    kernel.select();
    kernel.chances(this.#slotChances);
    if (this.chances !== this.#slotChances) this.#sumSlots();
    const slot = kernel.draw(generator);
    this.drawnFactor = this.#within[kernel.selected] as number;
    for (let i = 0; i < this.#within.length; i++) {
      const at = this.#urn(i, first, levels, slots) + slot;
      this.#counts[at] = (this.#counts[at] as number) + 1;
    }
    return this.#arms[slot] as number;
  }

  /** Where the counts of the participant's level begin. */
  #urn(i: number, first: number, levels: Int32Array, slots: number): number {
    return (this.#starts[i] as number) + (levels[first + (this.#within[i] as number)] as number) * slots;
  }

  #sumSlots(): void {
    this.chances.fill(0);
    for (let slot = 0; slot < this.#arms.length; slot++) {
      const arm = this.#arms[slot] as number;
      this.chances[arm] = (this.chances[arm] as number) + (this.#slotChances[slot] as number);
    }
  }
}

function factorAt<T>(factors: readonly T[], index: number): T {
  const factor = factors[index];
  if (factor === undefined) throw new RangeError(`no factor ${index}`);
  return factor;
}
