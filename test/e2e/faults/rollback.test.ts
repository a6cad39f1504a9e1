/**
 * A log that was restored from an old backup, or whose database somebody replaces while it is open, takes no participants:
 * lost allocations would be drawn again.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { ask, clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { LogCheck } from '../../support/log-check.ts';
import { type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TrialLog } from '../../support/trial-log.ts';
import { TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
let log: TrialLog;
let service: Service | ServiceHere;

const start = async () => {
  service = await log.start();
};
const randomize = (id: string) => log.randomize(service, id);
const list = async () =>
  (await clientOf(service.url, log.keys.user).list('Sleep')).results.map(({ id }: { id: string }) => id);
/** Nothing is signed, for it could contradict what was. */
const expectNothingSigned = async () => {
  const asked = { key: log.keys.user, parameters: { study: 'Sleep' } };
  expect((await ask(service.url, '/checkpoint', asked)).status).toBe(503);
};

/** What clients are told. Files are named in the messages of the service alone. */
const LACKING = /^Not done: The log lacks records that it had, and nothing is recorded until that is settled/;
const ROLLED_BACK = '5 studies take no participants: 5 rolled-back';
const NOT_THE_ONE = 'the log is not the one that it was';

let begun: TrialLog;
beforeAll(async () => {
  begun = await TrialLog.begin(newFolder());
});
beforeEach(() => {
  log = begun.copyTo(newFolder());
});
afterEach(() => service?.stop());

describe('a restored backup that is older than what was signed', () => {
  let restored: TrialLog;
  beforeAll(async () => {
    restored = begun.copyTo(newFolder());
    await restored.run('a', 'b');
    restored.backUp();
    await restored.run('c', 'd');
    restored.backUp('newest');
    restored.restore();
  });
  beforeEach(async () => {
    log = restored.copyTo(newFolder());
    await start();
  });

  it('can be read, but accepts no participants', async () => {
    const refused = await randomize('c');
    expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(LACKING)]);
    expect(refused.headers.get('urn-receipt')).toBeNull();
    expect(await list()).toEqual(['a', 'b']);
    expect(service.output.stderr).toContain('this log takes no participants');
    const states = { status: 200, message: ROLLED_BACK };
    expect(await ask(service.url, '/readyz')).toMatchObject(states);
    const forWriting = { parameters: { 'urn.for': 'writing' } };
    expect(await ask(service.url, '/readyz', forWriting)).toMatchObject({ ...states, status: 503 });
    expect(await commandOk(['studies', 'list', '--data', log.data])).toMatch(
      /^Sleep .* rolled-back: the log is not/m,
    );
    await expectNothingSigned();

    const shown = await command(['studies', 'show', 'Sleep', '--data', log.data]);
    expect(shown.stderr).toContain(`warning: ${NOT_THE_ONE}`);
    expect(shown.stdout).not.toContain('first checkpoint');
    await service.stop();
    // When it stops, it must not mistake the old state for the newest.
    await start();
    expect((await randomize('c')).status).toBe(503);
  });

  it('accepts no record of any kind from a command, whatever part of the log the command reads', async () => {
    await service.stop();
    const before = new LogCheck(log.data).check().records;
    const explained = await command(['explain', '--study', 'Sleep', '--id', 'a', '--data', log.data]);
    expect([explained.code, explained.stderr]).toEqual([
      0,
      expect.stringContaining(`this disclosure could not be recorded: ${NOT_THE_ONE}`),
    ]);
    const content = ['--content', 'blinded', '--out', log.file('bundle.zip')];
    expect((await command(['bundle', '--study', 'Sleep', ...content, '--data', log.data])).code).toBe(0);
    for (const args of [
      ['keys', 'add', 'nurse'],
      ['studies', 'pause', 'Sleep', '--reason', 'x'],
      ['studies', 'resume', 'Sleep', '--reason', 'x'],
      ['signing-key', 'rotate', '--reason', 'x'],
    ]) {
      const { code, stderr } = await command([...args, '--data', log.data]);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining('not the one that it was')]);
    }
    expect(new LogCheck(log.data).check().records).toBe(before);
    await start();
    expect((await randomize('c')).status).toBe(503);
  });

  it('accepts participants once the newest copy is back', async () => {
    await service.stop();
    log.restore('newest');
    await start();
    expect(await list()).toEqual(['a', 'b', 'c', 'd']);
    expect((await randomize('e')).status).toBe(200);
  });
});

it('a database that lost a whole study does not register it again', async () => {
  service = await serveHere(log.data);
  await service.stop();
  log.backUp();
  await log.run('a');
  log.restore();
  await start();
  expect(service.output.stderr).toContain('this log takes no participants');
  expect((await randomize('a')).status).toBe(404);
  expect(await commandOk(['studies', 'list', '--data', log.data])).toBe('');
});

it('a store that was emptied is not replaced by another log, even if its signing key is elsewhere', async () => {
  await log.run('a');
  log.empty();
  const key = join(newFolder(), 'signing-key');
  renameSync(log.file('signing-key'), key);
  for (const args of [
    ['serve', '--port', '0'],
    ['keys', 'add', 'nurse'],
  ]) {
    const { code, stderr } = await command([...args, '--data', log.data, '--signing-key', key]);
    const why = 'no new log is begun in its place';
    expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(why)]);
  }
  expect(new LogCheck(log.data).check().records).toBe(0);
});

it('a missing data folder is created for the note of what was last signed, which later shows a rollback', async () => {
  const [store, signingKey] = [`sqlite:${log.file('elsewhere.sqlite')}`, log.file('key')];
  const folder = join(newFolder(), 'not', 'there');
  const where = ['--data', log.data, '--store', store, '--signing-key', signingKey];
  await commandOk(['keys', 'add', 'nurse', ...where]);
  service = await serveHere(folder, '', { store, signingKey });
  await expect.poll(() => existsSync(join(folder, 'last-checkpoints'))).toBe(true);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

it('a different history of the same length is distinguished from what was signed', async () => {
  await log.run('a');
  log.backUp();
  const noted = log.file('last-checkpoints');
  const before = readFileSync(noted);
  await log.run('b');
  const signed = readFileSync(noted);
  log.restore();
  // As if nothing had been signed since.
  writeFileSync(noted, before);
  await log.run('other');
  writeFileSync(noted, signed);
  await start();
  expect((await randomize('x')).status).toBe(503);
  expect(service.output.stderr).toContain('which now holds others');
});

describe('the note of what was last signed', () => {
  it('is written for its owner alone, within a second, and survives a kill', async () => {
    const killed = await serve({ data: log.data, studies: TRIALS });
    service = { ...killed, stop: killed.kill };
    expect((await randomize('a')).status).toBe(200);
    const noted = log.file('last-checkpoints');
    const sizes = () =>
      [...readFileSync(noted, 'utf8').matchAll(/^urn\/(\w+)\S*\n(\d+)\n/gm)].map(
        ([, stream, size]) => `${stream} ${size}`,
      );
    await expect.poll(sizes, { timeout: 5000 }).toContain('study 2');
    expect(sizes()).toEqual(expect.arrayContaining(['log 1', 'access 2']));
    expect(statSync(noted).mode & 0o777).toBe(0o600);
    await killed.kill();
    await start();
    expect((await randomize('b')).status).toBe(200);
  });

  it('does not block a log that continues in two processes', async () => {
    await start();
    const other = await serve({ data: log.data });
    for (let i = 0; i < 8; i++) {
      expect((await randomize(`here-${i}`)).status).toBe(200);
      expect((await log.randomize(other, `there-${i}`)).status).toBe(200);
    }
    await other.stop();
    await service.stop();
    await start();
    expect((await randomize('after')).status).toBe(200);
  });

  it('is recreated if it is missing, and named if it is damaged', async () => {
    await log.run('a');
    rmSync(log.file('last-checkpoints'));
    await log.run('b');
    expect(existsSync(log.file('last-checkpoints'))).toBe(true);
    writeFileSync(log.file('last-checkpoints'), 'urn/log\n1\n');
    const { code, stderr } = await command(['serve', '--data', log.data, '--port', '0']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/last-checkpoints.*cannot be used/)]);
  });
});

/** What somebody does to a database under a running service: whatever it appended from then on would be lost. */
const WAYS: Record<string, { take: () => unknown; says: string; startsAgain: boolean }> = {
  'an older copy is moved into its place': {
    take: () => {
      log.empty();
      renameSync(log.file('backup'), log.file('urn.sqlite'));
    },
    says: 'was replaced by another file while it was open',
    startsAgain: true,
  },
  'an older copy is restored into it': {
    take: async () => {
      const backup = new Database(log.file('backup'));
      await backup.backup(log.file('urn.sqlite'));
      backup.close();
    },
    says: 'no longer holds record',
    startsAgain: true,
  },
  'it is deleted': {
    take: () => rmSync(log.file('urn.sqlite')),
    says: 'was deleted while it was open',
    startsAgain: false,
  },
};

describe('a database under a running service:', () => {
  it.each(Object.entries(WAYS))(
    'when %s, nothing more is written or signed, and the reason is given',
    async (_, { take, says, startsAgain }) => {
      await log.run('a');
      log.backUp();
      await start();
      expect((await randomize('b')).status).toBe(200);
      await take();
      await expect.poll(() => service.output.stderr).toContain('the log has lost records');
      expect(service.output.stderr).toContain(says);
      const refused = await randomize('c');
      expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(LACKING)]);
      expect(await ask(service.url, '/readyz')).toMatchObject({ message: ROLLED_BACK });
      await expectNothingSigned();

      await service.stop();
      if (startsAgain) {
        await start();
        expect((await randomize('c')).message).toMatch(LACKING);
        expect(service.output.stderr).toContain(NOT_THE_ONE);
      } else {
        const { code, stderr } = await command(['serve', '--port', '0', '--data', log.data]);
        expect([code, stderr]).toEqual([2, expect.stringContaining('its database')]);
      }
    },
  );
});
