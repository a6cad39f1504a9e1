/**
 * One run of a study: the same people, levels and decisions, and other random numbers, from seeds of their own. Expected
 * bands and re-randomization tests are made of many. Threads and the process of the bands load this, so it does not load the
 * model of a study.
 */
import { hash } from 'node:crypto';
import { Counts, Layout, OpenBlocks } from '../../core/methods/memory.ts';
import type { Memory, Method } from '../../core/methods/method.ts';
import type { Design } from '../../core/model/design.ts';
import { methodOf } from '../../core/model/method-of.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';
import type { DesignStep, DrawStep, Step } from './steps.ts';

/** Why a study cannot be run again with other random numbers; undefined if it can. */
export function replicateProblem({ method }: Pick<Design, 'method'>): string | undefined {
  return method.name === 'list' ? 'how this list was made is not in the log' : undefined;
}

/** What all replicates of a study share: the design in force, and the layout of their counts. */
export class Setting {
  readonly design: DesignStep;
  readonly layout: Layout;

  /** @param before the setting until now; undefined for the first design of the study */
  constructor(design: DesignStep, before?: Setting) {
    this.design = design;
    this.layout = new Layout({ slots: design.arms, factors: design.factors }, before?.layout);
  }

  method(isImported = false): Method {
    const { methodDesign, methodDesignOfImports } = this.design;
    return methodOf(isImported ? methodDesignOfImports : methodDesign);
  }
}

/** The slot and the arm of a person who has none. */
const NOBODY = -1;

export class Replicate implements Memory {
  readonly #generator: Pcg64;
  #setting: Setting;
  readonly counts: Counts;
  blocks = new OpenBlocks();
  /** Of each person. */
  #slots: Int8Array = new Int8Array(64).fill(NOBODY);
  #arms: Int8Array = new Int8Array(64).fill(NOBODY);

  /** @param generator is used up */
  constructor(generator: Pcg64, setting: Setting) {
    this.#generator = generator;
    this.#setting = setting;
    this.counts = new Counts(setting.layout);
  }

  /** The arm of a person, as an index in the design's treatments. */
  arm(person: number): number {
    return this.#arms[person] ?? NOBODY;
  }

  /** A design comes into force. Call it for each replicate with the same new setting. */
  amend(setting: Setting): void {
    this.#setting = setting;
    this.counts.extend(setting.layout);
    if (!setting.design.restarts) return;
    this.counts.clear();
    this.blocks.drop();
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

  /** The method, with what the person of a draw is drawn from. Valid until the next call, of whichever replicate. */
  look(step: DrawStep): Method {
    const method = this.#setting.method(step.isImported);
    method.look(this, step.levels);
    return method;
  }

  /**
   * Draws for the person of a draw. A block keeps the size that it had: that was drawn independently of arms.
   * @returns the drawn slot, as an index in all slots of the design
   */
  draw(step: DrawStep): number {
    return this.look(step).draw(this.#generator, step.perSlot);
  }

  /** Gives the person of a draw a slot, and counts them. */
  allocate({ person, levels, perSlot, isImported }: DrawStep, slot: number): void {
    this.#assign(person, slot, this.#setting.design.arms[slot] ?? NOBODY);
    this.counts.add(levels, slot, 1);
    this.#setting.method(isImported).use?.(this, levels, slot, perSlot);
  }

  #fix({ person, levels, arm, isCounted }: Extract<Step, { kind: 'fixed' }>, slot: number): void {
    this.#assign(person, slot, arm);
    if (isCounted) this.counts.add(levels, slot, 1);
  }

  #move({ person, from, to }: Extract<Step, { kind: 'move' }>): void {
    const slot = this.#slots[person] ?? NOBODY;
    if (from) this.counts.add(from, slot, -1);
    if (to) this.counts.add(to, slot, 1);
  }

  #leastFilledSlot(arm: number): number {
    const { arms } = this.#setting.design;
    return this.counts.leastFilled(arms.flatMap((one, slot) => (one === arm ? [slot] : [])));
  }

  #assign(person: number, slot: number, arm: number): void {
    if (person >= this.#slots.length) {
      this.#slots = grown(this.#slots);
      this.#arms = grown(this.#arms);
    }
    this.#slots[person] = slot;
    this.#arms[person] = arm;
  }
}

function grown(list: Int8Array): Int8Array {
  const longer = new Int8Array(2 * list.length).fill(NOBODY);
  longer.set(list);
  return longer;
}

/**
 * The seeds of replicates are from 2^100 + 2^32·seed on. None of them can be that of a study: a study draws a seed below 2^128
 * once.
 */
const FIRST_SEED = 1n << 100n;
const SEEDS_APART = 1n << 32n;

/** A seed for everything that is repeated of a study, the same on every instance, from the study's UUID as text. */
export function defaultSeed(studyId: string): number {
  return Number.parseInt(hash('sha256', studyId).slice(0, 8), 16);
}

/**
 * The seed of the generator of replicate 0. Replicate r has this number plus r.
 * @param seed an integer from 0 to 2^32 - 1
 */
export function baseSeed(seed: number): bigint {
  return FIRST_SEED + SEEDS_APART * BigInt(seed);
}

/** Whether one of the seeds of this many replicates is the study's own. */
export function holdsSeed(seed: number, replicates: number, own: bigint): boolean {
  const base = baseSeed(seed);
  return base <= own && own < base + BigInt(replicates);
}
