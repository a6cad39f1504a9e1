/** Limits how many connections one address may hold, so that no client can take all of them. */
import type { Socket } from 'node:net';
import type { Logger } from '../monitoring/logger.ts';
import type { Metrics } from '../monitoring/metrics.ts';

export class Admission {
  readonly #maximum: number;
  readonly #onRefused: (address: string) => void;
  /** The number of connections by holder. No entry means none. */
  readonly #held = new Map<string, number>();

  constructor(maximum: number, onRefused: (address: string) => void) {
    this.#maximum = maximum;
    this.#onRefused = onRefused;
  }

  /** Destroys a new connection if its holder already has the maximum. */
  readonly admit = (socket: Socket): void => {
    const { remoteAddress } = socket;
    // The connection is already closed.
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const holder = holderOf(remoteAddress);
    const held = this.#held.get(holder) ?? 0;
    if (held >= this.#maximum) {
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

/** Whose connection it is: the IPv4 address, or the IPv6 /64, since one client usually has a whole /64 to itself. */
export function holderOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

const LOG_INTERVAL_MS = 60_000;

/** Counts every refused connection, and logs at most one a minute. */
export function refusedConnections(metrics: Metrics, logger: Logger) {
  let quietUntil = 0;
  return (address?: string) => {
    metrics.connectionRefused();
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + LOG_INTERVAL_MS;
    logger.warn(
      { address },
      address === undefined
        ? 'connections are refused: this process has as many as it can take'
        : 'connections are refused: this address has as many as it may (hint: --connections-per-address; if it is a proxy, --trust-proxy)',
    );
  };
}
