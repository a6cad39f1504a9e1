/** What failures of EventStoreDB mean: what to call again, what is certain, and what the operator should do. */
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError, type StoreFailure } from '../event-store.ts';

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
  /** The node said that it starts, or has too much to do, before it did anything. */
  | 'not-ready'
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

/** What the client calls the errors that the server has told it of. */
const KINDS: Readonly<Record<string, CallFailure>> = {
  'wrong-expected-version': 'wrong-revision',
  'stream-deleted': 'deleted',
  'access-denied': 'denied',
  'maximum-append-size-exceeded': 'too-large',
  'not-leader': 'not-leader',
  'deadline-exceeded': 'timeout',
  timeout: 'timeout',
};

/** gRPC codes (https://grpc.github.io/grpc/core/md_doc_statuscodes.html) for which it has no name. */
const CODES: Readonly<Record<number, CallFailure>> = { 7: 'denied', 8: 'too-large', 12: 'foreign' };

/** Said by grpc-js before a call begins, and by the client when it finds no node of a cluster. */
const NEVER_SENT =
  /No connection established|Channel has been shut down|Failed to discover|waiting for name resolution|Waiting for LB pick/;

/** Said by the server before it does anything: in place of the client's `not-leader`, when it does not know who leads. */
const NO_LEADER = /No leader info available/;
const NOT_READY = /Server (is )?(not ready|too busy)|node is not ready/i;

/** The client knows the limit of a whole append, and not that of one event, which KurrentDB 25 has too. */
const TOO_LARGE = /exceeds Maximum Append Event Size/;

/** @param error of the client */
export function kindOf(error: Error & { readonly type?: string; readonly code?: number }): CallFailure {
  if (NEVER_SENT.test(error.message)) return 'not-connected';
  if (NOT_READY.test(error.message)) return 'not-ready';
  if (NO_LEADER.test(error.message)) return 'not-leader';
  if (TOO_LARGE.test(error.message)) return 'too-large';
  return CODES[error.code ?? 0] ?? KINDS[error.type ?? ''] ?? 'lost';
}

const UNTAKEN: readonly CallFailure[] = ['not-connected', 'not-leader', 'not-ready'];

/** How long before a call is made again that did not reach the leader, in ms. */
const AGAIN_MS = 100;
/** No call is made again in the last part of its time: it would end as a time-out, which says less. */
const LAST_PART = 0.25;

/**
 * Makes a call, and again while it is certain that no leader has taken it.
 * @param call gets the ms that are left
 * @throws CallError of the last call
 */
export async function untilTaken<T>(timeoutMs: number, call: (leftMs: number) => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  const lastAgain = deadline - AGAIN_MS - LAST_PART * timeoutMs;
  let refusal: CallError | undefined;
  for (;;) {
    try {
      return await call(Math.round(deadline - performance.now()));
    } catch (error) {
      const isCall = error instanceof CallError;
      // The ms that were left say little. It stays a time-out: this call may have been taken.
      if (isCall && error.kind === 'timeout' && refusal)
        throw new CallError('timeout', `no answer in time; before that: ${refusal.message}`, error);
      if (!isCall || !UNTAKEN.includes(error.kind) || performance.now() >= lastAgain) throw error;
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
  'not-ready': { failure: 'unavailable', hint: 'the server is starting, or has too much to do' },
  'wrong-revision': { failure: 'unavailable', hint: 'another process was first' },
  deleted: {
    failure: 'corrupt',
    hint: 'a stream of this log was deleted in the server; restore a backup, and take the right to delete from all users',
  },
  denied: {
    failure: 'unavailable',
    hint: 'user and password stand in the connection string, esdb://user:password@host, and are sent only over TLS; the user must be allowed to read $all, and to read and write the streams of this log',
  },
  'too-large': {
    failure: 'unavailable',
    hint: 'raise MaxAppendSize, and MaxAppendEventSize where there is one, of the server to 1 MiB',
  },
  foreign: {
    failure: 'foreign',
    hint: 'the address must be that of an EventStoreDB server, version 23.10 or later',
  },
  timeout: { failure: 'unavailable', hint: 'the server or the network is too slow, or the server hangs' },
  lost: { failure: 'unavailable', hint: 'see the log of the server' },
};

/** What becomes of the promise after that is of no interest, its failure included. @throws CallError `timeout` */
export function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CallError('timeout', `no answer within ${Math.round(timeoutMs)} ms`)),
      timeoutMs,
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
