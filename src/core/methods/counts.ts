/**
 * How many participants with each level of each factor are in each slot: a place of a treatment in the urn. Unless the
 * study has a ratio, each treatment has one. This is all that the urn needs to know about the past, so the cost of an
 * allocation does not grow with the study.
 */

/** A study's factors, levels and slots, in the order of their indexes. */
interface Shape {
  readonly slots: { readonly length: number };
  readonly factors: readonly { readonly levels: readonly unknown[] }[];
}

/** The index of the level of a participant who has none of a factor. */
export const NO_LEVEL = -1;

/** The row that counts everybody. */
export const ALL = 0;

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
    let rowCount = before?.rowCount ?? ALL + 1;
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
    const n = (slot: number) => this.#cells[ALL * this.#layout.stride + slot] as number;
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
    cells[ALL * stride + slot] = (cells[ALL * stride + slot] as number) + by;
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
