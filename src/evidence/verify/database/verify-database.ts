/** Verifies the log of a database that this process serves. A separate thread does it, so requests are still answered. */
import { Worker } from 'node:worker_threads';
import { threadFile } from '../../../base/threads.ts';
import type { StoreFailure } from '../../../store/event-store.ts';
import type { Report } from '../report/report.ts';
import type { Verify } from '../verifications.ts';
import { UnknownStudyError } from '../verify.ts';
import { readError } from './recorded.ts';
import type { VerificationReply, VerificationThreadData } from './verification-thread.ts';

/**
 * Space for the thread's young objects, in MiB. It is less than `urn verify` takes, because memory and processor belong
 * to the service here, and nobody is in a hurry.
 */
const YOUNG_MIB = 16;

/** @param file this process has it open, so it must not be inspected first: see checkDatabase */
export function verifyDatabase(file: string): Verify {
  return (order, stop, onProgress) =>
    new Promise<Report>((resolve, reject) => {
      const isStopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const workerData: VerificationThreadData = { file, order, isStopped };
      const thread = new Worker(threadFile('verification-thread'), {
        workerData,
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
      });
      // The thread is not terminated from here: it must close its connection first.
      const onStop = () => Atomics.store(isStopped, 0, 1);
      if (stop.aborted) onStop();
      stop.addEventListener('abort', onStop);
      let reply: Exclude<VerificationReply, { type: 'progress' }> | undefined;
      let failure: Error | undefined;
      thread.on('message', (message: VerificationReply) => {
        if (message.type === 'progress') onProgress(message.records);
        else reply = message;
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

/** An error that is not a failure of the store is a bug in the program, and is passed on unchanged. */
function failureOf(file: string, error?: Error & { code?: string; failure?: StoreFailure }): Error {
  if (!error) return new Error('the verification thread ended');
  const isStoreFailure = error.failure !== undefined || error.code?.startsWith('SQLITE_');
  return isStoreFailure ? readError(file, error) : error;
}
