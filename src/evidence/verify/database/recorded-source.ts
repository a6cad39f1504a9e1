/** Reads the records of a database file for a verification. */

import { PAGE_RECORDS, StoreError, type StoreFailure } from '../../../store/event-store.ts';
import type { RecordSource } from '../source.ts';
import { RecordedLog, recordedFile, recordOf } from './recorded.ts';

export interface OpenSource extends RecordSource {
  /** The private copy that is read instead of the file. Undefined if the file itself is read. */
  readonly copy: string | undefined;
  close(): Promise<void>;
}

/**
 * Changes nothing in the file's folder and needs no signing key.
 * @throws StoreError when the file is not a log of this program
 */
export function openRecordedSource(path: string): OpenSource {
  const { file, use, copy, close } = recordedFile(path);
  try {
    const log = new RecordedLog({ file, use });
    return {
      copy,
      ...sourceOf(log, path),
      async close() {
        log.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw readError(path, error as Error);
  }
}

/** @param path is quoted in messages */
export function sourceOf(log: RecordedLog, path: string): RecordSource {
  return {
    streams: async () => reading(path, () => log.streams()),
    findings: async () => log.findings,
    async *read(stream) {
      const pages = log.read(stream, PAGE_RECORDS)[Symbol.iterator]();
      for (;;) {
        const page = reading(path, () => pages.next());
        if (page.done) return;
        yield page.value.map((row) => recordOf(stream, row));
      }
    },
  };
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw readError(path, error as Error);
  }
}

/** @param error may come from another thread, and then has lost its class */
export function readError(
  path: string,
  error: Error & { code?: string; failure?: StoreFailure },
): StoreError {
  const { code = '', failure, message } = error;
  if (failure !== undefined) return new StoreError(failure, 'not-written', message, error);
  const isDamaged = code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB');
  const kind = isDamaged ? 'corrupt' : 'unavailable';
  return new StoreError(kind, 'not-written', `cannot read ${path}: ${message}`, error);
}
