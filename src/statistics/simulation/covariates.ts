/**
 * How much the design costs an analysis that adjusts for all factors: what remains of the arms' indicators after least
 * squares on the levels.
 *
 * Sources: A. C. Atkinson, "Optimum biased-coin designs for sequential treatment allocation with covariate information",
 * Statistics in Medicine 18, 1999, for the loss with two arms; the determinant, for more, is that of D-optimality.
 */

/** A column whose remainder is this small relative to itself is a combination of those before it. */
const NOTHING_LEFT = 1e-9;

/** The factors' part after some participants of a replicate. It is the same for every design. */
interface Moment {
  readonly n: number;
  /** Participants with each level of the base factor. */
  readonly base: Float64Array;
  /** For each level of the base factor: how many of its participants have each other level. */
  readonly cross: Float64Array;
  /** The Cholesky factor of the other levels' products after the base is taken out, by rows. Columns left out are 0. */
  readonly root: Float64Array;
}

export class Covariates {
  readonly #arms: number;
  /** Index of the factor with the most levels. Its indicators do not overlap, so taking it out is a sum over its levels. */
  readonly #base: number;
  readonly #baseLevels: number;
  /** The first of its levels among all levels. */
  readonly #baseFirst: number;
  /** Indexes of the other factors, and for each the first of its columns: the levels of these factors, in order. */
  readonly #otherFactors: Int32Array;
  readonly #firstColumns: Int32Array;
  /** The columns of one participant. */
  readonly #own: Int32Array;
  /** For each column: its level's place among all levels. */
  readonly #others: Int32Array;
  readonly #moments: readonly Moment[];
  readonly #products: Int32Array;
  /** What remains of each arm's indicator, in the coordinates of `root`. */
  readonly #left: Float64Array;
  readonly #arm: Float64Array;
  /** For each arm: pi_k. */
  readonly #shares: readonly number[];

  /** @param at numbers of participants, ascending */
  constructor(
    factors: readonly { readonly levels: readonly string[] }[],
    ratio: readonly number[],
    at: readonly number[],
  ) {
    const sizes = factors.map(({ levels }) => levels.length);
    const sum = ratio.reduce((total, share) => total + share, 0);
    this.#arms = ratio.length;
    this.#shares = ratio.map((share) => share / sum);
    this.#baseLevels = Math.max(...sizes);
    this.#base = sizes.indexOf(this.#baseLevels);
    const starts = sizes.map((_, factor) => sizes.slice(0, factor).reduce((sum, size) => sum + size, 0));
    this.#baseFirst = starts[this.#base] ?? 0;
    const otherFactors = [...sizes.keys()].filter((factor) => factor !== this.#base);
    const levelsOf = (factor: number) =>
      Array.from({ length: sizes[factor] ?? 0 }, (_, level) => (starts[factor] ?? 0) + level);
    const others = otherFactors.flatMap(levelsOf);
    this.#others = Int32Array.from(others);
    this.#otherFactors = Int32Array.from(otherFactors);
    this.#firstColumns = Int32Array.from(otherFactors, (factor) => others.indexOf(starts[factor] ?? 0));
    this.#own = new Int32Array(otherFactors.length);
    const columns = others.length;
    this.#moments = at.map((n) => ({
      n,
      base: new Float64Array(this.#baseLevels),
      cross: new Float64Array(this.#baseLevels * columns),
      root: new Float64Array(columns * columns),
    }));
    this.#products = new Int32Array(columns * columns);
    this.#left = new Float64Array((this.#arms - 1) * columns);
    this.#arm = new Float64Array((this.#arms - 1) ** 2);
  }

  /** @param levels for each participant: the index of the level of each factor */
  prepare(levels: Int32Array): void {
    const columns = this.#others.length;
    this.#products.fill(0);
    let from = 0;
    this.#moments.forEach((moment, i) => {
      const before = this.#moments[i - 1];
      if (before) {
        moment.base.set(before.base);
        moment.cross.set(before.cross);
      } else {
        moment.base.fill(0);
        moment.cross.fill(0);
      }
      for (; from < moment.n; from++) this.#count(moment, levels, from * (this.#own.length + 1));
      moment.root.set(this.#products);
      takeOutBase(moment, columns);
      choleskyInPlace(moment.root, columns, this.#products);
    });
  }

  /** Counts the levels that one participant has, and their pairs. Of two columns, the first has the larger index. */
  #count({ base, cross }: Moment, levels: Int32Array, first: number): void {
    const columns = this.#others.length;
    const own = this.#own;
    const products = this.#products;
    const ofBase = levels[first + this.#base] as number;
    base[ofBase] = (base[ofBase] as number) + 1;
    for (let i = 0; i < own.length; i++) {
      const level = levels[first + (this.#otherFactors[i] as number)] as number;
      const column = (this.#firstColumns[i] as number) + level;
      own[i] = column;
      const at = ofBase * columns + column;
      cross[at] = (cross[at] as number) + 1;
      const row = column * columns;
      for (let j = 0; j <= i; j++) {
        const pair = row + (own[j] as number);
        products[pair] = (products[pair] as number) + 1;
      }
    }
  }

  /**
   * n(1 - eff) at one of the numbers of participants.
   * @param counts n_k of each level of each factor, in their order
   * @param armCounts n_k overall
   */
  loss(moment: number, counts: Int32Array, armCounts: Int32Array): number {
    const { n, base, cross, root } = this.#moments[moment] as Moment;
    const arms = this.#arms;
    const columns = this.#others.length;
    const size = arms - 1;
    const inBase = (level: number, arm: number) => counts[(this.#baseFirst + level) * arms + arm] as number;

    this.#arm.fill(0);
    for (let arm = 0; arm < size; arm++) {
      const start = arm * columns;
      for (let column = 0; column < columns; column++)
        this.#left[start + column] = counts[(this.#others[column] as number) * arms + arm] as number;
      this.#arm[arm * size + arm] = armCounts[arm] as number;
      for (let level = 0; level < this.#baseLevels; level++) {
        const share = inBase(level, arm) / (base[level] as number);
        if (!(share > 0)) continue;
        for (let column = 0; column < columns; column++)
          this.#left[start + column] =
            (this.#left[start + column] as number) - share * (cross[level * columns + column] as number);
        for (let other = 0; other <= arm; other++)
          this.#arm[arm * size + other] =
            (this.#arm[arm * size + other] as number) - share * inBase(level, other);
      }
      solveInPlace(root, columns, this.#left, start);
      for (let other = 0; other <= arm; other++) {
        let product = 0;
        for (let column = 0; column < columns; column++)
          product +=
            (this.#left[start + column] as number) * (this.#left[other * columns + column] as number);
        this.#arm[arm * size + other] = (this.#arm[arm * size + other] as number) - product;
      }
    }
    return n * (1 - this.#efficiency(n, armCounts));
  }

  /** From what remains of the arms. */
  #efficiency(n: number, armCounts: Int32Array): number {
    const size = this.#arms - 1;
    choleskyInPlace(this.#arm, size, armCounts, 1);
    let efficiency = 1 / (this.#shares[size] as number);
    for (let arm = 0; arm < size; arm++)
      efficiency *= (this.#arm[arm * size + arm] as number) ** 2 / (n * (this.#shares[arm] as number));
    return efficiency ** (1 / size);
  }
}

/** Least squares on the base factor: each of its levels takes out a product of its row of `cross` with itself. */
function takeOutBase({ base, cross, root }: Moment, columns: number): void {
  for (let level = 0; level < base.length; level++) {
    const start = level * columns;
    for (let row = 0; row < columns; row++) {
      const share = (cross[start + row] as number) / (base[level] as number);
      if (!(share > 0)) continue;
      for (let column = 0; column <= row; column++)
        root[row * columns + column] =
          (root[row * columns + column] as number) - share * (cross[start + column] as number);
    }
  }
}

/**
 * The lower triangle L of A = L L', by rows, in place of A. A column that the ones before it explain becomes 0.
 * @param diagonal what a column's remainder is compared with: elements of a matrix's diagonal, or of a list
 */
function choleskyInPlace(
  matrix: Float64Array,
  size: number,
  diagonal: ArrayLike<number>,
  step = size + 1,
): void {
  for (let row = 0; row < size; row++) {
    const start = row * size;
    for (let column = 0; column < row; column++) {
      const pivot = matrix[column * size + column] as number;
      if (pivot === 0) matrix[start + column] = 0;
      else matrix[start + column] = rest(matrix, size, row, column) / pivot;
    }
    const left = rest(matrix, size, row, row);
    matrix[start + row] = left > NOTHING_LEFT * (diagonal[row * step] as number) ? Math.sqrt(left) : 0;
  }
}

function rest(matrix: Float64Array, size: number, row: number, column: number): number {
  let left = matrix[row * size + column] as number;
  for (let i = 0; i < column; i++)
    left -= (matrix[row * size + i] as number) * (matrix[column * size + i] as number);
  return left;
}

/** L z = b, with 0 in the columns that L leaves out; z replaces b, from `start` on. */
function solveInPlace(root: Float64Array, size: number, vector: Float64Array, start: number): void {
  for (let row = 0; row < size; row++) {
    const pivot = root[row * size + row] as number;
    if (pivot === 0) {
      vector[start + row] = 0;
      continue;
    }
    let left = vector[start + row] as number;
    for (let i = 0; i < row; i++) left -= (root[row * size + i] as number) * (vector[start + i] as number);
    vector[start + row] = left / pivot;
  }
}
