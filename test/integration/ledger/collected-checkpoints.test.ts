/** Where the checkpoints of a running log are kept, and what is said if they cannot be. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { appendTo, Collector } from '../../../src/core/ledger/collector.ts';
import type { Ledger } from '../../../src/core/ledger/ledger.ts';
import { startCollectors } from '../../../src/service/collectors.ts';
import type { Logger } from '../../../src/service/monitoring/logger.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { OPERATOR } from '../../support/facts.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

describe('a collector', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Of one stream that has grown to this size. */
  const ledgerOf = (size: number) =>
    ({
      streams: () => ['log'],
      tree: () => ({ size }),
      maySign: () => true,
      checkpoint: () => ({ stream: 'log', recovery: 0, size, note: `size ${size}` }),
    }) as unknown as Ledger;

  it('says each time why it cannot write, and tries the same checkpoints again', async () => {
    const written: string[] = [];
    const errors: string[] = [];
    let isFull = true;
    const collector = new Collector(
      ledgerOf(3),
      async (checkpoints) => {
        if (isFull) throw new Error('no room');
        written.push(...checkpoints.map(({ note }) => note));
      },
      ({ message }) => errors.push(message),
    );
    await vi.advanceTimersByTimeAsync(1500);
    expect(errors).toEqual(['no room', 'no room']);
    isFull = false;
    await vi.advanceTimersByTimeAsync(3000);
    expect([written, errors.length]).toEqual([['size 3'], 2]);
    await collector.stop();
    expect(written).toEqual(['size 3']);
  });
});

describe('in a service', () => {
  it('a file that cannot be written is an error in its log', async () => {
    const data = newFolder();
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    const said: unknown[][] = [];
    const logger = { info: () => undefined, error: (...args: unknown[]) => said.push(args) };
    const witness = join(newFolder(), 'missing', 'witness');
    const collectors = startCollectors(log, witness, logger as unknown as Logger);
    await Promise.all(collectors.map((collector) => collector.stop()));
    await log.close();
    expect(said[0]).toEqual([
      { why: expect.stringContaining('ENOENT') },
      "the witness's file cannot be written; trying again every second",
    ]);
  });
});

it('a witness appends to its file, separated by empty lines', async () => {
  const file = join(newFolder(), 'witness');
  const note = 'a note\n';
  await appendTo(file)([{ note } as never]);
  await appendTo(file)([{ note } as never]);
  expect(existsSync(file)).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe('a note\n\na note\n\n');
});
