/**
 * Three nodes of EventStoreDB over one log: one leads, and the others take over when it is gone, as fast as a real 23.10.
 * What a leader has acknowledged is never lost.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ServerLog } from './log.ts';
import type { MemberView } from './messages.ts';
import { EventStoreDbServer } from './server.ts';

export interface ElectionTimes {
  /** How long the others still name a silent leader, in ms. */
  readonly noticeMs: number;
  /** From then until another one is elected, in ms. */
  readonly electMs: number;
  /** How long the new leader serves reads before it leads, in ms. */
  readonly preLeaderMs: number;
  /** How many of the last events it does not know in that time. */
  readonly unknownEvents: number;
}

/** As measured: there is a new leader after two to five seconds, and it knows less for at most 0.3 s. */
const REAL_TIMES: ElectionTimes = { noticeMs: 2500, electMs: 1500, preLeaderMs: 300, unknownEvents: 3 };

type Node = EventStoreDbServer;

export class TestCluster {
  readonly log = new ServerLog();
  readonly nodes: readonly Node[];
  leader: Node;
  readonly #times: ElectionTimes;

  constructor(times: Partial<ElectionTimes> = {}) {
    this.#times = { ...REAL_TIMES, ...times };
    this.nodes = [0, 1, 2].map(() => new EventStoreDbServer({ log: this.log, canFreeze: true }));
    this.leader = this.nodes[0] as Node;
  }

  async start(): Promise<this> {
    for (const node of this.nodes) await node.start();
    this.#rejoin();
    this.#follow(this.leader, this.nodes);
    return this;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  connectionString(): string {
    return `esdb://${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}?tls=false`;
  }

  /** Silences the leader; resolves when another node leads. The old leader stays silent. */
  async freezeLeader(): Promise<Node> {
    const old = this.leader;
    old.freeze();
    old.knowUpTo(this.log.all.at(-1)?.position ?? 0n);
    return this.#replace(old);
  }

  /** Silences the leader, whom the others elect again: gossip still takes it to be alive. Nobody leads until it wakes. */
  freezeReelected(): void {
    this.leader.freeze();
  }

  /** Ends the leader's process; resolves when another node leads. */
  async killLeader(): Promise<Node> {
    const old = this.leader;
    await old.stop();
    return this.#replace(old);
  }

  /** The leader hands over, as if asked to resign. */
  async resignLeader(): Promise<void> {
    const old = this.leader;
    const next = this.#nextTo(old);
    for (const node of this.nodes) node.leader = 'unknown';
    await this.#promote(next, this.nodes);
  }

  /**
   * Splits the network: the leader still answers everybody who reaches it, but finds no quorum for appends; the others
   * elect a new one. Resolves when that one leads.
   * @returns a function that joins the network again
   */
  async splitLeader(): Promise<() => void> {
    const old = this.leader;
    old.appends.always = 'finds-no-quorum';
    old.knowUpTo(this.log.all.at(-1)?.position ?? 0n);
    old.members = () =>
      this.nodes.map((other) => view(other, other === old ? 'leader' : 'follower', other === old));
    await this.#replace(old);
    return () => {
      old.appends.clear();
      old.knowUpTo(undefined);
      old.leader = this.leader;
      this.#rejoin();
    };
  }

  /**
   * The silent node answers again, and follows.
   * @param staleMs how long it still believes that it leads
   */
  async thaw(node: Node, staleMs = 0): Promise<void> {
    if (staleMs > 0) {
      node.appends.always = 'finds-no-quorum';
      node.thaw();
      await delay(staleMs);
      node.appends.clear();
    }
    node.leader = this.leader;
    node.knowUpTo(undefined);
    node.thaw();
    this.#rejoin();
  }

  /** Restarts the process that ended; it follows. */
  async restart(node: Node): Promise<void> {
    node.leader = this.leader;
    await node.start();
    this.#rejoin();
  }

  #rejoin(nodes = this.nodes): void {
    for (const node of nodes)
      node.members = () => this.nodes.map((other) => view(other, stateOf(other), true));
  }

  async #replace(old: Node): Promise<Node> {
    const { noticeMs, electMs } = this.#times;
    const others = this.nodes.filter((node) => node !== old);
    this.#rejoin(others);
    await delay(noticeMs);
    for (const node of others) {
      node.members = () => this.nodes.map((other) => view(other, stateOf(other), other !== old));
      node.leader = 'unknown';
    }
    await delay(electMs);
    return this.#promote(this.#nextTo(old), others);
  }

  async #promote(next: Node, reached: readonly Node[]): Promise<Node> {
    const { preLeaderMs, unknownEvents } = this.#times;
    next.isPreLeader = true;
    next.knowUpTo(this.log.all.at(-1 - unknownEvents)?.position);
    this.#follow(next, reached);
    await delay(preLeaderMs);
    next.knowUpTo(undefined);
    next.isPreLeader = false;
    this.log.elect();
    return next;
  }

  #follow(leader: Node, nodes: readonly Node[]): void {
    this.leader = leader;
    for (const node of nodes) node.leader = node === leader ? undefined : leader;
  }

  #nextTo(node: Node): Node {
    return this.nodes[(this.nodes.indexOf(node) + 1) % this.nodes.length] as Node;
  }
}

function view({ port }: Node, state: MemberView['state'], isAlive: boolean): MemberView {
  return { port, state, isAlive };
}

function stateOf({ leader, isPreLeader }: Node): MemberView['state'] {
  if (leader === 'unknown') return 'unknown';
  if (leader) return 'follower';
  return isPreLeader ? 'pre-leader' : 'leader';
}
