/**
 * Finds the leader of a cluster.
 *
 * All nodes are asked at once, and each says what it knows of all of them. For some seconds after a leader has fallen
 * silent, the others still name it, so a node counts as the leader only if it answers and says so itself. In a split
 * network two nodes may say that they lead. Then the one that more nodes name is taken; in a tie, the one not in doubt.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from './address.ts';
import { CallError, callError } from './errors.ts';

/** A node, as described by another node or by itself. */
export interface Member {
  readonly host: Host;
  /** Whether it leads and is alive. */
  readonly isLeader: boolean;
}

/** Asks a node about its cluster. Rejects if it does not answer in time. */
type Ask = (host: Host) => Promise<readonly Member[]>;

/** How often to ask until a node leads, and how long to wait in between, in ms. */
const [ATTEMPTS, INTERVAL_MS] = [10, 100];
/** How much longer than most of the nodes the others may take, in ms. It grows with each attempt, for nodes far apart. */
const [STRAGGLERS_MS, MOST_STRAGGLERS_MS] = [100, 500];

export class Discovery {
  readonly #seeds: readonly Host[];
  readonly #ask: Ask;
  readonly #intervalMs: number;
  /** The nodes, as they name each other. */
  #known: readonly Host[] = [];
  /** Why the last node that did not answer did not, or why one that did denied it. */
  #silence: CallError | undefined;

  constructor(seeds: readonly Host[], ask: Ask, intervalMs: number = INTERVAL_MS) {
    this.#seeds = seeds;
    this.#ask = ask;
    this.#intervalMs = intervalMs;
  }

  /**
   * Asks several times, until a node leads.
   * @param doubted a node that did not answer
   * @throws CallError `not-connected`; `denied` if that is why a node says nothing, `untrusted` if it is so for all of them
   */
  async leader(doubted?: Host): Promise<Host> {
    for (let attempt = 1; ; attempt++) {
      const leader = await this.survey(doubted, Math.min(attempt * STRAGGLERS_MS, MOST_STRAGGLERS_MS));
      if (leader) return leader;
      // Asking again does not make a wrong password right.
      const { kind, message: why } = this.#silence ?? { kind: undefined, message: 'no leader answers' };
      if (kind === 'denied' || attempt >= ATTEMPTS) {
        throw new CallError(
          kind === 'denied' || kind === 'untrusted' ? kind : 'not-connected',
          `Failed to discover who leads after ${attempt} attempts: ${why}`,
          this.#silence,
        );
      }
      await delay(this.#intervalMs);
    }
  }

  /**
   * Asks every node once. Undefined if none of them leads and answers. It ends when most of them name a leader that says so
   * itself, and at the latest some ms after most have answered: a silent node must not delay the others.
   */
  survey(doubted?: Host, stragglersMs: number = STRAGGLERS_MS): Promise<Host | undefined> {
    this.#silence = undefined;
    return new Promise((resolve) => {
      const answers: Answers = new Map();
      const asked = new Set<string>();
      let late: NodeJS.Timeout | undefined;
      const end = () => {
        clearTimeout(late);
        const named = unique(
          [...answers.values()].flatMap((members) => members?.map(({ host }) => host) ?? []),
        );
        if (named.length > 0) {
          this.#known = named;
          if (this.#silence?.kind === 'untrusted') this.#silence = undefined;
        }
        resolve(candidatesIn(answers, doubted)[0]?.host);
      };
      const take = (host: Host, members: readonly Member[] | undefined) => {
        answers.set(nameOf(host), members);
        for (const member of members ?? []) ask(member.host);
        const most = asked.size / 2;
        const isClear = (candidatesIn(answers, doubted)[0]?.count ?? 0) > most;
        if (isClear || answers.size === asked.size) end();
        else if ([...answers.values()].filter(Boolean).length > most) late ??= setTimeout(end, stragglersMs);
      };
      const ask = (host: Host) => {
        if (asked.has(nameOf(host))) return;
        asked.add(nameOf(host));
        this.#ask(host).then(
          (members) => take(host, members),
          (error: Error) => {
            const { kind } = callError(error);
            const isSaid = this.#silence && (this.#silence.kind === 'denied' || kind === 'untrusted');
            if (!isSaid) this.#silence = new CallError(kind, `${nameOf(host)} says: ${error.message}`, error);
            take(host, undefined);
          },
        );
      };
      for (const host of [...this.#seeds, ...this.#known]) ask(host);
    });
  }
}

/** What each node says, by its name; undefined if it did not answer. */
type Answers = Map<string, readonly Member[] | undefined>;

/** The nodes that say that they lead, the likeliest first, with the number of nodes that name them. */
function candidatesIn(answers: Answers, doubted: Host | undefined): { host: Host; count: number }[] {
  const votes = new Map<string, { readonly host: Host; count: number }>();
  for (const members of answers.values())
    for (const { host } of members?.filter(({ isLeader }) => isLeader) ?? []) {
      const vote = votes.get(nameOf(host)) ?? { host, count: 0 };
      vote.count++;
      votes.set(nameOf(host), vote);
    }
  const saysItself = ({ host }: { readonly host: Host }) =>
    answers.get(nameOf(host))?.some((member) => member.isLeader && isSame(member.host, host)) ?? false;
  const isDoubted = (host: Host) => Number(doubted !== undefined && isSame(host, doubted));
  const candidates = [...votes.values()].filter(saysItself);
  return candidates.sort((a, b) => b.count - a.count || isDoubted(a.host) - isDoubted(b.host));
}

function nameOf({ address, port }: Host): string {
  return `${address.toLowerCase()}:${port}`;
}

export function isSame(a: Host, b: Host): boolean {
  return nameOf(a) === nameOf(b);
}

function unique(hosts: readonly Host[]): Host[] {
  return [...new Map(hosts.map((host) => [nameOf(host), host])).values()];
}
