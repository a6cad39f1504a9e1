/** The writing half of the tests' EventStoreDB server: what an append asks for, and its outcome. */
import { setTimeout as delay } from 'node:timers/promises';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  type ServerErrorResponse,
  type ServerReadableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { AppendFault } from './faults.ts';
import { NO_STREAM, type ProposedEvent, type ServerLog } from './log.ts';
import {
  appendResponse,
  deletedFailure,
  eventTooLarge,
  failure,
  noLeaderFailure,
  notReady,
  proposed,
  streamName,
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

/** What an append that meets a fault does to the server. */
export interface Consequences {
  dropConnections(): void;
  /** Keeps the append, to write it later if its place is still free. */
  keepForLater(append: Append): void;
}

/** Writes the append or not, and answers or not, as the fault requires. */
export async function decide(
  append: Append,
  fault: AppendFault,
  log: ServerLog,
  consequences: Consequences,
  answer: AppendAnswer,
): Promise<void> {
  const write = () => log.append(append.stream, append.expected, append.events);
  const refuse = (error: ServerErrorResponse) => answer(error);
  if (typeof fault === 'object') await delay(fault.lateMs);
  switch (fault) {
    case 'fails':
      return refuse(failure(status.INTERNAL, 'something went wrong'));
    case 'event-too-large':
      return refuse(eventTooLarge());
    case 'not-ready':
      return refuse(notReady());
    case 'knows-no-user':
      return refuse(failure(status.UNAVAILABLE, 'Server not ready'));
    case 'no-leader':
      return refuse(noLeaderFailure());
    case 'times-out':
      write();
      return refuse(failure(status.ABORTED, 'Operation timed out: Commit phase timeout.'));
    case 'finds-no-quorum':
      await delay(COMMIT_TIMEOUT_MS);
      return refuse(failure(status.ABORTED, 'Operation timed out: Prepare phase timeout.'));
    case 'drops':
      return consequences.dropConnections();
    case 'writes-and-drops':
      write();
      return consequences.dropConnections();
    case 'writes-and-never-answers':
      write();
      return;
    case 'lands-late':
      return consequences.keepForLater(append);
    case 'never-answers':
      return;
  }
  const decision = write();
  if (decision.type === 'deleted') refuse(deletedFailure(append.stream));
  else answer(null, appendResponse(decision, append.expected));
}
