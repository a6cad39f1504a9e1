/**
 * The root of a growing Merkle tree (RFC 6962 §2.1) in O(log n) memory: of all subtrees only those are kept that no
 * larger complete one contains. For whoever reads a stream from its beginning and compares roots on the way: the root
 * at a chosen size is root() when that many leaves have been appended.
 */
import { type Hash, isHash, nodeHash, rootOverPeaks } from './merkle-hash.ts';

export class CompactRange {
  /** The roots of complete subtrees, from the left and the largest first: one for each binary 1 of the size. */
  readonly #peaks: Hash[] = [];
  #size = 0;

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /**
   * @param leaf SHA-256(0x00 ‖ record), 32 bytes; copied
   * @throws RangeError when it has another length
   */
  append(leaf: Hash): void {
    if (!isHash(leaf)) throw new RangeError(`a leaf hash has 32 bytes, not ${leaf.length}`);
    let node: Hash = Buffer.from(leaf);
    // Adding 1 to a binary number: each 1 at its end is carried.
    for (let digits = this.#size; digits % 2 === 1; digits = Math.floor(digits / 2)) {
      const left = this.#peaks.pop();
      if (left !== undefined) node = nodeHash(left, node);
    }
    this.#peaks.push(node);
    this.#size++;
  }

  /** The root over the leaves so far, 32 bytes. More can be appended afterwards. */
  root(): Buffer {
    return rootOverPeaks(this.#peaks);
  }
}
