/**
 * A record as an event of EventStoreDB, and back.
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
import type { RecordBytes } from '../../../events/record.ts';

const LAYOUT = 1;
const LEAF_BYTES = 32;
const HEADER_BYTES = 1 + LEAF_BYTES;

/** The form of the catalogue's types. None begins with `$`: those have a meaning for the server. */
const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9]{0,99}$/;
const UNNAMED = 'record';

export interface LogEventData {
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** Copies the bytes. @throws RangeError if the leaf does not have 32 bytes */
export function toEvent(stream: string, revision: number, bytes: RecordBytes): LogEventData {
  const { record, sealed, leaf } = bytes;
  if (leaf.length !== LEAF_BYTES) throw new RangeError(`a leaf has ${LEAF_BYTES} bytes, not ${leaf.length}`);
  const metadata = new Uint8Array(HEADER_BYTES + sealed.length);
  metadata[0] = LAYOUT;
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
  if (metadata[0] !== LAYOUT || metadata.length < HEADER_BYTES)
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

function eventType(record: Uint8Array): string {
  try {
    const { type } = JSON.parse(Buffer.from(record).toString()) as { readonly type?: unknown };
    return typeof type === 'string' && EVENT_TYPE.test(type) ? type : UNNAMED;
  } catch {
    // Not JSON, or `null`: the store takes any bytes.
    return UNNAMED;
  }
}
