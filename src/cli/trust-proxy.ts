/** The option --trust-proxy. */
import { isIP } from 'node:net';
import { UsageError } from './options.ts';

/** Names that Express knows. */
const PROXY_RANGES = new Set(['loopback', 'linklocal', 'uniquelocal']);

/**
 * The value for Express's setting `trust proxy`.
 * @throws UsageError
 */
export function trustOf(trust: string | true | undefined): number | string | undefined {
  if (trust === undefined) return undefined;
  if (trust === true || trust === 'true') return 1;
  if (/^\d+$/.test(trust)) return Number(trust);
  for (const proxy of trust.split(',').map((address) => address.trim()))
    if (!PROXY_RANGES.has(proxy) && !isNetwork(proxy))
      throw new UsageError(
        `--trust-proxy "${trust}" is neither a number of proxies nor their addresses (hint: 1, or 10.0.0.7, or 10.0.0.0/8)`,
      );
  return trust;
}

/** An address, or a network as address/bits. */
function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const most = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= most));
}
