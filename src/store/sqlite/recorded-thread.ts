/**
 * The thread of recorded-source.ts: reads the records of a database and checks each by itself, page by page as
 * it is asked to, so that on the other thread most need only be decided again. It hands over the very bytes that it
 * has checked: read twice, they might differ.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { checkRecord } from '../../../events/record.ts';
import type { StoreFindings } from '../../verify/report.ts';
import { PAGE_RECORDS } from '../event-store.ts';
import { type RecordedFile, RecordedLog, type RecordedRow, recordOf } from './recorded.ts';

export interface RecordedThreadData extends Pick<RecordedFile, 'file' | 'use'> {
  /** One element, 1 while the other thread has nothing to do. */
  readonly isWaitedFor: Int32Array<SharedArrayBuffer>;
}

export type RecordedRequest =
  | { readonly type: 'streams' | 'findings' | 'close' }
  /** The next page, for which memory can be used again that is not needed any more. */
  | { readonly type: 'next'; readonly memory?: SharedArrayBuffer | undefined }
  | { readonly type: 'read'; readonly stream: string };

/** A page of records, their bytes one after another: leaf, record and sealed part of the first, then of the next. */
export interface PackedPage {
  readonly memory: SharedArrayBuffer;
  /** Of all bytes of each record, and of the first two parts. */
  readonly lengths: readonly number[];
  readonly leafLengths: readonly number[];
  readonly recordLengths: readonly number[];
  readonly revisions: readonly number[];
  /** Whether each has been taken by `checkRecord`. */
  readonly isChecked: readonly boolean[];
}

export type RecordedReply =
  | { readonly type: 'streams'; readonly streams: readonly string[] }
  | { readonly type: 'findings'; readonly findings: StoreFindings }
  | { readonly type: 'page'; readonly page: PackedPage }
  | { readonly type: 'end' };

/** So that a page's memory has room for the next one, which is rarely of the same size. */
const SPARE_BYTES = 64 * 1024;

if (!parentPort) throw new Error('this file is a worker thread');
const port = parentPort;
const { isWaitedFor, ...recorded } = workerData as RecordedThreadData;
const log = new RecordedLog(recorded);
let stream = '';
let pages: Iterator<RecordedRow[]> | undefined;

port.on('message', (request: RecordedRequest) => {
  switch (request.type) {
    case 'streams':
      reply({ type: 'streams', streams: log.streams() });
      break;
    case 'findings':
      reply({ type: 'findings', findings: log.findings });
      break;
    case 'read':
      stream = request.stream;
      pages = log.read(stream, PAGE_RECORDS)[Symbol.iterator]();
      break;
    case 'next': {
      const next = pages?.next();
      if (!next || next.done) {
        reply({ type: 'end' });
        break;
      }
      reply({ type: 'page', page: pack(stream, next.value, request.memory) });
      break;
    }
    case 'close':
      log.close();
      port.close();
  }
});

function reply(message: RecordedReply): void {
  port.postMessage(message);
}

function pack(stream: string, rows: readonly RecordedRow[], used: SharedArrayBuffer | undefined): PackedPage {
  const lengths = rows.map(({ bytes }) => bytes?.length ?? 0);
  const size = lengths.reduce((sum, length) => sum + length, 0);
  const memory = used && used.byteLength >= size ? used : new SharedArrayBuffer(size + SPARE_BYTES);
  const packed = new Uint8Array(memory);
  let at = 0;
  for (const { bytes } of rows) {
    if (bytes) packed.set(bytes, at);
    at += bytes?.length ?? 0;
  }
  return {
    memory,
    lengths,
    leafLengths: rows.map(({ leafLength }) => leafLength ?? 0),
    recordLengths: rows.map(({ recordLength }) => recordLength ?? 0),
    revisions: rows.map(({ revision }) => revision),
    // While the other thread has nothing to do, it had better check them itself.
    isChecked: rows.map((row) => Atomics.load(isWaitedFor, 0) === 0 && isSound(stream, row)),
  };
}

/** Whatever is wrong with a record is found again, and named, where it is decided again. */
function isSound(stream: string, row: RecordedRow): boolean {
  if (!row.bytes) return false;
  try {
    checkRecord(recordOf(stream, row));
    return true;
  } catch {
    return false;
  }
}
