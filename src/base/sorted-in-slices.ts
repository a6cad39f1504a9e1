/** How many items are sorted or merged before others get a turn: a few milliseconds' worth. */
export const SORTED_AT_ONCE = 2500;

/**
 * Like `toSorted`, in pieces of work that each wait for their turn. Items that compare as equal keep their order.
 * @param turn gives a piece of work its turn
 */
export async function sortedInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  turn: <R>(work: () => R) => Promise<R>,
): Promise<readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let from = 0; from < items.length; from += SORTED_AT_ONCE)
    runs.push(await turn(() => items.slice(from, from + SORTED_AT_ONCE).sort(compare)));
  while (runs.length > 1) {
    const longer: (readonly T[])[] = [];
    for (let i = 0; i < runs.length; i += 2)
      longer.push(await merged(runs[i] ?? [], runs[i + 1] ?? [], compare, turn));
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merged<T>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
  turn: <R>(work: () => R) => Promise<R>,
): Promise<readonly T[]> {
  const items: T[] = [];
  let [i, j] = [0, 0];
  const mergeSome = () => {
    for (const end = items.length + SORTED_AT_ONCE; items.length < end; ) {
      const [a, b] = [first[i], second[j]];
      if (a !== undefined && (b === undefined || compare(a, b) <= 0)) {
        items.push(a);
        i++;
      } else if (b !== undefined) {
        items.push(b);
        j++;
      } else return;
    }
  };
  while (items.length < first.length + second.length) await turn(mergeSome);
  return items;
}
