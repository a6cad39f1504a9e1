/**
 * How many participants with each level of each factor are in each slot: a place of a treatment in the urn. Unless the
 * study has a ratio, each treatment has one. This is all that an allocation needs to know about the past, so its cost does
 * not grow with the study.
 *
 * Forks are for the write path, which decides a batch against a fork and then drops it. Rows are never changed in place,
 * only replaced. The table of rows is copied before the first replacement after a fork, on whichever side that happens.
 * So a fork is free until it is written to, and then costs one copy of the table (one pointer per level of the study).
 * Chains of forks do not get slower.
 */

interface Shape {
  readonly slots: readonly string[];
  readonly factors: readonly { readonly levels: readonly string[] }[];
}
/** n_k of one level of one factor, in the order of the slots. */
type Row = readonly number[];
/** Rows by index of the factor and index of the level. */
type Table = Row[][];

/** The index of the level of a participant who has none of a factor. */
export const NO_LEVEL = -1;

export class Counts {
  readonly #shape: Shape;
  #table: Table;
  /** Whether another Counts may hold the same table. */
  #shared: boolean;

  /**
   * Starts with all counts zero.
   * @param shape of the design: its factors, levels and slots, in the order of the indexes
   * @param shared only for `fork`: the table to start from instead
   */
  constructor(shape: Shape, shared?: Table) {
    this.#shape = shape;
    this.#table = shared ?? emptyTable(shape);
    this.#shared = shared !== undefined;
  }

  /**
   * @returns n_k of the level, in the order of the slots; this array never changes, later additions make a new one
   * @throws RangeError when there is no such factor or level
   */
  of(factorIndex: number, levelIndex: number): readonly number[] {
    const row = this.#table[factorIndex]?.[levelIndex];
    if (row === undefined)
      throw new RangeError(`no level ${levelIndex} of a factor ${factorIndex} in this study`);
    return row;
  }

  /**
   * Counts one more participant, or one fewer.
   *
   * @param levelIndexes the participant's level of each factor, in the order of the factors; `NO_LEVEL` of a factor that
   *   was retired before
   * @throws RangeError when an index is out of range or a factor is missing; then nothing is counted
   */
  add(levelIndexes: readonly number[], slot: number, by: 1 | -1 = 1): void {
    const { factors, slots } = this.#shape;
    if (levelIndexes.length !== factors.length) {
      throw new RangeError(`${levelIndexes.length} levels given for ${factors.length} factors`);
    }
    if (slots[slot] === undefined) throw new RangeError(`no slot ${slot} in this study`);
    const rows = levelIndexes.map((level, factor) =>
      level === NO_LEVEL ? undefined : changed(this.of(factor, level), slot, by),
    );

    if (this.#shared) {
      this.#table = this.#table.map((levels) => levels.slice());
      this.#shared = false;
    }
    this.#table.forEach((levels, factor) => {
      const level = levelIndexes[factor];
      const row = rows[factor];
      if (level !== undefined && row !== undefined) levels[level] = row;
    });
  }

  /** An independent copy, made in constant time. A fork can be forked again. */
  fork(): Counts {
    this.#shared = true;
    return new Counts(this.#shape, this.#table);
  }
}

function emptyTable({ factors, slots }: Shape): Table {
  const zeros: Row = slots.map(() => 0);
  return factors.map(({ levels }) => levels.map(() => zeros));
}

function changed(row: Row, index: number, by: number): Row {
  return row.map((count, i) => (i === index ? count + by : count));
}
