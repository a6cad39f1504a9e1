/** What a service says while the reading of its log takes long. */
import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { StartProgress } from '../../src/service/log-hooks.ts';
import { startService } from '../../src/service/start-service.ts';
import { SqliteStore } from '../../src/store/sqlite/store.ts';
import { OPERATOR } from '../support/facts.ts';
import { freePorts } from '../support/free-ports.ts';
import { makeLongLog } from '../support/long-log.ts';
import { storedLog } from '../support/stored-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
afterEach(() => vi.restoreAllMocks());

it('a service whose start takes long reports how many records it has read, and of how many, in its log and in /readyz, until it is ready', async () => {
  const data = newFolder();
  // More than one page.
  await makeLongLog(data, 300);
  const records = storedLog(data).length;
  // The store gives one page, and the next one when it may.
  let goOn: () => void = () => undefined;
  const isLet = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { readAll } = SqliteStore.prototype;
  vi.spyOn(SqliteStore.prototype, 'readAll').mockImplementation(async function* (this: SqliteStore, after) {
    for await (const page of readAll.call(this, after)) {
      yield page;
      await isLet;
    }
  });
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const [port = 0] = await freePorts(1);
  const settings = {
    ...{ data, studies: [], host: '127.0.0.1', port, tls: undefined, trustProxy: undefined, version: '0' },
    ...({ datetimeFormat: 'http-date', witness: undefined, relay: undefined } as const),
  };
  const starting = startService(settings, OPERATOR, logger);
  try {
    const ask = async () => {
      const { status, body } = await fetch(`http://127.0.0.1:${port}/readyz`).then(
        async (answer) => ({ status: answer.status, body: await answer.text() }),
        () => ({ status: 0, body: '' }),
      );
      return `${status} ${body}`;
    };
    await expect.poll(ask, { timeout: 60_000 }).toContain(`reads its log: 250 of ${records} records`);
    expect(await ask()).toMatch(/^503 /);
    const told = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'reading the log');
    await expect
      .poll(told, { timeout: 60_000 })
      .toContainEqual(expect.objectContaining({ records: 250, of: records }));
    goOn();
    await starting;
    expect(await ask()).toMatch(/^200 /);
  } finally {
    goOn();
    await (await starting).stop();
  }
});

it('the progress of a start is estimated from what was last signed if the store does not count, and else has no total', async () => {
  const signedBefore = [
    { stream: 'log', size: 2, root: new Uint8Array() },
    { stream: 'study-1', size: 700, root: new Uint8Array() },
  ];
  const told = async (records: number, lastCheckpoints: object | undefined) => {
    const rebuild = async (onProgress?: (count: number) => void) => onProgress?.(records);
    const log = { rebuild, store: {}, lastCheckpoints } as ConstructorParameters<typeof StartProgress>[0];
    const progress = new StartProgress(log, pino({ level: 'silent' }));
    await progress.rebuild();
    return progress.describe();
  };
  expect(await told(350, { signedBefore })).toBe('350 of 702 records');
  expect(await told(900, { signedBefore }), 'others have written since').toBe('900 of 900 records');
  expect(await told(350, { signedBefore: [] })).toBe('350 records');
  expect(await told(350, undefined)).toBe('350 records');
});
