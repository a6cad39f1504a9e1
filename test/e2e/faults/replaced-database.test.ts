/** A database that somebody takes away, or restores, under a running service: what it appends from then on would be lost. */
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { ask, clientOf } from '../../support/client.ts';
import { issueKeys, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
let data: string;
let key: string;
let service: ServiceHere;

const file = (name: string) => join(data, name);
const randomize = (id: string) => clientOf(service.url, key).randomize('Sleep', id, COOK);
const start = async () => {
  service = await serveHere(data, TRIALS);
};

beforeEach(async () => {
  data = newFolder();
  key = (await issueKeys(data, { user: ['user'] })).user;
  await start();
  expect((await randomize('a')).status).toBe(200);
  await service.stop();
  copyFileSync(file('urn.sqlite'), file('backup'));
  await start();
  expect((await randomize('b')).status).toBe(200);
});
afterEach(() => service.stop());

const ways: Record<string, { take: () => unknown; says: string; startsAgain: boolean }> = {
  'an older copy is moved into its place': {
    take: () => {
      // With its write-ahead log, the older copy would be the newest one.
      for (const name of ['urn.sqlite-wal', 'urn.sqlite-shm']) rmSync(file(name), { force: true });
      renameSync(file('backup'), file('urn.sqlite'));
    },
    says: 'was replaced by another file while it was open',
    startsAgain: true,
  },
  'an older copy is restored into it': {
    take: async () => {
      const backup = new Database(file('backup'));
      await backup.backup(file('urn.sqlite'));
      backup.close();
    },
    says: 'no longer holds record',
    startsAgain: true,
  },
  'it is deleted': {
    take: () => rmSync(file('urn.sqlite')),
    says: 'was deleted while it was open',
    startsAgain: false,
  },
};

/** What clients are told. Files are named in the messages of the service alone. */
const LACKING = 'The log lacks records that it had';

describe.each(Object.entries(ways))('when %s', (_, { take, says, startsAgain }) => {
  it('nothing more is written or signed, and the reason is given', async () => {
    await take();
    await expect.poll(() => service.output.stderr).toContain('the log has lost records');
    expect(service.output.stderr).toContain(says);
    const refused = await randomize('c');
    expect([refused.status, refused.message]).toEqual([503, expect.stringContaining(LACKING)]);
    expect(await ask(service.url, '/readyz')).toMatchObject({
      message: '5 studies take no participants: 5 rolled-back',
    });
    expect((await ask(service.url, '/checkpoint', { key, parameters: { study: 'Sleep' } })).status).toBe(503);

    await service.stop();
    if (startsAgain) {
      await start();
      expect((await randomize('c')).message).toContain(LACKING);
      expect(service.output.stderr).toContain('the log is not the one that it was');
    } else {
      const { code, stderr } = await urn(['serve', '--port', '0', '--data', data]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('its database')]);
    }
  });
});
