/**
 * How many participants of each level of each factor are on each treatment: all that an allocation needs to know of
 * the past, so that its cost does not grow with the study.
 *
 * Forks exist for the write path: a batch is decided against a fork, which becomes the truth once the store has
 * acknowledged the batch, or is dropped. A row is never changed in place but replaced, and the table of rows is copied
 * before the first replacement after a fork, on whichever side that happens. So a fork costs nothing until it is
 * written, then one copy of the table (a pointer per level of the study), and a chain of forks grows no slower.
 */
import type { StudyConfiguration } from '../../events/study.ts';

type Shape = Pick<StudyConfiguration, 'treatments' | 'factors'>;
/** n_k of one level of one factor, in the order of the treatments. */
type Row = readonly number[];
/** Rows by index of the factor, then of the level. */
type Table = Row[][];

export class Counts {
  readonly #shape: Shape;
  #table: Table;
  /** Whether another Counts may hold the same table. */
  #shared: boolean;

  /**
   * @param configuration its factors, levels and treatments, whose order is that of the indexes; all counts are zero
   * @param shared for `fork` alone: the table to start from instead
   */
  constructor(configuration: Shape, shared?: Table) {
    this.#shape = configuration;
    this.#table = shared ?? emptyTable(configuration);
    this.#shared = shared !== undefined;
  }

  /**
   * @returns n_k of the level, in the order of the treatments; it never changes, later additions make a new one
   * @throws RangeError when there is no such factor or level
   */
  of(factorIndex: number, levelIndex: number): readonly number[] {
    const row = this.#table[factorIndex]?.[levelIndex];
    if (row === undefined)
      throw new RangeError(`no level ${levelIndex} of a factor ${factorIndex} in this study`);
    return row;
  }

  /**
   * Counts one more participant.
   *
   * @param levelIndexes the participant's level of each factor, in the order of the factors
   * @throws RangeError when an index is out of range or a factor is missing; nothing is counted then
   */
  add(levelIndexes: readonly number[], treatmentIndex: number): void {
    const { factors, treatments } = this.#shape;
    if (levelIndexes.length !== factors.length) {
      throw new RangeError(`${levelIndexes.length} levels given for ${factors.length} factors`);
    }
    if (treatments[treatmentIndex] === undefined)
      throw new RangeError(`no treatment ${treatmentIndex} in this study`);
    const rows = levelIndexes.map((level, factor) => increment(this.of(factor, level), treatmentIndex));

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

  /** A copy that is independent both ways, made in constant time; a fork can be forked again. */
  fork(): Counts {
    this.#shared = true;
    return new Counts(this.#shape, this.#table);
  }
}

function emptyTable({ factors, treatments }: Shape): Table {
  const zeros: Row = treatments.map(() => 0);
  return factors.map(({ levels }) => levels.map(() => zeros));
}

function increment(row: Row, index: number): Row {
  return row.map((count, i) => (i === index ? count + 1 : count));
}
