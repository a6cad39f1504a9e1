/**
 * Checks proofs of RFC 6962 trees from hashes alone. A proof that is wrong in any way, including its length or shape, gives
 * false. Nothing throws.
 */
import { type Hash, isHash } from './hash.ts';
import { nodeHash } from './merkle-hash.ts';
import { consistencySteps, inclusionSteps, type Step } from './proof-steps.ts';

/**
 * Whether the leaf is at `index` in the tree with this size and root.
 *
 * A root does not say how many leaves it covers, and different sizes can have paths of the same shape. So size and root
 * must come from the same checkpoint. This also holds for consistency.
 *
 * @param leaf SHA-256(0x00 ‖ record)
 * @param proof PATH(index, D[size]), from the bottom up
 */
export function verifyInclusion(
  leaf: Hash,
  index: number,
  size: number,
  proof: readonly Hash[],
  root: Hash,
): boolean {
  const steps = inclusionSteps(index, size, proof);
  return steps !== undefined && [leaf, root].every(isHash) && same(climb(leaf, steps), root);
}

/**
 * Whether the tree of `first` leaves is the beginning of the tree of `second` leaves. Trees of the same size need an empty
 * proof and equal roots.
 *
 * @param proof PROOF(first, D[second]), from the bottom up
 */
export function verifyConsistency(
  first: number,
  firstRoot: Hash,
  second: number,
  secondRoot: Hash,
  proof: readonly Hash[],
): boolean {
  if (!Number.isSafeInteger(first) || first < 1 || ![firstRoot, secondRoot].every(isHash)) return false;
  if (first === second) return proof.length === 0 && same(firstRoot, secondRoot);
  const steps = consistencySteps(first, firstRoot, second, proof);
  if (!steps) return false;
  return (
    same(climb(steps.start, steps.toFirst), firstRoot) && same(climb(steps.start, steps.toSecond), secondRoot)
  );
}

/** The hash reached from `start` by joining the siblings in turn. */
function climb(start: Hash, steps: readonly Step[]): Hash {
  return steps.reduce(
    (node, { side, sibling }) => (side === 'left' ? nodeHash(sibling, node) : nodeHash(node, sibling)),
    start,
  );
}

function same(a: Hash, b: Hash): boolean {
  return Buffer.compare(a, b) === 0;
}
