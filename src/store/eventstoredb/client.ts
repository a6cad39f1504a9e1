/**
 * The one file that knows `@eventstore/db-client` (docs/adr/0009-eventstoredb-client.md). What the rest of the adapter
 * sees are bytes, numbers, and CallErrors.
 *
 * Appending goes through the client's own function. Reading and following use its channel, credentials and protocol
 * definitions, but not its reading functions: those cannot filter a read of `$all`, have no deadline, and take metadata
 * for JSON where they can.
 */
import { convertToCommandError, EventStoreDBClient, type SingleNodeOptions } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type EventStoreDbAddress, readFiles } from './address.ts';
import { CallError, kindOf, withTimeout } from './errors.ts';
import type { LogEventData } from './event.ts';
import {
  type Answer,
  type BoundedReading,
  enough,
  type Listener,
  type LogPosition,
  type Message,
  prefixOf,
  type Reading,
} from './protocol.ts';

/** Events of others that the server looks at between two signs of life. */
const SEARCH_WINDOW = 500;

/** How much longer than the server's side our own waits, in ms. */
const MARGIN_MS = 250;

/** How long closing waits for the calls it has cancelled, in ms. */
const DISPOSE_MS = 1000;

export class LogClient extends EventStoreDBClient {
  #channel: ReturnType<EventStoreDBClient['getChannel']> | undefined;

  /** Connects when it is first needed. @throws StoreError when a file that the address names cannot be read */
  constructor(address: EventStoreDbAddress) {
    super(settingsOf(address), { insecure: !address.tls, ...readFiles(address) }, address.credentials);
    // Without it the client would ask the server, without a deadline, whether it can append in batches, and would do
    // so: with all streams on one call, whose answers it looks up in one table for the whole process, and
    // throws where nobody can catch it when an answer comes after a failure.
    this.supports = async () => false;
    const { getChannel, handleError } = this;
    this.getChannel = () => {
      this.#channel = getChannel();
      return this.#channel;
    };
    // It runs detached. Its own failure, while no node of a cluster can be found, would end the process.
    this.handleError = (client, error) => handleError(client, error).catch(() => undefined);
  }

  /**
   * Appends behind an exact revision, -1 for a stream that does not exist.
   * @returns the revision of the last event as the server says it
   * @throws CallError
   */
  async append(
    stream: string,
    expectedRevision: number,
    events: readonly LogEventData[],
    timeoutMs: number,
  ): Promise<number> {
    const sent = this.appendToStream(
      stream,
      events.map((event) => ({ ...event, contentType: 'application/octet-stream' as const })),
      {
        expectedRevision: expectedRevision < 0 ? 'no_stream' : BigInt(expectedRevision),
        requiresLeader: true,
        deadline: timeoutMs,
      },
    );
    try {
      const { nextExpectedRevision } = await withTimeout(sent, timeoutMs + MARGIN_MS);
      return Number(nextExpectedRevision);
    } catch (error) {
      throw callError(error);
    }
  }

  /** Reads to the end of what was asked for. @throws CallError */
  read(reading: BoundedReading, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const messages: Message[] = [];
      let missing = enough(reading);
      const end = (error?: CallError) => {
        clearTimeout(timer);
        if (!error) resolve({ messages, isWhole: true });
        else if (error.kind === 'timeout' && messages.length > 0) resolve({ messages, isWhole: false });
        else reject(error);
      };
      const cancel = this.#open(reading, new Date(Date.now() + timeoutMs), {
        onMessage: (message) => {
          messages.push(message);
          if (message.type !== 'event' || --missing > 0) return;
          cancel();
          end();
        },
        onEnd: end,
      });
      const timer = setTimeout(() => {
        cancel();
        end(new CallError('timeout', `no answer within ${timeoutMs} ms`));
      }, timeoutMs + MARGIN_MS);
    });
  }

  /** Follows the log. @returns how to stop; nothing is called after that */
  follow(from: LogPosition | undefined, prefix: string, listener: Listener): () => void {
    return this.#open({ of: 'live', prefix, from }, Number.POSITIVE_INFINITY, listener);
  }

  async close(): Promise<void> {
    await withTimeout(this.dispose(), DISPOSE_MS).catch(() => undefined);
    // Disposing ends the calls and leaves the connection open.
    const channel = await this.#channel?.catch(() => undefined);
    channel?.close();
  }

  #open(reading: Reading, deadline: Date | number, { onMessage, onEnd }: Listener): () => void {
    let cancel = () => undefined as unknown;
    let ended = false;
    const end = (error?: unknown) => {
      if (ended) return;
      ended = true;
      onEnd(error === undefined ? undefined : callError(error));
    };
    const open = this.GRPCStreamCreator(streamsService.StreamsClient, 'read', (client) => {
      const call = client.read(
        requestFor(reading),
        ...this.callArguments({ requiresLeader: true }, { deadline }),
      );
      cancel = () => call.cancel();
      // Here, and not after the promise: an error nobody listens for would end the process.
      call.on('error', end);
      call.on('end', () => end());
      call.on('data', (response) => {
        if (ended) return;
        const message = messageOf(response);
        if (message) onMessage(message);
      });
      if (ended) cancel();
      return call;
    });
    open().catch(end);
    return () => {
      ended = true;
      cancel();
    };
  }
}

function settingsOf(address: EventStoreDbAddress): SingleNodeOptions {
  const { hosts, discover, connectionName, numbers } = address;
  const [first] = hosts;
  if (!first) throw new RangeError('an address without a host');
  const nodes = discover
    ? { discover: first }
    : hosts.length > 1
      ? { endpoints: [...hosts] }
      : { endpoint: first };
  // The client tells the three kinds apart by the name of the member, as its own reader of addresses has it do.
  return {
    ...(nodes as Pick<SingleNodeOptions, 'endpoint'>),
    ...numbers,
    ...(connectionName === undefined ? {} : { connectionName }),
    throwOnAppendFailure: true,
  };
}

function requestFor(reading: Reading): InstanceType<typeof streams.ReadReq> {
  const { Options } = streams.ReadReq;
  const options = new Options();
  options.setUuidOption(new Options.UUIDOption().setString(new shared.Empty()));
  options.setResolveLinks(false);
  options.setReadDirection(reading.of === 'last' ? 1 : 0);
  if (reading.of === 'live') options.setSubscription(new Options.SubscriptionOptions());
  else options.setCount(String(reading.of === 'last' ? 1 : reading.count));
  const prefix = prefixOf(reading);
  if (prefix === undefined) options.setNoFilter(new shared.Empty());
  else options.setFilter(filterFor(prefix));
  if (reading.of === 'stream' || (reading.of === 'last' && reading.stream !== undefined)) {
    const name = new shared.StreamIdentifier().setStreamName(Buffer.from(reading.stream ?? ''));
    const stream = new Options.StreamOptions().setStreamIdentifier(name);
    if (reading.of === 'last') stream.setEnd(new shared.Empty());
    else stream.setRevision(String(reading.from));
    options.setStream(stream);
  } else {
    options.setAll(allFor(reading));
  }
  return new streams.ReadReq().setOptions(options);
}

function allFor(reading: Reading): InstanceType<typeof streams.ReadReq.Options.AllOptions> {
  const { AllOptions, Position } = streams.ReadReq.Options;
  const all = new AllOptions();
  if (reading.of === 'last') return all.setEnd(new shared.Empty());
  if (reading.of === 'stream' || reading.from === undefined) return all.setStart(new shared.Empty());
  const { commit, prepare } = reading.from;
  return all.setPosition(
    new Position().setCommitPosition(String(commit)).setPreparePosition(String(prepare)),
  );
}

function filterFor(prefix: string): InstanceType<typeof streams.ReadReq.Options.FilterOptions> {
  const { FilterOptions } = streams.ReadReq.Options;
  return new FilterOptions()
    .setStreamIdentifier(new FilterOptions.Expression().setPrefixList([prefix]))
    .setMax(SEARCH_WINDOW)
    .setCheckpointintervalmultiplier(1);
}

function messageOf(response: InstanceType<typeof streams.ReadResp>): Message | undefined {
  const event = response.getEvent()?.getEvent();
  if (event) {
    return {
      type: 'event',
      event: {
        stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
        revision: Number(event.getStreamRevision()),
        position: positionOf(event),
        data: event.getData_asU8(),
        metadata: event.getCustomMetadata_asU8(),
      },
    };
  }
  const checkpoint = response.getCheckpoint();
  if (checkpoint) return { type: 'checkpoint', position: positionOf(checkpoint) };
  return response.hasStreamNotFound() ? { type: 'no-such-stream' } : undefined;
}

function positionOf(of: { getCommitPosition(): string; getPreparePosition(): string }): LogPosition {
  return { commit: BigInt(of.getCommitPosition()), prepare: BigInt(of.getPreparePosition()) };
}

function callError(thrown: unknown): CallError {
  if (thrown instanceof CallError) return thrown;
  let error = thrown as Error;
  try {
    error = convertToCommandError(error) as Error;
  } catch {
    // A node that does not lead and does not know who does sends no address, which the client does not expect.
    return new CallError('lost', error.message, thrown);
  }
  return new CallError(kindOf(error), error.message, thrown);
}
