/** The option --metrics-port, of `urn serve` and `urn relay`. */
import { isIP } from 'node:net';
import type { Registry } from 'prom-client';
import type { MetricsServer } from '../service/http/server.ts';
import { UsageError } from './options.ts';

export const METRICS_HOST = '127.0.0.1';

/**
 * Parses the option into a function that serves /metrics.
 * @param text `port` or `address:port`, an IPv6 address in brackets; undefined if the option is not given
 * @throws UsageError; so does the function, if it cannot listen on the port
 */
export function metricsPort(
  text: string | undefined,
  otherwise: string,
): ((registry: Registry) => Promise<MetricsServer>) | undefined {
  if (text === undefined) return undefined;
  const [, ipv6, other, port = ''] = /^(?:(?:\[([^\]]*)\]|([^:[\]]+)):)?(.*)$/.exec(text) ?? [];
  if (!/^\d+$/.test(port) || Number(port) > 65535 || (ipv6 !== undefined && isIP(ipv6) !== 6))
    throw new UsageError(
      `--metrics-port ${text} is not a port (hint: 9464, or with an address to listen on: 10.0.0.7:9464, [::1]:9464)`,
    );
  return async (registry) => {
    // This loads Express, which no other part of `urn relay` needs.
    const { serveMetrics } = await import('../service/http/server.ts');
    try {
      return await serveMetrics(registry, ipv6 ?? other ?? otherwise, Number(port));
    } catch (error) {
      throw new UsageError(
        `cannot listen on --metrics-port ${text}: ${(error as Error).message} (hint: choose another port or address)`,
      );
    }
  };
}
