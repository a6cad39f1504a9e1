/** Which commands begin a log, and that no other one leaves anything behind where there is none. */
import { cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../../src/store/sqlite/schema.ts';
import { command } from '../../support/command.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { type Finished, launch, serve, urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
/** Where commands run that write files into the working folder. */
const elsewhere = newFolder();

/** Every command that needs a log, with the options without which it does not get as far as that. */
const NEED_A_LOG: readonly (readonly string[])[] = [
  ['keys', 'list'],
  ['keys', 'revoke', 'k0123456789ab'],
  ['studies', 'list', '--json'],
  ['studies', 'show', 'Sleep'],
  ['studies', 'pause', 'Sleep', '--reason', 'x'],
  ['studies', 'resume', 'Sleep', '--reason', 'x'],
  ['verify'],
  ['explain', '--study', 'Sleep', '--id', '1'],
  ['bundle', '--study', 'Sleep'],
  ['report', '--study', 'Sleep'],
  ['operations'],
  ['recover', '--reason', 'x', '--dry-run'],
  ['recover', '--reason', 'x', '--stopped'],
  ['relay', '--kafka-brokers', '127.0.0.1:1'],
  ['signing-key', 'show'],
  ['signing-key', 'rotate', '--reason', 'x'],
  ['copy', '--to', `sqlite:${join(elsewhere, 'copy.sqlite')}`, '--reason', 'x'],
  ['copy', '--to', `sqlite:${join(elsewhere, 'copy.sqlite')}`, '--dry-run'],
  ['copy', '--to', `sqlite:${join(elsewhere, 'copy.sqlite')}`, '--abort'],
];
const named = NEED_A_LOG.map((args) => [args.join(' ').replace(elsewhere, '…'), args] as const);

/** Everything below a folder, with sizes and times of change. */
function listing(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .toSorted()
    .map((path) => {
      const { size, mtimeMs } = statSync(join(folder, path));
      return `${path} ${size} ${mtimeMs}`;
    });
}

function expectNoLog({ code, stdout, stderr }: Finished): void {
  expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^urn: there is no (log in|store) .*\(hint: /);
}

describe('where there is no log, nothing is created or written by', () => {
  it.each(named)('urn %s, in a folder that does not exist or is empty', async (_, args) => {
    const folder = newFolder();
    const missing = join(folder, 'wrong', 'place');
    expectNoLog(await command([...args, '--data', missing], { cwd: elsewhere }));
    expect(existsSync(join(folder, 'wrong'))).toBe(false);
    expectNoLog(await command([...args, '--data', folder], { cwd: elsewhere }));
    expect(readdirSync(folder)).toEqual([]);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it.each(named)('urn %s, in a database without records', async (_, args) => {
    // As a first start leaves it that is killed at the wrong moment.
    const folder = newFolder();
    createDatabase(join(folder, 'urn.sqlite'));
    const before = listing(folder);
    const finished = await command([...args, '--data', folder], { cwd: elsewhere });
    // A verification says what is wrong with such a database.
    if (args[0] === 'verify') expect(finished).toMatchObject({ code: 1, stderr: '' });
    else if (args[0] === 'operations') expect(finished).toMatchObject({ code: 0, stdout: '' });
    else expectNoLog(finished);
    expect(listing(folder)).toEqual(before);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('urn studies check, which treats every study as new', async () => {
    const folder = newFolder();
    const file = join(newFolder(), 'studies.yaml');
    writeFileSync(file, TRIALS);
    const data = join(folder, 'data');
    const { code, stdout, stderr } = await command(['studies', 'check', '--studies', file, '--data', data]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('there is no log in') });
    expect(stdout).toContain('Sleep: new');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('on an EventStoreDB without a log of that prefix, nothing is written by', () => {
  let server: EventStoreDbServer;
  beforeAll(async () => {
    server = await new EventStoreDbServer().start();
  });
  afterAll(() => server.stop());

  it.each(named)('urn %s', async (_, args) => {
    const data = join(newFolder(), 'data');
    const store = ['--store', server.connectionString(), '--stream-prefix', 'mistyped', '--data', data];
    const finished = await command([...args, ...store], { cwd: elsewhere });
    expectNoLog(finished);
    if (!args.includes('--abort')) expect(finished.stderr).toContain('stream prefix mistyped');
    expect(server.received).toEqual([]);
    expect(existsSync(data)).toBe(false);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('urn init begins one there, and says where', async () => {
    const data = join(newFolder(), 'data');
    const store = ['--store', server.connectionString(), '--stream-prefix', 'mine', '--data', data];
    const { code, stderr } = await command(['init', ...store]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/prefix mine: a new one/) });
    expect(server.received.map(({ stream }) => stream)).toEqual(['mine.log']);
    expect(readdirSync(data)).toEqual(['signing-key']);
    expect(statSync(data).mode & 0o777).toBe(0o700);
  });
});

describe('a log is begun, which is reported on stderr, by', () => {
  const BEGUN = (data: string) => `there was no log in ${data}: a new one named "urn" has been begun`;

  it('urn init, which prints the verifier key and leaves an existing log as it is', async () => {
    const data = join(newFolder(), 'data');
    const first = await urn(['init', '--data', data]);
    expect(first).toMatchObject({ code: 0, stderr: `${BEGUN(data)}\n` });
    expect(first.stdout).toMatch(/^urn\+[0-9a-f]{8}\+\S+\n$/);
    expect(readdirSync(data).toSorted()).toEqual(['signing-key', 'urn.sqlite', 'urn.sqlite.reserve']);
    const before = listing(data);

    const second = await command(['init', '--data', data]);
    expect(second).toMatchObject({ code: 0, stdout: first.stdout });
    expect(second.stderr).toMatch(/^there is already a log in .*, named "urn"; nothing was written\n$/);
    expect(JSON.parse((await command(['init', '--data', data, '--json'])).stdout)).toMatchObject({
      begun: false,
      logName: 'urn',
      verifierKey: first.stdout.trim(),
    });
    const other = await command(['init', '--data', data, '--log-name', 'other']);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('this log is named "urn"') });
    expect(listing(data)).toEqual(before);
    expect(storedLog(data).map(({ record }) => record.type)).toEqual(['LogCreated']);
  });

  it('urn init, but not with a name that people could confuse with another', async () => {
    const data = join(newFolder(), 'data');
    for (const args of [['init'], ['keys', 'add', 'edc'], ['serve', '--port', '0']]) {
      const { code, stdout, stderr } = await command([...args, '--data', data, '--log-name', 'ur\u200bn']);
      expect({ code, stdout, stderr }).toEqual({
        code: 2,
        stdout: '',
        stderr: 'urn: the name of the log contains U+200B, which nobody sees\n',
      });
    }
    expect(existsSync(data)).toBe(false);
  });

  it('urn init, but not in memory, or in place of a lost database', async () => {
    expect(await command(['init', '--store', 'memory:'])).toMatchObject({ code: 2, stdout: '' });
    const data = newFolder();
    await command(['init', '--data', data]);
    rmSync(join(data, 'urn.sqlite'));
    expect(await command(['init', '--data', data])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is missing (hint: restore the database'),
    });
    expect(readdirSync(data).toSorted()).toEqual(['signing-key', 'urn.sqlite.reserve']);
  });

  it('urn keys add', async () => {
    const data = newFolder();
    expect((await command(['keys', 'add', 'edc', '--data', data])).stderr).toMatch(`${BEGUN(data)}\n`);
    expect((await command(['keys', 'add', 'edc', '--data', data])).stderr).not.toContain('no log');
    expect(await command(['keys', 'add', 'edc', '--store', 'memory:'])).toMatchObject({
      code: 2,
      stdout: '',
    });
  });

  it('urn serve, even if it logs little', async () => {
    const data = join(newFolder(), 'data');
    const service = await serve({ data, studies: TRIALS });
    expect(service.output.stderr).toContain(JSON.stringify(BEGUN(data)).slice(1, -1));
    await service.stop();
    const again = await serve({ data, studies: TRIALS });
    await again.stop();
    expect(again.output.stderr).not.toContain('no log');

    const silent = join(newFolder(), 'data');
    const { child, output } = launch({ data: silent, args: ['--log-level', 'warn', '--first-key'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('close', resolve));
    expect(output.stderr).toContain('there was no log in');
  });
});

it('a log whose store was copied by hand is found, and none is begun', async () => {
  const [data, copied] = [newFolder(), newFolder()];
  await command(['keys', 'add', 'edc', '--data', data]);
  cpSync(data, copied, { recursive: true });
  expect((await command(['keys', 'list', '--data', copied])).stdout).toContain('edc');
});
