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

/** PATH(m, D[n]) */
export function referencePath(m: number, leaves: readonly Uint8Array[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return m < k
    ? [...referencePath(m, left), referenceRoot(right)]
    : [...referencePath(m - k, right), referenceRoot(left)];
}

/** PROOF(m, D[n]), which is SUBPROOF(m, D[n], true) */
export function referenceProof(m: number, leaves: readonly Uint8Array[], known = true): Buffer[] {
  if (m === leaves.length) return known ? [] : [referenceRoot(leaves)];
  const k = split(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return m <= k
    ? [...referenceProof(m, left, known), referenceRoot(right)]
    : [...referenceProof(m - k, right, false), referenceRoot(left)];
}

/** `count` leaf hashes, all different. */
export function someLeaves(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => createHash('sha256').update(`leaf ${i}`).digest());
}

/** A copy with one bit flipped. */
export function flipBit(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  const at = Math.floor(bit / 8);
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit % 8));
  return copy;
}

function split(n: number): number {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}
