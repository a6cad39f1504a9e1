/** Where a table of counts has the counts of each level: one row for everybody, and one per level that there ever was. */
import type { DesignStep } from './steps.ts';

/** The row that counts everybody in the urns. */
export const ALL = 0;

export interface Layout {
  /** Counts per row: one for each slot that there ever was. */
  readonly stride: number;
  /** The row of each level, per factor. */
  readonly rows: readonly (readonly number[])[];
  readonly rowCount: number;
}

const EMPTY: Layout = { stride: 0, rows: [], rowCount: ALL + 1 };

/** New levels get the rows after those that there are, so that a table only grows. */
export function layoutAfter(before: Layout | undefined, { factors, arms }: DesignStep): Layout {
  const { stride, rows: known, rowCount: first } = before ?? EMPTY;
  let rowCount = first;
  const rows = factors.map(({ levels }, factor) =>
    levels.map((_, level) => known[factor]?.[level] ?? rowCount++),
  );
  return { stride: Math.max(stride, arms.length), rows, rowCount };
}

export function isSameLayout(a: Layout, b: Layout): boolean {
  return a.stride === b.stride && a.rowCount === b.rowCount;
}
