/**
 * The data of an EventStoreDB server, in memory: streams, their metadata, and the order of all events. It decides like the
 * server: about appends (EventStore.Core, IndexWriter.CheckCommit), deletions and streams that come back after one
 * (StorageWriterService), what can be read of a stream (IndexReader), and what a scavenge removes (EventCalculator). The
 * metadata of a stream are the last event of `$$<stream>`, if that is JSON (StreamMetadata).
 */
export interface ServerEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly stream: string;
  /** DELETED for the event that ends a stream for good. */
  readonly revision: number;
  /** Commit and prepare position are the same for all that was appended over gRPC. */
  readonly position: bigint;
  /** In ms. */
  readonly created: number;
}

export type ProposedEvent = Pick<ServerEvent, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>;

export type AppendDecision =
  | { readonly type: 'written'; readonly lastRevision: number; readonly position: bigint }
  | { readonly type: 'wrong-revision'; readonly current: number }
  | { readonly type: 'deleted' };

export const NO_STREAM = -1;

/** The revision of a tombstone, and the `$tb` of a soft delete. As a number it is rounded; every real one is far below. */
export const DELETED_STREAM = 2n ** 63n - 1n;
export const DELETED = Number(DELETED_STREAM);

const EPOCHS = '$epoch-information';
const METASTREAM = '$$';

/** What no read of `$all` and no subscription to it gives (EventStore.Core, EventFilter.DefaultAllFilterStrategy). */
export const isHidden = ({ stream }: ServerEvent): boolean =>
  stream === EPOCHS || /^\$persistentsubscription-\$all::.*-(checkpoint|parked)$/.test(stream);

interface Stream {
  /** The events that no scavenge has removed. */
  events: ServerEvent[];
  last: number;
}

export class ServerLog {
  readonly all: ServerEvent[] = [];
  readonly #streams = new Map<string, Stream>();
  readonly #listeners = new Set<() => void>();
  /** The appends that have their places and cannot be read yet, by stream. */
  readonly #underWay = new Map<string, { readonly ids: string; readonly lastRevision: number }>();
  #end = 0n;

  /** @param expected NO_STREAM, the exact revision of the last event, or `any` */
  append(stream: string, expected: number | 'any', events: readonly ProposedEvent[]): AppendDecision {
    const current = this.lastRevision(stream);
    const taken = this.#underWay.get(stream)?.lastRevision;
    if (taken !== undefined) return { type: 'wrong-revision', current: taken };
    if (current === DELETED) return { type: 'deleted' };
    const isSoftDeleted = this.#isSoftDeleted(stream);
    if (expected !== 'any') {
      const beginsAgain = expected === NO_STREAM && isSoftDeleted;
      if (expected < current) {
        const known = this.#knownAs(stream, expected, events);
        if (known) return { type: 'written', lastRevision: known.revision, position: known.position };
        if (!beginsAgain) return { type: 'wrong-revision', current };
      }
      if (expected > current) return { type: 'wrong-revision', current };
    }
    const original = stream.startsWith(METASTREAM) ? stream.slice(METASTREAM.length) : undefined;
    const isOfSoftDeleted = original !== undefined && this.#isSoftDeleted(original);
    for (const event of events) this.#write(stream, this.lastRevision(stream) + 1, event);
    const position = this.#end;
    // An append to a deleted stream restores it without its old events, also after its last revision. So does writing its
    // metadata.
    if (isSoftDeleted) this.#truncate(stream, current + 1);
    if (original !== undefined && isOfSoftDeleted) this.#truncate(original, this.lastRevision(original) + 1);
    this.wake();
    return { type: 'written', lastRevision: current + events.length, position };
  }

  /** Whether exactly this append is under way. */
  isUnderWay(stream: string, events: readonly ProposedEvent[]): boolean {
    return this.#underWay.get(stream)?.ids === idsOf(events);
  }

  /** Takes the place of an append. @returns what gives it back, for the append to be written; undefined if it is not free */
  begin(
    stream: string,
    expected: number | 'any',
    events: readonly ProposedEvent[],
  ): (() => void) | undefined {
    const current = this.lastRevision(stream);
    if (expected !== current || this.#underWay.has(stream)) return undefined;
    this.#underWay.set(stream, { ids: idsOf(events), lastRevision: current + events.length });
    return () => this.#underWay.delete(stream);
  }

  /** -1 for a stream that does not exist, DELETED for one that was deleted for good. */
  lastRevision(stream: string): number {
    if (stream.startsWith(METASTREAM) && this.lastRevision(stream.slice(METASTREAM.length)) === DELETED)
      return DELETED;
    return this.#streams.get(stream)?.last ?? NO_STREAM;
  }

  /** A stream's events that can be read, in order; undefined if there is no such stream; throws for a tombstone. */
  visible(stream: string): readonly ServerEvent[] | undefined {
    const last = this.lastRevision(stream);
    if (last === DELETED) throw new StreamDeleted(stream);
    if (last === NO_STREAM || this.#isSoftDeleted(stream)) return undefined;
    const metadata = this.metadata(stream);
    return (this.#streams.get(stream)?.events ?? []).filter((event) => !isCutOff(event, last, metadata));
  }

  setMetadata(stream: string, metadata: StreamMetadata): void {
    this.append(METASTREAM + stream, 'any', [jsonEvent('$metadata', JSON.stringify(metadata))]);
  }

  metadata(stream: string): StreamMetadata {
    // A metadata stream keeps its last event, and has no metadata itself.
    if (stream.startsWith(METASTREAM)) return { $maxCount: 1 };
    return metadataOf(this.#streams.get(METASTREAM + stream)?.events.at(-1));
  }

  /** What a node does when it becomes the leader, at each start: it writes an event that `$all` does not show. */
  elect(): void {
    this.append(EPOCHS, 'any', [jsonEvent('$epoch-information', '{}')]);
  }

  /** Like an operator's click on "delete": the stream reads as if it did not exist. All other metadata is gone. */
  softDelete(stream: string): AppendDecision {
    if (this.lastRevision(stream) === DELETED) return { type: 'deleted' };
    const deletion = jsonEvent('$metadata', `{"$tb":${DELETED_STREAM}}`);
    this.#write(METASTREAM + stream, this.lastRevision(METASTREAM + stream) + 1, deletion);
    this.wake();
    return { type: 'written', lastRevision: this.lastRevision(stream), position: this.#end };
  }

  /** For good. */
  tombstone(stream: string): AppendDecision {
    if (this.lastRevision(stream) === DELETED) return { type: 'deleted' };
    const deletion = jsonEvent('$streamDeleted', '');
    this.#write(stream, DELETED, { ...deletion, contentType: 'application/octet-stream' });
    this.wake();
    return { type: 'written', lastRevision: DELETED, position: this.#end };
  }

  /** Removes for good what can no longer be read, except the last event of each stream. */
  scavenge(): void {
    const kept = new Set<ServerEvent>();
    for (const [name, stream] of this.#streams) {
      const isGone = name.startsWith(METASTREAM) && this.lastRevision(name) === DELETED;
      const metadata = this.metadata(name);
      stream.events = stream.events.filter(
        (event, i, { length }) =>
          !isGone &&
          (i === length - 1 || (stream.last !== DELETED && !isCutOff(event, stream.last, metadata))),
      );
      for (const event of stream.events) kept.add(event);
    }
    this.all.splice(0, this.all.length, ...this.all.filter((event) => kept.has(event)));
  }

  /** @param hear called when something was appended */
  listen(hear: () => void): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  wake(): void {
    for (const hear of this.#listeners) hear();
  }

  #write(stream: string, revision: number, event: ProposedEvent): void {
    this.#end += BigInt(100 + event.data.length + event.metadata.length);
    const stored = { ...event, stream, revision, position: this.#end, created: Date.now() };
    const kept = this.#streams.get(stream) ?? { events: [], last: NO_STREAM };
    kept.events.push(stored);
    kept.last = revision;
    this.#streams.set(stream, kept);
    this.all.push(stored);
  }

  /** The last of these events, if exactly they already follow the revision. Only their ids count. */
  #knownAs(stream: string, expected: number, events: readonly ProposedEvent[]): ServerEvent | undefined {
    const stored = this.#streams.get(stream)?.events ?? [];
    const first = stored.findIndex(({ revision }) => revision === expected + 1);
    const there = first < 0 ? [] : stored.slice(first, first + events.length);
    return there.length === events.length && there.every((event, i) => event?.id === events[i]?.id)
      ? there.at(-1)
      : undefined;
  }

  #truncate(stream: string, before: number): void {
    const metastream = METASTREAM + stream;
    const present = this.#streams.get(metastream)?.events.at(-1);
    const changed = present && withTruncation(present, before);
    if (changed !== undefined)
      this.#write(metastream, this.lastRevision(metastream) + 1, jsonEvent('$metadata', changed));
  }

  #isSoftDeleted(stream: string): boolean {
    return this.metadata(stream).$tb === DELETED;
  }
}

function isCutOff({ revision, created }: ServerEvent, last: number, metadata: StreamMetadata): boolean {
  const { $tb = 0, $maxCount = Number.POSITIVE_INFINITY, $maxAge } = metadata;
  if (revision < $tb || revision <= last - $maxCount) return true;
  return $maxAge !== undefined && created < Date.now() - $maxAge * 1000;
}

function idsOf(events: readonly ProposedEvent[]): string {
  return events.map(({ id }) => id).join();
}

export class StreamDeleted extends Error {
  readonly stream: string;
  constructor(stream: string) {
    super(`Event stream '${stream}' is deleted.`);
    this.stream = stream;
  }
}

/** An event like those of other programs. */
export function jsonEvent(type: string, json: string): ProposedEvent {
  return {
    id: crypto.randomUUID(),
    type,
    contentType: 'application/json',
    data: Buffer.from(json),
    metadata: new Uint8Array(),
  };
}

type Roles = string | readonly string[];

/** Who may read, write and delete a stream, and read and write its metadata. */
export interface Acl {
  readonly $r?: Roles;
  readonly $w?: Roles;
  readonly $d?: Roles;
  readonly $mr?: Roles;
  readonly $mw?: Roles;
}

interface StreamMetadata {
  readonly $tb?: number;
  readonly $maxCount?: number;
  /** In seconds. */
  readonly $maxAge?: number;
  readonly $acl?: Acl;
  readonly [other: string]: unknown;
}

type Stored = Pick<ServerEvent, 'data' | 'contentType'>;

export function metadataOf(event: Stored | undefined): StreamMetadata {
  const { $tb, $maxCount, $maxAge, ...others } = parsed(event) ?? {};
  return {
    ...others,
    ...(typeof $tb === 'number' && $tb >= 0 ? { $tb } : {}),
    ...(typeof $maxCount === 'number' && $maxCount > 0 ? { $maxCount } : {}),
    ...(typeof $maxAge === 'number' && $maxAge > 0 ? { $maxAge } : {}),
  };
}

/** The same metadata with another `$tb`; undefined if it is not JSON. */
function withTruncation(event: Stored, before: number): string | undefined {
  const metadata = parsed(event);
  return metadata && JSON.stringify({ ...metadata, $tb: before });
}

function parsed(event: Stored | undefined): Record<string, unknown> | undefined {
  if (event?.contentType !== 'application/json') return undefined;
  try {
    return JSON.parse(Buffer.from(event.data).toString()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
