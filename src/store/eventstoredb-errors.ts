/** What failures of EventStoreDB mean: what to call again, what is certain, and what the operator should do. */
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError, type StoreFailure } from './event-store.ts';

/** A call to the server that failed. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly kind: CallFailure;
  constructor(kind: CallFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export type CallFailure =
  /** Nothing was sent: there is no connection. */
  | 'not-connected'
  /** The node said that it does not lead, before it did anything. The client turns to the leader. */
  | 'not-leader'
  | 'wrong-revision'
  /** The stream was deleted for good. */
  | 'deleted'
  | 'denied'
  | 'too-large'
  /** The other side does not know the call: it is no EventStoreDB. */
  | 'foreign'
  | 'timeout'
  /** Anything else, a broken connection first of all. */
  | 'lost';

/** How long before a call is made again that did not reach the leader, in ms. */
const AGAIN_MS = 100;

/**
 * Makes a call, and again while it is certain that no leader has taken it.
 * @param call gets the ms that are left
 * @throws CallError of the last call
 */
export async function untilTaken<T>(timeoutMs: number, call: (leftMs: number) => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let refusal: CallError | undefined;
  for (;;) {
    try {
      return await call(Math.round(deadline - performance.now()));
    } catch (error) {
      const isCall = error instanceof CallError;
      // The ms that were left say little. It stays a time-out: this call may have been taken.
      if (isCall && error.kind === 'timeout' && refusal)
        throw new CallError('timeout', `no answer in time; before that: ${refusal.message}`, error);
      const untaken = isCall && (error.kind === 'not-connected' || error.kind === 'not-leader');
      if (!untaken || performance.now() + AGAIN_MS >= deadline) throw error;
      refusal = error;
      await delay(AGAIN_MS);
    }
  }
}

/** The StoreError of a read that failed, or of something that failed around one. */
export function readFailure(error: unknown, server: string): StoreError {
  return failure(error, server, 'cannot be read', () => 'not-written');
}

/** The StoreError of an append that failed: certain only where the server has said so, or was never reached. */
export function appendFailure(error: unknown, server: string): StoreError {
  return failure(error, server, 'did not take the records', (kind) =>
    kind === 'timeout' || kind === 'lost' || kind === 'wrong-revision' ? 'unclear' : 'not-written',
  );
}

function failure(
  error: unknown,
  server: string,
  what: string,
  outcomeOf: (kind: CallFailure) => StoreError['outcome'],
): StoreError {
  if (error instanceof StoreError) return error;
  const { kind, message } =
    error instanceof CallError ? error : new CallError('lost', (error as Error).message, error);
  const { failure: storeFailure, hint } = MEANINGS[kind];
  return new StoreError(
    storeFailure,
    outcomeOf(kind),
    `EventStoreDB at ${server} ${what}: ${message} (hint: ${hint})`,
    error,
  );
}

const MEANINGS: Readonly<Record<CallFailure, { readonly failure: StoreFailure; readonly hint: string }>> = {
  'not-connected': {
    failure: 'unavailable',
    hint: 'check that the server runs and the address is right; a server without TLS needs ?tls=false, a certificate of an authority of your own &tlsCAFile=FILE',
  },
  'not-leader': { failure: 'unavailable', hint: 'the cluster has no leader that can be reached' },
  'wrong-revision': { failure: 'unavailable', hint: 'another process was first' },
  deleted: {
    failure: 'corrupt',
    hint: 'a stream of this log was deleted in the server; restore a backup, and take the right to delete from all users',
  },
  denied: {
    failure: 'unavailable',
    hint: 'user and password stand in the connection string, esdb://user:password@host; the user must be allowed to read $all, and to read and write the streams of this log',
  },
  'too-large': { failure: 'unavailable', hint: 'raise MaxAppendSize of the server to its default of 1 MiB' },
  foreign: {
    failure: 'foreign',
    hint: 'the address must be that of an EventStoreDB server, version 23.10 or later',
  },
  timeout: { failure: 'unavailable', hint: 'the server or the network is too slow, or the server hangs' },
  lost: { failure: 'unavailable', hint: 'see the log of the server' },
};
