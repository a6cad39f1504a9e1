/** Small arithmetic of whole numbers. */

export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

export function leastCommonMultiple(a: number, b: number): number {
  return (a / greatestCommonDivisor(a, b)) * b;
}

/** ⌈i·N/m⌉ for i from 1 to m, the smaller of N and `most`: ascending, the last is N. */
export function evenPoints(n: number, most: number): number[] {
  const count = Math.min(n, most);
  return Array.from({ length: count }, (_, i) => Math.ceil(((i + 1) * n) / count));
}
