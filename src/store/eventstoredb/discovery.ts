/**
 * Finds the leader of a cluster.
 *
 * All nodes are asked at once, and each says what it knows of all of them. For some seconds after a leader has fallen
 * silent, the others still name it, so a node counts as the leader only if it answers and says so itself. In a split
 * network two nodes may say that they lead. Then the one that more nodes name is taken; in a tie, the one not in doubt.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from './address.ts';
import { CallError } from './errors.ts';

/** A node, as described by another node or by itself. */
export interface Member {
  readonly host: Host;
  /** Whether it leads and is alive. */
  readonly isLeader: boolean;
}

/** Asks a node about its cluster. Rejects if it does not answer in time. */
export type Ask = (host: Host) => Promise<readonly Member[]>;

export interface DiscoveryTimes {
  readonly attempts: number;
  readonly intervalMs: number;
}

export class Discovery {
  readonly #seeds: readonly Host[];
  readonly #ask: Ask;
  readonly #times: DiscoveryTimes;
  /** The nodes, as they name each other. */
  #known: readonly Host[] = [];
  /** Why the last node that did not answer did not. */
  #silence = 'no leader answers';

  constructor(seeds: readonly Host[], ask: Ask, times: DiscoveryTimes) {
    this.#seeds = seeds;
    this.#ask = ask;
    this.#times = times;
  }

  /**
   * Asks several times, until a node leads.
   * @param doubted a node that did not answer
   * @throws CallError `not-connected`
   */
  async leader(doubted?: Host): Promise<Host> {
    const { attempts, intervalMs } = this.#times;
    for (let attempt = 1; ; attempt++) {
      const leader = await this.survey(doubted);
      if (leader) return leader;
      if (attempt >= attempts)
        throw new CallError(
          'not-connected',
          `Failed to discover who leads after ${attempts} attempts: ${this.#silence}`,
        );
      await delay(intervalMs);
    }
  }

  /** Asks every node once. Undefined if none of them leads and answers. */
  async survey(doubted?: Host): Promise<Host | undefined> {
    const answers = await this.#askAll([...this.#seeds, ...this.#known]);
    const named = unique([...answers.values()].flatMap((members) => members?.map(({ host }) => host) ?? []));
    const newcomers = named.filter((host) => !answers.has(nameOf(host)));
    for (const [name, members] of await this.#askAll(newcomers)) answers.set(name, members);
    if (named.length > 0) this.#known = named;
    return leaderOf(answers, doubted);
  }

  async #askAll(hosts: readonly Host[]): Promise<Map<string, readonly Member[] | undefined>> {
    const asked = unique(hosts).map(async (host) => {
      const members = await this.#ask(host).catch((error: Error) => {
        this.#silence = `${nameOf(host)} says: ${error.message}`;
        return undefined;
      });
      return [nameOf(host), members] as const;
    });
    return new Map(await Promise.all(asked));
  }
}

function leaderOf(
  answers: ReadonlyMap<string, readonly Member[] | undefined>,
  doubted: Host | undefined,
): Host | undefined {
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
  return candidates.sort((a, b) => b.count - a.count || isDoubted(a.host) - isDoubted(b.host))[0]?.host;
}

export function nameOf({ address, port }: Host): string {
  return `${address.toLowerCase()}:${port}`;
}

export function isSame(a: Host, b: Host): boolean {
  return nameOf(a) === nameOf(b);
}

function unique(hosts: readonly Host[]): Host[] {
  return [...new Map(hosts.map((host) => [nameOf(host), host])).values()];
}
