/**
 * The ledger of a log: a Merkle tree over the folded leaves of each stream, and the checkpoints of these trees that the
 * log's key signs. Only records that the store has acknowledged are folded, so nothing else is ever signed.
 */
import type { DomainError } from '../../base/errors.ts';
import type { Hash } from './formats.ts';
import type { LogIdentity } from './identity.ts';
import { MerkleTree } from './merkle-tree.ts';
import { checkpointOrigin, signCheckpoint } from './signing.ts';

/** Hashes computed in one turn of the event loop, which takes about 1 ms. */
const HASHES_A_TURN = 1000;

export class Ledger {
  readonly #identity: Pick<LogIdentity, 'logName' | 'signingKey'>;
  readonly #recovery: () => number;
  readonly #refusal: (stream: string) => DomainError | undefined;
  readonly #trees = new Map<string, MerkleTree>();
  /** The last checkpoint of each stream. One batch of allocations asks for it many times. */
  readonly #signed = new Map<string, SignedCheckpoint>();

  /**
   * @param recovery returns the number of the log's last recovery, which is part of the origin
   * @param refusal returns why nothing of a stream may be signed; undefined if it may
   */
  constructor(
    identity: Pick<LogIdentity, 'logName' | 'signingKey'>,
    recovery: () => number,
    refusal: (stream: string) => DomainError | undefined,
  ) {
    this.#identity = identity;
    this.#recovery = recovery;
    this.#refusal = refusal;
  }

  /** Adds the leaf of a stream's next record. */
  append(stream: string, leaf: Hash): void {
    const tree = this.#trees.get(stream) ?? new MerkleTree();
    this.#trees.set(stream, tree);
    tree.append(leaf);
  }

  /** The tree of a stream. It is empty for a stream that does not exist. */
  tree(stream: string): MerkleTree {
    return this.#trees.get(stream) ?? new MerkleTree();
  }

  streams(): string[] {
    return [...this.#trees.keys()];
  }

  /** Whether `checkpoint` may sign for this stream now. */
  maySign(stream: string): boolean {
    return this.#refusal(stream) === undefined;
  }

  /**
   * The signed checkpoint of a stream.
   * @param size of an earlier state; by default the current size
   * @throws RangeError when the stream has fewer records; the DomainError with which the write gate refuses
   */
  checkpoint(stream: string, size?: number): SignedCheckpoint {
    const refusal = this.#refusal(stream);
    if (refusal) throw refusal;
    const tree = this.tree(stream);
    const wanted = size ?? tree.size;
    const recovery = this.#recovery();
    const { logName, signingKey } = this.#identity;
    const { publicKey } = signingKey;
    const last = this.#signed.get(stream);
    if (last?.size === wanted && last.recovery === recovery && last.publicKey === publicKey) return last;
    const origin = checkpointOrigin(logName, stream, recovery);
    const note = signCheckpoint(origin, wanted, tree.root(wanted), signingKey);
    const base64 = Buffer.from(note).toString('base64');
    const signed = { origin, stream, recovery, publicKey, size: wanted, note, base64 };
    if (wanted === tree.size) this.#signed.set(stream, signed);
    return signed;
  }

  /** Computes the inner nodes of all trees in between other work, so that the first receipt need not wait for them. */
  async warmUp(): Promise<void> {
    for (const tree of this.#trees.values())
      while (!tree.grow(HASHES_A_TURN)) await new Promise(setImmediate);
  }
}

export interface SignedCheckpoint {
  readonly origin: string;
  readonly stream: string;
  /** Number of the log's last recovery at the time of signing; 0 if there was none. */
  readonly recovery: number;
  /** Verifier key of the signing key. */
  readonly publicKey: string;
  /** Number of leaves, which is the revision of the last record plus one. */
  readonly size: number;
  /** The signed note. */
  readonly note: string;
  /** The note in base64, as in the response header. */
  readonly base64: string;
}
