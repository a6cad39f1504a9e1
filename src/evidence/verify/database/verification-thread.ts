/** The thread of verify-database.ts: it runs one verification, reports it and ends. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { Report } from '../report/report.ts';
import { type VerificationOrder, verifyStudy } from '../verifications.ts';
import { UnknownStudyError } from '../verify.ts';
import { RecordedLog, sourceOf } from './recorded.ts';

export interface VerificationThreadData {
  readonly file: string;
  readonly order: VerificationOrder;
  /** One element. It becomes 1 when the verification must stop early. */
  readonly isStopped: Int32Array<SharedArrayBuffer>;
}

export type VerificationReply =
  | { readonly type: 'progress'; readonly records: number }
  | { readonly type: 'report'; readonly report: Report }
  | { readonly type: 'no-such-study' };

/** On the scale of `nice`: all other work of the service comes first. */
const NICENESS = 10;

if (!parentPort) throw new Error('this file must run as a worker thread');
const port = parentPort;
const { file, order, isStopped } = workerData as VerificationThreadData;

// Only Linux gives each thread its own priority. Elsewhere this would change the priority of the whole service.
if (process.platform === 'linux') setPriority(NICENESS);

const log = new RecordedLog({ file, use: 'as-it-is' });
try {
  port.postMessage(await reply());
} finally {
  log.close();
}

async function reply(): Promise<VerificationReply> {
  try {
    return { type: 'report', report: await verifyStudy(sourceOf(log, file), order, onProgress) };
  } catch (error) {
    if (error instanceof UnknownStudyError) return { type: 'no-such-study' };
    throw error;
  }
}

function onProgress(records: number): void {
  if (Atomics.load(isStopped, 0) === 1) throw new Error('the verification was stopped');
  port.postMessage({ type: 'progress', records } satisfies VerificationReply);
}
