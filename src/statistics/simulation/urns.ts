/** The service's own method, as a simulation runs it. */
import type { ImbalanceMeasure } from '../../../events/study.ts';
import { Counts } from '../../core/methods/urn/counts.ts';
import { Kernel } from '../../core/methods/urn/kernel.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';
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
  readonly #counts: Counts;
  /** The level of each factor, by participant. */
  readonly #levels: readonly Int32Array[];
  /** Indexes of the factors with urns. */
  readonly #within: readonly number[];
  /** The arm of each slot. */
  readonly #arms: readonly number[];

  /** @param within indexes of the factors with urns; none: all factors */
  constructor(
    rule: UrnRule,
    ratio: readonly number[],
    { factors, levels }: Participants,
    within: readonly number[] = [],
  ) {
    const slots = ratio.flatMap((share, arm) => Array<number>(share).fill(arm));
    this.#arms = slots;
    this.#within = within.length > 0 ? within : [...factors.keys()];
    this.#counts = new Counts({ slots, factors });
    this.#kernel = new Kernel({
      ...rule,
      factors: this.#within.map((factor) => factorAt(factors, factor)),
      slots: slots.map((arm, slot) => `${arm} ${slot}`),
      places: { slots: [...slots.keys()], factors: this.#within },
      hasRatio: slots.length > ratio.length,
    });
    this.#levels = Array.from({ length: levels.length / factors.length }, (_, participant) =>
      levels.subarray(participant * factors.length, (participant + 1) * factors.length),
    );
    this.chances = new Float64Array(ratio.length);
  }

  restart(): void {
    this.#counts.clear();
  }

  allocate(participant: number, generator: Pcg64): number {
    const levels = this.#levels[participant] as Int32Array;
    const kernel = this.#kernel;
    kernel.look(this.#counts, levels);
    this.chances.fill(0);
    this.#arms.forEach((arm, slot) => {
      this.chances[arm] = (this.chances[arm] as number) + (kernel.chances[slot] as number);
    });
    const slot = kernel.draw(generator);
    this.drawnFactor = this.#within[kernel.selected] as number;
    kernel.count(this.#counts, levels, slot, 1);
    return this.#arms[slot] as number;
  }
}

function factorAt<T>(factors: readonly T[], index: number): T {
  const factor = factors[index];
  if (factor === undefined) throw new RangeError(`no factor ${index}`);
  return factor;
}
