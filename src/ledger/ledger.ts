/**
 * The ledger of a log: a Merkle tree for each stream over the leaves that were folded, and the checkpoints that the log's
 * key signs of them. Only what the store has acknowledged is folded, and so nothing else is ever signed.
 */
import type { DomainError } from '../base/errors.ts';
import { checkpointOrigin, signCheckpoint } from './checkpoint.ts';
import type { LogIdentity } from './identity.ts';
import type { Hash } from './merkle-hash.ts';
import { MerkleTree } from './merkle-tree.ts';

/** Hashes that are worked out in one turn of the event loop, about 1 ms. */
const HASHES_A_TURN = 1000;

export interface SignedCheckpoint {
  readonly origin: string;
  readonly stream: string;
  /** Number of the log's last recovery when it was signed; 0: there was none. */
  readonly recovery: number;
  /** Verifier key of the one that signed. */
  readonly publicKey: string;
  /** Leaves: the revision of the last record, and one. */
  readonly size: number;
  /** The signed note. */
  readonly note: string;
  /** The same in base64, as it stands in a header. */
  readonly base64: string;
}

export class Ledger {
  readonly #identity: Pick<LogIdentity, 'logName' | 'signingKey'>;
  readonly #recovery: () => number;
  readonly #refusal: (stream: string) => DomainError | undefined;
  readonly #trees = new Map<string, MerkleTree>();
  /** The last checkpoint of each stream: one batch of allocations asks for it many times. */
  readonly #signed = new Map<string, SignedCheckpoint>();

  /**
   * @param recovery number of the log's last recovery: what is signed from then on has another origin
   * @param refusal why nothing may be signed of a stream, if that is so
   */
  constructor(
    identity: Pick<LogIdentity, 'logName' | 'signingKey'>,
    recovery: () => number,
    refusal: (stream: string) => DomainError | undefined = () => undefined,
  ) {
    this.#identity = identity;
    this.#recovery = recovery;
    this.#refusal = refusal;
  }

  /** Takes the leaf of a stream's next record. */
  append(stream: string, leaf: Hash): void {
    const tree = this.#trees.get(stream) ?? new MerkleTree();
    this.#trees.set(stream, tree);
    tree.append(leaf);
  }

  /** The tree of a stream: empty for a stream that does not exist. */
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
   * @param size of an earlier state; without it the present one
   * @throws RangeError when the stream has not so many records; DomainError as the write gate refuses it
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

  /** Works out the inner nodes of all trees, in between other work, so that the first receipt need not wait for it. */
  async warmUp(): Promise<void> {
    for (const tree of this.#trees.values())
      while (!tree.grow(HASHES_A_TURN)) await new Promise(setImmediate);
  }
}
