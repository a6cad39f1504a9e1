/** What is left of an outcome once the levels of factors have explained what they can: residuals of least squares. */

/** A column that shrinks to this share of its length once the earlier ones are taken out says nothing new. */
const COLLINEAR = 1e-9;
/** Equal outcomes of different levels can have residuals that differ in their last digits. */
const SAME = 1e-10;

export interface Residuals {
  readonly values: number[];
  /** Residuals that differ by no more are equal. */
  readonly tiedWithin: number;
}

/**
 * @param factors for each factor, the level of each participant
 * @returns outcomes minus those fitted by an intercept and an indicator for each level
 */
export function residuals(outcomes: readonly number[], factors: readonly (readonly string[])[]): Residuals {
  const columns = [
    outcomes.map(() => 1),
    ...factors.flatMap((levels) =>
      [...new Set(levels)].map((level) => levels.map((one) => (one === level ? 1 : 0))),
    ),
  ];
  const basis: number[][] = [];
  for (const column of columns) {
    // Twice, because a single pass leaves an error where columns are nearly dependent.
    const rest = without(without(column, basis), basis);
    const length = Math.sqrt(product(rest, rest));
    if (length > COLLINEAR * Math.sqrt(product(column, column)))
      basis.push(rest.map((value) => value / length));
  }
  const largest = outcomes.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const tiedWithin = SAME * largest;
  const values = without(without(outcomes, basis), basis);
  return { values: values.map((value) => (Math.abs(value) <= tiedWithin ? 0 : value)), tiedWithin };
}

/** @param basis vectors of length 1, at right angles to each other */
function without(vector: readonly number[], basis: readonly (readonly number[])[]): number[] {
  return basis.reduce<number[]>(
    (rest, direction) => {
      const share = product(rest, direction);
      return rest.map((value, i) => value - share * (direction[i] as number));
    },
    [...vector],
  );
}

function product(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}
