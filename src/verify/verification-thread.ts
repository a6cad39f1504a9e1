/** The thread of verification.ts: reads, checks and decides again, and ends. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { RecordedLog } from '../store/sqlite/recorded.ts';
import { sourceOf } from '../store/sqlite/recorded-source.ts';
import type { Report } from './report.ts';
import { type VerificationOrder, verifyStudy } from './verifications.ts';
import { UnknownStudyError } from './verify.ts';

export interface VerificationThreadData {
  readonly file: string;
  readonly order: VerificationOrder;
  /** One element, 1 when it is to end before it is done. */
  readonly isStopped: Int32Array<SharedArrayBuffer>;
}

export type VerificationReply =
  | { readonly type: 'report'; readonly report: Report }
  | { readonly type: 'no-such-study' };

/** As `nice` counts: what else the service does comes first. */
const NICENESS = 10;

if (!parentPort) throw new Error('this file is a worker thread');
const port = parentPort;
const { file, order, isStopped } = workerData as VerificationThreadData;

// Linux alone gives each thread a priority of its own; elsewhere it would be that of the whole service.
if (process.platform === 'linux') setPriority(NICENESS);

const log = new RecordedLog({ file, use: 'as-it-is' });
try {
  port.postMessage(await reply());
} finally {
  log.close();
}

async function reply(): Promise<VerificationReply> {
  try {
    return { type: 'report', report: await verifyStudy(sourceOf(log, file), order, stopIfAsked) };
  } catch (error) {
    if (error instanceof UnknownStudyError) return { type: 'no-such-study' };
    throw error;
  }
}

function stopIfAsked(): void {
  if (Atomics.load(isStopped, 0) === 1) throw new Error('it was stopped');
}
