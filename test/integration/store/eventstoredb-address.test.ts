/** Who may talk to whom: TLS, credentials, and connection strings that cannot be honoured. */
import { describe, expect, it, vi } from 'vitest';
import { isAway, NO_STREAM, type StoreError } from '../../../src/store/event-store.ts';
import { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { eventStoreDbScene, failureOf, PATIENT } from '../../support/eventstoredb/scene.ts';
import { readAll, records, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { thrownBy } from '../../support/thrown.ts';

const scene = eventStoreDbScene();
/** With what connection strings must escape, and a colon, at which the client would cut it. */
const credentials = { username: 'urn', password: 'p@ss:w/rd?&%é' };
const newFolder = temporaryFolders();
const named = makeCertificate(newFolder(), 'DNS:localhost');
const ofAddress = makeCertificate(newFolder(), 'IP:127.0.0.1');
const secured = ({ tls } = named) => scene.server({ tls, credentials });
const ca = `tlsCAFile=${encodeURIComponent(named.certFile)}`;

/** A node that cannot be reached is tried again for most of this time; what is left must do for the last try. */
const UNREACHED = { ...PATIENT, appendTimeoutMs: 6000, readTimeoutMs: 6000 };

/** What a store at this address says when it appends and reads. */
async function failuresAt(port: number, at: string, limits = PATIENT): Promise<StoreError[]> {
  const store = scene.store(await scene.server(), { at: at.replaceAll('HOST', `localhost:${port}`), limits });
  return Promise.all([
    failureOf(store.append('study-a', NO_STREAM, records('a', 1))),
    failureOf(readAll(store)),
  ]);
}

describe('TLS and credentials of the connection string', () => {
  it('open a server that requires both', async () => {
    const server = await secured();
    const store = scene.store(server, {
      at: server.connectionString({ tlsCAFile: named.certFile }),
      limits: PATIENT,
    });
    const heard = scene.listen(store);
    expect(await store.append('study-a', NO_STREAM, records('a', 2))).toEqual({ type: 'written' });
    expect(texts(await readAll(store))).toEqual(['a0', 'a1']);
    await heard.until(2);
  });

  it('open a server at an IP address in its certificate, and at no other', async () => {
    // Node warns once that a certificate for an address cannot be asked for by name (DEP0123).
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const atAddress = (port: number, certFile: string) =>
      `esdb://urn:${encodeURIComponent(credentials.password)}@127.0.0.1:${port}?tlsCAFile=${encodeURIComponent(certFile)}`;
    const server = await secured(ofAddress);
    const store = scene.store(server, { at: atAddress(server.port, ofAddress.certFile), limits: PATIENT });
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual({ type: 'written' });
    expect(texts(await readAll(store))).toEqual(['a0']);

    const { port } = await secured();
    for (const error of await failuresAt(port, atAddress(port, named.certFile), UNREACHED)) {
      expect(error.failure).toBe('unavailable');
      expect(error.message).toContain("IP: 127.0.0.1 is not in the cert's list");
    }
    warned.mockRestore();
  });

  it('are refused as such if they are wrong or missing: nothing is written, and no password is quoted', async () => {
    const server = await secured();
    const inCluster = `esdb://urn:guessed-password@HOST,localhost:1?${ca}`;
    for (const at of [`esdb://urn:guessed-password@HOST?${ca}`, inCluster, `esdb://HOST?${ca}`]) {
      for (const error of await failuresAt(server.port, at)) {
        expect([error.failure, error.outcome, isAway(error)]).toEqual(['unavailable', 'not-written', false]);
        expect(error.message).toMatch(/hint: user and password belong in the connection string/);
        expect(JSON.stringify(error) + error.message).not.toContain('guessed');
      }
    }
    expect(server.log.all).toEqual([]);
  });

  it('do not connect without the authority’s certificate or without TLS, and the message says what is missing', async () => {
    const server = await secured();
    const plain = await scene.server();
    const [withoutAuthority, inCluster, withoutTls, withTls] = await Promise.all([
      failuresAt(server.port, 'esdb://urn:p@HOST', UNREACHED),
      failuresAt(server.port, 'esdb://urn:p@HOST,HOST', UNREACHED),
      failuresAt(server.port, 'esdb://HOST?tls=false', UNREACHED),
      failuresAt(plain.port, 'esdb://HOST', UNREACHED),
    ]);
    for (const error of [...withoutAuthority, ...withoutTls]) {
      expect(error.failure).toBe('unavailable');
      expect(error.message).toMatch(/tlsCAFile|see the log/);
    }
    expect(withTls[0]?.message).toContain('?tls=false');
    // To wait would not help.
    expect([...withoutAuthority, ...inCluster, ...withTls].map(isAway)).toEqual(Array(6).fill(false));
  });
});

describe('a connection string', () => {
  const refusalOf = (at: string, prefix = 'urn') =>
    thrownBy(() => new EventStoreDbStore(at, prefix)) as StoreError;
  it.each<[string, RegExp]>([
    ['esdb://host?tlsVerifyCert=false', /certificates are always verified/],
    ['esdb://host?nodePreference=follower', /exact revisions need the leader/],
    ['esdb://host?defaultDeadline=1000', /unknown here.*time-outs of its own/],
    ['esdb://admin:SECRET@host?tsl=false', /unknown here/],
    ['esdb://host?tls', /unknown here, or without a value/],
    ['esdb://host?tls=yes', /tls is neither true nor false/],
    ['esdb://host?tls=false&tlsCAFile=ca.pem', /names certificates but has tls=false/],
    ['esdb://host?userCertFile=a.pem', /belong together/],
    ['esdb://host?keepAliveInterval=10000', /unknown here.*time-outs of its own/],
    ['esdb://host?gossipTimeout=5', /unknown here/],
    ['esdb://SECRET@host', /not user:password/],
    ['esdb://admin:SEC%RET@host', /does not begin a percent-encoding/],
    ['esdb://host:port', /no valid host/],
    ['esdb://host:99999', /no valid host/],
    ['esdb://', /no valid host/],
    ['esdb+discover://a,b', /takes one host/],
    ['http://host', /does not begin with esdb/],
    ['esdb://host?tlsCAFile=/nowhere/ca.pem', /cannot read tlsCAFile.*hint: it must name a PEM file/],
  ])('%s is refused, with a hint and without its password, and nothing is printed', (at, why) => {
    const printed = (['log', 'warn', 'error'] as const).map((method) =>
      vi.spyOn(console, method).mockImplementation(() => undefined),
    );
    const error = refusalOf(at);
    expect([error.failure, error.outcome]).toEqual(['foreign', 'not-written']);
    expect(error.message).toMatch(why);
    expect(error.message).toContain('(hint: ');
    expect(error.message).not.toContain('SEC');
    for (const spy of printed) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  it.each([
    'esdb://admin:SECRET@HOST?tls=false&tlsVerifyCert=false',
    'esdb://admin:SECRET@HOST/?tlsVerifyCert=false&tls=false',
    'kurrentdb://HOST?tls=false',
    'kdb://admin:SECRET@HOST?tls=false',
    'esdb+discover://HOST?tls=false',
    'kurrentdb+discover://HOST?tls=false',
  ])('from examples, %s, opens an insecure server, and sends it no password', async (at) => {
    const server = await scene.server();
    const there = at.replace('HOST', `127.0.0.1:${server.port}`);
    const store = scene.store(server, { at: there, limits: PATIENT });
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual({ type: 'written' });
    expect(texts(await readAll(store))).toEqual(['a0']);
    expect(server.authorizations).toEqual([]);
  });

  it.each(['', 'a.b', 'ä', '$all', 'a b', 'a'.repeat(101)])('refuses the prefix %j', (prefix) => {
    const error = refusalOf('esdb://host', prefix);
    expect([error.failure, error.message]).toEqual(['foreign', expect.stringContaining('(hint: ')]);
  });
});
