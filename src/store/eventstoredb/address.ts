/**
 * The connection string of an EventStoreDB server or cluster, parsed by this program and not by the client.
 *
 *   esdb://[user:password@]host[:port][,host[:port]…][?tls=true&tlsCAFile=…]      esdb+discover:// for one DNS name
 *
 * kurrentdb:// and kdb:// mean the same; EventStoreDB's successor uses them.
 *
 * The client's own parser cuts a password at its first colon, prints the whole string, password included, when it meets
 * an unknown option, and accepts options that would break what the adapter relies on. This one refuses what cannot be
 * honoured, and no message quotes the string.
 */
import { readFileSync } from 'node:fs';
import { StoreError } from '../event-store.ts';

export interface Host {
  readonly address: string;
  readonly port: number;
}

export interface EventStoreDbAddress {
  readonly hosts: readonly Host[];
  /** The only host is a DNS name for all nodes of the cluster. */
  readonly discover: boolean;
  readonly tls: boolean;
  /** Undefined without TLS. */
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  /** Paths of PEM files. */
  readonly files: {
    readonly tlsCAFile: string | undefined;
    readonly userCertFile: string | undefined;
    readonly userKeyFile: string | undefined;
  };
  readonly connectionName: string | undefined;
  /** Hosts and ports, for messages. */
  readonly name: string;
}

const DEFAULT_PORT = 2113;

const KNOWN = ['tls', 'tlsCAFile', 'userCertFile', 'userKeyFile', 'connectionName'];

/** Other options of the client, and why each allows only one value. */
const FIXED: Readonly<
  Record<string, { readonly value: string; readonly why: string; readonly ofTls?: boolean }>
> = {
  tlsverifycert: {
    value: 'true',
    ofTls: true,
    why: 'certificates are always verified; name your authority with tlsCAFile',
  },
  nodepreference: { value: 'leader', why: 'exact revisions need the leader' },
};

/** @throws StoreError `foreign` if the string is wrong, or asks for something that cannot be honoured */
export function parseAddress(connectionString: string): EventStoreDbAddress {
  const [scheme, discover, rest = ''] =
    /^(?:esdb|kurrentdb|kdb)(\+discover)?:\/\/(.*)$/s.exec(connectionString.trim()) ?? [];
  if (!scheme) throw wrong('it does not begin with esdb:// or esdb+discover://');
  const question = rest.indexOf('?');
  const authority = (question < 0 ? rest : rest.slice(0, question)).replace(/\/+$/, '');
  const options = parseOptions(question < 0 ? '' : rest.slice(question + 1));
  const at = authority.lastIndexOf('@');
  const credentials = at < 0 ? undefined : parseCredentials(authority.slice(0, at));
  const hosts = authority
    .slice(at + 1)
    .split(',')
    .map(parseHost);
  const tls = parseSwitch('tls', options.get('tls') ?? 'true');
  if (discover && hosts.length > 1)
    throw wrong('esdb+discover:// takes one host, the DNS name of the cluster');
  const userCertFile = options.get('userCertFile');
  const userKeyFile = options.get('userKeyFile');
  if ((userCertFile === undefined) !== (userKeyFile === undefined))
    throw wrong('userCertFile and userKeyFile belong together');
  const tlsCAFile = options.get('tlsCAFile');
  if (!tls && (tlsCAFile ?? userCertFile) !== undefined)
    throw wrong('it names certificates but has tls=false', 'leave out one of them');
  return {
    hosts,
    discover: discover !== undefined,
    tls,
    // An insecure server asks for no credentials, and treats everybody as its administrator. Many examples have some, so
    // they are accepted, but no password is sent over a line that anybody can read.
    credentials: tls ? credentials : undefined,
    files: { tlsCAFile, userCertFile, userKeyFile },
    connectionName: options.get('connectionName'),
    name: hosts.map(({ address, port }) => `${address}:${port}`).join(','),
  };
}

/** The certificates and keys that the address names, as the client takes them. @throws StoreError `foreign` */
export function readFiles({ files }: EventStoreDbAddress): {
  rootCertificate?: Buffer;
  userCertFile?: Buffer;
  userKeyFile?: Buffer;
} {
  const { tlsCAFile, userCertFile, userKeyFile } = files;
  return {
    ...(tlsCAFile === undefined ? {} : { rootCertificate: readPem('tlsCAFile', tlsCAFile) }),
    ...(userCertFile === undefined ? {} : { userCertFile: readPem('userCertFile', userCertFile) }),
    ...(userKeyFile === undefined ? {} : { userKeyFile: readPem('userKeyFile', userKeyFile) }),
  };
}

function readPem(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw wrong(`cannot read ${option}: ${(error as Error).message}`, 'it must name a PEM file', error);
  }
}

function parseOptions(text: string): Map<string, string> {
  const options = new Map<string, string>();
  const hasTls = !/(^|&)tls=false(&|$)/i.test(text);
  for (const part of text === '' ? [] : text.split('&')) {
    const equals = part.indexOf('=');
    const name = flat(part.slice(0, Math.max(equals, 0)));
    const value = decoded(part.slice(equals + 1), 'the value of an option');
    const fixed = FIXED[name];
    if (fixed) {
      if (flat(value) !== fixed.value && (hasTls || !fixed.ofTls))
        throw wrong(`it has ${name} other than ${fixed.value}`, fixed.why);
      continue;
    }
    const known = KNOWN.find((option) => flat(option) === name);
    if (known === undefined || value === '')
      throw wrong(
        'it has an option that is unknown here, or without a value',
        `known options: ${KNOWN.join(', ')}; the program has time-outs of its own`,
      );
    options.set(known, value);
  }
  return options;
}

function parseCredentials(text: string): { username: string; password: string } {
  const colon = text.indexOf(':');
  if (colon <= 0 || colon === text.length - 1)
    throw wrong('the part before the @ is not user:password', 'write special characters as %40 and the like');
  const username = decoded(text.slice(0, colon), 'the user');
  return { username, password: decoded(text.slice(colon + 1), 'the password') };
}

function parseHost(text: string): Host {
  const [, address, port] = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  if (!address || Number(port ?? DEFAULT_PORT) > 65_535) throw wrong('it has no valid host[:port]');
  return { address, port: Number(port ?? DEFAULT_PORT) };
}

function parseSwitch(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw wrong(`${name} is neither true nor false`);
  return text === 'true';
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(`${what} has a % that does not begin a percent-encoding`, 'write % as %25');
  }
}

/** The client accepts names of options in any case, with hyphens and underscores. */
function flat(name: string): string {
  return name.trim().toLowerCase().replace(/[_-]/g, '');
}

function wrong(
  why: string,
  hint = 'esdb://user:password@host:2113?tlsCAFile=/path/ca.crt',
  cause?: unknown,
): StoreError {
  return new StoreError(
    'foreign',
    'not-written',
    `the connection string of EventStoreDB is wrong: ${why} (hint: ${hint})`,
    cause,
  );
}
