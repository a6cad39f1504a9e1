/**
 * What one transaction publishes: the next records of the streams that lag, each checked once more, with a signed checkpoint
 * after those of each stream and its new position.
 *
 * The messages (docs/feed.md) are records and checkpoints as CloudEvents 1.0, in the binary mode of the Kafka binding. The
 * attributes are headers and the data is the value, so the bytes of a record are those in the log, from which its leaf is
 * computed.
 *
 * A session publishes only if the positions in Kafka agree with the state of the log (`stateOfLog`).
 */
import { CloudEvent, Kafka } from 'cloudevents';
import { streamKind } from '../../../events/catalogue.ts';
import {
  type Content,
  checkRecord,
  includedSections,
  leafHash,
  NO_SECTIONS,
  type RecordBytes,
} from '../../../events/record.ts';
import { lastRecovery, logHistory } from '../../../projections/log.ts';
import { RecordError } from '../../base/errors.ts';
import type { SignedCheckpoint } from '../../core/log/ledger.ts';
import { LOG_STREAM } from '../../core/log/log-stream.ts';
import { BrokenStream, type StoredRecord } from '../../store/event-store.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { FeedPosition, FeedPositions, LogState } from './positions.ts';

/** The most in one transaction, which costs some milliseconds whatever is in it. */
export const MOST_RECORDS = 500;
/** Kafka refuses more than 1 MiB at once. */
export const MOST_BYTES = 768 * 1024;
/** Approximate size of the attributes of a record. */
const ATTRIBUTES_BYTES = 600;
/** Approximate size of the checkpoint after a stream's records, with its attributes. With many streams it adds up. */
export const CHECKPOINT_BYTES = 1000;

/** The next records of one stream, without a gap; at least one. */
export interface StreamPart {
  readonly stream: string;
  readonly records: readonly StoredRecord[];
}

/** The parts of the log that batches need. */
export type BatchLog = Pick<OpenLog, 'store'> & {
  readonly runner: Pick<OpenLog['runner'], 'revision' | 'state'>;
  readonly ledger: Pick<OpenLog['ledger'], 'tree'>;
};

/**
 * Reads the next batch from the store. The streams take turns: those without a part in it come first in the next one.
 * @param lagging streams that may lag; those whose last record is in the batch are removed
 * @param published revision of the last record that was published, by stream; -1: none
 * @param onBroken a record is not the one that was folded, or is gone; its stream is removed
 * @throws StoreError
 */
export async function nextBatch(
  log: BatchLog,
  lagging: Set<string>,
  published: (stream: string) => number,
  content: Content,
  onBroken: (stream: string, error: Error) => void,
): Promise<StreamPart[]> {
  const room = { records: MOST_RECORDS, bytes: MOST_BYTES };
  const parts: StreamPart[] = [];
  for (const stream of [...lagging]) {
    room.bytes -= CHECKPOINT_BYTES;
    if (room.records <= 0 || room.bytes <= 0) break;
    lagging.delete(stream);
    const last = lastToPublish(log, stream);
    const first = published(stream) + 1;
    if (first > last) continue;
    try {
      const isFirst = parts.length === 0;
      const records = await readPart(log, { stream, first, last, isFirst }, content, room);
      if (records.length === 0 && !isFirst) {
        putFirst(lagging, stream);
        break;
      }
      parts.push({ stream, records });
      if (first + records.length <= last) lagging.add(stream);
    } catch (error) {
      if (!(error instanceof RecordError || error instanceof BrokenStream)) throw error;
      onBroken(stream, error);
    }
  }
  return parts;
}

/** LogMoved is published together with the record after it: until then nobody knows in which store the log continues. */
function lastToPublish({ runner }: BatchLog, stream: string): number {
  const isMoved = stream === LOG_STREAM && runner.state(logHistory, LOG_STREAM).moved !== undefined;
  return runner.revision(stream) - (isMoved ? 1 : 0);
}

/** For a stream that did not fit: it must not wait for the others again. */
function putFirst(lagging: Set<string>, stream: string): void {
  const others = [...lagging];
  lagging.clear();
  for (const one of [stream, ...others]) lagging.add(one);
}

interface RecordRange {
  readonly stream: string;
  readonly first: number;
  readonly last: number;
  /** The batch is still empty, so a record of any size is taken. */
  readonly isFirst: boolean;
}

/** @returns none if the first does not fit into the rest of the batch */
async function readPart(
  { store, ledger }: BatchLog,
  { stream, first, last, isFirst }: RecordRange,
  content: Content,
  room: { records: number; bytes: number },
): Promise<StoredRecord[]> {
  const tree = ledger.tree(stream);
  const records: StoredRecord[] = [];
  for await (const page of store.readStream(stream, first))
    for (const stored of page) {
      const sealed = content === 'blinded' ? 0 : stored.sealed.length;
      const bytes = stored.record.length + sealed + ATTRIBUTES_BYTES;
      const isFull = !(isFirst && records.length === 0) && bytes > room.bytes;
      if (stored.revision > last || isFull || room.records <= 0) return records;
      try {
        checkUnchanged(stored, first + records.length, tree.leaf(stored.revision), content);
      } catch (error) {
        // The records before it are sound. The next batch of this stream begins with this one.
        if (error instanceof RecordError && records.length > 0) return records;
        throw error;
      }
      records.push(stored);
      room.records--;
      room.bytes -= bytes;
    }
  return records;
}

/** Checks that a record is the one that was folded, and so signed: somebody may have changed the store since. */
function checkUnchanged(stored: StoredRecord, revision: number, leaf: Uint8Array, content: Content): void {
  const where = `${stored.stream}/${revision}`;
  if (stored.revision !== revision)
    throw new RecordError('misplaced', where, `the store gives record ${stored.revision}`);
  if (Buffer.compare(leafHash(stored.record), leaf) !== 0)
    throw new RecordError('leaf-mismatch', where, 'the record was changed after it was first read');
  // If only the record is published, its sealed sections do not matter.
  if (content !== 'blinded') checkRecord(stored);
}

/** The parts of the log that the relay needs. */
export type RelayLog = Pick<OpenLog, 'store' | 'runner' | 'ledger' | 'identity'>;

/** What is published of one stream: its next records, a checkpoint after them, and its new position. */
export interface Publication {
  readonly stream: string;
  readonly messages: readonly FeedMessage[];
  /** Without the place in Kafka, which is known only after sending. */
  readonly position: Omit<FeedPosition, 'partition' | 'offset'>;
}

/** @param of the content of the feed, and the number of the log's last recovery */
export function publicationOf(
  log: RelayLog,
  of: { readonly content: Content; readonly recovery: number },
  { stream, records }: StreamPart,
): Publication {
  const { logId } = log.identity;
  const last = records.at(-1);
  if (!last) throw new RangeError('a part without a record');
  const signed = log.ledger.checkpoint(stream, last.revision + 1);
  return {
    stream,
    messages: [
      ...records.map((stored) => recordMessage(stored, of.content)),
      checkpointMessage(signed, logId, new Date().toISOString()),
    ],
    position: {
      log: logId,
      stream,
      revision: last.revision,
      leaf: Buffer.from(last.leaf).toString('hex'),
      ...of,
    },
  };
}

interface FeedMessage {
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The members of a record that its attributes repeat. */
interface RecordAttributes {
  readonly id: string;
  readonly log: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly version: number;
  readonly at: string;
}

/** @param stored a record that was checked */
export function recordMessage(stored: RecordBytes, content: Content): FeedMessage {
  const text = Buffer.from(stored.record).toString('utf8');
  const { id, log, stream, revision, type, version, at } = JSON.parse(text) as RecordAttributes;
  const attributes = {
    id,
    source: sourceOf(log),
    type: `urn.${type}.v${version}`,
    subject: stream,
    time: at,
    datacontenttype: 'application/json',
    logid: log,
    revision: `${revision}`,
    leaf: Buffer.from(stored.leaf).toString('hex'),
    content,
  };
  return feedMessage(stream, attributes, dataOf(stored, stream, content));
}

const [BEFORE_RECORD, BEFORE_SEALED, AFTER_SEALED] = [
  Buffer.from('{"record":'),
  Buffer.from(',"sealed":'),
  Buffer.from('}'),
];

/** The record alone. Where sections may be included, `{"record":<record>,"sealed":<sections>}`, which is canonical too. */
function dataOf({ record, sealed }: RecordBytes, stream: string, content: Content): Buffer {
  if (content === 'blinded') return Buffer.from(record);
  const sections = streamKind(stream) === 'study' ? includedSections(sealed, content) : NO_SECTIONS;
  return Buffer.concat([BEFORE_RECORD, record, BEFORE_SEALED, sections, AFTER_SEALED]);
}

/** @param at time of publication */
export function checkpointMessage(signed: SignedCheckpoint, log: string, at: string): FeedMessage {
  const { stream, size, recovery, note } = signed;
  const attributes = {
    // Only one checkpoint of each size is published.
    id: `checkpoint/${stream}/${recovery}/${size}`,
    source: sourceOf(log),
    type: 'urn.checkpoint.v1',
    subject: stream,
    time: at,
    datacontenttype: 'text/plain; charset=utf-8',
    logid: log,
    treesize: `${size}`,
    recovery: `${recovery}`,
  };
  return feedMessage(stream, attributes, Buffer.from(note));
}

function sourceOf(log: string): string {
  return `urn:uuid:${log}`;
}

type CloudEventAttributes = Readonly<Record<string, string>> & {
  readonly type: string;
  readonly source: string;
};

function feedMessage(stream: string, attributes: CloudEventAttributes, value: Buffer): FeedMessage {
  const bound = Kafka.binary(new CloudEvent({ ...attributes, partitionkey: stream }));
  // The SDK also makes headers for absent attributes, and one for the content type, which already has its own.
  const present = Object.entries(bound.headers).filter(
    ([name, header]) => header !== undefined && name !== 'ce_datacontenttype',
  );
  return {
    key: stream,
    value,
    headers: Object.fromEntries(present.map(([name, header]) => [name, `${header}`])),
  };
}

/** The state of the log, with which the positions are compared before anything is published. @throws StoreError */
export async function stateOfLog(
  log: RelayLog,
  content: Content,
  { byStream }: FeedPositions,
): Promise<LogState> {
  const { runner, ledger, identity } = log;
  // An earlier relay may have known records that have not arrived here yet.
  for (const { stream, revision } of byStream.values())
    if (revision > runner.revision(stream)) await runner.catchUp(stream);
  return {
    logId: identity.logId,
    content,
    recovery: recoveryOf(log),
    size: (stream) => ledger.tree(stream).size,
    isHalted: (stream) => runner.halted(stream) !== undefined,
    leaf: (stream, revision) => ledger.tree(stream).leaf(revision).toString('hex'),
  };
}

/** Number of the log's last recovery; 0 if there was none. */
export function recoveryOf({ runner }: RelayLog): number {
  return lastRecovery(runner.state(logHistory, LOG_STREAM));
}
