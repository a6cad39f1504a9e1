/** One run of a study: the same people, levels and decisions, and other random numbers. */
import type { Pcg64 } from '../random/pcg64.ts';
import { type Kernel, kernelOf } from '../urn/kernel.ts';
import { ALL, isSameLayout, type Layout, layoutAfter } from './layout.ts';
import type { DesignStep, DrawStep, Step } from './steps.ts';

/** What all replicates of a study share: the design in force, and the layout of their counts. */
export class Setting {
  readonly design: DesignStep;
  readonly layout: Layout;

  /** @param before the setting until now; undefined for the first design of the study */
  constructor(design: DesignStep, before?: Setting) {
    this.design = design;
    this.layout = layoutAfter(before?.layout, design);
  }

  kernel({ isImported }: DrawStep): Kernel {
    const { urnDesign, urnDesignOfImports } = this.design;
    return kernelOf(isImported ? urnDesignOfImports : urnDesign);
  }
}

const NOBODY = -1;

export class Replicate {
  readonly #generator: Pcg64;
  #setting: Setting;
  /** n_k by row of the layout. */
  #counts: Int32Array;
  /** Of each person. */
  #slots: Int8Array = new Int8Array(64).fill(NOBODY);
  #arms: Int8Array = new Int8Array(64).fill(NOBODY);

  /** @param generator is used up */
  constructor(generator: Pcg64, setting: Setting) {
    this.#generator = generator;
    this.#setting = setting;
    this.#counts = new Int32Array(setting.layout.rowCount * setting.layout.stride);
  }

  /** n_k of each row of the layout, in the order of all slots. It changes with the next step. */
  get counts(): Int32Array {
    return this.#counts;
  }

  /** The arm of a person, as an index in the design's treatments. */
  arm(person: number): number {
    return this.#arms[person] ?? NOBODY;
  }

  /** A design comes into force. Call it for each replicate with the same new setting. */
  amend(setting: Setting): void {
    const before = this.#setting.layout;
    const { layout, design } = setting;
    this.#setting = setting;
    if (!isSameLayout(before, layout)) {
      const counts = new Int32Array(layout.rowCount * layout.stride);
      for (let row = 0; row < before.rowCount; row++)
        counts.set(
          this.#counts.subarray(row * before.stride, (row + 1) * before.stride),
          row * layout.stride,
        );
      this.#counts = counts;
    }
    if (design.restarts) this.#counts.fill(0);
  }

  /** Runs any other step, with a new draw where the service drew. */
  take(step: Exclude<Step, DesignStep>): void {
    if (step.kind === 'draw') this.allocate(step, this.draw(step));
    else if (step.kind === 'fixed') this.#fix(step, this.#leastFilledSlot(step.arm));
    else this.#move(step);
  }

  /** Runs any other step as it was recorded, with nothing drawn. */
  repeat(step: Exclude<Step, DesignStep>): void {
    if (step.kind === 'draw') this.allocate(step, step.slot);
    else if (step.kind === 'fixed') this.#fix(step, step.slot);
    else this.#move(step);
  }

  /** The urns that the person of a draw is drawn from. Valid until the next call, of whichever replicate. */
  look(step: DrawStep): Kernel {
    const kernel = this.#setting.kernel(step);
    const { layout, design } = this.#setting;
    const factors = design.urnDesign.places?.factors;
    const seen = factors?.length ?? step.levels.length;
    for (let i = 0; i < seen; i++) {
      const factor = factors ? (factors[i] as number) : i;
      const row = layout.rows[factor]?.[step.levels[factor] as number] as number;
      kernel.see(i, this.#counts, row * layout.stride);
    }
    kernel.select();
    return kernel;
  }

  /** @returns the drawn slot, as an index in all slots of the design */
  draw(step: DrawStep): number {
    const slot = this.look(step).draw(this.#generator);
    return this.#setting.design.urnDesign.places?.slots[slot] ?? slot;
  }

  /** Gives the person of a draw a slot, and counts them. */
  allocate({ person, levels }: DrawStep, slot: number): void {
    this.#assign(person, slot, this.#setting.design.arms[slot] ?? NOBODY);
    this.#count(levels, slot, 1);
  }

  #fix({ person, levels, arm, isCounted }: Extract<Step, { kind: 'fixed' }>, slot: number): void {
    this.#assign(person, slot, arm);
    if (isCounted) this.#count(levels, slot, 1);
  }

  #move({ person, from, to }: Extract<Step, { kind: 'move' }>): void {
    const slot = this.#slots[person] ?? NOBODY;
    if (from) this.#count(from, slot, -1);
    if (to) this.#count(to, slot, 1);
  }

  /** The slot of an arm with the fewest participants whom the urns count; if several have as few, the first. */
  #leastFilledSlot(arm: number): number {
    const { arms } = this.#setting.design;
    let least = NOBODY;
    arms.forEach((one, slot) => {
      if (one !== arm) return;
      if (least === NOBODY || this.#overall(slot) < this.#overall(least)) least = slot;
    });
    return least;
  }

  #overall(slot: number): number {
    return this.#counts[ALL * this.#setting.layout.stride + slot] as number;
  }

  #assign(person: number, slot: number, arm: number): void {
    if (person >= this.#slots.length) {
      this.#slots = grown(this.#slots);
      this.#arms = grown(this.#arms);
    }
    this.#slots[person] = slot;
    this.#arms[person] = arm;
  }

  #count(levels: readonly number[], slot: number, by: 1 | -1): void {
    const { rows, stride } = this.#setting.layout;
    const counts = this.#counts;
    const overall = ALL * stride + slot;
    counts[overall] = (counts[overall] as number) + by;
    for (let factor = 0; factor < levels.length; factor++) {
      const row = rows[factor]?.[levels[factor] as number];
      // Nobody has a level of a factor that was retired before.
      if (row === undefined) continue;
      const place = row * stride + slot;
      counts[place] = (counts[place] as number) + by;
    }
  }
}

function grown(list: Int8Array): Int8Array {
  const longer = new Int8Array(2 * list.length).fill(NOBODY);
  longer.set(list);
  return longer;
}
