/**
 * A server that speaks EventStoreDB's protocol over gRPC, with the generated definitions of its client and its data in
 * memory. It is as strict about revisions, repetitions, deletions and rights as the real one (log.ts, access.ts), and
 * misbehaves on demand (faults.ts). It refuses what it does not know.
 */
import type { Socket } from 'node:net';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type gossip from '@eventstore/db-client/generated/gossip_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import usersService from '@eventstore/db-client/generated/users_grpc_pb.js';
import {
  Server as GrpcServer,
  type Metadata,
  ServerCredentials,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { type Access, type Action, ADMINS, accessOf, type User } from './access.ts';
import {
  type Append,
  type AppendAnswer,
  type AppendCall,
  answerRead,
  appendIn,
  decide,
  deletions,
  knownUpTo,
  type ReadCall,
  subscribe,
  userService,
} from './calls.ts';
import { type AppendFault, Faults, type ReadFault, type SubscriptionFault } from './faults.ts';
import { ServerLog, StreamDeleted } from './log.ts';
import {
  clusterInfo,
  deletedFailure,
  failure,
  leaderFailure,
  type MemberView,
  noLeaderFailure,
  notReady,
  streamName,
  tooSlow,
} from './messages.ts';
import { Door } from './valve.ts';

export interface EventStoreDbServerOptions {
  /** Shared by the nodes of a cluster, and kept over a restart. */
  readonly log?: ServerLog;
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
  /** The only administrator. Undefined: everybody is one, as on an insecure server. */
  readonly credentials?: { readonly username: string; readonly password: string };
  /** Largest append in bytes: the default of a server. */
  readonly maxAppendBytes?: number;
  /** 0 picks a free one. */
  readonly port?: number;
  readonly canFreeze?: boolean;
}

type Gossip = sendUnaryData<InstanceType<typeof gossip.ClusterInfo>>;

export class EventStoreDbServer {
  readonly log: ServerLog;
  readonly appends = new Faults<AppendFault>('none');
  readonly reads = new Faults<ReadFault>('none');
  readonly subscriptions = new Faults<SubscriptionFault>('none');
  /** Appends that arrived, and how they began. */
  readonly received: Append[] = [];
  readonly authorizations: string[] = [];
  /** How long it takes to skip an event that a filter leaves out, in ms. */
  searchMs = 0;
  /** Number of events that filtered reads have looked at. */
  lookedAt = 0;
  /** Set if another node leads, or nobody knows which. */
  leader: EventStoreDbServer | 'unknown' | undefined;
  /** It has been elected but does not lead yet: it serves reads, but no appends. */
  isPreLeader = false;
  /** What it knows of its cluster. */
  members: () => readonly MemberView[] = () => [
    { port: this.port, state: this.leader === undefined ? 'leader' : 'follower', isAlive: true },
    ...(this.leader instanceof EventStoreDbServer
      ? [{ port: this.leader.port, state: 'leader' as const, isAlive: true }]
      : []),
  ];
  /** While this is set, connections are accepted but never answered. */
  hangs = false;
  port = 0;
  readonly #options: EventStoreDbServerOptions;
  readonly #access: Access | undefined;
  readonly #late: (() => unknown)[] = [];
  readonly #door = new Door((socket) => {
    if (!this.hangs) this.#inject(socket);
  });
  readonly #subscriptions = new Set<{ readonly call: ReadCall; readonly finish: () => void }>();
  /** It knows the log only up to this position. */
  #horizon: bigint | undefined;
  #grpc: GrpcServer | undefined;
  #inject: (socket: Socket) => void = () => undefined;

  constructor(options: EventStoreDbServerOptions = {}) {
    this.#options = options;
    this.log = options.log ?? new ServerLog();
    this.port = options.port ?? 0;
    const { credentials } = options;
    if (credentials) {
      const administrator: User = { password: credentials.password, groups: [ADMINS] };
      this.#access = accessOf({ [credentials.username]: administrator }, this.log);
    }
  }

  /** Begins to listen, on the same port as before when it was stopped. */
  async start(): Promise<this> {
    const { tls, canFreeze = false } = this.#options;
    const grpc = this.#services();
    const credentials = tls
      ? ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.cert }])
      : ServerCredentials.createInsecure();
    const injector = grpc.createConnectionInjector(credentials);
    this.#inject = (socket) => injector.injectConnection(socket);
    this.#grpc = grpc;
    this.port = await this.#door.listen(this.port, canFreeze);
    if (this.log.all.length > 0 && this.leader === undefined) this.log.elect();
    return this;
  }

  /** Stops at once, like a crash; its data stays. */
  async stop(): Promise<void> {
    this.#endAll();
    await this.#door.close();
    this.#grpc?.forceShutdown();
  }

  /** Falls silent, like a stopped process, a machine without power, or one whose packets are dropped. */
  freeze(): void {
    this.#door.freeze();
  }

  thaw(): void {
    this.#door.thaw();
  }

  /** Each connection breaks once more than so many bytes of answers have passed. */
  cutAfter(bytes: number): void {
    this.#door.cutAfter(bytes);
  }

  /** Knows only the events up to a position, or all of them. */
  knowUpTo(horizon: bigint | undefined): void {
    this.#horizon = horizon;
    this.log.wake();
  }

  get connections(): number {
    return this.#door.connections;
  }

  /** Accepts no new connections; open ones stay. */
  closeDoor(): void {
    this.#door.shut();
  }

  dropConnections(): void {
    this.#endAll();
    this.#door.dropConnections();
  }

  endSubscriptions(how: 'without-error' | 'with-error' | 'as-too-slow' | 'silently'): void {
    for (const { call, finish } of this.#subscriptions) {
      finish();
      if (how === 'without-error') call.end();
      if (how === 'with-error') call.emit('error', notReady());
      if (how === 'as-too-slow') call.emit('error', tooSlow());
    }
    this.#subscriptions.clear();
  }

  /** Writes the appends that never got an answer, if their places are still free. */
  landLate(): void {
    for (const land of this.#late.splice(0)) land();
  }

  /** The connection string, with the required credentials; `query` is appended. */
  connectionString(query: Readonly<Record<string, string>> = {}): string {
    const { tls, credentials } = this.#options;
    const user = credentials ? `${credentials.username}:${encodeURIComponent(credentials.password)}@` : '';
    const options = new URLSearchParams({ tls: String(tls !== undefined), ...query });
    // A certificate's names are compared with this one, so TLS needs a name.
    const host = tls ? 'localhost' : '127.0.0.1';
    return `esdb://${user}${host}:${this.port}?${options}`;
  }

  #endAll(): void {
    for (const { finish } of this.#subscriptions) finish();
    this.#subscriptions.clear();
  }

  #services(): GrpcServer {
    const grpc = new GrpcServer({ 'grpc.max_receive_message_length': 4 * 1024 * 1024 });
    grpc.addService(streamsService.StreamsService, {
      append: (call: AppendCall, answer: AppendAnswer) => void this.#append(call, answer),
      read: (call: ReadCall) => void this.#read(call),
      ...deletions(this.log, (metadata, stream) => this.#refusal(metadata, 'delete', stream)),
    });
    grpc.addService(usersService.UsersService, userService(this.#access));
    // A real server would announce batch appends. Nobody here may even ask for them: see docs/adr/0009.
    grpc.addService(featuresService.ServerFeaturesService, { getSupportedMethods: () => undefined });
    grpc.addService(gossipService.GossipService, {
      read: ({ metadata }: { readonly metadata: Metadata }, answer: Gossip) => {
        const refused = this.#access?.refusalOfUnknown(metadata);
        if (refused) answer(refused);
        else answer(null, clusterInfo(this.members()));
      },
    });
    return grpc;
  }

  async #append(call: AppendCall, answer: AppendAnswer): Promise<void> {
    call.on('error', () => undefined);
    let append: Append;
    try {
      append = await appendIn(call, this.#options.maxAppendBytes ?? 1024 * 1024);
    } catch (error) {
      answer(error as ReturnType<typeof failure>);
      return;
    }
    const refused = this.#refusal(call.metadata, 'write', append.stream);
    if (refused || this.isPreLeader) {
      answer(refused ?? notReady());
      return;
    }
    this.received.push(append);
    const dropConnections = () => this.dropConnections();
    await decide(append, this.appends.take(), { log: this.log, dropConnections, late: this.#late }, answer);
  }

  async #read(call: ReadCall): Promise<void> {
    call.on('error', () => undefined);
    const options = call.request.getOptions();
    const stream = options?.getStream()?.getStreamIdentifier();
    const refused = this.#refusal(call.metadata, 'read', stream ? streamName(stream) : '$all');
    if (refused || !options) {
      call.emit('error', refused ?? failure(status.INVALID_ARGUMENT, 'no options'));
      return;
    }
    if (options.hasSubscription()) {
      const known = () => this.#horizon;
      const fault = this.subscriptions.take();
      const open = { call, finish: subscribe(call, options, this.log, known, fault, this.searchMs) };
      this.#subscriptions.add(open);
      call.on('cancelled', () => this.#subscriptions.delete(open));
      return;
    }
    const fault = this.reads.take();
    if (fault === 'drops') this.dropConnections();
    if (fault === 'fails') call.emit('error', failure(status.INTERNAL, 'something went wrong'));
    if (fault === 'drops' || fault === 'fails' || fault === 'never-answers') return;
    try {
      this.lookedAt += await answerRead(call, options, knownUpTo(this.log, this.#horizon), this.searchMs);
    } catch (error) {
      if (!(error instanceof StreamDeleted)) throw error;
      call.emit('error', deletedFailure(error.stream));
    }
  }

  #refusal(metadata: Metadata, action: Action, stream: string): ReturnType<typeof failure> | undefined {
    this.authorizations.push(...metadata.get('authorization').map(String));
    const denied = this.#access?.refusal(metadata, action, stream);
    // Without that demand, a follower passes appends on to the leader: here all nodes write the same log.
    if (denied || !metadata.get('requires-leader').includes('true')) return denied;
    return this.leader === 'unknown' ? noLeaderFailure() : this.leader && leaderFailure(this.leader.port);
  }
}
