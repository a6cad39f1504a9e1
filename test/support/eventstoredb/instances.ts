/** Logs in an EventStoreDB, and services on them, each with its own data folder, as on several machines. */
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { clientOf } from '../client.ts';
import { command, commandOk } from '../command.ts';
import { STUDIES } from '../load.ts';
import { issueKeys, launch, serve } from '../service.ts';
import { serveHere } from '../service-here.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const KEYS = { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] } as const;

let logs = 0;

/** What both have: a service of its own process, and one of this. */
export interface Served {
  readonly url: string;
  readonly output: { readonly stderr: string };
}

/** Call it once in a test file: the services are ended after each test. @returns a function that begins a log */
export function eventStoreDbLogs() {
  const temporaryFolder = temporaryFolders();
  const running: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of running.splice(0)) await end();
  });
  return (store: string, studies = STUDIES) => {
    const folder = temporaryFolder();
    const prefix = `instances-${process.pid}-${Date.now()}-${++logs}`;
    const signingKey = join(folder, 'signing-key');
    const where = ['--store', store, '--stream-prefix', prefix, '--signing-key', signingKey];
    const data = (name: string) => join(folder, name);
    const options = (name: string, args: readonly string[]) => ({
      data: data(name),
      studies,
      args: [...where, ...args],
    });
    const start = async (name: string, ...args: string[]) => {
      const service = await serve(options(name, args));
      running.push(service.kill);
      return service;
    };
    /** In this process. */
    const startHere = async (name: string) => {
      const service = await serveHere(data(name), studies, { store, streamPrefix: prefix, signingKey });
      running.push(service.stop);
      return service;
    };
    /** Of a service that is not expected to become ready. */
    const tryToStart = (name: string, ...args: string[]) => launch(options(name, args));
    const keysOf = () =>
      issueKeys(data('cli'), { work: [...KEYS.work, ...where], audit: [...KEYS.audit, ...where] });
    const cli = (...args: string[]) => commandOk([...args, '--data', data('cli'), ...where]);
    return { folder, prefix, store, where, data, start, startHere, tryToStart, keysOf, cli };
  };
}

export type EventStoreDbLog = ReturnType<ReturnType<typeof eventStoreDbLogs>>;

export async function listOf({ url }: Served, key: string, study: string) {
  return (await clientOf(url, key).list(study)).results;
}

export async function expectVerified({ store, prefix }: EventStoreDbLog): Promise<void> {
  const verified = await command(['verify', '--store', store, '--stream-prefix', prefix, '--json']);
  expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true });
  expect(verified.code).toBe(0);
}
