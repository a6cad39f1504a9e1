/**
 * A server that speaks EventStoreDB's protocol over gRPC, on the client's own generated definitions, with its data in
 * memory. It is strict about revisions and idempotency as the real one is (log.ts), and it misbehaves on
 * demand (faults.ts). What it does not know, it refuses.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type gossip from '@eventstore/db-client/generated/gossip_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  Server as GrpcServer,
  ServerCredentials,
  type ServerReadableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { type AppendFault, Faults, type ReadFault, type SubscriptionFault } from './faults.ts';
import { NO_STREAM, type ProposedEvent, ServerLog, StreamDeleted } from './log.ts';
import {
  accessFailure,
  appendResponse,
  clusterInfo,
  deletedFailure,
  eventTooLarge,
  failure,
  leaderFailure,
  noLeaderFailure,
  proposed,
  streamName,
} from './messages.ts';
import { answerRead, type ReadCall, subscribe } from './reading.ts';

export interface EventStoreDbServerOptions {
  /** Shared by the nodes of a cluster, and kept over a restart. */
  readonly log?: ServerLog;
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
  readonly credentials?: { readonly username: string; readonly password: string };
  /** What one append may hold, in bytes: a server's default. */
  readonly maxAppendBytes?: number;
  /** 0 takes a free one. */
  readonly port?: number;
}

type AppendCall = ServerReadableStream<
  InstanceType<typeof streams.AppendReq>,
  InstanceType<typeof streams.AppendResp>
>;
type AppendAnswer = sendUnaryData<InstanceType<typeof streams.AppendResp>>;

interface Append {
  readonly stream: string;
  readonly expected: number;
  readonly events: readonly ProposedEvent[];
}

export class EventStoreDbServer {
  readonly log: ServerLog;
  readonly appends = new Faults<AppendFault>('none');
  readonly reads = new Faults<ReadFault>('none');
  readonly subscriptions = new Faults<SubscriptionFault>('none');
  /** Appends that arrived, and how they began. */
  readonly received: Append[] = [];
  /** What callers sent to say who they are. */
  readonly authorizations: string[] = [];
  /** How long it looks at an event that a filter leaves out, in ms. */
  searchMs = 0;
  /** Events that filtered reads have looked at. */
  lookedAt = 0;
  /** Set when another node leads. */
  leader: EventStoreDbServer | undefined;
  /** While it is set, connections are taken and nothing is ever said on them. */
  hangs = false;
  port = 0;
  readonly #options: EventStoreDbServerOptions;
  readonly #late: Append[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #subscriptions = new Set<{ readonly call: ReadCall; readonly finish: () => void }>();
  #grpc: GrpcServer | undefined;
  #net: NetServer | undefined;

  constructor(options: EventStoreDbServerOptions = {}) {
    this.#options = options;
    this.log = options.log ?? new ServerLog();
    this.port = options.port ?? 0;
  }

  /** Begins to listen, on the same port as before when it was stopped. */
  async start(): Promise<this> {
    const { tls } = this.#options;
    const grpc = new GrpcServer({ 'grpc.max_receive_message_length': 4 * 1024 * 1024 });
    grpc.addService(streamsService.StreamsService, {
      append: (call: AppendCall, answer: AppendAnswer) => this.#append(call, answer),
      read: (call: ReadCall) => this.#read(call),
    });
    // A real server would say that it takes appends in batches. The adapter must not even ask: see docs/adr/0009.
    grpc.addService(featuresService.ServerFeaturesService, { getSupportedMethods: () => undefined });
    grpc.addService(gossipService.GossipService, {
      read: (_: unknown, answer: sendUnaryData<InstanceType<typeof gossip.ClusterInfo>>) =>
        answer(null, clusterInfo(this.leader ? [this, this.leader] : [this])),
    });
    const credentials = tls
      ? ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.cert }])
      : ServerCredentials.createInsecure();
    const injector = grpc.createConnectionInjector(credentials);
    const net = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
      if (!this.hangs) injector.injectConnection(socket);
    });
    net.listen(this.port, '127.0.0.1');
    await once(net, 'listening');
    this.port = (net.address() as AddressInfo).port;
    this.#grpc = grpc;
    this.#net = net;
    if (this.log.all.length > 0) this.log.elect();
    return this;
  }

  /** Stops at once, as a crash does; its data stays. */
  async stop(): Promise<void> {
    const closed = this.#net && once(this.#net, 'close');
    this.#net?.close();
    this.dropConnections();
    this.#grpc?.forceShutdown();
    await closed;
    this.#net = undefined;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Takes no new connections; those that are open stay. */
  closeDoor(): void {
    this.#net?.close();
  }

  dropConnections(): void {
    for (const { finish } of this.#subscriptions) finish();
    this.#subscriptions.clear();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends all subscriptions that are open. */
  endSubscriptions(how: 'without-error' | 'with-error' | 'silently'): void {
    for (const { call, finish } of this.#subscriptions) {
      finish();
      if (how === 'without-error') call.end();
      if (how === 'with-error') call.emit('error', failure(status.UNAVAILABLE, 'Server Is Not Ready'));
    }
    this.#subscriptions.clear();
  }

  /** Appends that never got an answer are written now. */
  landLate(): void {
    for (const { stream, expected, events } of this.#late.splice(0))
      this.log.append(stream, expected, events);
  }

  /** With the credentials that it wants; `query` is added to it. */
  connectionString(query: Readonly<Record<string, string>> = {}): string {
    const { tls, credentials } = this.#options;
    const user = credentials ? `${credentials.username}:${encodeURIComponent(credentials.password)}@` : '';
    const options = new URLSearchParams({ tls: String(tls !== undefined), ...query });
    // A certificate's names are compared with this one; it has to be one for TLS.
    const host = tls ? 'localhost' : '127.0.0.1';
    return `esdb://${user}${host}:${this.port}?${options}`;
  }

  #append(call: AppendCall, answer: AppendAnswer): void {
    const refused = this.#refusal(call);
    const events: ProposedEvent[] = [];
    let stream = '';
    let expected: number | undefined;
    let bytes = 0;
    call.on('error', () => undefined);
    call.on('data', (request) => {
      const options = request.getOptions();
      if (options) {
        stream = streamName(options.getStreamIdentifier());
        if (options.hasNoStream()) expected = NO_STREAM;
        else if (options.hasRevision()) expected = Number(options.getRevision());
      }
      const message = request.getProposedMessage();
      if (!message) return;
      const event = proposed(message);
      bytes += event.data.length + event.metadata.length + 2 * event.type.length;
      events.push(event);
    });
    call.on('end', () => {
      const most = this.#options.maxAppendBytes ?? 1024 * 1024;
      if (refused) answer(refused);
      else if (expected === undefined)
        answer(failure(status.INVALID_ARGUMENT, 'this server takes exact revisions only'));
      else if (bytes > most)
        answer(
          failure(
            status.INVALID_ARGUMENT,
            `Maximum Append Size of ${most} Exceeded.`,
            'maximum-append-size-exceeded',
            { 'maximum-append-size': String(most) },
          ),
        );
      else void this.#decide({ stream, expected, events }, answer);
    });
  }

  async #decide(append: Append, answer: AppendAnswer): Promise<void> {
    this.received.push(append);
    const write = () => this.log.append(append.stream, append.expected, append.events);
    const fault = this.appends.take();
    if (typeof fault === 'object') await delay(fault.lateMs);
    switch (fault) {
      case 'fails':
        answer(failure(status.INTERNAL, 'something went wrong'));
        return;
      case 'event-too-large':
        answer(eventTooLarge());
        return;
      case 'not-ready':
        answer(failure(status.UNAVAILABLE, 'Server Is Not Ready'));
        return;
      case 'knows-no-user':
        answer(failure(status.UNAVAILABLE, 'Server not ready'));
        return;
      case 'no-leader':
        answer(noLeaderFailure());
        return;
      case 'times-out':
        write();
        answer(failure(status.ABORTED, 'Operation timed out: Commit phase timeout.'));
        return;
      case 'drops':
        this.dropConnections();
        return;
      case 'writes-and-drops':
        write();
        this.dropConnections();
        return;
      case 'writes-and-never-answers':
        write();
        return;
      case 'lands-late':
        this.#late.push(append);
        return;
      case 'never-answers':
        return;
    }
    const decision = write();
    if (decision.type === 'deleted') answer(deletedFailure(append.stream));
    else answer(null, appendResponse(decision, append.expected));
  }

  async #read(call: ReadCall): Promise<void> {
    call.on('error', () => undefined);
    const refused = this.#refusal(call);
    const options = call.request.getOptions();
    if (refused || !options) {
      call.emit('error', refused ?? failure(status.INVALID_ARGUMENT, 'no options'));
      return;
    }
    if (options.hasSubscription()) {
      const open = {
        call,
        finish: subscribe(call, options, this.log, this.subscriptions.take(), this.searchMs),
      };
      this.#subscriptions.add(open);
      call.on('cancelled', () => this.#subscriptions.delete(open));
      return;
    }
    const fault = this.reads.take();
    if (typeof fault === 'object') await delay(fault.lateMs);
    if (fault === 'drops') this.dropConnections();
    if (fault === 'fails') call.emit('error', failure(status.INTERNAL, 'something went wrong'));
    if (fault === 'drops' || fault === 'fails' || fault === 'never-answers') return;
    try {
      this.lookedAt += await answerRead(call, options, this.log, this.searchMs);
    } catch (error) {
      if (!(error instanceof StreamDeleted)) throw error;
      call.emit('error', deletedFailure(error.stream));
    }
  }

  #refusal(call: AppendCall | ReadCall): ReturnType<typeof failure> | undefined {
    this.authorizations.push(...call.metadata.get('authorization').map(String));
    return (
      accessFailure(this.#options.credentials, call.metadata) ??
      leaderFailure(this.leader?.port, call.metadata)
    );
  }
}
