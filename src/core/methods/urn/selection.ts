/**
 * Method 1: which urns may be drawn from.
 *
 * Source: the reference implementation. Equality is exact equality of doubles (see imbalance.ts). The order is Python's
 * order of strings, by code point. It matters because the lot picks an index.
 */

/** @returns the indexes of the names (well-formed Unicode, all different), in the order of the names by code point */
export function byCodePoint(names: readonly string[]): number[] {
  return [...names.keys()].sort((a, b) => compareCodePoints(names[a] ?? '', names[b] ?? ''));
}

/**
 * @param imbalances d of each factor's urn
 * @param order the indexes of the factors, each once, in the order of their names
 * @param candidates is filled, from the start, with the indexes of the factors whose d equals the largest, in this order
 * @returns how many these are; at least one
 * @throws RangeError when there is no urn, or a d is not a number
 */
export function largest(
  imbalances: ArrayLike<number>,
  order: ArrayLike<number>,
  candidates: number[] | Int32Array,
): number {
  if (imbalances.length === 0) throw new RangeError('no urn to select from');
  let most = -1;
  for (let i = 0; i < imbalances.length; i++) {
    const one = imbalances[i] as number;
    if (Number.isNaN(one)) throw new RangeError('an imbalance is not a number');
    if (one > most) most = one;
  }
  let count = 0;
  for (let i = 0; i < order.length; i++) {
    const index = order[i] as number;
    if (imbalances[index] === most) candidates[count++] = index;
  }
  return count;
}

/**
 * Order of two well-formed strings by code point. `<` on strings compares UTF-16 units, which sorts characters
 * beyond U+FFFF (surrogates, D800 to DFFF) before those from U+E000 to U+FFFF.
 *
 * @returns below zero when a comes first, zero when equal, above zero when b comes first
 */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    if (a.charCodeAt(i) === b.charCodeAt(i)) continue;
    // At the first difference, both are at the start of a character, or both at low surrogates after the same high one.
    return (a.codePointAt(i) ?? 0) - (b.codePointAt(i) ?? 0);
  }
  return a.length - b.length;
}
