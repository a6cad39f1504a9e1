/**
 * Method 1: which urns may be drawn from.
 *
 * Source: the reference implementation. Equality is exact equality of doubles (see imbalance.ts). The order is Python's
 * order of strings, by code point. It matters because the lot picks an index.
 */

/**
 * @param names factor names, well-formed Unicode, all different
 * @param imbalances d of each factor's urn, in the order of the names
 * @returns indexes of the factors whose d equals the largest, sorted by name by code point; at least one
 * @throws RangeError when there is no urn, the lists differ in length, or a d is not a number
 */
export function mostImbalanced(names: readonly string[], imbalances: readonly number[]): number[] {
  if (names.length === 0) throw new RangeError('no urn to select from');
  if (names.length !== imbalances.length) {
    throw new RangeError(`${names.length} factors but ${imbalances.length} imbalances`);
  }
  const largest = Math.max(...imbalances);
  if (Number.isNaN(largest)) throw new RangeError('an imbalance is not a number');

  const candidates: number[] = [];
  imbalances.forEach((one, index) => {
    if (one === largest) candidates.push(index);
  });
  return candidates.sort((a, b) => compareCodePoints(names[a] ?? '', names[b] ?? ''));
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
