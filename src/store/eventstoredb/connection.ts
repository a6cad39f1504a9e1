/**
 * The line to the leader: held, doubted, renewed.
 *
 * A call that gets no answer for a while, or times out, puts the line in doubt: the node is asked for a sign of life over
 * the same line, and the other nodes who leads. A line that is silent, or goes to a node that no longer leads, is dropped
 * with all its calls, and the leader is looked for again. A node that is only slow keeps its line.
 */
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Channel, type ChannelCredentials, credentials, Metadata } from '@grpc/grpc-js';
import { type EventStoreDbAddress, type Host, readFiles } from './address.ts';
import { Discovery, isSame, type Member } from './discovery.ts';
import { CallError, withTimeout } from './errors.ts';
import { EMPTY, membersIn } from './wire.ts';

/** Times in ms. */
export interface ConnectionTimes {
  /** How long a call may wait for the first response before its line is in doubt. */
  readonly silentMs: number;
  /** How long a node may take to say who leads. */
  readonly askMs: number;
}

/** The server's own limit. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
const KEEP_ALIVE_MS = 10_000;

/** Failures after which another node may be the right one. */
const LEAVE_AFTER: readonly CallError['kind'][] = [
  ...(['not-connected', 'untrusted', 'not-leader', 'not-ready', 'broken'] as const),
];

export class Connection {
  readonly #address: EventStoreDbAddress;
  readonly #security: ChannelCredentials;
  readonly #options: Record<string, number>;
  readonly #times: ConnectionTimes;
  /** Undefined if the address names one node: that node is used, or the leader that it names. */
  readonly #discovery: Discovery | undefined;
  #connecting: Promise<Line> | undefined;
  #line: Line | undefined;
  #doubted: Host | undefined;
  /** The leader, as named by a node that does not lead. */
  #named: Host | undefined;
  #isClosed = false;

  /** Connects when first needed. @throws StoreError if a file that the address names cannot be read */
  constructor(address: EventStoreDbAddress, times: ConnectionTimes) {
    const { hosts, discover, tls } = address;
    const { rootCertificate = null, userKeyFile = null, userCertFile = null } = readFiles(address);
    this.#address = address;
    this.#times = times;
    this.#security = tls
      ? credentials.createSsl(rootCertificate, userKeyFile, userCertFile)
      : credentials.createInsecure();
    this.#options = {
      'grpc.keepalive_time_ms': KEEP_ALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEP_ALIVE_MS,
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      // Otherwise a new line to the same node would reuse the silent connection.
      'grpc.use_local_subchannel_pool': 1,
    };
    if (hosts.length > 1 || discover) this.#discovery = new Discovery(hosts, (host) => this.#ask(host));
  }

  /** The line to the leader, as far as it is known. @throws CallError `not-connected`, `denied`, `untrusted` */
  async line(timeoutMs = Number.POSITIVE_INFINITY): Promise<Line> {
    if (this.#isClosed) throw new CallError('not-connected', 'the connection is closed');
    this.#connecting ??= this.#connect();
    try {
      return await withTimeout(this.#connecting, timeoutMs);
    } catch (error) {
      // Nothing was sent. A time-out would leave that open.
      if (error instanceof CallError && ['denied', 'untrusted'].includes(error.kind)) throw error;
      throw new CallError('not-connected', `no leader was found: ${(error as Error).message}`, error);
    }
  }

  /** Sent with every call. */
  metadata(): Metadata {
    const metadata = new Metadata();
    const { connectionName = 'urn', credentials: user } = this.#address;
    metadata.set('connection-name', connectionName);
    metadata.set('requires-leader', 'true');
    if (user)
      metadata.set(
        'authorization',
        `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}`,
      );
    return metadata;
  }

  get silentMs(): number {
    return this.#times.silentMs;
  }

  /** A call on this line failed. */
  failed(line: Line, error: CallError): void {
    if (error.kind === 'timeout') this.#doubt(line);
    if (LEAVE_AFTER.includes(error.kind)) this.#leave(line, error);
  }

  /** There was no answer on this line for a while. A node that is alone may take the whole time of a call. */
  silent(line: Line): void {
    if (this.#discovery) this.#doubt(line);
  }

  #doubt(line: Line): void {
    if (line !== this.#line || line.isDoubted) return;
    line.isDoubted = true;
    void this.#check(line).finally(() => {
      line.isDoubted = false;
    });
  }

  /** Drops the line, so that the leader is looked for again. */
  renew(): void {
    const line = this.#line;
    if (!line) return;
    this.#forget(line, undefined);
    line.close(new CallError('lost', 'the line was replaced'));
  }

  close(): void {
    this.#isClosed = true;
    this.#line?.close(new CallError('lost', 'the connection was closed'));
    this.#line = undefined;
  }

  async #connect(): Promise<Line> {
    try {
      const host = this.#named ?? (await this.#discovery?.leader(this.#doubted)) ?? this.#address.hosts[0];
      if (!host) throw new RangeError('an address without a host');
      this.#named = undefined;
      const line = new Line(host, this.#security, this.#options);
      this.#line = line;
      if (this.#isClosed) this.close();
      return line;
    } catch (error) {
      this.#connecting = undefined;
      throw error;
    }
  }

  async #check(line: Line): Promise<void> {
    const { askMs } = this.#times;
    const [lives, leader] = await Promise.all([
      line.ask(this.metadata(), askMs).then(
        () => true,
        () => false,
      ),
      this.#discovery?.survey(line.host),
    ]);
    if (lives && (!leader || isSame(leader, line.host))) return;
    const { address, port } = line.host;
    const why = lives ? 'no longer leads' : 'no longer answers';
    this.#forget(line, line.host);
    // There is nobody else to find, so what a single node still answers is waited for.
    line.close(
      new CallError('lost', `${address}:${port} ${why}; looking for the leader`),
      ({ isEndless }) => isEndless || this.#discovery !== undefined,
    );
  }

  /** The node said that it is not the right one, or not now. Calls in progress may end normally. */
  #leave(line: Line, error: CallError): void {
    if (line !== this.#line) return;
    this.#forget(line, undefined);
    if (!this.#discovery) this.#named = error.leader;
    line.close(error, ({ isEndless }) => isEndless);
  }

  #forget(line: Line, doubted: Host | undefined): void {
    if (line !== this.#line) return;
    this.#line = undefined;
    this.#connecting = undefined;
    this.#doubted = doubted;
  }

  async #ask(host: Host): Promise<readonly Member[]> {
    const line = new Line(host, this.#security, this.#options);
    try {
      return await line.ask(this.metadata(), this.#times.askMs);
    } finally {
      line.close(new CallError('lost', 'it was asked'));
    }
  }
}

/** A call in progress. */
interface OpenCall {
  /** It goes on until somebody ends it. */
  readonly isEndless: boolean;
  /** Cancels the call; its caller gets the error. */
  abort(error: CallError): void;
}

/** A connection to one node, and the calls on it. */
export class Line {
  readonly host: Host;
  readonly streams: InstanceType<typeof streamsService.StreamsClient>;
  readonly #gossip: InstanceType<typeof gossipService.GossipClient>;
  readonly #channel: Channel;
  readonly #calls = new Set<OpenCall>();
  isDoubted = false;

  constructor(host: Host, security: ChannelCredentials, options: Record<string, number>) {
    const uri = `${host.address}:${host.port}`;
    this.host = host;
    this.#channel = new Channel(uri, security, options);
    const over = { channelOverride: this.#channel };
    this.streams = new streamsService.StreamsClient(uri, security, over);
    this.#gossip = new gossipService.GossipClient(uri, security, over);
  }

  /** @returns a function to call when the call has ended */
  track(call: OpenCall): () => void {
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  /** What the node knows of its cluster. @throws an error of gRPC if it does not answer in time */
  ask(metadata: Metadata, timeoutMs: number): Promise<readonly Member[]> {
    return new Promise((resolve, reject) => {
      this.#gossip.read(EMPTY, metadata, { deadline: Date.now() + timeoutMs }, (error, info) =>
        error ? reject(error) : resolve(membersIn(info)),
      );
    });
  }

  /** Takes no more calls. @param which calls in progress are aborted */
  close(error: CallError, which: (call: OpenCall) => boolean = () => true): void {
    for (const call of [...this.#calls].filter(which)) call.abort(error);
    this.#channel.close();
  }
}
