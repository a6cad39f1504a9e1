/** A log that was restored from an old backup takes no participants: lost allocations would be drawn again. */
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
let data: string;
let keys: Record<'user' | 'audit', string>;
let service: Service | ServiceHere;

const file = (name: string) => join(data, name);
const backUp = () => copyFileSync(file('urn.sqlite'), file('backup'));
const restore = () => {
  for (const name of ['urn.sqlite-wal', 'urn.sqlite-shm']) rmSync(file(name), { force: true });
  copyFileSync(file('backup'), file('urn.sqlite'));
};
const start = async () => {
  service = await serveHere(data, TRIALS);
};
const randomize = (id: string, { url }: { url: string } = service) =>
  clientOf(url, keys.user).randomize('Sleep', id, COOK);
const list = async () =>
  (await clientOf(service.url, keys.user).list('Sleep')).results.map(({ id }: { id: string }) => id);

/** Randomizes these participants with a service that starts and stops, in this process. */
async function run(...ids: string[]): Promise<void> {
  const here = await serveHere(data, TRIALS);
  try {
    for (const id of ids) expect((await randomize(id, here)).status).toBe(200);
  } finally {
    await here.stop();
  }
}

async function beginLog(): Promise<void> {
  data = newFolder();
  keys = await issueKeys(data, { user: ['user'], audit: ['auditor', '--scope', 'read,audit'] });
}
beforeEach(beginLog);
afterEach(() => service?.stop());

describe('a restored backup that is older than what was signed', () => {
  let restored: string;
  let itsKeys: typeof keys;
  beforeAll(async () => {
    await beginLog();
    await run('a', 'b');
    backUp();
    await run('c', 'd');
    copyFileSync(file('urn.sqlite'), file('newest'));
    restore();
    restored = data;
    itsKeys = keys;
  });
  beforeEach(async () => {
    data = newFolder();
    cpSync(restored, data, { recursive: true });
    keys = itsKeys;
    await start();
  });

  it('can be read, but accepts no participants', async () => {
    const refused = await randomize('c');
    expect(refused.status).toBe(503);
    expect(refused.message).toMatch(
      /^Not done: The log lacks records that it had, and nothing is recorded until that is settled/,
    );
    expect(refused.headers.get('urn-receipt')).toBeNull();
    expect(await list()).toEqual(['a', 'b']);
    expect(service.output.stderr).toContain('this log takes no participants');
    const states = { status: 200, message: '5 studies take no participants: 5 rolled-back' };
    expect(await ask(service.url, '/readyz')).toMatchObject(states);
    const forWriting = { parameters: { 'urn.for': 'writing' } };
    expect(await ask(service.url, '/readyz', forWriting)).toMatchObject({ ...states, status: 503 });
    expect(await commandOk(['studies', 'list', '--data', data])).toMatch(
      /^Sleep .* rolled-back: the log is not/m,
    );
    // Nothing is signed, for it could contradict what was.
    const parameters = { study: 'Sleep' };
    expect((await ask(service.url, '/checkpoint', { key: keys.user, parameters })).status).toBe(503);

    const paused = await command(['studies', 'pause', 'Sleep', '--reason', 'x', '--data', data]);
    expect([paused.code, paused.stderr]).toEqual([2, expect.stringContaining('not the one that it was')]);
    const shown = await command(['studies', 'show', 'Sleep', '--data', data]);
    expect(shown.stderr).toContain('warning: the log is not the one that it was');
    expect(shown.stdout).not.toContain('first checkpoint');
    await service.stop();
    // When it stops, it must not mistake the old state for the newest.
    await start();
    expect((await randomize('c')).status).toBe(503);
  });

  it('accepts no record of any kind from a command, whatever part of the log the command reads', async () => {
    await service.stop();
    const before = new LogCheck(data).check().records;
    const explained = await command(['explain', '--study', 'Sleep', '--id', 'a', '--data', data]);
    expect([explained.code, explained.stderr]).toEqual([
      0,
      expect.stringContaining('this disclosure could not be recorded: the log is not the one that it was'),
    ]);
    const content = ['--content', 'blinded', '--out', file('bundle.zip')];
    expect((await command(['bundle', '--study', 'Sleep', ...content, '--data', data])).code).toBe(0);
    for (const args of [
      ['keys', 'add', 'nurse'],
      ['studies', 'resume', 'Sleep', '--reason', 'x'],
      ['signing-key', 'rotate', '--reason', 'x'],
    ]) {
      const { code, stderr } = await command([...args, '--data', data]);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining('not the one that it was')]);
    }
    expect(new LogCheck(data).check().records).toBe(before);
    await start();
    expect((await randomize('c')).status).toBe(503);
  });

  it('accepts participants once the newest copy is back', async () => {
    await service.stop();
    copyFileSync(file('newest'), file('backup'));
    restore();
    await start();
    expect(await list()).toEqual(['a', 'b', 'c', 'd']);
    expect((await randomize('e')).status).toBe(200);
  });
});

it('a database that lost a whole study does not register it again', async () => {
  service = await serveHere(data);
  await service.stop();
  backUp();
  await run('a');
  restore();
  await start();
  expect(service.output.stderr).toContain('this log takes no participants');
  expect((await randomize('a')).status).toBe(404);
  expect(await commandOk(['studies', 'list', '--data', data])).toBe('');
});

describe('a store that was emptied', () => {
  beforeEach(async () => {
    await run('a');
    for (const name of ['urn.sqlite', 'urn.sqlite-wal', 'urn.sqlite-shm'])
      rmSync(file(name), { force: true });
  });

  it('is not replaced by another log, even if its signing key is elsewhere', async () => {
    const key = join(newFolder(), 'signing-key');
    copyFileSync(file('signing-key'), key);
    rmSync(file('signing-key'));
    for (const args of [
      ['serve', '--port', '0'],
      ['keys', 'add', 'nurse'],
    ]) {
      const { code, stderr } = await command([...args, '--data', data, '--signing-key', key]);
      expect([args, code, stderr]).toEqual([
        args,
        2,
        expect.stringContaining('no new log is begun in its place'),
      ]);
    }
    expect(new LogCheck(data).check().records).toBe(0);
  });
});

it('a missing data folder is created for the note of what was last signed, which later shows a rollback', async () => {
  const store = file('elsewhere.sqlite');
  const key = file('key');
  const folder = join(newFolder(), 'not', 'there');
  await commandOk([
    'keys',
    'add',
    'nurse',
    '--data',
    data,
    '--store',
    `sqlite:${store}`,
    '--signing-key',
    key,
  ]);
  service = await serveHere(folder, '', { store: `sqlite:${store}`, signingKey: key });
  await expect.poll(() => existsSync(join(folder, 'last-checkpoints'))).toBe(true);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  await service.stop();
});

it('a different history of the same length is distinguished from what was signed', async () => {
  await run('a');
  backUp();
  const before = readFileSync(file('last-checkpoints'));
  await run('b');
  const signed = readFileSync(file('last-checkpoints'));
  restore();
  // As if nothing had been signed since.
  writeFileSync(file('last-checkpoints'), before);
  await run('other');
  writeFileSync(file('last-checkpoints'), signed);
  await start();
  const refused = await randomize('x');
  expect(refused.status).toBe(503);
  expect(service.output.stderr).toContain('which now holds others');
});

describe('the note of what was last signed', () => {
  it('is written for its owner alone, within a second, and survives a kill', async () => {
    const killed = await serve({ data, studies: TRIALS });
    service = { ...killed, stop: killed.kill };
    expect((await randomize('a')).status).toBe(200);
    const sizes = () =>
      [...readFileSync(file('last-checkpoints'), 'utf8').matchAll(/^urn\/(\w+)\S*\n(\d+)\n/gm)].map(
        ([, stream, size]) => `${stream} ${size}`,
      );
    await expect.poll(sizes, { timeout: 5000 }).toContain('study 2');
    expect(sizes()).toEqual(expect.arrayContaining(['log 1', 'access 2']));
    expect(statSync(file('last-checkpoints')).mode & 0o777).toBe(0o600);
    await killed.kill();
    await start();
    expect((await randomize('b')).status).toBe(200);
  });

  it('does not block a log that continues in two processes', async () => {
    await start();
    const other = await serve({ data });
    for (let i = 0; i < 20; i++) {
      expect((await randomize(`here-${i}`)).status).toBe(200);
      expect((await clientOf(other.url, keys.user).randomize('Sleep', `there-${i}`, COOK)).status).toBe(200);
    }
    await other.stop();
    await service.stop();
    await start();
    expect((await randomize('after')).status).toBe(200);
  });

  it('is recreated if it is missing, and named if it is damaged', async () => {
    await run('a');
    rmSync(file('last-checkpoints'));
    await run('b');
    expect(existsSync(file('last-checkpoints'))).toBe(true);
    writeFileSync(file('last-checkpoints'), 'urn/log\n1\n');
    const { code, stderr } = await command(['serve', '--data', data, '--port', '0']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/last-checkpoints.*cannot be used/)]);
  });
});
