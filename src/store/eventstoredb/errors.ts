/**
 * What it means when a call to EventStoreDB fails, and when records are missing there or will be: which calls to repeat, what is
 * certain, and what the operator should do.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { BrokenStream, StoreAway, StoreError, type StoreFailure } from '../event-store.ts';
import type { Host } from './address.ts';

/** A call to the server that failed. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly kind: CallFailure;
  /** The leader, if a node that does not lead has named it. */
  readonly leader: Host | undefined;
  constructor(kind: CallFailure, message: string, cause?: unknown, leader?: Host) {
    super(message, { cause });
    this.kind = kind;
    this.leader = leader;
  }
}

type CallFailure =
  /** Nothing was sent: there is no connection. */
  | 'not-connected'
  /** Nothing was sent: one side has TLS and the other not, or the certificate is not one that is trusted here. */
  | 'untrusted'
  /** The node said that it does not lead, before it did anything. */
  | 'not-leader'
  /** The node said that it is starting or too busy, before it did anything. */
  | 'not-ready'
  /** The stream was deleted for good. */
  | 'deleted'
  | 'denied'
  | 'too-large'
  /** The other side does not know the call: it is not an EventStoreDB. */
  | 'foreign'
  | 'timeout'
  /** The connection broke, or the node ended the call. */
  | 'broken'
  /** Anything else. */
  | 'lost';

/** The server's names of errors, in the metadata after its answer. */
const KINDS_BY_NAME: Readonly<Record<string, CallFailure>> = {
  'stream-deleted': 'deleted',
  'access-denied': 'denied',
  'maximum-append-size-exceeded': 'too-large',
  'maximum-append-event-size-exceeded': 'too-large',
  'not-leader': 'not-leader',
};
/** For errors without a name. */
const KINDS_BY_CODE: Readonly<Partial<Record<status, CallFailure>>> = {
  [status.CANCELLED]: 'broken',
  [status.DEADLINE_EXCEEDED]: 'timeout',
  [status.PERMISSION_DENIED]: 'denied',
  [status.RESOURCE_EXHAUSTED]: 'too-large',
  // The other nodes did not acknowledge in time.
  [status.ABORTED]: 'timeout',
  [status.UNIMPLEMENTED]: 'foreign',
  [status.UNAVAILABLE]: 'broken',
  [status.UNAUTHENTICATED]: 'denied',
};

/** From grpc-js, before a call begins. */
const NEVER_SENT =
  /No connection established|Channel has been shut down|Channel closed before|waiting for name resolution|Name resolution failed|Waiting for LB pick/;

/** What Node's TLS says of a certificate, and of an answer that is not TLS. */
const UNTRUSTED = /certificate|SSL routines/i;

/** From the server, before it does anything: instead of `not-leader`, if it does not know who leads. */
const NO_LEADER = /No leader info available/;
const NOT_READY = /Server (is )?(not ready|too busy)|node is not ready/i;

/** The part of a gRPC error that is used here. */
interface GrpcError extends Error {
  readonly code?: status;
  readonly metadata?: { get(name: string): readonly unknown[] };
}

/** What an error of grpc-js means. A CallError stays as it is. */
export function callError(thrown: unknown): CallError {
  if (thrown instanceof CallError) return thrown;
  const error = thrown as GrpcError;
  const header = (name: string) => error.metadata?.get(name)[0]?.toString();
  const kind = kindOf(error, header('exception'));
  const [address, port] = [header('leader-endpoint-host'), Number(header('leader-endpoint-port'))];
  const leader = kind === 'not-leader' && address !== undefined && port > 0 ? { address, port } : undefined;
  return new CallError(kind, error.message, thrown, leader);
}

function kindOf({ message, code }: GrpcError, name: string | undefined): CallFailure {
  if (NEVER_SENT.test(message)) return UNTRUSTED.test(message) ? 'untrusted' : 'not-connected';
  if (NOT_READY.test(message)) return 'not-ready';
  if (NO_LEADER.test(message)) return 'not-leader';
  return KINDS_BY_NAME[name ?? ''] ?? KINDS_BY_CODE[code ?? status.UNKNOWN] ?? 'lost';
}

/** What the promise does afterwards is ignored, even a failure. @throws CallError `timeout` */
export function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  if (timeoutMs === Number.POSITIVE_INFINITY) return promise;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CallError('timeout', `no answer within ${Math.round(timeoutMs)} ms`)),
      timeoutMs,
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

const NOT_ACCEPTED: readonly CallFailure[] = ['not-connected', 'not-leader', 'not-ready'];
/** A read changes nothing, so it is also repeated if nobody knows what became of it. */
const READ_AGAIN: readonly CallFailure[] = [...NOT_ACCEPTED, 'broken', 'lost'];

/** How long to wait before repeating a call that did not reach the leader, in ms. */
const REPEAT_AFTER_MS = 100;
/** No call is repeated in the last part of its time: it would end as a time-out, which says less. */
const LAST_PART = 0.25;

/** Makes an append, and repeats it while it is certain that no leader has accepted it. @throws CallError of the last one */
export function appendUntilAccepted<T>(
  timeoutMs: number,
  append: (leftMs: number) => Promise<T>,
): Promise<T> {
  return repeated(timeoutMs, append, NOT_ACCEPTED);
}

/** Makes a read, and repeats it while there is time. @throws CallError of the last one */
export function readUntilAnswered<T>(timeoutMs: number, read: (leftMs: number) => Promise<T>): Promise<T> {
  return repeated(timeoutMs, read, READ_AGAIN);
}

/** @param call gets the remaining ms */
async function repeated<T>(
  timeoutMs: number,
  call: (leftMs: number) => Promise<T>,
  again: readonly CallFailure[],
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  const lastAgain = deadline - REPEAT_AFTER_MS - LAST_PART * timeoutMs;
  let refusal: CallError | undefined;
  for (;;) {
    try {
      return await call(Math.round(deadline - performance.now()));
    } catch (error) {
      const isCall = error instanceof CallError;
      // The error says little, but it stays a time-out: this call may have been accepted.
      if (isCall && error.kind === 'timeout' && refusal)
        throw new CallError('timeout', `no answer in time; before that: ${refusal.message}`, error);
      if (!isCall || !again.includes(error.kind) || performance.now() >= lastAgain) throw error;
      refusal = error;
      await delay(REPEAT_AFTER_MS);
    }
  }
}

// What a failed call means for the store.

/** The call was under way: nobody knows whether an append was written, and what a read has brought is good. */
export const CUT_OFF: readonly CallFailure[] = ['timeout', 'broken', 'lost'];

/** Where the documents say how to prevent that somebody removes records. */
export const RIGHTS = 'see "A user that cannot delete" in docs/instances.md';

const TLS_HINT =
  'a server without TLS needs ?tls=false, a certificate from your own authority &tlsCAFile=FILE';

const MEANINGS: Readonly<Record<CallFailure, { readonly failure: StoreFailure; readonly hint: string }>> = {
  'not-connected': {
    failure: 'unavailable',
    hint: `check that the server runs, and that host and port are right; ${TLS_HINT}`,
  },
  untrusted: { failure: 'unavailable', hint: TLS_HINT },
  'not-leader': { failure: 'unavailable', hint: 'the cluster has no reachable leader' },
  'not-ready': { failure: 'unavailable', hint: 'the server is starting, or is too busy' },
  deleted: {
    failure: 'corrupt',
    hint: `a stream of this log was deleted in the server; restore a backup; ${RIGHTS}`,
  },
  denied: {
    failure: 'unavailable',
    hint: 'user and password belong in the connection string, esdb://user:password@host, and are sent only over TLS; the user must be allowed to read $all, and to read and write the streams of this log: "node deploy/eventstoredb.mjs rights USER" makes such a user; see docs/instances.md',
  },
  'too-large': {
    failure: 'unavailable',
    hint: 'raise MaxAppendSize of the server, and MaxAppendEventSize if it has one, to 1 MiB',
  },
  foreign: {
    failure: 'foreign',
    hint: 'the address must be that of an EventStoreDB server, version 23.10 or later',
  },
  timeout: { failure: 'unavailable', hint: 'the server or the network is too slow, or the server hangs' },
  broken: { failure: 'unavailable', hint: 'the server or the network went away; see the log of the server' },
  lost: { failure: 'unavailable', hint: 'see the log of the server' },
};

/** After these failures the store may be back any time. */
const AWAY: readonly CallFailure[] = [...NOT_ACCEPTED, ...CUT_OFF];

/** The StoreError of a read that failed, or of something that failed around one. */
export function readFailure(error: unknown, server: string): StoreError {
  return failure(error, server, 'cannot be read', () => 'not-written');
}

/** The StoreError of an append that failed: certain only if the server has said so, or was never reached. */
export function appendFailure(error: unknown, server: string): StoreError {
  return failure(error, server, 'did not accept the records', (kind) =>
    CUT_OFF.includes(kind) ? 'unclear' : 'not-written',
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
  return new (AWAY.includes(kind) ? StoreAway : StoreError)(
    storeFailure,
    outcomeOf(kind),
    `EventStoreDB at ${server} ${what}: ${message} (hint: ${hint})`,
    error,
  );
}

// Records that the server has removed from streams, or will remove.

/** Records are missing. @param prefix of the stream's name in the server */
export function missing(prefix: string, stream: string, from: number, to: number | 'the end'): BrokenStream {
  return new BrokenStream(
    'corrupt',
    'not-written',
    `records of ${stream} are missing in EventStoreDB, from revision ${from} to ${to} (hint: $maxCount, $maxAge, $tb or a deletion cut them off; unless a scavenge has removed them, this command, run as administrator of EventStoreDB, restores them: ${commandToKeep(prefix + stream)}; otherwise restore a backup; ${RIGHTS})`,
  );
}

/** The stream was deleted for good. */
export function deleted(stream: string, cause?: Error): BrokenStream {
  return new BrokenStream(
    'corrupt',
    'not-written',
    `the stream ${stream} was deleted in EventStoreDB for good (hint: restore a backup; ${RIGHTS})`,
    cause,
  );
}

/** Metadata that makes the server truncate a stream for every reader, and remove the records at the next scavenge. */
const CUTTING = ['$maxCount', '$maxAge', '$tb'] as const;

/** From here on a `$tb` is not a revision: the stream was deleted, and can be restored. */
const SOFT_DELETED = Number.MAX_SAFE_INTEGER;

/**
 * Why records of a stream will be removed, and how to keep them; undefined if nothing removes them.
 * @param stream its name in the server, with the prefix
 * @param metadata the last event of its metadata stream
 */
export function dangerIn(stream: string, metadata: Uint8Array): string | undefined {
  const set = parsedMetadata(metadata);
  const cutting = CUTTING.filter((name) => set[name] !== undefined && set[name] !== null && set[name] !== 0);
  if (cutting.length === 0) return undefined;
  const isDeleted = Number(set['$tb']) >= SOFT_DELETED;
  const why = isDeleted
    ? 'was deleted in EventStoreDB, but can still be restored'
    : `has ${cutting.map((name) => `${name} ${valueText(set[name])}`).join(' and ')} in its metadata`;
  return `the stream ${stream} ${why}: the next scavenge removes its records for good (hint: let nobody scavenge, and run as administrator of EventStoreDB: ${commandToKeep(stream)}; ${RIGHTS})`;
}

/** What is not a JSON object means nothing to the server either. */
function parsedMetadata(metadata: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(metadata).toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const SHOWN_CHARACTERS = 40;

/** The server ignores values that are not numbers. They are cut here, so that nobody can fill the output with them. */
function valueText(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value).slice(0, SHOWN_CHARACTERS);
}

/** The command after which the server keeps the records of a stream. */
function commandToKeep(stream: string): string {
  return `node deploy/eventstoredb.mjs keep ${stream}`;
}
