/** A list of allocations that was made elsewhere: each participant gets the next entry of their stratum. Nothing is drawn. */
import type { Entry } from './memory.ts';
import {
  type Evidence,
  type Memory,
  type Method,
  type OpenSlots,
  type Stratified,
  stratumOf,
} from './method.ts';

export type ListDesign = OpenSlots & Stratified;

export class FollowedList implements Method {
  readonly drawsFromCounts = false;
  readonly slots: Int32Array;
  /** One for the arm of the next entry; zeros if there is none. */
  readonly chances: Float64Array;
  readonly #design: ListDesign;
  #next: Entry | undefined;
  #drawn: Entry = { list: 0, entry: 0, slot: 0 };

  constructor(design: ListDesign) {
    const { slots, places } = design;
    this.slots = Int32Array.from(places?.slots ?? slots.keys());
    this.chances = new Float64Array(slots.length);
    this.#design = design;
  }

  isSpent({ entries }: Memory, levels: ArrayLike<number>): boolean {
    return entries?.isSpent(stratumOf(this.#design, levels)) ?? true;
  }

  look({ entries }: Memory, levels: ArrayLike<number>): void {
    this.#next = entries?.next(stratumOf(this.#design, levels));
    this.chances.fill(0);
    if (this.#next) this.chances[this.slots.indexOf(this.#next.slot)] = 1;
  }

  /** @throws RangeError when there is no entry left */
  draw(): number {
    if (!this.#next) throw new RangeError('the list has no entry left');
    this.#drawn = this.#next;
    return this.#drawn.slot;
  }

  /** In the order of canonical JSON, in which it is written fastest. */
  evidence(): Evidence {
    const { entry, list } = this.#drawn;
    return { entry: { entry, list } };
  }

  use({ entries }: Memory, levels: ArrayLike<number>): void {
    entries?.use(stratumOf(this.#design, levels));
  }
}
