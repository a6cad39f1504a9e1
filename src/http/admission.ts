/** How many connections one address may hold, so that no client can hold all that there are. */
import type { Socket } from 'node:net';
import type { Logger } from '../service/logger.ts';
import type { Metrics } from '../service/metrics.ts';

export class Admission {
  readonly #most: number;
  readonly #onRefused: (address: string) => void;
  /** By holder; no entry is 0. */
  readonly #held = new Map<string, number>();

  constructor(most: number, onRefused: (address: string) => void) {
    this.#most = most;
    this.#onRefused = onRefused;
  }

  /** Destroys a new connection that is one too many. */
  readonly admit = (socket: Socket): void => {
    const { remoteAddress } = socket;
    // It is gone already.
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const holder = holderOf(remoteAddress);
    const held = this.#held.get(holder) ?? 0;
    if (held >= this.#most) {
      socket.destroy();
      this.#onRefused(holder);
      return;
    }
    this.#held.set(holder, held + 1);
    socket.once('close', () => {
      const left = (this.#held.get(holder) ?? 0) - 1;
      if (left > 0) this.#held.set(holder, left);
      else this.#held.delete(holder);
    });
  };
}

/** The address; of IPv6 its /64, which one client has to itself with all the addresses in it. */
export function holderOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

const REFUSED_LINE_MS = 60_000;

/** Counts them all, and names the address once a minute. */
export function refusedConnections(metrics: Metrics, logger: Logger) {
  let quietUntil = 0;
  return (address?: string) => {
    metrics.connectionRefused();
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + REFUSED_LINE_MS;
    logger.warn(
      { address },
      address === undefined
        ? 'connections are refused: there are as many as this process takes'
        : 'connections are refused: this address holds as many as it may (hint: --connections-per-address; if it is a proxy, --trust-proxy)',
    );
  };
}
