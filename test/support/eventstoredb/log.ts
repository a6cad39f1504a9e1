/**
 * What an EventStoreDB server keeps, in memory: streams, their metadata, and the order of all events. Decides about an
 * append as the server does (EventStore.Core, IndexWriter.CheckCommit): the ids of the events alone say whether it was seen before.
 */

export interface ServerEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly stream: string;
  readonly revision: number;
  /** Commit and prepare position are the same for all that was appended over gRPC. */
  readonly position: bigint;
}

export type ProposedEvent = Omit<ServerEvent, 'stream' | 'revision' | 'position'>;

export type AppendDecision =
  | { readonly type: 'written'; readonly lastRevision: number; readonly position: bigint }
  | { readonly type: 'wrong-revision'; readonly current: number }
  | { readonly type: 'deleted' };

export const NO_STREAM = -1;

const EPOCHS = '$epoch-information';

/** What no read of `$all` and no subscription to it gives (EventStore.Core, EventFilter.DefaultAllFilterStrategy). */
export function isHidden({ stream }: ServerEvent): boolean {
  return stream === EPOCHS || /^\$persistentsubscription-\$all::.*-(checkpoint|parked)$/.test(stream);
}

export class ServerLog {
  readonly all: ServerEvent[] = [];
  readonly #streams = new Map<string, ServerEvent[]>();
  readonly #tombstones = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #end = 0n;

  /** @param expected NO_STREAM or the exact revision of the last event */
  append(stream: string, expected: number, events: readonly ProposedEvent[]): AppendDecision {
    if (this.#tombstones.has(stream)) return { type: 'deleted' };
    const existing = this.#streams.get(stream) ?? [];
    const current = existing.length - 1;
    const beginsAgain = expected === NO_STREAM && current >= 0 && this.#isDeleted(stream);
    if (expected < current && !beginsAgain) {
      const there = existing.slice(expected + 1, expected + 1 + events.length);
      const last = there.at(-1);
      const isSame = there.length === events.length && there.every(({ id }, i) => id === events[i]?.id);
      return isSame && last
        ? { type: 'written', lastRevision: last.revision, position: last.position }
        : { type: 'wrong-revision', current };
    }
    if (expected > current) return { type: 'wrong-revision', current };
    // Whoever appends to a deleted stream has it back, without what it held: also behind its last revision.
    if (current >= 0 && this.#isDeleted(stream)) this.setMetadata(stream, { $tb: existing.length });
    for (const event of events) {
      this.#end += BigInt(100 + event.data.length + event.metadata.length);
      const stored = { ...event, stream, revision: existing.length, position: this.#end };
      existing.push(stored);
      this.all.push(stored);
    }
    this.#streams.set(stream, existing);
    for (const hear of this.#listeners) hear();
    return { type: 'written', lastRevision: existing.length - 1, position: this.#end };
  }

  /** A stream's events that can be seen, in order; undefined when there is no such stream; throws for a tombstone. */
  visible(stream: string): readonly ServerEvent[] | undefined {
    if (this.#tombstones.has(stream)) throw new StreamDeleted(stream);
    const events = this.#streams.get(stream);
    if (!events || this.#isDeleted(stream)) return undefined;
    const { $tb = 0, $maxCount = Number.POSITIVE_INFINITY } = this.#metadata(stream);
    return events.filter(({ revision }) => revision >= Math.max($tb, events.length - $maxCount));
  }

  isTombstoned(stream: string): boolean {
    return this.#tombstones.has(stream);
  }

  setMetadata(stream: string, metadata: Metadata): void {
    const name = `$$${stream}`;
    this.append(name, (this.#streams.get(name)?.length ?? 0) - 1, [
      jsonEvent('$metadata', JSON.stringify(metadata)),
    ]);
  }

  /** As a node does it when it becomes the leader, at each start: an event that `$all` does not show. */
  elect(): void {
    const events = this.#streams.get(EPOCHS)?.length ?? 0;
    this.append(EPOCHS, events - 1, [jsonEvent('$epoch-information', '{}')]);
  }

  /** As an operator's click on "delete" does it: the stream reads as if it did not exist. */
  softDelete(stream: string): void {
    this.setMetadata(stream, { $tb: Number.MAX_SAFE_INTEGER });
  }

  /** For good. */
  tombstone(stream: string): void {
    this.#tombstones.add(stream);
  }

  /** Takes what cannot be seen out of the order of all events, as a scavenge does. */
  scavenge(): void {
    const kept = this.all.filter(
      ({ stream, revision }) =>
        !this.#tombstones.has(stream) &&
        !this.#isDeleted(stream) &&
        revision >= (this.#metadata(stream).$tb ?? 0),
    );
    this.all.splice(0, this.all.length, ...kept);
  }

  listen(hear: () => void): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #isDeleted(stream: string): boolean {
    return this.#metadata(stream).$tb === Number.MAX_SAFE_INTEGER;
  }

  #metadata(stream: string): Metadata {
    const last = this.#streams.get(`$$${stream}`)?.at(-1);
    return last ? (JSON.parse(Buffer.from(last.data).toString()) as Metadata) : {};
  }
}

/** What a stream's metadata can cut off. */
export interface Metadata {
  readonly $tb?: number;
  readonly $maxCount?: number;
}

export class StreamDeleted extends Error {
  readonly stream: string;
  constructor(stream: string) {
    super(`Event stream '${stream}' is deleted.`);
    this.stream = stream;
  }
}

/** An event as other programs write them. */
export function jsonEvent(type: string, json: string): ProposedEvent {
  return {
    id: crypto.randomUUID(),
    type,
    contentType: 'application/json',
    data: Buffer.from(json),
    metadata: new Uint8Array(),
  };
}
