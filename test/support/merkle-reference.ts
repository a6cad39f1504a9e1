/**
 * RFC 6962 §2.1 to §2.1.2 exactly as written: recursive, over lists, slow. For comparison.
 */
import { createHash } from 'node:crypto';

/** MTH over leaf hashes instead of over the data. */
export function referenceRoot(leaves: readonly Uint8Array[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return createHash('sha256').digest();
  if (leaves.length === 1) return Buffer.from(only);
  const k = split(leaves.length);
  return createHash('sha256')
    .update(Buffer.of(1))
    .update(referenceRoot(leaves.slice(0, k)))
    .update(referenceRoot(leaves.slice(k)))
    .digest();
}

/** MTH of the leaves from one place up to another: of a list, or of a tree too large to be one. */
export type RootOf = (from: number, to: number) => Buffer;

/** Each is worked out once. */
export function rootIn(leaves: readonly Uint8Array[]): RootOf {
  const known = new Map<string, Buffer>();
  return (from, to) => {
    const root = known.get(`${from} ${to}`) ?? referenceRoot(leaves.slice(from, to));
    known.set(`${from} ${to}`, root);
    return root;
  };
}

/** PATH(m, D[n]) of the n leaves from a place on */
export function referencePath(m: number, n: number, root: RootOf, from = 0): Buffer[] {
  if (n === 1) return [];
  const k = split(n);
  return m < k
    ? [...referencePath(m, k, root, from), root(from + k, from + n)]
    : [...referencePath(m - k, n - k, root, from + k), root(from, from + k)];
}

/** PROOF(m, D[n]), which is SUBPROOF(m, D[n], true), likewise */
export function referenceProof(m: number, n: number, root: RootOf, from = 0, known = true): Buffer[] {
  if (m === n) return known ? [] : [root(from, from + n)];
  const k = split(n);
  return m <= k
    ? [...referenceProof(m, k, root, from, known), root(from + k, from + n)]
    : [...referenceProof(m - k, n - k, root, from + k, false), root(from, from + k)];
}

/** `count` leaf hashes, all different. */
export const someLeaves = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => createHash('sha256').update(`leaf ${i}`).digest());

/** A copy with one bit flipped. */
export function flipBit(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  const at = Math.floor(bit / 8);
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit % 8));
  return copy;
}

/** The largest power of two below n. */
export function split(n: number): number {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}
