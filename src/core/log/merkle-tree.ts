/**
 * Merkle trees of RFC 6962 §2.1, whole: the tree over the leaves of one stream, the root of a stream that is read from its
 * beginning, and the checks of proofs from hashes alone. SHA-256 throughout:
 *
 *   MTH({}) = SHA-256()      MTH({d}) = SHA-256(0x00 ‖ d), the leaf hash: events/record.ts
 *   MTH(D[n]) = SHA-256(0x01 ‖ MTH(D[0:k]) ‖ MTH(D[k:n])), k the largest power of two below n
 */
import { sha256 } from '../../../events/record.ts';
import { HASH_BYTES, type Hash, isHash } from './formats.ts';
import { consistencySteps, inclusionSteps, type Step } from './proof-steps.ts';

/**
 * The Merkle tree over the leaf hashes of one stream, with the audit paths of §2.1.1 and the consistency proofs of §2.1.2,
 * for its current size and every earlier one.
 *
 * It keeps the hash of every complete subtree, which is about two hashes or 64 bytes per leaf. A root or a proof costs
 * O(log n), plus one hash for each leaf appended since the last one. Appending itself hashes nothing, so reading a long
 * stream stays cheap. If you only need roots, use a CompactRange.
 */
export class MerkleTree {
  /** Level k holds the hashes of the complete subtrees of 2^k leaves, from the left. Level 0 holds the leaves. */
  readonly #levels: HashList[] = [new HashList()];

  /** The number of leaves. */
  get size(): number {
    return this.#levels[0]?.length ?? 0;
  }

  /**
   * @param leaf SHA-256(0x00 ‖ record), 32 bytes; copied
   * @throws RangeError when it has another length
   */
  append(leaf: Hash): void {
    if (!isHash(leaf)) throw new RangeError(`a leaf hash has 32 bytes, not ${leaf.length}`);
    this.#levels[0]?.push(leaf);
  }

  /**
   * The leaf of a record, 32 bytes.
   * @throws RangeError when there is none at that index
   */
  leaf(index: number): Buffer {
    const leaf = this.#levels[0]?.at(index);
    if (leaf === undefined) throw new RangeError(`no leaf ${index}`);
    return Buffer.from(leaf);
  }

  /**
   * Computes missing inner nodes, at most `hashes` of them. Roots and proofs do this themselves; calling it beforehand
   * saves them the wait.
   * @returns whether all inner nodes are now known
   */
  grow(hashes: number = Number.POSITIVE_INFINITY): boolean {
    let left = hashes;
    for (let level = 0; ; level++) {
      const below = this.#levels[level];
      if (below === undefined || below.length < 2) return true;
      const list = this.#levels[level + 1] ?? new HashList();
      this.#levels[level + 1] = list;
      while (2 * list.length + 1 < below.length) {
        if (left-- <= 0) return false;
        const first = 2 * list.length;
        list.push(nodeHash(below.at(first), below.at(first + 1)));
      }
    }
  }

  /**
   * The root over the first `size` leaves, 32 bytes.
   * @throws RangeError when the tree has fewer leaves
   */
  root(size: number = this.size): Buffer {
    this.#checkSize(size);
    this.grow();
    return this.#range(0, size);
  }

  /**
   * PATH(index, D[size]): the siblings on the way from a leaf to the root, from the bottom up.
   * @throws RangeError unless 0 <= index < size <= the tree's size
   */
  inclusionProof(index: number, size: number = this.size): Buffer[] {
    this.#checkSize(size);
    if (!Number.isSafeInteger(index) || index < 0 || index >= size)
      throw new RangeError(`no leaf ${index} among the first ${size}`);
    this.grow();
    const path: Buffer[] = [];
    let [from, to] = [0, size];
    while (to - from > 1) {
      const middle = from + largestPowerBelow(to - from);
      if (index < middle) {
        path.push(this.#range(middle, to));
        to = middle;
      } else {
        path.push(this.#range(from, middle));
        from = middle;
      }
    }
    return path.reverse();
  }

  /**
   * PROOF(first, D[second]): proves that the tree of `first` leaves is the beginning of the tree of `second` leaves.
   * Empty when both have the same size.
   * @throws RangeError unless 0 < first <= second <= the tree's size
   */
  consistencyProof(first: number, second: number = this.size): Buffer[] {
    this.#checkSize(second);
    if (!Number.isSafeInteger(first) || first < 1 || first > second)
      throw new RangeError(`no proof from ${first} leaves to ${second}`);
    this.grow();
    const proof: Buffer[] = [];
    let [from, to] = [0, second];
    while (first < to) {
      const middle = from + largestPowerBelow(to - from);
      if (first <= middle) {
        proof.push(this.#range(middle, to));
        to = middle;
      } else {
        proof.push(this.#range(from, middle));
        from = middle;
      }
    }
    // A subtree that begins at 0 is the whole first tree, and the verifier has its root.
    if (from > 0) proof.push(this.#range(from, to));
    return proof.reverse();
  }

  /** MTH(D[from:to]), where `from` is a multiple of the largest power of two not above `to - from`. */
  #range(from: number, to: number): Buffer {
    const peaks: Hash[] = [];
    for (let at = from; at < to; ) {
      const level = floorLog2(to - at);
      const width = 2 ** level;
      const complete = this.#levels[level];
      if (complete === undefined) throw new RangeError(`no subtree of ${width} leaves`);
      peaks.push(complete.at(at / width));
      at += width;
    }
    return rootOverPeaks(peaks);
  }

  #checkSize(size: number): void {
    if (!Number.isSafeInteger(size) || size < 0 || size > this.size)
      throw new RangeError(`the tree has ${this.size} leaves, not ${size}`);
  }
}

/** k of RFC 6962: the largest power of two below n, for n > 1. */
function largestPowerBelow(n: number): number {
  return 2 ** floorLog2(n - 1);
}

/** For n >= 1. Exact, unlike Math.log2 for large n. */
function floorLog2(n: number): number {
  let log = 0;
  while (2 ** (log + 1) <= n) log++;
  return log;
}

const CHUNK_HASHES = 1024;
const FIRST_HASHES = 4;

/**
 * A growing list of hashes that takes 32 bytes for each; one object per hash would take several times that. The bytes are
 * in chunks, so a long list grows without being copied. A chunk starts small, so a short list stays small.
 */
class HashList {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies the hash, which must have 32 bytes. */
  push(hash: Hash): void {
    const start = (this.#length % CHUNK_HASHES) * HASH_BYTES;
    if (start === 0) this.#chunks.push(Buffer.alloc(FIRST_HASHES * HASH_BYTES));
    this.#lastWithRoom(start).set(hash, start);
    this.#length++;
  }

  /**
   * A view of the hash at `index`. Read it at once; do not keep it or pass it on.
   * @throws RangeError when there is no hash at `index`
   */
  at(index: number): Hash {
    const chunk = this.#chunks[Math.floor(index / CHUNK_HASHES)];
    if (chunk === undefined || index >= this.#length) throw new RangeError(`no hash at ${index}`);
    const start = (index % CHUNK_HASHES) * HASH_BYTES;
    return chunk.subarray(start, start + HASH_BYTES);
  }

  #lastWithRoom(used: number): Buffer {
    const last = this.#chunks.at(-1);
    if (last !== undefined && used < last.length) return last;
    const larger = Buffer.alloc(2 * used);
    last?.copy(larger);
    this.#chunks[this.#chunks.length - 1] = larger;
    return larger;
  }
}

/**
 * The root of a growing Merkle tree in O(log n) memory: it keeps only the complete subtrees that no larger complete subtree
 * contains. Use it to read a stream from the beginning and compare roots on the way: the root at a given size is root()
 * once that many leaves have been appended.
 */
export class CompactRange {
  /** The roots of complete subtrees, from the left, which is largest first: one for each 1 in the binary size. */
  readonly #peaks: Hash[] = [];
  #size = 0;

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /**
   * @param leaf SHA-256(0x00 ‖ record), 32 bytes; not kept
   * @throws RangeError when it has another length
   */
  append(leaf: Hash): void {
    if (!isHash(leaf)) throw new RangeError(`a leaf hash has 32 bytes, not ${leaf.length}`);
    let node = leaf;
    // As in adding 1 to a binary number, where each trailing 1 carries.
    for (let digits = this.#size; digits % 2 === 1; digits = Math.floor(digits / 2)) {
      const left = this.#peaks.pop();
      if (left !== undefined) node = nodeHash(left, node);
    }
    this.#peaks.push(node === leaf ? Buffer.from(leaf) : node);
    this.#size++;
  }

  /** The root over the leaves so far, 32 bytes. More can be appended afterwards. */
  root(): Buffer {
    return rootOverPeaks(this.#peaks);
  }
}

/**
 * The root over adjacent complete subtrees, each smaller than the one before it: one for each 1 in the binary number of
 * leaves. (In the recursion of RFC 6962, the left part is the largest complete subtree.)
 *
 * @param peaks the roots of the subtrees, from the left; empty for the tree without leaves
 */
function rootOverPeaks(peaks: readonly Hash[]): Buffer {
  const last = peaks.at(-1);
  if (last === undefined) return sha256('');
  return peaks.slice(0, -1).reduceRight<Buffer>((right, left) => nodeHash(left, right), Buffer.from(last));
}

/**
 * Whether the leaf is at `index` in the tree with this size and root. A proof that is wrong in any way, including its length
 * or shape, gives false. Nothing throws.
 *
 * A root does not say how many leaves it covers, and different sizes can have paths of the same shape. So size and root
 * must come from the same checkpoint. All this also holds for consistency.
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

/** 0x01, and room for two hashes. */
const JOINED = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** The hash of an inner node. Both hashes must have 32 bytes (see isHash). */
export function nodeHash(left: Hash, right: Hash): Buffer {
  JOINED.set(left, 1);
  JOINED.set(right, 1 + HASH_BYTES);
  return sha256(JOINED);
}

function same(a: Hash, b: Hash): boolean {
  return Buffer.compare(a, b) === 0;
}
