/** A page of another site must not act with the session of this one. */
import type { Request } from 'express';
import { describe, expect, it } from 'vitest';
import { refuseForeign, siteOf } from '../../../src/service/http/request/credentials.ts';
import { thrownBy } from '../../support/thrown.ts';

interface Sent {
  readonly method?: string;
  readonly host?: string;
  readonly secure?: boolean;
  readonly peer?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const request = ({
  method = 'GET',
  host = 'localhost:8080',
  secure = false,
  peer = '127.0.0.1',
  headers,
}: Sent) =>
  ({ method, secure, headers: { host, ...headers }, socket: { remoteAddress: peer } }) as unknown as Request;

describe('a session can be used', () => {
  it.each([
    [{ host: 'localhost:8080' }, 'http://localhost:8080'],
    [{ host: 'LOCALHOST' }, 'http://localhost'],
    [{ host: '127.8.9.1', peer: '127.0.0.1' }, 'http://127.8.9.1'],
    [{ host: '[::1]:8080', peer: '::1' }, 'http://[::1]:8080'],
    [{ host: 'localhost', peer: '::ffff:127.0.0.1' }, 'http://localhost'],
    // Over HTTPS, from anywhere.
    [{ host: 'urn.example.org:443', peer: '10.0.0.7', secure: true }, 'https://urn.example.org'],
    [{ host: '10.0.0.7:8443', peer: '10.0.0.9', secure: true }, 'https://10.0.0.7:8443'],
  ])('over plain HTTP on the same machine, or over HTTPS: %o', (sent: Sent, origin) => {
    expect(siteOf(request(sent), undefined)).toEqual({ origin, isSecure: sent.secure ?? false });
  });

  it.each([{ host: 'app:8080', peer: '10.0.0.7' }, { host: '' }])(
    'at the public address, whatever the proxy says: %o',
    (sent) => {
      const site = { origin: 'https://urn.example.org', isSecure: true };
      expect(siteOf(request(sent), site.origin)).toEqual(site);
    },
  );

  it.each([
    { host: 'urn.example.org', peer: '10.0.0.7' },
    { host: '10.0.0.7', peer: '10.0.0.9' },
    // A page's own host name, pointed at the address of this machine.
    { host: 'rebound.example.org', peer: '127.0.0.1' },
    { host: 'localhost.example.org', peer: '127.0.0.1' },
    // A request from elsewhere can say any host.
    { host: 'localhost', peer: '10.0.0.9' },
    { host: '127.0.0.1', peer: '::ffff:10.0.0.9' },
    ...['', 'localhost/', 'evil@localhost', 'localhost:99999'].map((host) => ({ host })),
  ])('nowhere else: %o', (sent) => {
    expect(siteOf(request(sent), undefined)).toBeUndefined();
  });
});

const SITE = { origin: 'https://urn.example.org', isSecure: true };
const isRefused = (method: string, headers: Readonly<Record<string, string>>) => {
  const refused = thrownBy(() => refuseForeign(request({ method, headers }), SITE));
  if (refused) expect(refused).toMatchObject({ status: 403 });
  return refused !== undefined;
};
const OWN = { origin: 'https://urn.example.org' };
const SAME = { 'sec-fetch-site': 'same-origin' };

const METHODS = ['GET', 'HEAD', 'POST', 'DELETE', 'PUT'];

describe('a request', () => {
  it.each([OWN, SAME, { ...OWN, ...SAME }])('from a page of the service is taken: %o', (headers) => {
    for (const method of METHODS) expect(isRefused(method, headers)).toBe(false);
  });

  it.each([
    ...['https://evil.example.org', 'https://urn.example.org.evil.net', 'null'].map((origin) => ({ origin })),
    ...['http://urn.example.org', 'https://urn.example.org:8443'].map((origin) => ({ origin })),
    { origin: 'https://urn.example.org, https://evil.example.org' },
    ...['same-site', 'cross-site', 'none', 'same-origin, same-origin'].map((site) => ({
      'sec-fetch-site': site,
    })),
    { ...OWN, 'sec-fetch-site': 'cross-site' },
    { ...SAME, origin: 'https://evil.example.org' },
  ])('is refused from elsewhere: %o', (headers) => {
    for (const method of METHODS) expect(isRefused(method, headers)).toBe(true);
  });

  it('without either header is taken only if it changes nothing', () => {
    expect(METHODS.filter((method) => isRefused(method, {}))).toEqual(['POST', 'DELETE', 'PUT']);
  });
});
