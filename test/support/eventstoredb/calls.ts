/** What is asked of the tests' EventStoreDB server, and what it answers: appends, reads, deletions, and users. */
import { setTimeout as delay } from 'node:timers/promises';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import users from '@eventstore/db-client/generated/users_pb.js';
import {
  type Metadata,
  type ServerErrorResponse,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { Access } from './access.ts';
import type { AppendFault, SubscriptionFault } from './faults.ts';
import {
  type AppendDecision,
  isHidden,
  NO_STREAM,
  type ProposedEvent,
  type ServerEvent,
  type ServerLog,
} from './log.ts';
import {
  appendResponse,
  caughtUp,
  checkpoint,
  confirmation,
  deletedFailure,
  eventMessage,
  eventTooLarge,
  failure,
  noLeaderFailure,
  noSuchStream,
  notReady,
  proposed,
  streamName,
  tooSlow,
} from './messages.ts';

export type AppendCall = ServerReadableStream<
  InstanceType<typeof streams.AppendReq>,
  InstanceType<typeof streams.AppendResp>
>;
export type AppendAnswer = sendUnaryData<InstanceType<typeof streams.AppendResp>>;

export interface Append {
  readonly stream: string;
  readonly expected: number | 'any';
  readonly events: readonly ProposedEvent[];
}

/** How long a leader waits for the others, in ms. */
const COMMIT_TIMEOUT_MS = 2000;

/** Reads the whole append. None of it counts before its end. @throws ServerErrorResponse */
export async function appendIn(call: AppendCall, mostBytes: number): Promise<Append> {
  const events: ProposedEvent[] = [];
  let stream = '';
  let expected: Append['expected'] | undefined;
  let bytes = 0;
  for await (const request of call as AsyncIterable<InstanceType<typeof streams.AppendReq>>) {
    const options = request.getOptions();
    if (options) {
      stream = streamName(options.getStreamIdentifier());
      if (options.hasNoStream()) expected = NO_STREAM;
      else if (options.hasRevision()) expected = Number(options.getRevision());
      else if (options.hasAny()) expected = 'any';
    }
    const message = request.getProposedMessage();
    if (!message) continue;
    const event = proposed(message);
    bytes += event.data.length + event.metadata.length + 2 * event.type.length;
    events.push(event);
  }
  if (expected === undefined)
    throw failure(status.INVALID_ARGUMENT, 'this server does not know such an expected revision');
  if (bytes > mostBytes)
    throw failure(
      status.INVALID_ARGUMENT,
      `Maximum Append Size of ${mostBytes} Exceeded.`,
      'maximum-append-size-exceeded',
      { 'maximum-append-size': String(mostBytes) },
    );
  return { stream, expected, events };
}

/**
 * Writes the append or not, and answers or not, as the fault requires.
 * @param late what is to be done later
 */
export async function decide(
  append: Append,
  fault: AppendFault,
  { log, dropConnections, late }: { log: ServerLog; dropConnections(): void; late: (() => unknown)[] },
  answer: AppendAnswer,
): Promise<void> {
  const { stream, expected, events } = append;
  const write = () => log.append(stream, expected, events);
  const conclude = () => {
    const decision = write();
    if (decision.type === 'deleted') answer(deletedFailure(stream));
    else answer(null, appendResponse(decision, expected));
  };
  if (typeof fault === 'object') {
    const end = log.begin(stream, expected, events);
    if (end) await delay(fault.lateMs);
    end?.();
  }
  switch (fault) {
    case 'fails':
      return answer(failure(status.INTERNAL, 'something went wrong'));
    case 'event-too-large':
      return answer(eventTooLarge());
    case 'not-ready':
      return answer(notReady());
    case 'knows-no-user':
      return answer(failure(status.UNAVAILABLE, 'Server not ready'));
    case 'no-leader':
      return answer(noLeaderFailure());
    case 'times-out':
      write();
      return answer(failure(status.ABORTED, 'Operation timed out: Commit phase timeout.'));
    case 'finds-no-quorum':
      await delay(COMMIT_TIMEOUT_MS);
      return answer(failure(status.ABORTED, 'Operation timed out: Prepare phase timeout.'));
    case 'drops':
      return dropConnections();
    case 'writes-and-drops':
      write();
      return dropConnections();
    case 'writes-and-never-answers':
      write();
      return;
    case 'lands-late':
      late.push(write);
      return;
    case 'under-way': {
      const end = log.begin(stream, expected, events);
      if (!end) break;
      late.push(() => {
        end();
        conclude();
      });
      return;
    }
    case 'never-answers':
      return;
    case 'drops-repeated':
      if (!log.isUnderWay(stream, events)) break;
      await delay(COMMIT_TIMEOUT_MS);
      return answer(failure(status.ABORTED, 'Operation timed out: Prepare phase timeout.'));
  }
  conclude();
}

export type ReadCall = ServerWritableStream<
  InstanceType<typeof streams.ReadReq>,
  InstanceType<typeof streams.ReadResp>
>;
type Options = InstanceType<typeof streams.ReadReq.Options>;

/** Events that one step of a search looks at before other calls get their turn. */
const SEARCH_STEP = 200;

type Known = Pick<ServerLog, 'all' | 'visible'>;

/** @param horizon the last position that the node knows; undefined: all of them */
export function knownUpTo(log: ServerLog, horizon: bigint | undefined): Known {
  if (horizon === undefined) return log;
  const isKnown = ({ position }: ServerEvent) => position <= horizon;
  return {
    all: log.all.filter(isKnown),
    visible: (stream) => {
      const events = log.visible(stream)?.filter(isKnown) ?? [];
      return events.length > 0 ? events : undefined;
    },
  };
}

/**
 * A read that ends.
 * @param searchMs how long the server takes to look at each event
 * @returns how many events it has looked at
 */
export async function answerRead(call: ReadCall, options: Options, log: Known, searchMs: number) {
  const count = Number(options.getCount());
  const backwards = options.getReadDirection() === 1;
  const ofStream = options.getStream();
  if (ofStream) {
    const name = streamName(ofStream.getStreamIdentifier());
    const events = log.visible(name);
    const from = ofStream.hasRevision() ? Number(ofStream.getRevision()) : 0;
    if (!events) call.write(noSuchStream(name));
    else
      for (const event of backwards
        ? events.slice(-count).reverse()
        : events.filter(({ revision }) => revision >= from).slice(0, count))
        call.write(eventMessage(event));
    call.end();
    return 0;
  }
  const matches = filterOf(options);
  if (backwards && !options.getFilter()) {
    // One page, and one that is not full counts as the end (23.10: AllReader, and ReadAllEventsBackwardCompleted).
    for (const event of log.all.slice(-count).reverse()) if (matches(event)) call.write(eventMessage(event));
    call.end();
    return count;
  }
  const step = backwards ? -1 : 1;
  let given = 0;
  let looked = 0;
  let at = backwards ? log.all.length - 1 : firstAt(log, startOf(options));
  // It goes on until it meets one event too many, or the end.
  for (; at >= 0 && at < log.all.length && given <= count && !call.cancelled; at += step) {
    const event = log.all[at];
    looked++;
    if (event && matches(event)) {
      given++;
      if (given <= count) call.write(eventMessage(event));
    }
    if (looked % SEARCH_STEP === 0) await delay(SEARCH_STEP * searchMs);
  }
  call.end();
  return looked;
}

/**
 * A subscription: what is there, `caughtUp`, and what arrives.
 * @param known the last position that the node knows; undefined: all of them
 * @returns a function that ends it from outside
 */
export function subscribe(
  call: ReadCall,
  options: Options,
  log: ServerLog,
  known: () => bigint | undefined,
  fault: SubscriptionFault,
  searchMs: number,
): () => void {
  let stop = () => undefined as unknown;
  let working = false;
  let saidCaughtUp = false;
  let isOver = false;
  let sent = 0;
  const matches = filterOf(options);
  const window =
    (options.getFilter()?.getMax() ?? 32) * (options.getFilter()?.getCheckpointintervalmultiplier() ?? 1);
  const after = startOf(options);
  /** A subscription begins after the position, a read at it. */
  let passed = after ?? -1n;
  const finish = () => {
    isOver = true;
    stop();
  };
  const deliver = async () => {
    if (working || isOver) return;
    working = true;
    // By position, since a scavenge may have taken events in between.
    for (let looked = 0, at = firstAt(log, passed + 1n); at < log.all.length && !isOver; at++) {
      const event = log.all[at];
      if (!event || event.position > (known() ?? event.position)) break;
      passed = event.position;
      if (matches(event)) give(event);
      if (++looked % window === 0) {
        if (!isOver) call.write(checkpoint(event.position));
        if (searchMs > 0) await delay(window * searchMs);
      }
    }
    working = false;
    if (!saidCaughtUp && !isOver) {
      // As 24.10.0 to 24.10.4 do if there was less than a window and nothing in it matched.
      if (after === undefined && sent === 0 && log.all.length < window)
        call.write(checkpoint(2n ** 64n - 1n));
      call.write(caughtUp());
    }
    saidCaughtUp = true;
  };
  const give = (event: ServerEvent) => {
    const plan = typeof fault === 'object' ? fault : undefined;
    const before = sent++;
    switch (plan && before >= plan.after ? plan.does : 'none') {
      case 'silent':
        finish();
        return;
      case 'skips':
        if (before > (plan?.after ?? 0)) call.write(eventMessage(event));
        return;
      case 'ends':
        finish();
        call.end();
        return;
      case 'fails':
        finish();
        call.emit('error', failure(status.INTERNAL, 'Subscription dropped'));
        return;
      case 'is-too-slow':
        finish();
        call.emit('error', tooSlow());
        return;
      case 'twice':
        call.write(eventMessage(event));
    }
    call.write(eventMessage(event));
  };
  if (fault !== 'never-answers') {
    call.write(confirmation());
    stop = log.listen(() => setImmediate(deliver));
    void deliver();
  }
  call.on('cancelled', finish);
  return finish;
}

function filterOf(options: Options): (event: ServerEvent) => boolean {
  const expression = options.getFilter()?.getStreamIdentifier();
  if (!expression) return (event) => !isHidden(event);
  const prefixes = expression.getPrefixList();
  return (event) =>
    !isHidden(event) && prefixes.some((prefix) => event.stream.replaceAll(OVERLOOKED, '').startsWith(prefix));
}

/** The server compares by linguistic rules (EventFilter, StartsWith without a StringComparison). */
const OVERLOOKED = /[\u00ad\u200b-\u200f\ufeff]/g;

function startOf(options: Options): bigint | undefined {
  const position = options.getAll()?.getPosition();
  return position && BigInt(position.getCommitPosition());
}

/** Index of the first event at or after a position, by binary search. */
function firstAt(log: Known, position: bigint | undefined): number {
  if (position === undefined) return 0;
  let low = 0;
  for (let high = log.all.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((log.all[middle]?.position ?? 0n) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Refusal = (metadata: Metadata, stream: string) => ServerErrorResponse | undefined;
type Delete = InstanceType<typeof streams.DeleteReq>;
type Tombstone = InstanceType<typeof streams.TombstoneReq>;
type Create = InstanceType<typeof users.CreateReq>;

/** @param refusal why the caller may not delete a stream */
export function deletions(log: ServerLog, refusal: Refusal) {
  const removal =
    <Response>(remove: (stream: string) => AppendDecision, response: Response) =>
    (
      { request, metadata }: ServerUnaryCall<Delete | Tombstone, Response>,
      answer: sendUnaryData<Response>,
    ) => {
      const stream = streamName(request.getOptions()?.getStreamIdentifier());
      const refused = refusal(metadata, stream);
      if (refused) answer(refused);
      else if (remove(stream).type === 'deleted') answer(deletedFailure(stream));
      else answer(null, response);
    };
  const { DeleteResp, TombstoneResp } = streams;
  const nowhere = new shared.Empty();
  return {
    delete: removal((stream) => log.softDelete(stream), new DeleteResp().setNoPosition(nowhere)),
    tombstone: removal((stream) => log.tombstone(stream), new TombstoneResp().setNoPosition(nowhere)),
  };
}

/** Only administrators create users. */
export function userService(access: Access | undefined) {
  return {
    create: (
      { request, metadata }: ServerUnaryCall<Create, InstanceType<typeof users.CreateResp>>,
      answer: sendUnaryData<InstanceType<typeof users.CreateResp>>,
    ) => {
      const options = request.getOptions();
      const refused = access?.refusalOfOthers(metadata);
      if (refused || !options) {
        answer(refused ?? failure(status.INVALID_ARGUMENT, 'no options'));
        return;
      }
      const name = options.getLoginName();
      const user = { password: options.getPassword(), groups: options.getGroupsList() };
      if (access && !access.create(name, user))
        answer(failure(status.FAILED_PRECONDITION, 'Conflict.', 'user-conflict', { 'login-name': name }));
      else answer(null, new users.CreateResp());
    },
  };
}
