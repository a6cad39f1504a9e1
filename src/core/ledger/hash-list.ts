/**
 * A growing list of hashes that takes 32 bytes for each; one object per hash would take several times that. The bytes are
 * in chunks, so a long list grows without being copied. A chunk starts small, so a short list stays small.
 */
import { HASH_BYTES, type Hash } from './hash.ts';

const CHUNK_HASHES = 1024;
const FIRST_HASHES = 4;

export class HashList {
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
