/** Logs that several services write at the same time, as on several machines or as two processes on one. */
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { clientOf } from './client.ts';
import { command, commandOk } from './command.ts';
import { STUDIES } from './load.ts';
import { issueKeys, type Service, serve } from './service.ts';
import { type ServiceHere, serveHere } from './service-here.ts';
import { temporaryFolders } from './temporary-folder.ts';

const KEYS = { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] } as const;

let logs = 0;

/** A service of its own process, or one of this. */
export type Served = Service | ServiceHere;

/** Call it once in a test file: the services are ended after each test. @returns a function that begins a log */
export function sharedLogs() {
  const temporaryFolder = temporaryFolders();
  const running: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of running.splice(0)) await end();
  });
  /** @param store with a data folder for each service; undefined: an SQLite file in one folder for all of them */
  return (store: string | undefined, studies = STUDIES) => {
    const folder = temporaryFolder();
    const streamPrefix = `instances-${process.pid}-${Date.now()}-${++logs}`;
    const signingKey = join(folder, 'signing-key');
    const [where, settings] =
      store === undefined
        ? [[], {}]
        : [
            ['--store', store, '--stream-prefix', streamPrefix, '--signing-key', signingKey],
            { store, streamPrefix, signingKey },
          ];
    const data = (name: string) => join(folder, store === undefined ? 'data' : name);
    const start = async (name: string) => {
      const service = await serve({ data: data(name), studies, args: where });
      running.push(service.kill);
      return service;
    };
    /** In this process. */
    const startHere = async (name: string, level?: string) => {
      const service = await serveHere(data(name), studies, settings, level);
      running.push(service.stop);
      return service;
    };
    const keysOf = () =>
      issueKeys(data('cli'), { work: [...KEYS.work, ...where], audit: [...KEYS.audit, ...where] });
    /** Runs a command on the log. */
    const run = (...args: string[]) => command([...args, '--data', data('cli'), ...where]);
    const cli = (...args: string[]) => commandOk([...args, '--data', data('cli'), ...where]);
    const named = { folder, prefix: streamPrefix, store: store ?? '', where };
    return { ...named, data, start, startHere, keysOf, run, cli };
  };
}

export type SharedLog = ReturnType<ReturnType<typeof sharedLogs>>;

export const listOf = async ({ url }: Served, key: string, study: string) =>
  (await clientOf(url, key).list(study)).results;

export async function expectVerified(log: SharedLog): Promise<void> {
  // It may be told where the log is, but of its folder nothing more.
  const where = log.store === '' ? ['--data', log.data('')] : log.where.slice(0, 4);
  const { code, stdout } = await command(['verify', ...where, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  expect(code).toBe(0);
}
