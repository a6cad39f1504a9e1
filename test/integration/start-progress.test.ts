/** What a service says while the reading of its log takes long. */
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openLog } from '../../src/service/open/open-log.ts';
import { StartProgress } from '../../src/service/start-progress.ts';
import { startService } from '../../src/service/start-service.ts';
import { SqliteStore } from '../../src/store/sqlite/store.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../support/facts.ts';
import { freePorts } from '../support/free-ports.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
afterEach(() => vi.restoreAllMocks());

const PARTICIPANTS = 300;

/** A log of more than one page. @returns how many records it has */
async function makeLog(data: string): Promise<number> {
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  await log.studies.register(CONFIGURATION, undefined, OPERATOR);
  const stream = log.studies.streamOf(CONFIGURATION.name);
  const ids = Array.from({ length: PARTICIPANTS }, (_, i) => `participant-${i}`);
  await Promise.all(ids.map((id) => log.studies.submit(stream, randomize(id), OPERATOR)));
  const { size } = log.ledger.tree(stream);
  await log.close();
  return size + 1;
}

it('a service whose start takes long reports how many records it has read, and of how many, in its log and in /readyz, until it is ready', async () => {
  const data = newFolder();
  const records = await makeLog(data);
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

describe('the progress of a start', () => {
  const logger = pino({ level: 'silent' });
  const signedBefore = [
    { stream: 'log', size: 2, root: new Uint8Array() },
    { stream: 'study-1', size: 700, root: new Uint8Array() },
  ];
  const describeAfter = async (records: number, log: object) => {
    const rebuild = async (onProgress?: (count: number) => void) => onProgress?.(records);
    const progress = new StartProgress(
      { rebuild, ...log } as ConstructorParameters<typeof StartProgress>[0],
      logger,
    );
    await progress.rebuild();
    return progress.describe();
  };

  it('is estimated from what was last signed if the store does not count, and else has no total', async () => {
    const told = (records: number, signed: object | undefined) =>
      describeAfter(records, { store: {}, lastCheckpoints: signed });
    expect(await told(350, { signedBefore })).toBe('350 of 702 records');
    expect(await told(900, { signedBefore }), 'others have written since').toBe('900 of 900 records');
    expect(await told(350, { signedBefore: [] })).toBe('350 records');
    expect(await told(350, undefined)).toBe('350 records');
  });
});
