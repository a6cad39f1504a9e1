/**
 * Copies records unchanged, at exact revisions, and compares the two sides. The stream `log` is not copied here: a store
 * without it cannot be opened as a log (begin-move.ts).
 */
import { LOG_STREAM } from '../../core/log/log-writer.ts';
import { DEFAULT_LIMITS } from '../../core/write/writer-parts.ts';
import type { StoredRecord } from '../../store/event-store.ts';
import { appendUnchanged } from './append.ts';
import { MoveError } from './move-error.ts';
import type { Side } from './side.ts';

/** How often the target is read again because another mover of the same log was faster. */
const MOST_CONFLICTS = 100;

export class Mover {
  readonly #source: Side;
  readonly #target: Side;
  readonly #onProgress: (records: number) => void;
  /** Set for a dry run. */
  readonly #isDry: boolean;
  /** The end of each stream after what this mover appended; the target is read only later. */
  readonly #ends = new Map<string, number>();
  /** Records compared so far, by stream. */
  readonly #compared = new Map<string, number>();
  /** Records that the target lacked. */
  copied = 0;

  constructor(source: Side, target: Side, onProgress: (records: number) => void, isDry: boolean) {
    this.#source = source;
    this.#target = target;
    this.#onProgress = onProgress;
    this.#isDry = isDry;
  }

  /**
   * Copies the records of the source that have not been read yet. Those that the target already holds are compared.
   * @throws MoveError, StoreError
   */
  async copy(): Promise<void> {
    await this.#source.read(async (page) => {
      await this.#copyPage(page);
      this.#onProgress(this.#source.records);
    });
  }

  /**
   * Reads back what was copied, and compares all that both sides hold: the bytes of each record, the root of each stream.
   * @throws MoveError naming the first difference
   */
  async compare(): Promise<void> {
    await this.#target.read();
    for (const stream of this.#target.streams()) {
      const from = this.#compared.get(stream) ?? 0;
      const to = Math.min(this.#source.size(stream), this.#target.size(stream));
      this.#compareRecords(stream, from, to);
      if (to > from && Buffer.compare(this.#source.root(stream, to), this.#target.root(stream, to)) !== 0)
        throw differs(stream, to - 1, 'the roots of the two stores differ');
      this.#compared.set(stream, to);
    }
  }

  /** @throws MoveError unless the target holds all that the source has, and more only in the streams that `more` allows */
  expectWhole(more: (stream: string) => boolean): void {
    for (const stream of new Set([...this.#source.streams(), ...this.#target.streams()])) {
      const [here, there] = [this.#source.size(stream), this.#target.size(stream)];
      if (this.#compared.get(stream) !== here && here > 0)
        throw differs(stream, there, 'the target lacks it');
      if (there > here && !more(stream)) throw differs(stream, here, 'the source does not have it');
    }
  }

  async #copyPage(page: readonly StoredRecord[]): Promise<void> {
    const byStream = new Map<string, StoredRecord[]>();
    for (const record of page) {
      if (record.stream === LOG_STREAM) continue;
      const records = byStream.get(record.stream);
      if (records) records.push(record);
      else byStream.set(record.stream, [record]);
    }
    for (let conflicts = 0; byStream.size > 0; conflicts++) {
      if (conflicts === MOST_CONFLICTS)
        throw new MoveError(
          'refused',
          'somebody else keeps writing to the target (hint: find out who, and stop it)',
        );
      if (conflicts > 0) await this.#target.read();
      // Together, so that a store can flush them at once.
      const results = await Promise.all(
        [...byStream].map(async ([stream, records]) =>
          (await this.#copyRun(stream, records)) ? stream : '',
        ),
      );
      for (const stream of results) byStream.delete(stream);
    }
  }

  /** @param records of one stream, without a gap. @returns whether the stream holds all of them now */
  async #copyRun(stream: string, records: readonly StoredRecord[]): Promise<boolean> {
    const first = records[0]?.revision ?? 0;
    const end = first + records.length;
    this.#compareRecords(stream, first, Math.min(end, this.#target.size(stream)));
    const there = Math.max(this.#target.size(stream), this.#ends.get(stream) ?? 0);
    const fresh = records.slice(Math.max(0, there - first));
    if (fresh.length === 0) return true;
    if (!this.#isDry)
      for (const batch of batches(fresh)) {
        const expected = (batch[0]?.revision ?? 0) - 1;
        const { type } = await appendUnchanged(this.#target.store, stream, expected, batch);
        if (type === 'conflict') return false;
        this.#ends.set(stream, expected + 1 + batch.length);
      }
    this.copied += fresh.length;
    return true;
  }

  #compareRecords(stream: string, from: number, to: number): void {
    for (let revision = from; revision < to; revision++)
      if (Buffer.compare(this.#source.digest(stream, revision), this.#target.digest(stream, revision)) !== 0)
        throw differs(stream, revision, 'the record in the target differs from the one in the source');
  }
}

/** Splits the records into batches that every store takes in one append. */
export function* batches(records: readonly StoredRecord[]): Iterable<readonly StoredRecord[]> {
  let batch: StoredRecord[] = [];
  let bytes = 0;
  for (const stored of records) {
    const more = stored.record.length + stored.sealed.length;
    if (
      batch.length > 0 &&
      (bytes + more > DEFAULT_LIMITS.batchBytes || batch.length >= DEFAULT_LIMITS.batchCommands)
    ) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(stored);
    bytes += more;
  }
  if (batch.length > 0) yield batch;
}

export function differs(stream: string, revision: number, why: string): MoveError {
  return new MoveError(
    'differs',
    `${stream}, revision ${revision}: ${why} (hint: nothing more is copied to this target; find out who wrote to it or changed it, and begin with a fresh one)`,
  );
}
