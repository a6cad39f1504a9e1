/**
 * The root of a growing Merkle tree (RFC 6962 §2.1) in O(log n) memory: it keeps only the complete subtrees that no larger
 * complete subtree contains. Use it to read a stream from the beginning and compare roots on the way: the root at a
 * given size is root() once that many leaves have been appended.
 */
import { type Hash, isHash } from './hash.ts';
import { nodeHash, rootOverPeaks } from './merkle-hash.ts';

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
