/** The latest block of each stratum: what permuted blocks remember. */

export interface Block {
  /** Counted from 1, in its stratum. */
  readonly number: number;
  /** How many places each slot had when it began. */
  readonly perSlot: number;
  /** How many are left, in the order of the slots that can be drawn. All zero: the next participant begins another. */
  readonly left: readonly number[];
}

export class OpenBlocks {
  readonly #latest: Map<string, Block>;

  constructor(latest: Iterable<readonly [string, Block]> = []) {
    this.#latest = new Map(latest);
  }

  /** The latest block of a stratum, open or full; undefined if it had none. */
  latest(stratum: string): Block | undefined {
    return this.#latest.get(stratum);
  }

  set(stratum: string, block: Block): void {
    this.#latest.set(stratum, block);
  }

  /** Drops all open blocks. Their numbers are not used again. */
  drop(): void {
    for (const [stratum, block] of this.#latest) this.#latest.set(stratum, { ...block, left: [] });
  }

  clear(): void {
    this.#latest.clear();
  }

  /** An independent copy. */
  fork(): OpenBlocks {
    return new OpenBlocks(this.#latest);
  }
}

/** Whether some place is left. */
export function isOpen({ left }: Block): boolean {
  return left.some((places) => places > 0);
}
