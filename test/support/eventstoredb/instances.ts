/** Logs in an EventStoreDB, and services on them, each with its own data folder, as on several machines. */
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { clientOf } from '../client.ts';
import { command, commandOk } from '../command.ts';
import { STUDIES } from '../load.ts';
import { issueKeys, launch, type Service, serve } from '../service.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const KEYS = { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] } as const;

let logs = 0;

/** Call it once in a test file: the services are killed after each test. @returns a function that begins a log */
export function eventStoreDbLogs() {
  const temporaryFolder = temporaryFolders();
  const running: Service[] = [];
  afterEach(async () => {
    for (const service of running.splice(0)) await service.kill();
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
      running.push(service);
      return service;
    };
    /** Of a service that is not expected to become ready. */
    const tryToStart = (name: string, ...args: string[]) => launch(options(name, args));
    const keysOf = () =>
      issueKeys(data('cli'), { work: [...KEYS.work, ...where], audit: [...KEYS.audit, ...where] });
    const cli = (...args: string[]) => commandOk([...args, '--data', data('cli'), ...where]);
    return { folder, prefix, store, where, data, start, tryToStart, keysOf, cli };
  };
}

export type EventStoreDbLog = ReturnType<ReturnType<typeof eventStoreDbLogs>>;

export async function listOf({ url }: Service, key: string, study: string) {
  return (await clientOf(url, key).list(study)).results;
}

export async function expectVerified({ store, prefix }: EventStoreDbLog): Promise<void> {
  const verified = await command(['verify', '--store', store, '--stream-prefix', prefix, '--json']);
  expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true });
  expect(verified.code).toBe(0);
}
