/**
 * The shape of proofs of RFC 6962 trees (RFC 9162 §2.1.3.2 and §2.1.4.2). RFC 9162 finds it while it consumes the proof. Here
 * it is computed first, from the sizes alone, so a proof of the wrong length is refused before anything is hashed.
 *
 * This also runs in browsers, which hash in their own way: it imports nothing of Node.
 */
import { type Hash, isHash } from './formats.ts';

/** Joins a node with its sibling. */
export interface Step {
  readonly side: 'left' | 'right';
  readonly sibling: Hash;
}

/**
 * The steps from the leaf at `index` up to the root of the tree of this size; undefined when the proof does not fit.
 * @param proof PATH(index, D[size]), from the bottom up
 */
export function inclusionSteps(index: number, size: number, proof: readonly Hash[]): Step[] | undefined {
  if (!isCount(index) || !isCount(size) || index >= size || !proof.every(isHash)) return undefined;
  const sides = siblingSides(index, size - 1);
  return sides.length === proof.length ? stepsOf(sides, proof) : undefined;
}

/** Two ways from one node: to the root of the first tree, and to that of the second. */
interface ConsistencySteps {
  readonly start: Hash;
  readonly toFirst: readonly Step[];
  readonly toSecond: readonly Step[];
}

/**
 * `first` must not be 0: every tree begins with the empty tree, so there would be nothing to prove. It must be less than
 * `second`. Undefined when the proof does not fit.
 * @param proof PROOF(first, D[second]), from the bottom up
 */
export function consistencySteps(
  first: number,
  firstRoot: Hash,
  second: number,
  proof: readonly Hash[],
): ConsistencySteps | undefined {
  if (!isCount(first) || !isCount(second) || first < 1 || first >= second) return undefined;
  if (![firstRoot, ...proof].every(isHash)) return undefined;
  // The path starts at the largest complete subtree that ends the first tree.
  let [position, last] = [first - 1, second - 1];
  while (position % 2 === 1) [position, last] = [half(position), half(last)];
  // At position 0 that subtree is the whole first tree, and its root is not repeated in the proof.
  const [start, ...path] = position === 0 ? [firstRoot, ...proof] : proof;
  const sides = siblingSides(position, last);
  if (start === undefined || sides.length !== path.length) return undefined;
  const toSecond = stepsOf(sides, path);
  // Siblings on the right came after the first tree.
  return { start, toFirst: toSecond.filter(({ side }) => side === 'left'), toSecond };
}

/**
 * The side of each sibling on the way from a node up to the root. The last node of a level may have no sibling; it then
 * moves up unchanged.
 * @param position of the node in its level
 * @param last position of the last node of that level
 */
function siblingSides(position: number, last: number): Step['side'][] {
  const sides: Step['side'][] = [];
  for (let [at, end] = [position, last]; end > 0; [at, end] = [half(at), half(end)]) {
    if (at % 2 === 1) sides.push('left');
    else if (at < end) sides.push('right');
  }
  return sides;
}

/** There are as many siblings as sides. */
function stepsOf(sides: readonly Step['side'][], siblings: readonly Hash[]): Step[] {
  return siblings.map((sibling, i) => ({ side: sides[i] ?? 'left', sibling }));
}

/** Without bit operations, which JavaScript limits to 32 bits. */
function half(n: number): number {
  return Math.floor(n / 2);
}

function isCount(n: number): boolean {
  return Number.isSafeInteger(n) && n >= 0;
}
