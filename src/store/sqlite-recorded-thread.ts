/**
 * The thread of sqlite-recorded-source.ts: reads the records of a database and checks each by itself, page by page as
 * it is asked to, so that on the other thread they need only be decided again. It hands over the very bytes that it
 * has checked: read twice, they might differ.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { decodeRecord } from '../../events/record.ts';
import { PAGE_RECORDS } from './event-store.ts';
import { type RecordedFile, RecordedLog } from './sqlite-recorded.ts';
import type { Row } from './sqlite-schema.ts';

export type RecordedRequest =
  | { readonly type: 'streams' | 'next' | 'close' }
  | { readonly type: 'read'; readonly stream: string };

/** A page of records, their bytes one after another: record, sealed part and leaf of the first, then of the next. */
export interface PackedPage {
  readonly bytes: ArrayBuffer;
  /** Three for each record. */
  readonly lengths: readonly number[];
  readonly revisions: readonly number[];
  /** Whether each has been taken by `decodeRecord`. */
  readonly isChecked: readonly boolean[];
}

export type RecordedReply =
  | { readonly type: 'streams'; readonly streams: readonly string[] }
  | { readonly type: 'page'; readonly page: PackedPage }
  | { readonly type: 'end' };

if (!parentPort) throw new Error('this file is a worker thread');
const port = parentPort;
const log = new RecordedLog(workerData as Pick<RecordedFile, 'file' | 'use'>);
let pages: Iterator<Row[]> | undefined;

port.on('message', (request: RecordedRequest) => {
  switch (request.type) {
    case 'streams':
      reply({ type: 'streams', streams: log.streams() });
      break;
    case 'read':
      pages = log.read(request.stream, PAGE_RECORDS)[Symbol.iterator]();
      break;
    case 'next': {
      const next = pages?.next();
      if (!next || next.done) {
        reply({ type: 'end' });
        break;
      }
      const page = pack(next.value);
      reply({ type: 'page', page }, [page.bytes]);
      break;
    }
    case 'close':
      log.close();
      port.close();
  }
});

function reply(message: RecordedReply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function pack(rows: readonly Row[]): PackedPage {
  const parts = rows.flatMap(({ record, sealed, leaf }) => [record, sealed, leaf]);
  const lengths = parts.map((part) => part?.length ?? 0);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  parts.forEach((part, i) => {
    // NULL, in a table that was made anew.
    if (part) bytes.set(part, at);
    at += lengths[i] ?? 0;
  });
  return {
    bytes: bytes.buffer,
    lengths,
    revisions: rows.map(({ revision }) => revision),
    isChecked: rows.map(isSound),
  };
}

/** Whatever is wrong with a record is found again, and named, where it is decided again. */
function isSound(row: Row): boolean {
  try {
    decodeRecord(row);
    return true;
  } catch {
    return false;
  }
}
