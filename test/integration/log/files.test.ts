/** Files of signing keys, and of the checkpoints of a running log: how they are written, and what is said if they cannot be. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { keyringInFile, LogIdentity, rotateSigningKey } from '../../../src/core/log/identity.ts';
import { readWitness } from '../../../src/core/log/last-checkpoints.ts';
import type { Ledger } from '../../../src/core/log/ledger.ts';
import type { LogWriter } from '../../../src/core/log/log-stream.ts';
import {
  loadSigningKey,
  makeSigningKey,
  type SigningKey,
  signCheckpoint,
} from '../../../src/core/log/signing.ts';
import { appendTo, CheckpointKeeper, keepCheckpoints } from '../../../src/service/keep-checkpoints.ts';
import type { Logger } from '../../../src/service/monitoring/logger.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { OPERATOR } from '../../support/facts.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';
import { otherProcess } from '../../support/other-process.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

describe('the next key, during a rotation,', () => {
  it('is made once, and replaces the previous one when the log names it, also after a crash', () => {
    const folder = newFolder();
    const file = join(folder, 'signing-key');
    const keyring = keyringInFile(file);
    const before = keyring.loadOrMake('urn');
    const next = keyring.loadOrMakeNext('urn');
    expect(statSync(`${file}.next`).mode & 0o777).toBe(0o600);
    expect(keyring.loadOrMakeNext('urn').secret).toBe(next.secret);
    expect(keyring.load(before.publicKey).secret).toBe(before.secret);
    expect(keyring.load(next.publicKey).secret).toBe(next.secret);
    expect(readFileSync(file, 'utf8')).toBe(`${next.secret}\n`);
    // Another process that finishes the same rotation.
    expect(keyring.load(next.publicKey).secret).toBe(next.secret);
    expect(readdirSync(folder)).toEqual(['signing-key']);
  });

  it('does not replace it if its rotation begins while another ends', async () => {
    const keyring = keyringInFile(join(newFolder(), 'signing-key'));
    const signingKey = keyring.loadOrMake('urn');
    const publicKeys = [signingKey.publicKey];
    const identity = new LogIdentity({ logId: LOG_ID, logName: 'urn', signingKey, publicKeys });
    const writer = {
      // The log has the first key, its service has taken it over, and somebody else begins to rotate again.
      async submit({ to }: { to: string }) {
        keyring.load(to);
        keyring.loadOrMakeNext('urn');
        return { outcome: { type: 'rotated' }, revision: 1 };
      },
    } as unknown as LogWriter;
    const first = await rotateSigningKey(writer, identity, keyring, 'x', OPERATOR);
    expect(keyring.load(first).publicKey).toBe(first);
  });
});

describe('the signing key file', () => {
  it('is made once, readable only by its owner', () => {
    const folder = newFolder();
    const file = join(folder, 'signing-key');
    const made = keyringInFile(file).loadOrMake('urn');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe(`${made.secret}\n`);
    expect(keyringInFile(file).loadOrMake('another').secret).toBe(made.secret);
    expect(loadSigningKey(file).secret).toBe(made.secret);
    expect(readdirSync(folder)).toEqual(['signing-key']);
  });

  it('is the same for all processes that make it at once', async () => {
    const folder = newFolder();
    const ended = await Promise.all(
      Array.from({ length: 2 }, () => otherProcess(['key', join(folder, 'signing-key')])),
    );
    const keys = ended.map(({ said }) => JSON.stringify(said));
    expect(keys[0]).toContain('publicKey');
    expect(new Set(keys).size).toBe(1);
    expect(readdirSync(folder)).toEqual(['signing-key']);
  });

  it('is made even if an earlier start crashed and left a draft', () => {
    const folder = newFolder();
    const file = join(folder, 'signing-key');
    for (const name of [`signing-key.new-${process.pid}`, 'signing-key.new-1'])
      writeFileSync(join(folder, name), 'PRIVATE+');
    expect(keyringInFile(file).loadOrMake('urn').name).toBe('urn');
  });

  it('is never overwritten, even if it is empty', () => {
    const file = join(newFolder(), 'signing-key');
    writeFileSync(file, '');
    expect(() => keyringInFile(file).loadOrMake('urn')).toThrow(`${file} holds no signing key`);
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  it('is not made by reading it', () => {
    const folder = newFolder();
    const says = /is missing \(hint: .*restore it from a backup/;
    expect(() => loadSigningKey(join(folder, 'signing-key'))).toThrow(says);
    expect(readdirSync(folder)).toEqual([]);
  });
});

it('a keeper says each time why it cannot write, tries the same checkpoints again, and ends with what is new', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let size = 3;
  const ledger = {
    streams: () => ['log'],
    tree: () => ({ size }),
    maySign: () => true,
    checkpoint: () => ({ stream: 'log', recovery: 0, size, note: `size ${size}` }),
  } as unknown as Ledger;
  const written: string[] = [];
  const errors: string[] = [];
  let isFull = true;
  const keeper = new CheckpointKeeper(
    ledger,
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
  size = 4;
  await keeper.stop();
  size = 5;
  await vi.advanceTimersByTimeAsync(3000);
  expect(written).toEqual(['size 3', 'size 4']);
});

it('in a service, a file that cannot be written is an error in its log', async () => {
  const data = newFolder();
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  const said: unknown[][] = [];
  const logger = { info: () => undefined, error: (...args: unknown[]) => said.push(args) };
  const witness = join(newFolder(), 'missing', 'witness');
  const keepers = keepCheckpoints(log, witness, logger as unknown as Logger);
  await Promise.all(keepers.map((keeper) => keeper.stop()));
  await log.close();
  expect(said[0]).toEqual([
    { why: expect.stringContaining('ENOENT') },
    "the witness's file cannot be written; trying again every second",
  ]);
});

describe("a witness's file", () => {
  it('has notes separated by empty lines, also after one that was cut off', async () => {
    const file = join(newFolder(), 'witness');
    for (const note of ['a note\n', 'a note\n']) await appendTo(file)([{ note } as never]);
    expect(readFileSync(file, 'utf8')).toBe('a note\n\na note\n\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, 'a no');
    await appendTo(file)([{ note: 'a note\n' } as never]);
    expect(readFileSync(file, 'utf8')).toBe('a no\n\na note\n\n');
  });

  it('is read as far as keys of the log signed it, earlier ones too; the rest is counted', async () => {
    const folder = newFolder();
    const [earlier, present, foreign] = ['urn', 'urn', 'urn'].map(makeSigningKey) as [
      SigningKey,
      SigningKey,
      SigningKey,
    ];
    const publicKeys = [earlier.publicKey, present.publicKey];
    const identity = new LogIdentity({ logId: LOG_ID, logName: 'urn', signingKey: present, publicKeys });
    const noteOf = (size: number, key = present, origin = 'urn/study-1') =>
      signCheckpoint(origin, size, Buffer.alloc(32, size), key);
    const kept = [noteOf(1, earlier), noteOf(2), noteOf(3, present, 'urn/log/2')];
    const other = [
      noteOf(4, foreign),
      noteOf(5).replace('\n5\n', '\n6\n'),
      noteOf(7, present, 'another/log'),
    ];
    const file = join(folder, 'witness');
    writeFileSync(file, `${[...other, ...kept, noteOf(8)].join('\n').slice(0, -30)}`);
    const told = vi.fn();
    const states = await readWitness(file, identity, told);
    expect(states.map(({ stream, recovery, size, note }) => [stream, recovery, size, note])).toEqual([
      ['study-1', 0, 1, kept[0]],
      ['study-1', 0, 2, kept[1]],
      ['log', 2, 3, kept[2]],
    ]);
    expect(told).toHaveBeenCalledExactlyOnceWith({ ignored: 4, first: `${file}:1` });
    expect(await readWitness(join(folder, 'none'), identity, told)).toEqual([]);
    expect(await readWitness('/dev/stderr', identity, told)).toEqual([]);
    expect(told).toHaveBeenCalledOnce();
  });
});
