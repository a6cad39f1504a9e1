/** Which site a request was sent to, and whether a page of that same site sent it. */
import { BlockList, isIP } from 'node:net';
import type { Request } from 'express';
import { HttpProblem } from './problem.ts';

export interface Site {
  /** As browsers send it in `Origin`. */
  readonly origin: string;
  /** HTTPS, at least between the browser and a proxy. */
  readonly isSecure: boolean;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * @param publicUrl the address of the service for browsers, if it cannot be seen from the request
 * @returns undefined if no session may be used there: plain HTTP that may leave this machine
 */
export function siteOf(request: Request, publicUrl: string | undefined): Site | undefined {
  if (publicUrl !== undefined) return { origin: new URL(publicUrl).origin, isSecure: true };
  const { host = '' } = request.headers;
  const isSecure = request.secure;
  const address = `${isSecure ? 'https' : 'http'}://${host}`;
  if (!HOST.test(host) || !URL.canParse(address)) return undefined;
  const { origin, hostname } = new URL(address);
  // A page whose own name was pointed at this machine's address has another host.
  const isHere = isLoopbackName(hostname) && isLoopback(request.socket.remoteAddress ?? '');
  return isSecure || isHere ? { origin, isSecure } : undefined;
}

function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}

function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Refuses a request that a page of another site may have sent. With every request that may change something, browsers send
 * at least one of the two headers, and no page can forge them.
 * @throws HttpProblem 403
 */
export function refuseForeign({ method, headers }: Request, site: Site): void {
  const { origin, 'sec-fetch-site': fetchSite } = headers;
  if (fetchSite !== undefined && fetchSite !== 'same-origin')
    throw new HttpProblem(403, 'This was not sent by a page of this service');
  if (origin !== undefined && origin !== site.origin)
    throw new HttpProblem(
      403,
      `This was not sent by a page of ${site.origin} (hint for the operator: behind a proxy, --public-url says the address that browsers use)`,
    );
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && fetchSite === undefined && origin === undefined)
    throw new HttpProblem(
      403,
      'It does not show which page sent this: with a session, send the header Origin or Sec-Fetch-Site',
    );
}
