/**
 * Takes what arrives from `$all`, in its order: the records of each stream, and what else happens to streams.
 *
 * A stream that lacks records, or was deleted for good, is broken: no more of it is handed over, and the others go on. A
 * revision that was already read means that the log is no longer the same.
 */
import { type BrokenStream, type StoredRecord, StoreError, type StreamWatch } from '../event-store.ts';
import { dangerIn, deleted, missing } from './danger.ts';
import { toRecord } from './event.ts';
import { toPosition } from './positions.ts';
import { placeOf, type ReadEvent } from './protocol.ts';

const LEFT_OUT = 'the subscription to EventStoreDB left out a record; reading what it missed';

/** The log in the server has changed: it was restored from a backup, or a new leader does not know all of it yet. */
export class ChangedLog extends StoreError {
  /** The message without the hint. */
  readonly why: string;
  /** @param what shows it, as the end of a sentence */
  constructor(server: string, what: string) {
    const why = `EventStoreDB at ${server} ${what}: it was restored from a backup, or replaced`;
    super(
      'corrupt',
      'not-written',
      `${why} (hint: stop all instances, see "Restoring a backup" in docs/operations.md)`,
    );
    this.why = why;
  }
}

export class Intake {
  readonly #prefix: string;
  readonly #server: string;
  readonly #fromTheStart: boolean;
  readonly #watch: Partial<StreamWatch>;
  /** Revision of the last record of each stream. */
  readonly #last = new Map<string, number>();
  readonly #broken = new Set<string>();
  /** Broken streams that have not been reported yet. */
  readonly #breaks = new Map<string, BrokenStream>();
  readonly #dangers = new Map<string, string | undefined>();

  /** @param fromTheStart whether each stream must begin at revision 0 */
  constructor(
    { prefix, server }: { readonly prefix: string; readonly server: string },
    fromTheStart: boolean,
    watch: Partial<StreamWatch> = {},
  ) {
    this.#prefix = prefix;
    this.#server = server;
    this.#fromTheStart = fromTheStart;
    this.#watch = watch;
  }

  /**
   * The records among these events. If it throws, none of them has been taken.
   * @param source a read of the log shows what is there; a subscription may have left something out
   * @throws ChangedLog; StoreError if a subscription left something out, and for a broken stream if nobody watches
   */
  take(events: readonly ReadEvent[], source: 'read' | 'subscription' = 'read'): StoredRecord[] {
    const records: StoredRecord[] = [];
    const last = new Map<string, number>();
    for (const event of events) {
      const place = placeOf(this.#prefix, event);
      if (!place) continue;
      const { stream } = place;
      if (place.of === 'metadata') this.#dangers.set(stream, dangerIn(this.#prefix + stream, event.data));
      else if (event.isTombstone) this.#break(stream, deleted(stream));
      else if (!this.#broken.has(stream)) {
        const { revision } = event;
        const next = (last.get(stream) ?? this.#last.get(stream) ?? this.#before(revision)) + 1;
        if (revision < next)
          throw new ChangedLog(
            this.#server,
            `has another record ${revision} of ${stream} than was read before`,
          );
        if (revision > next) {
          if (source === 'subscription') throw new StoreError('unavailable', 'not-written', LEFT_OUT);
          this.#break(stream, missing(this.#prefix, stream, next, revision - 1));
          continue;
        }
        last.set(stream, revision);
        records.push(recordOf(stream, event));
      }
    }
    for (const [stream, revision] of last) this.#last.set(stream, revision);
    return records;
  }

  /** Reports the broken streams. Call it when the records before the breaks have been handed over. */
  reportBreaks(): void {
    for (const [stream, error] of this.#breaks) this.#watch.onBroken?.(stream, error);
    this.#breaks.clear();
  }

  /** Reports the streams whose records will be removed, according to what has been taken so far. */
  reportDangers(): void {
    for (const [stream, danger] of this.#dangers) this.#watch.onDanger?.(stream, danger);
    this.#dangers.clear();
  }

  /** The revision that must precede the first record seen of a stream. */
  #before(revision: number): number {
    return this.#fromTheStart ? -1 : revision - 1;
  }

  #break(stream: string, error: BrokenStream): void {
    if (this.#broken.has(stream)) return;
    if (!this.#watch.onBroken) throw error;
    this.#broken.add(stream);
    this.#breaks.set(stream, error);
  }
}

/** @param stream without its prefix */
export function recordOf(stream: string, { revision, position, data, metadata }: ReadEvent): StoredRecord {
  return { ...toRecord(data, metadata), stream, revision, position: toPosition(position) };
}
