/** The records of a database file for whoever verifies them: read and checked one by one on a thread of their own. */
import { Worker } from 'node:worker_threads';
import { threadFile } from '../../base/thread-file.ts';
import type { RecordSource, SourceRecord } from '../../verify/source.ts';
import { StoreError, type StoreFailure } from '../event-store.ts';
import { recordedFile } from './recorded.ts';
import type { PackedPage, RecordedReply, RecordedRequest, RecordedThreadData } from './recorded-thread.ts';

/** Pages that the thread prepares in advance. */
const PAGES_AHEAD = 4;

/** Room for the thread's young objects, in MiB: what is checked outlives fewer garbage collections. */
const YOUNG_MIB = 48;

export interface OpenSource extends RecordSource {
  /** The private copy that is read instead of the file; undefined when it is the file itself. */
  readonly copy: string | undefined;
  close(): Promise<void>;
}

/**
 * Changes nothing in the file's folder, and needs no signing key.
 * @throws StoreError when the file is no log of this program
 */
export function openRecordedSource(path: string): OpenSource {
  const { file, use, copy, close } = recordedFile(path);
  const isWaitedFor = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: RecordedThreadData = { file, use, isWaitedFor };
  const thread = new Worker(threadFile('store/sqlite/recorded-thread'), {
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
  });
  const replies: RecordedReply[] = [];
  let wake: (() => void) | undefined;
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) =>
    thread.once('exit', () => {
      failure ??= new Error('the reading thread ended');
      wake?.();
      resolve();
    }),
  );
  thread.on('message', (reply: RecordedReply) => {
    replies.push(reply);
    wake?.();
  });
  thread.on('error', (error: Error) => {
    failure = readError(path, error);
    wake?.();
  });
  const ask = (request: RecordedRequest) => thread.postMessage(request);
  const answer = async (): Promise<RecordedReply> => {
    for (;;) {
      const reply = replies.shift();
      if (reply) return reply;
      if (failure) throw failure;
      Atomics.store(isWaitedFor, 0, 1);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      Atomics.store(isWaitedFor, 0, 0);
    }
  };

  async function* read(stream: string): AsyncIterable<readonly SourceRecord[]> {
    let asked = 0;
    const askNext = (memory?: SharedArrayBuffer) => {
      ask({ type: 'next', memory });
      asked++;
    };
    ask({ type: 'read', stream });
    try {
      while (asked < PAGES_AHEAD) askNext();
      for (;;) {
        const reply = await answer();
        asked--;
        if (reply.type !== 'page') return;
        yield unpack(stream, reply.page);
        askNext(reply.page.memory);
      }
    } finally {
      // What was asked in advance is not the next stream's.
      while (asked > 0 && !failure) {
        await answer();
        asked--;
      }
    }
  }

  return {
    copy,
    read,
    async streams() {
      ask({ type: 'streams' });
      const reply = await answer();
      return reply.type === 'streams' ? reply.streams : [];
    },
    async findings() {
      ask({ type: 'findings' });
      const reply = await answer();
      return reply.type === 'findings' ? reply.findings : { problems: [], warnings: [] };
    },
    async close() {
      if (!failure) ask({ type: 'close' });
      await ended;
      close();
    },
  };
}

function unpack(stream: string, page: PackedPage): SourceRecord[] {
  const { memory, lengths, leafLengths, recordLengths, revisions, isChecked } = page;
  const bytes = Buffer.from(memory);
  let at = 0;
  return revisions.map((revision, i) => {
    const [length = 0, leafLength = 0, recordLength = 0] = [lengths[i], leafLengths[i], recordLengths[i]];
    const [leafAt, recordAt, sealedAt] = [at, at + leafLength, at + leafLength + recordLength];
    at += length;
    return {
      stream,
      revision,
      record: bytes.subarray(recordAt, sealedAt),
      sealed: bytes.subarray(sealedAt, at),
      leaf: bytes.subarray(leafAt, recordAt),
      isChecked: isChecked[i] === true,
    };
  });
}

/** A thread's error comes without its class. */
export function readError(
  path: string,
  error: Error & { code?: string; failure?: StoreFailure },
): StoreError {
  const { code = '', failure, message } = error;
  if (failure !== undefined) return new StoreError(failure, 'not-written', message, error);
  const isDamaged = code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB');
  const what = isDamaged ? 'corrupt' : 'unavailable';
  return new StoreError(what, 'not-written', `cannot read ${path}: ${message}`, error);
}
