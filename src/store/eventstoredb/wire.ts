/**
 * EventStoreDB's protocol, with the generated definitions of `@eventstore/db-client`: requests become messages, and the
 * server's answers become bytes, numbers and CallErrors. Nothing else of that package is used
 * (docs/adr/0009-eventstoredb-client.md).
 *
 * A record as an event of EventStoreDB, and back:
 *
 *   data      the record's bytes
 *   metadata  0x01 ‖ leaf (32 bytes) ‖ sealed
 *   type      the record's own `type`, else `record`: for operators in the server's user interface
 *   id        a UUID of version 8 (RFC 9562 §5.8) from SHA-256 over stream, revision, record, sealed and leaf
 *
 * Both parts are binary (application/octet-stream), so the server neither interprets nor changes them. The first byte of
 * the metadata is its version. It cannot begin JSON, because the client's own read functions return metadata that happens
 * to be JSON as a parsed value, and not as bytes.
 *
 * The server treats an append as a repetition if the events at those revisions have the same ids. With an id that is
 * derived from the bytes and their place, this is exactly what the port requires: the same bytes at the same revisions.
 * The record's own id would not do: it is made once per decision and stays the same if a salt or a sealed section
 * differs, and a caller of the port may append any bytes at all.
 */
import { createHash } from 'node:crypto';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { RecordBytes } from '../../../events/record.ts';
import { type Position, StoreError } from '../event-store.ts';
import type { Member } from './discovery.ts';
import { CallError } from './errors.ts';

// What the server is asked and what it answers, independent of the protocol that carries it.

/** A place in the transaction log of the server. */
export interface LogPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** What to read. `from` is inclusive for a read, and exclusive for a subscription. */
type ReadTarget =
  | { readonly of: 'stream'; readonly stream: string; readonly from: number; readonly count: number }
  /** The last event of a stream, or of all that `$all` shows. */
  | { readonly of: 'last'; readonly stream?: string }
  | {
      readonly of: 'all';
      readonly prefix: string;
      readonly from: LogPosition | undefined;
      readonly count: number;
    }
  | { readonly of: 'live'; readonly prefix: string; readonly from: LogPosition | undefined };

export type BoundedReading = Exclude<ReadTarget, { readonly of: 'live' }>;

/** What the server says of an append: the revision of its last event, or the one at which the stream ends instead (-1: none). */
export type AppendAnswer =
  | { readonly type: 'written'; readonly revision: number }
  | { readonly type: 'wrong-revision'; readonly endsAt: number };

export interface Answer {
  readonly messages: ServerMessage[];
  /** False if it was cut off after something had arrived. */
  readonly isWhole: boolean;
}

export interface Listener {
  onMessage(message: ServerMessage): void;
  /** Called once: with an error, or without one if the server just ended it. */
  onEnd(error?: CallError): void;
}

export type ServerMessage =
  | { readonly type: 'event'; readonly event: ReadEvent }
  /** All that matches up to here has been delivered. */
  | { readonly type: 'checkpoint'; readonly position: LogPosition }
  | { readonly type: 'no-such-stream' };

export interface ReadEvent {
  readonly stream: string;
  /** Meaningless for a tombstone. */
  readonly revision: number;
  /** Whether this event deleted the stream for good. */
  readonly isTombstone: boolean;
  readonly position: LogPosition;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

// Messages of the protocol.

export const EMPTY = new shared.Empty();

type AppendRequest = InstanceType<typeof streams.AppendReq>;
type AppendResponse = InstanceType<typeof streams.AppendResp>;
type ReadRequest = InstanceType<typeof streams.ReadReq>;
type ReadResponse = InstanceType<typeof streams.ReadResp>;

/** @param expectedRevision the exact one, -1 for a stream that does not exist */
export function appendRequests(
  stream: string,
  expectedRevision: number,
  events: readonly LogEventData[],
): AppendRequest[] {
  const { AppendReq } = streams;
  const options = new AppendReq.Options().setStreamIdentifier(identifier(stream));
  if (expectedRevision < 0) options.setNoStream(EMPTY);
  else options.setRevision(String(expectedRevision));
  const messages = events.map(({ id, type, data, metadata }) => {
    const message = new AppendReq.ProposedMessage()
      .setId(new shared.UUID().setString(id))
      .setData(data)
      .setCustomMetadata(metadata);
    message.getMetadataMap().set('type', type).set('content-type', 'application/octet-stream');
    return new AppendReq().setProposedMessage(message);
  });
  return [new AppendReq().setOptions(options), ...messages];
}

/** @throws CallError `lost` for an answer that says nothing */
export function appendAnswer(response: AppendResponse): AppendAnswer {
  const success = response.getSuccess();
  if (success) return { type: 'written', revision: Number(success.getCurrentRevision()) };
  const wrong = response.getWrongExpectedVersion();
  if (!wrong) throw new CallError('lost', 'an empty answer');
  return {
    type: 'wrong-revision',
    endsAt: wrong.hasCurrentRevision() ? Number(wrong.getCurrentRevision()) : -1,
  };
}

export function readRequest(reading: ReadTarget): ReadRequest {
  const { Options } = streams.ReadReq;
  const options = new Options();
  options.setUuidOption(new Options.UUIDOption().setString(EMPTY));
  options.setResolveLinks(false);
  options.setReadDirection(reading.of === 'last' ? 1 : 0);
  if (reading.of === 'live') options.setSubscription(new Options.SubscriptionOptions());
  else options.setCount(String(reading.of === 'last' ? 1 : reading.count));
  const prefixes = prefixesOf(reading);
  if (prefixes === undefined) options.setNoFilter(EMPTY);
  else options.setFilter(filterFor(prefixes));
  if (reading.of === 'stream' || (reading.of === 'last' && reading.stream !== undefined)) {
    const stream = new Options.StreamOptions().setStreamIdentifier(identifier(reading.stream ?? ''));
    if (reading.of === 'last') stream.setEnd(EMPTY);
    else stream.setRevision(String(reading.from));
    options.setStream(stream);
  } else {
    options.setAll(allFor(reading));
  }
  return new streams.ReadReq().setOptions(options);
}

/** The server's prefix for the metadata stream of a stream. */
const METADATA_STREAM_PREFIX = '$$';

/**
 * A prefix that all names have. An unfiltered read backwards from the end finds nothing if the last event is one that
 * `$all` hides, such as `$epoch-information` after each start of the server: server 23.10.1 looks at only as many events
 * as are asked for, and treats a page that is not full as the end. A filtered read goes on.
 */
const EVERY_STREAM = '';

/** Prefixes of the names of the streams to read; undefined for a read of one stream. */
function prefixesOf(reading: ReadTarget): readonly string[] | undefined {
  if (reading.of === 'stream') return undefined;
  if (reading.of !== 'last') return [reading.prefix, METADATA_STREAM_PREFIX + reading.prefix];
  return reading.stream === undefined ? [EVERY_STREAM] : undefined;
}

/** Number of other programs' events that the server searches between two signs of life. */
const SEARCH_WINDOW = 500;

function filterFor(prefixes: readonly string[]): InstanceType<typeof streams.ReadReq.Options.FilterOptions> {
  const { FilterOptions } = streams.ReadReq.Options;
  return new FilterOptions()
    .setStreamIdentifier(new FilterOptions.Expression().setPrefixList([...prefixes]))
    .setMax(SEARCH_WINDOW)
    .setCheckpointintervalmultiplier(1);
}

function allFor(reading: ReadTarget): InstanceType<typeof streams.ReadReq.Options.AllOptions> {
  const { AllOptions, Position } = streams.ReadReq.Options;
  const all = new AllOptions();
  if (reading.of === 'last') return all.setEnd(EMPTY);
  if (reading.of === 'stream' || reading.from === undefined) return all.setStart(EMPTY);
  const { commit, prepare } = reading.from;
  return all.setPosition(
    new Position().setCommitPosition(String(commit)).setPreparePosition(String(prepare)),
  );
}

function identifier(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}

/**
 * After how many events a read of `$all` is cancelled: the server would search for one more, through all events of other
 * programs, before it ends the call. It ends a read of one stream by itself.
 */
export function enoughEvents(reading: BoundedReading): number {
  if (prefixesOf(reading) === undefined || reading.of === 'stream') return Number.POSITIVE_INFINITY;
  return reading.of === 'last' ? 1 : reading.count;
}

/** The largest revision there can be: the event that ends a stream for good has it. */
const TOMBSTONE = String(2n ** 63n - 1n);

export function messageOf(response: ReadResponse): ServerMessage | undefined {
  const event = response.getEvent()?.getEvent();
  if (event) {
    return {
      type: 'event',
      event: {
        stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
        revision: Number(event.getStreamRevision()),
        isTombstone: event.getStreamRevision() === TOMBSTONE,
        position: positionOf(event),
        data: event.getData_asU8(),
        metadata: event.getCustomMetadata_asU8(),
      },
    };
  }
  const checkpoint = response.getCheckpoint();
  if (checkpoint) return { type: 'checkpoint', position: positionOf(checkpoint) };
  return response.hasStreamNotFound() ? { type: 'no-such-stream' } : undefined;
}

function positionOf(of: { getCommitPosition(): string; getPreparePosition(): string }): LogPosition {
  return { commit: BigInt(of.getCommitPosition()), prepare: BigInt(of.getPreparePosition()) };
}

export function membersIn(info: InstanceType<typeof gossip.ClusterInfo>): Member[] {
  return info.getMembersList().flatMap((member) => {
    const host = member.getHttpEndPoint();
    if (!host) return [];
    const leads = member.getState() === gossip.MemberInfo.VNodeState.LEADER;
    return {
      host: { address: host.getAddress(), port: host.getPort() },
      isLeader: leads && member.getIsAlive(),
    };
  });
}

/**
 * The stream of ours, without the prefix, that an event is in or whose metadata it is; undefined for other programs' events.
 * The server compares prefixes by linguistic rules, which ignore a soft hyphen, for example.
 */
export function placeOf(
  prefix: string,
  { stream }: Pick<ReadEvent, 'stream'>,
): { readonly of: 'record' | 'metadata'; readonly stream: string } | undefined {
  const of = stream.startsWith(METADATA_STREAM_PREFIX) ? 'metadata' : 'record';
  const name = of === 'metadata' ? stream.slice(METADATA_STREAM_PREFIX.length) : stream;
  return name.startsWith(prefix) ? { of, stream: name.slice(prefix.length) } : undefined;
}

export function metadataStream(stream: string): string {
  return METADATA_STREAM_PREFIX + stream;
}

// A record as an event.

export interface LogEventData {
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

const METADATA_LAYOUT = 1;
const LEAF_BYTES = 32;
const HEADER_BYTES = 1 + LEAF_BYTES;

/** Copies the bytes. @throws RangeError if the leaf does not have 32 bytes */
export function toEvent(stream: string, revision: number, bytes: RecordBytes): LogEventData {
  const { record, sealed, leaf } = bytes;
  if (leaf.length !== LEAF_BYTES) throw new RangeError(`a leaf has ${LEAF_BYTES} bytes, not ${leaf.length}`);
  const metadata = new Uint8Array(HEADER_BYTES + sealed.length);
  metadata[0] = METADATA_LAYOUT;
  metadata.set(leaf, 1);
  metadata.set(sealed, HEADER_BYTES);
  const data = Uint8Array.from(record);
  return { id: eventId(stream, revision, bytes), type: eventType(data), data, metadata };
}

/**
 * The bytes of a record. An event that another program has put into the stream gets a leaf of zeros, which no record has.
 * So the check of the record fails and stops this stream, and the others go on.
 */
export function toRecord(data: Uint8Array, metadata: Uint8Array): RecordBytes {
  if (metadata[0] !== METADATA_LAYOUT || metadata.length < HEADER_BYTES)
    return { record: data, sealed: metadata, leaf: new Uint8Array(LEAF_BYTES) };
  return { record: data, sealed: metadata.subarray(HEADER_BYTES), leaf: metadata.subarray(1, HEADER_BYTES) };
}

function eventId(stream: string, revision: number, { record, sealed, leaf }: RecordBytes): string {
  const hash = createHash('sha256');
  // Each part follows its length, so that different lists of parts never give the same bytes.
  for (const part of [Buffer.from(stream), Buffer.from(String(revision)), record, sealed, leaf]) {
    const length = Buffer.alloc(8);
    length.writeUInt32BE(part.length, 4);
    hash.update(length).update(part);
  }
  const id = hash.digest().subarray(0, 16);
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x80;
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
  const hex = id.toString('hex');
  return [0, 8, 12, 16, 20].map((from, i, all) => hex.slice(from, all[i + 1] ?? 32)).join('-');
}

/** The form of the catalogue's types. None begins with `$`: those have a meaning for the server. */
const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9]{0,99}$/;
const UNNAMED_TYPE = 'record';

function eventType(record: Uint8Array): string {
  try {
    const { type } = JSON.parse(Buffer.from(record).toString()) as { readonly type?: unknown };
    return typeof type === 'string' && EVENT_TYPE.test(type) ? type : UNNAMED_TYPE;
  } catch {
    // Not JSON, or `null`: the store takes any bytes.
    return UNNAMED_TYPE;
  }
}

// Positions, also as the port's opaque strings.

export function toPosition({ commit, prepare }: LogPosition): Position {
  return `${commit}/${prepare}`;
}

/** @throws StoreError for a position of another kind of store */
export function fromPosition(position: Position): LogPosition {
  const [, commit, prepare] = /^(\d{1,20})\/(\d{1,20})$/.exec(position) ?? [];
  if (commit === undefined || prepare === undefined)
    throw new StoreError('foreign', 'not-written', 'a position of another kind of store');
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

/** Whether `a` comes after `b`. Everything comes after undefined. */
export function isAfter(a: LogPosition, b: LogPosition | undefined): boolean {
  if (b === undefined) return true;
  return a.commit === b.commit ? a.prepare > b.prepare : a.commit > b.commit;
}
