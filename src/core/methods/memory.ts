/**
 * What methods remember of the participants so far: counts (the urn, minimization, and policies whatever the method), open
 * blocks (permuted blocks) and the entries of lists. Each can be forked, so that the write path and replicates try things out
 * without changing the original.
 */

/** The index of the level of a participant who has none of a factor. */
export const NO_LEVEL = -1;

/** The row that counts everybody. */
export const EVERYBODY_ROW = 0;

/**
 * How many participants with each level of each factor are in each slot: a place of a treatment in the urn. Unless the
 * study has a ratio, each treatment has one. This is all that the urn needs to know about the past, so the cost of an
 * allocation does not grow with the study.
 */
export class Counts {
  #layout: Layout;
  /** Row by row. */
  #cells: Int32Array;
  /** Whether another Counts may hold the same cells. */
  #isShared: boolean;

  /**
   * Starts with all counts zero.
   * @param shared only for `fork`: the cells to start from instead
   */
  constructor(shape: Shape | Layout, shared?: Int32Array) {
    this.#layout = shape instanceof Layout ? shape : new Layout(shape);
    this.#cells = shared ?? new Int32Array(this.#layout.rowCount * this.#layout.stride);
    this.#isShared = shared !== undefined;
  }

  get layout(): Layout {
    return this.#layout;
  }

  /** n_k of each row of the layout, for reading. They change with the next addition. */
  get cells(): Int32Array {
    return this.#cells;
  }

  /** @returns n_k of the level, in the order of the slots. @throws RangeError when there is no such factor or level */
  of(factor: number, level: number): readonly number[] {
    const { slots, stride } = this.#layout;
    const start = this.#layout.row(factor, level) * stride;
    return Array.from(this.#cells.subarray(start, start + slots));
  }

  /** The slot, of these, with the fewest participants; the first among equals. */
  leastFilled([first = NO_LEVEL, ...slots]: readonly number[]): number {
    const n = (slot: number) => this.#cells[EVERYBODY_ROW * this.#layout.stride + slot] as number;
    return slots.reduce((least, slot) => (n(slot) < n(least) ? slot : least), first);
  }

  /**
   * Counts one more participant, or one fewer.
   *
   * @param levels the participant's level of each factor, in the order of the factors; `NO_LEVEL` of a factor that was
   *   retired before
   * @throws RangeError when an index is out of range or a factor is missing; then nothing is counted
   */
  add(levels: ArrayLike<number>, slot: number, by: 1 | -1 = 1): void {
    const { rows, stride } = this.#layout;
    if (levels.length !== rows.length)
      throw new RangeError(`${levels.length} levels given for ${rows.length} factors`);
    if (!Number.isInteger(slot) || slot < 0 || slot >= stride)
      throw new RangeError(`no slot ${slot} in this study`);
    for (let factor = 0; factor < rows.length; factor++)
      if (levels[factor] !== NO_LEVEL) this.#layout.row(factor, levels[factor] as number);
    const cells = this.#ownCells();
    cells[EVERYBODY_ROW * stride + slot] = (cells[EVERYBODY_ROW * stride + slot] as number) + by;
    for (let factor = 0; factor < rows.length; factor++) {
      const row = rows[factor]?.[levels[factor] as number];
      if (row === undefined) continue;
      const cell = row * stride + slot;
      cells[cell] = (cells[cell] as number) + by;
    }
  }

  /** Continues with the layout of an amended design, whose new rows and slots are zero. */
  extend(layout: Layout): void {
    const { stride, rowCount } = this.#layout;
    if (layout.stride !== stride || layout.rowCount !== rowCount) {
      const cells = new Int32Array(layout.rowCount * layout.stride);
      for (let row = 0; row < rowCount; row++)
        cells.set(this.#cells.subarray(row * stride, (row + 1) * stride), row * layout.stride);
      this.#cells = cells;
      this.#isShared = false;
    }
    this.#layout = layout;
  }

  /** Puts other counts in place of all. */
  set(cells: ArrayLike<number>): void {
    this.#ownCells().set(cells);
  }

  /** Begins anew. */
  clear(): void {
    this.#ownCells().fill(0);
  }

  /** An independent copy, made in constant time: the cells are copied before the first addition on either side. */
  fork(): Counts {
    this.#isShared = true;
    return new Counts(this.#layout, this.#cells);
  }

  #ownCells(): Int32Array {
    if (this.#isShared) this.#cells = this.#cells.slice();
    this.#isShared = false;
    return this.#cells;
  }
}

/** A study's factors, levels and slots, in the order of their indexes. */
interface Shape {
  readonly slots: { readonly length: number };
  readonly factors: readonly { readonly levels: readonly unknown[] }[];
}

/** Where the table of counts has the row of each level: a count for each slot that there ever was, so that no row moves. */
export class Layout {
  /** How many slots the design has. */
  readonly slots: number;
  /** How many counts a row has. */
  readonly stride: number;
  /** By factor and level. */
  readonly rows: readonly (readonly number[])[];
  readonly rowCount: number;

  /** @param before of the design until now: new levels get the rows behind its rows, so that a table only grows */
  constructor({ slots, factors }: Shape, before?: Layout) {
    let rowCount = before?.rowCount ?? EVERYBODY_ROW + 1;
    this.rows = factors.map(({ levels }, factor) =>
      levels.map((_, level) => before?.rows[factor]?.[level] ?? rowCount++),
    );
    this.slots = slots.length;
    this.stride = Math.max(slots.length, before?.stride ?? 0);
    this.rowCount = rowCount;
  }

  /** @throws RangeError when there is no such factor or level */
  row(factor: number, level: number): number {
    const row = this.rows[factor]?.[level];
    if (row === undefined) throw new RangeError(`no level ${level} of a factor ${factor} in this study`);
    return row;
  }
}

export interface Block {
  /** Counted from 1, in its stratum. */
  readonly number: number;
  /** How many places each slot had when it began. */
  readonly perSlot: number;
  /** How many are left, in the order of the slots that can be drawn. All zero: the next participant begins another. */
  readonly left: readonly number[];
}

/** The latest block of each stratum: what permuted blocks remember. */
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

export interface Entry {
  /** Number of its list, and its place there, both from 1. */
  readonly list: number;
  readonly entry: number;
  /** By index. */
  readonly slot: number;
}

/** Those of a stratum, in the order of use. */
interface StratumEntries {
  readonly entries: readonly Entry[];
  /** How many of them were given to somebody, or passed over. */
  readonly used: number;
}

const NO_ENTRIES: StratumEntries = { entries: [], used: 0 };

/** The entries of lists that were made elsewhere, stratum by stratum: what the method `list` remembers. */
export class ListEntries {
  /** How many lists there ever were. */
  lists = 0;
  /** Whether participants may have used entries that the log does not know of. */
  isSkipOwed = false;
  readonly #strata: Map<string, StratumEntries>;
  /** By the digest of each file that was ever read: how many of its rows are in. */
  readonly #rows: Map<string, number>;
  #left = 0;
  #isWithheld = false;

  constructor(strata: Iterable<readonly [string, StratumEntries]> = [], rows = new Map<string, number>()) {
    this.#strata = new Map(strata);
    this.#rows = rows;
  }

  /** By the name of the stratum. Without those that were dropped. */
  get strata(): ReadonlyMap<string, StratumEntries> {
    return this.#strata;
  }

  knows(file: string): boolean {
    return this.#rows.has(file);
  }

  /** How many rows of a file are in; 0 if none of it was read, or its entries were voided. */
  rowsOf(file: string): number {
    return this.#rows.get(file) ?? 0;
  }

  /** The first unused entry; undefined if there is none, or if it is withheld. */
  next(stratum: string): Entry | undefined {
    const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
    return entries[used];
  }

  /** Whether nobody can be given an entry, as far as is known. */
  isSpent(stratum: string): boolean {
    const isUsedUp = this.#isWithheld ? this.#left <= 0 : this.next(stratum) === undefined;
    return this.isSkipOwed || isUsedUp;
  }

  /** How many are not used, over all strata. It is known even where the entries are withheld. */
  get leftInAll(): number {
    return this.#left;
  }

  /** Undefined if the entries are withheld. */
  left(stratum: string): number | undefined {
    if (this.#isWithheld) return undefined;
    const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
    return entries.length - used;
  }

  /** Adds a list whose entries are withheld. */
  addWithheld(count: number): void {
    this.lists++;
    this.#left += count;
    this.#isWithheld = true;
  }

  /** @param file digest of the file. @param added in the order of the list, each with the name of its stratum */
  add(file: string, added: readonly (readonly [stratum: string, slot: number])[]): void {
    this.lists++;
    this.#left += added.length;
    this.#rows.set(file, this.rowsOf(file) + added.length);
    const more = new Map<string, Entry[]>();
    for (const [i, [stratum, slot]] of added.entries()) {
      const ofStratum = more.get(stratum) ?? [];
      more.set(stratum, ofStratum);
      ofStratum.push({ list: this.lists, entry: i + 1, slot });
    }
    for (const [stratum, ofStratum] of more) {
      const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
      this.#strata.set(stratum, { entries: [...entries, ...ofStratum], used });
    }
  }

  /** Passes over the next entries. */
  use(stratum: string, count = 1): void {
    this.#left -= count;
    const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
    this.#strata.set(stratum, { entries, used: used + count });
  }

  /** Voids all entries. The numbers of the lists go on. */
  drop(): void {
    this.#strata.clear();
    for (const file of this.#rows.keys()) this.#rows.set(file, 0);
    this.#left = 0;
    this.#isWithheld = false;
  }

  /** An independent copy. */
  fork(): ListEntries {
    const copy = new ListEntries(this.#strata, new Map(this.#rows));
    copy.lists = this.lists;
    copy.isSkipOwed = this.isSkipOwed;
    copy.#left = this.#left;
    copy.#isWithheld = this.#isWithheld;
    return copy;
  }
}
