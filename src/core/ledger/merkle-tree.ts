/**
 * The Merkle tree of RFC 6962 §2.1 over the leaf hashes of one stream, with the audit paths of §2.1.1 and the
 * consistency proofs of §2.1.2, for its current size and every earlier one.
 *
 * It keeps the hash of every complete subtree, which is about two hashes or 64 bytes per leaf. A root or a proof costs
 * O(log n), plus one hash for each leaf appended since the last one. Appending itself hashes nothing, so reading a long
 * stream stays cheap. If you only need roots, use a CompactRange.
 */

import { type Hash, isHash } from './hash.ts';
import { HashList } from './hash-list.ts';
import { nodeHash, rootOverPeaks } from './merkle-hash.ts';

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
