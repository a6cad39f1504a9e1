/** Verifies the log of a database that this process serves, on a thread of its own: requests are answered meanwhile. */
import { Worker } from 'node:worker_threads';
import { threadFile } from '../base/thread-file.ts';
import type { StoreFailure } from '../store/event-store.ts';
import { readError } from '../store/sqlite/recorded-source.ts';
import type { Report } from './report.ts';
import type { VerificationReply, VerificationThreadData } from './verification-thread.ts';
import type { Verify } from './verifications.ts';
import { UnknownStudyError } from './verify.ts';

/**
 * Room for the thread's young objects, in MiB. Less than `urn verify` takes: here memory and processor are the
 * service's, and nobody is in a hurry.
 */
const YOUNG_MIB = 16;

/** @param file that this process has open: it is not looked into before, see checkDatabase */
export function verifyDatabase(file: string): Verify {
  return (order, stop) =>
    new Promise<Report>((resolve, reject) => {
      const isStopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const workerData: VerificationThreadData = { file, order, isStopped };
      const thread = new Worker(threadFile('verify/verification-thread'), {
        workerData,
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
      });
      // Not ended from here: it closes its connection first.
      const onStop = () => Atomics.store(isStopped, 0, 1);
      if (stop.aborted) onStop();
      stop.addEventListener('abort', onStop);
      let reply: VerificationReply | undefined;
      let failure: Error | undefined;
      thread.on('message', (message: VerificationReply) => {
        reply = message;
      });
      thread.on('error', (error) => {
        failure = error;
      });
      thread.once('exit', () => {
        stop.removeEventListener('abort', onStop);
        if (reply?.type === 'report') resolve(reply.report);
        else if (reply?.type === 'no-such-study') reject(new UnknownStudyError(order.study));
        else if (stop.aborted) reject(stop.reason);
        else reject(failureOf(file, failure));
      });
    });
}

/** What is none of the store's failures is a fault of the program, and stays what it is. */
function failureOf(file: string, error?: Error & { code?: string; failure?: StoreFailure }): Error {
  if (!error) return new Error('the verifying thread ended');
  const isOfStore = error.failure !== undefined || error.code?.startsWith('SQLITE_');
  return isOfStore ? readError(file, error) : error;
}
