/** What an administrator of EventStoreDB does to streams and users, through the interface of the server alone. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
// biome-ignore lint/style/noRestrictedImports: an administrator needs no exact revisions, and deploy/ uses it as well
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';

const ADMINISTRATION = fileURLToPath(new URL('../../../deploy/eventstoredb.mjs', import.meta.url));

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** The login in a connection string, and the string without it. */
export function parted(connectionString: string): { url: string; login: Login | undefined } {
  const [, scheme = '', username, password, rest = ''] =
    /^([^:]+:\/\/)(?:([^:@/]+):([^@/]+)@)?(.*)$/.exec(connectionString) ?? [];
  const login =
    username === undefined || password === undefined
      ? undefined
      : { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  return { url: `${scheme}${rest}`, login };
}

/** @param url without a login, which goes with each call: the client cuts a password in its connection string at a colon */
export function streamsAs(url: string, login: Login = { username: 'admin', password: '' }) {
  const client = EventStoreDBClient.connectionString(url);
  const asked = { requiresLeader: true, credentials: login };
  return {
    softDelete: (stream: string) => client.deleteStream(stream, asked),
    tombstone: (stream: string) => client.tombstoneStream(stream, asked),
    setMetadata: (stream: string, metadata: Readonly<Record<string, number>>) =>
      client.appendToStream(`$$${stream}`, jsonEvent({ type: '$metadata', data: { ...metadata } }), asked),
    close: () => client.dispose(),
  };
}

/** Runs the script in deploy/, with the connection string and more in its environment. */
export function administer(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ code: unknown; said: string }> {
  return new Promise((resolve) => {
    const around = { env: { ...process.env, ...env } };
    const child = execFile(process.execPath, [ADMINISTRATION, ...args], around, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, said: stdout + stderr }),
    );
  });
}
