/**
 * Hashing of the Merkle trees of RFC 6962 §2.1, SHA-256 throughout:
 *
 *   MTH({}) = SHA-256()      MTH({d}) = SHA-256(0x00 ‖ d), the leaf hash: events/record.ts
 *   MTH(D[n]) = SHA-256(0x01 ‖ MTH(D[0:k]) ‖ MTH(D[k:n])), k the largest power of two below n
 */
import { sha256 } from '../../../events/record.ts';
import { HASH_BYTES, type Hash } from './hash.ts';

/** 0x01, and room for two hashes. */
const JOINED = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** The hash of an inner node. Both hashes must have 32 bytes (see isHash). */
export function nodeHash(left: Hash, right: Hash): Buffer {
  JOINED.set(left, 1);
  JOINED.set(right, 1 + HASH_BYTES);
  return sha256(JOINED);
}

/**
 * The root over adjacent complete subtrees, each smaller than the one before it: one for each 1 in the binary number of
 * leaves. (In the recursion of RFC 6962, the left part is the largest complete subtree.)
 *
 * @param peaks the roots of the subtrees, from the left; empty for the tree without leaves
 */
export function rootOverPeaks(peaks: readonly Hash[]): Buffer {
  const last = peaks.at(-1);
  if (last === undefined) return sha256('');
  return peaks.slice(0, -1).reduceRight<Buffer>((right, left) => nodeHash(left, right), Buffer.from(last));
}
