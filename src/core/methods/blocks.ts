/**
 * Permuted blocks in strata. Each block has places for every slot, of a size by lot, and each participant draws one of the
 * places that are left: so the order in it is a random permutation that nobody, not even the log, holds beforehand.
 *
 * Source: M. Zelen, "The randomization and stratification of patients to clinical trials", Journal of Chronic Diseases 27,
 * 1974, for blocks in strata.
 */
import type { BgState } from '../../../events/study.ts';
import { boundedInteger, type Pcg64 } from '../random/pcg64.ts';
import { WeightedDraw } from './draw.ts';
import { type Block, isOpen } from './memory.ts';
import {
  type Evidence,
  type Memory,
  type Method,
  type OpenSlots,
  type Stratified,
  stratumOf,
} from './method.ts';

export interface BlocksDesign extends OpenSlots, Stratified {
  /** How many places each slot has in a block of each size. Undefined: it is withheld, and nothing can be drawn. */
  readonly perSlot: readonly number[] | undefined;
}

export class PermutedBlocks implements Method {
  readonly drawsFromCounts = false;
  readonly chances: Float64Array;
  readonly #design: BlocksDesign;
  readonly #slot: WeightedDraw;
  /** Of the participant's stratum, before the draw: the latest block, which may be full. */
  #latest: Block | undefined;
  /** The block that was drawn from last. */
  #block = { number: 0, perSlot: 0 };

  constructor(design: BlocksDesign) {
    this.#design = design;
    this.#slot = new WeightedDraw(design);
    this.chances = new Float64Array(design.slots.length);
  }

  get slots(): Int32Array {
    return this.#slot.slots;
  }

  look({ blocks }: Pick<Memory, 'blocks'>, levels: ArrayLike<number>): void {
    this.#latest = blocks.latest(stratumOf(this.#design, levels));
    // Whatever its size, a block that begins has as many places for one slot as for another.
    const { weights } = this.#slot;
    this.#fillWeights(1);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (let i = 0; i < weights.length; i++) this.chances[i] = (weights[i] as number) / total;
  }

  /** @throws RangeError when the sizes are withheld and a block begins without one */
  draw(generator: Pcg64, perSlot?: number): number {
    const latest = this.#latest;
    if (latest && isOpen(latest)) this.#block = { number: latest.number, perSlot: latest.perSlot };
    else this.#block = { number: numberAfter(latest), perSlot: perSlot ?? this.#drawSize(generator) };
    this.#fillWeights(this.#block.perSlot);
    return this.#slot.draw(generator);
  }

  evidence(before: BgState, after: BgState): Evidence {
    return { pick: this.#slot.evidence(before, after, { block: this.#block }) };
  }

  /** @throws RangeError when the block has no such place */
  use(
    { blocks }: Pick<Memory, 'blocks'>,
    levels: ArrayLike<number>,
    slot: number,
    perSlot = this.#block.perSlot,
  ): void {
    const stratum = stratumOf(this.#design, levels);
    const latest = blocks.latest(stratum);
    const block = latest && isOpen(latest) ? latest : this.#begun(latest, perSlot);
    const place = this.slots.indexOf(slot);
    const places = block.left[place] ?? 0;
    if (places === 0) throw new RangeError(`block ${block.number} has no place for slot ${slot}`);
    blocks.set(stratum, { ...block, left: block.left.with(place, places - 1) });
  }

  #begun(before: Block | undefined, perSlot: number): Block {
    const left = Array<number>(this.slots.length).fill(perSlot);
    return { number: numberAfter(before), perSlot, left };
  }

  #drawSize(generator: Pcg64): number {
    const { perSlot = [] } = this.#design;
    return perSlot[boundedInteger(generator, perSlot.length)] as number;
  }

  /** With the places that are left, or those of a block that begins. */
  #fillWeights(perSlot: number): void {
    const { weights } = this.#slot;
    if (this.#latest && isOpen(this.#latest)) weights.set(this.#latest.left);
    else weights.fill(perSlot);
  }
}

function numberAfter(block: Block | undefined): number {
  return (block?.number ?? 0) + 1;
}
