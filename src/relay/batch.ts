/** What is published in one transaction: the next records of the streams that are behind, each checked once more. */

import type { Content } from '../../events/content.ts';
import { checkRecord, leafHash, RecordError } from '../../events/record.ts';
import type { OpenLog } from '../open/open-log.ts';
import { BrokenStream, type StoredRecord } from '../store/event-store.ts';

/** A transaction costs some milliseconds, whatever is in it. */
export const MOST_RECORDS = 500;
/** Kafka refuses more than 1 MiB in one go. */
export const MOST_BYTES = 768 * 1024;
/** About what the attributes of a record take. */
const ATTRIBUTES_BYTES = 600;
/** About what the checkpoint behind a stream's records takes, with its attributes. Of many streams it is much. */
export const CHECKPOINT_BYTES = 1000;

/** The next records of one stream, without a gap; at least one. */
export interface StreamPart {
  readonly stream: string;
  readonly records: readonly StoredRecord[];
}

/** As far as batches need it. */
export type LogToRead = Pick<OpenLog, 'store'> & {
  readonly runner: Pick<OpenLog['runner'], 'revision' | 'movement'>;
  readonly ledger: Pick<OpenLog['ledger'], 'tree'>;
};

/**
 * Reads the next batch from the store. The streams take turns: those that got none of it come first in the next one.
 * @param behind streams that may be behind; those of which all is in the batch are taken out
 * @param published revision of the last record that was published, by stream; -1: none
 * @param onBroken a record is not the one that was folded, or is gone; its stream is taken out
 * @throws StoreError
 */
export async function nextBatch(
  log: LogToRead,
  behind: Set<string>,
  published: (stream: string) => number,
  content: Content,
  onBroken: (stream: string, error: Error) => void,
): Promise<StreamPart[]> {
  const room = { records: MOST_RECORDS, bytes: MOST_BYTES };
  const parts: StreamPart[] = [];
  for (const stream of [...behind]) {
    room.bytes -= CHECKPOINT_BYTES;
    if (room.records <= 0 || room.bytes <= 0) break;
    behind.delete(stream);
    const last = lastToTell(log, stream);
    const first = published(stream) + 1;
    if (first > last) continue;
    try {
      const isFirst = parts.length === 0;
      const records = await readPart(log, { stream, first, last, isFirst }, content, room);
      if (records.length === 0 && !isFirst) {
        putFirst(behind, stream);
        break;
      }
      parts.push({ stream, records });
      if (first + records.length <= last) behind.add(stream);
    } catch (error) {
      if (!(error instanceof RecordError || error instanceof BrokenStream)) throw error;
      onBroken(stream, error);
    }
  }
  return parts;
}

/**
 * LogMoved is told together with what ends it. Until then nobody knows in which of the two stores the log goes on, and in a
 * target that is given up the stream `log` ends with records that the log never had.
 */
function lastToTell({ runner }: LogToRead, stream: string): number {
  const last = runner.revision(stream);
  switch (runner.movement(stream).status) {
    case 'open':
      return last;
    case 'closed':
      return last - 1;
    // LogMoved and CopyAborted.
    case 'dead':
      return last - 2;
  }
}

/** It did not fit, and must not wait for others again. */
function putFirst(behind: Set<string>, stream: string): void {
  const others = [...behind];
  behind.clear();
  for (const one of [stream, ...others]) behind.add(one);
}

interface Wanted {
  readonly stream: string;
  readonly first: number;
  readonly last: number;
  /** Nothing is in the batch yet: then a record is taken whatever its size. */
  readonly isFirst: boolean;
}

/** @returns none when the first does not fit behind what is in the batch */
async function readPart(
  { store, ledger }: LogToRead,
  { stream, first, last, isFirst }: Wanted,
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
        check(stored, first + records.length, tree.leaf(stored.revision), content);
      } catch (error) {
        // Those before it are sound; the next batch of this stream begins with this one.
        if (error instanceof RecordError && records.length > 0) return records;
        throw error;
      }
      records.push(stored);
      room.records--;
      room.bytes -= bytes;
    }
  return records;
}

/** That it is what was folded, and so signed: between the two, somebody can have changed the store. */
function check(stored: StoredRecord, revision: number, leaf: Uint8Array, content: Content): void {
  const where = `${stored.stream}/${revision}`;
  if (stored.revision !== revision)
    throw new RecordError('misplaced', where, `the store gives record ${stored.revision}`);
  if (Buffer.compare(leafHash(stored.record), leaf) !== 0)
    throw new RecordError('leaf-mismatch', where, 'the record was changed since it was read first');
  // Of a record that is told alone, what is sealed does not matter.
  if (content !== 'blinded') checkRecord(stored);
}
