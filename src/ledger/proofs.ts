/**
 * Checks proofs of RFC 6962 trees from hashes alone (RFC 9162 §2.1.3.2 and §2.1.4.2). A proof that is wrong in any way,
 * including its length or shape, gives false. Nothing throws.
 *
 * RFC 9162 finds the shape of the path while it consumes the proof. Here the shape is computed first, from the sizes
 * alone, so a proof of the wrong length is refused before anything is hashed.
 */
import { type Hash, isHash, nodeHash } from './merkle-hash.ts';

type Side = 'left' | 'right';

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
  if (!isCount(index) || !isCount(size) || index >= size) return false;
  if (![leaf, root, ...proof].every(isHash)) return false;
  const sides = siblingSides(index, size - 1);
  return sides.length === proof.length && same(climb(leaf, sides, proof), root);
}

/**
 * Whether the tree of `first` leaves is the beginning of the tree of `second` leaves.
 *
 * Trees of the same size need an empty proof and equal roots. `first` must not be 0: every tree begins with the empty
 * tree, so there would be nothing to prove.
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
  if (!isCount(first) || !isCount(second) || first < 1 || first > second) return false;
  if (![firstRoot, secondRoot, ...proof].every(isHash)) return false;
  if (first === second) return proof.length === 0 && same(firstRoot, secondRoot);

  // The path starts at the largest complete subtree that ends the first tree.
  let [position, last] = [first - 1, second - 1];
  while (position % 2 === 1) [position, last] = [half(position), half(last)];
  // At position 0 that subtree is the whole first tree, and its root is not repeated in the proof.
  const [start, ...path] = position === 0 ? [firstRoot, ...proof] : proof;
  const sides = siblingSides(position, last);
  if (start === undefined || sides.length !== path.length) return false;

  // Siblings on the right came after the first tree.
  const firstPath = path.filter((_, i) => sides[i] === 'left');
  const firstSides = sides.filter((side) => side === 'left');
  return same(climb(start, firstSides, firstPath), firstRoot) && same(climb(start, sides, path), secondRoot);
}

/**
 * The side of each sibling on the way from a node up to the root. The last node of a level may have no sibling; it then
 * moves up unchanged.
 * @param position of the node in its level
 * @param last position of the last node of that level
 */
function siblingSides(position: number, last: number): Side[] {
  const sides: Side[] = [];
  for (let [at, end] = [position, last]; end > 0; [at, end] = [half(at), half(end)]) {
    if (at % 2 === 1) sides.push('left');
    else if (at < end) sides.push('right');
  }
  return sides;
}

/** The hash reached from `start` by joining the siblings in turn. There are as many siblings as sides. */
function climb(start: Hash, sides: readonly Side[], siblings: readonly Hash[]): Hash {
  return siblings.reduce(
    (node, sibling, i) => (sides[i] === 'left' ? nodeHash(sibling, node) : nodeHash(node, sibling)),
    start,
  );
}

/** Without bit operations, which JavaScript limits to 32 bits. */
function half(n: number): number {
  return Math.floor(n / 2);
}

function isCount(n: number): boolean {
  return Number.isSafeInteger(n) && n >= 0;
}

function same(a: Hash, b: Hash): boolean {
  return Buffer.compare(a, b) === 0;
}
