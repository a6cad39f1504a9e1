/**
 * One of the two stores of a move, folded as far as it has been read. It keeps a digest of each record, so that the two
 * sides can be compared without reading them again: 96 bytes a record, with its part of the tree.
 */

import type { MoveFact } from '../../../events/move.ts';
import type { Actor } from '../../../events/record.ts';
import { sha256 } from '../../../events/sha256.ts';
import { logHistory } from '../../../projections/log.ts';
import type { Movement } from '../../../projections/movement.ts';
import { Runner } from '../../../projections/runner.ts';
import type { Tools } from '../../base/tools.ts';
import type { Hash } from '../../core/ledger/hash.ts';
import { HashList } from '../../core/ledger/hash-list.ts';
import { MerkleTree } from '../../core/ledger/merkle-tree.ts';
import { LOG_STREAM } from '../../core/log/log-writer.ts';
import { studyState } from '../../core/study/state.ts';
import { studyConfig } from '../../core/study/views.ts';
import { foldedStreamWith } from '../../core/write/folded-stream.ts';
import { Writer } from '../../core/write/writer.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { type MoveCommand, type MoveOutcome, moveDecider } from './decide.ts';
import { MoveError } from './move-error.ts';

export interface SideParts {
  readonly name: 'source' | 'target';
  readonly store: EventStore;
  readonly logId: string;
  readonly actor: Actor;
  readonly tools: Tools;
}

type OnPage = (records: readonly StoredRecord[]) => Promise<void>;

export class Side {
  readonly store: EventStore;
  readonly #parts: SideParts;
  readonly #runner: Runner;
  readonly #trees = new Map<string, MerkleTree>();
  readonly #digests = new Map<string, HashList>();
  #onPage: OnPage = async () => undefined;
  /** Records read so far. */
  records = 0;

  constructor(parts: SideParts) {
    this.store = parts.store;
    this.#parts = parts;
    this.#runner = new Runner(parts.store, parts.logId, [logHistory, studyState], {
      onFolded: (stream, leaf) => this.#tree(stream).append(leaf),
      onPage: (page) => this.#takePage(page),
    });
  }

  /**
   * Reads what is new since the last time, page by page.
   * @throws MoveError if a record cannot be understood; StoreError
   */
  async read(onPage: OnPage = async () => undefined): Promise<void> {
    this.#onPage = onPage;
    await this.#runner.rebuild();
  }

  streams(): string[] {
    return this.#runner.streams();
  }

  movement(stream: string): Movement {
    return this.#runner.movement(stream);
  }

  /** Number of records of the stream read so far. */
  size(stream: string): number {
    return this.#digests.get(stream)?.length ?? 0;
  }

  /** Digest of record, sealed part and leaf. @throws RangeError if the record was not read */
  digest(stream: string, revision: number): Hash {
    const digests = this.#digests.get(stream);
    if (!digests) throw new RangeError(`no stream ${stream}`);
    return digests.at(revision);
  }

  /** Merkle root of the first `size` records. */
  root(stream: string, size: number): Buffer {
    return this.#tree(stream).root(size);
  }

  /** A study that still needs a new generator after a recovery of the log. */
  awaitsRecovery(): string | undefined {
    const { recoveries } = this.#runner.state(logHistory, LOG_STREAM);
    return this.streams().find((stream) => {
      const last = recoveries.findLast(({ streams }) => streams.has(stream));
      const study = this.#runner.state(studyConfig, stream);
      return last && study && (study.recoveries.at(-1)?.recovery ?? 0) < last.recovery;
    });
  }

  /** Takes the one write path, without the check that refuses commands to a closed stream. @throws DomainError */
  async submit(stream: string, command: MoveCommand): Promise<MoveOutcome['type']> {
    const { outcome } = await this.#writer(stream).submit(command, this.#parts.actor);
    return outcome.type;
  }

  #writer(stream: string): Writer<Movement, MoveCommand, MoveFact, MoveOutcome> {
    const folded = foldedStreamWith(this.#runner, stream, {
      state: () => this.#runner.movement(stream),
      refusal: () => this.#runner.halted(stream),
    });
    return new Writer({ ...this.#parts, stream, decider: moveDecider, folded });
  }

  async #takePage(page: readonly StoredRecord[]): Promise<void> {
    for (const { stream, revision, record, sealed, leaf } of page) {
      const halted = this.#runner.halted(stream);
      if (halted)
        throw new MoveError(
          'differs',
          `the ${this.#parts.name} cannot be read: ${halted.message} (hint: urn verify shows more)`,
          halted,
        );
      const digests = this.#digests.get(stream) ?? new HashList();
      this.#digests.set(stream, digests);
      if (digests.length === revision) digests.push(sha256(Buffer.concat([leaf, record, sealed])));
    }
    this.records += page.length;
    await this.#onPage(page);
  }

  #tree(stream: string): MerkleTree {
    const tree = this.#trees.get(stream) ?? new MerkleTree();
    this.#trees.set(stream, tree);
    return tree;
  }
}
