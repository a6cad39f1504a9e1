/** Files of a log that more people than its owner may use. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { permissionWarnings, refuseKeyOfOthers, studiesFileWarning } from '../../../src/base/files.ts';
import { SIGNING_KEY } from '../../../src/core/log/identity.ts';
import { filesOf } from '../../../src/service/open/store-location.ts';
import { registered } from '../../support/cli-log.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { serve } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

const newLog = () => registered(join(newFolder(), 'data of "us"'), []);

describe('a signing key that everybody on the machine can use', () => {
  it.each([0o604, 0o602, 0o601])('is refused with mode %o', (mode) => {
    const file = join(newFolder(), 'signing-key');
    mkdirSync(file);
    chmodSync(file, mode);
    expect(() => refuseKeyOfOthers(file, SIGNING_KEY)).toThrow(
      `(mode 0${mode.toString(8)}), and sign for the log with it (hint: chmod 600 ${file}; if somebody`,
    );
    chmodSync(file, 0o660);
    expect(() => refuseKeyOfOthers(file, SIGNING_KEY)).not.toThrow();
  });

  it('stops commands and the service, which say how to fix it', async () => {
    const data = await newLog();
    chmodSync(join(data, 'signing-key'), 0o666);
    for (const args of [
      ['keys', 'add', 'edc'],
      ['serve', '--port', '0'],
    ])
      expect(await refusal(command([...args, '--data', data, '--allow-group-key']))).toContain(
        '(mode 0666), and sign for the log with it (hint: chmod 600 ',
      );
    expect(storedLog(data)).toHaveLength(1);
  });
});

it('a data folder in which nothing can be kept stops a service whose store is elsewhere', async () => {
  const [data, store] = [newFolder(), `sqlite:${join(newFolder(), 'urn.sqlite')}`];
  await commandOk(['init', '--data', data, '--store', store]);
  await commandOk(['session-key', 'replace', '--data', data]);
  chmodSync(data, 0o500);
  const started = serve({ data, args: ['--store', store], heedsModes: true });
  const outcome = await started.then(() => 'it has started', String);
  chmodSync(data, 0o700);
  expect(outcome).toContain('urn serve exited with 2');
  expect(outcome).toContain(`what the log signs last cannot be kept in ${data}`);
});

describe('permissions wider than the owner cause a warning with the command that fixes them', () => {
  let data: string;
  beforeAll(async () => {
    data = await newLog();
  });

  it('the data folder, and the database in it, as lines before what a command says', async () => {
    const database = join(data, 'urn.sqlite');
    chmodSync(data, 0o750);
    chmodSync(database, 0o644);
    const { code, stderr } = await command(['keys', 'list', '--data', data]);
    chmodSync(data, 0o700);
    chmodSync(database, 0o600);
    expect(code).toBe(0);
    const [folder, file, ...more] = stderr.split('\n').filter((line) => line.startsWith('warning: '));
    expect(folder).toMatch(/^warning: the data folder .* \(mode 0750; hint: chmod 700 /);
    expect(file).toMatch(
      /^warning: the database .*every arm, .* \(mode 0644; hint: chmod 600 '.*urn.sqlite'\*\)/,
    );
    expect(more).toEqual([]);
  });

  it('a key that its group may use, unless that is intended', () => {
    const files = { ...filesOf({ data }), sessionKeyFile: join(newFolder(), 'session-key') };
    writeFileSync(files.sessionKeyFile, '', { mode: 0o640 });
    chmodSync(join(data, 'signing-key'), 0o440);
    expect(permissionWarnings(files)).toEqual([
      expect.stringMatching(/^the group of the signing key .* \(mode 0440; hint: .*--allow-group-key/),
      expect.stringMatching(/^the group of the session key .* \(mode 0640; hint: chmod 600 /),
    ]);
    expect(permissionWarnings(files, true)).toEqual([]);
    chmodSync(join(data, 'signing-key'), 0o600);
  });

  // One that everybody may read: serve.test.ts.
  it('a studies file, but not one that its group may read', () => {
    const file = join(newFolder(), 'studies.yaml');
    writeFileSync(file, '', { mode: 0o640 });
    expect(studiesFileWarning(file)).toBeUndefined();
  });

  it('a folder of a database elsewhere, where anyone can replace it', () => {
    const place = newFolder();
    const settings = { data: newFolder(), store: `sqlite:${join(place, 'trial.sqlite')}` };
    for (const [mode, warnings] of [
      [0o700, []],
      [0o755, []],
      [0o777, [expect.stringContaining(`hint: chmod o-w ${place})`)]],
      // As /tmp.
      [0o1777, []],
    ] as const) {
      chmodSync(place, mode);
      expect(permissionWarnings(filesOf(settings))).toEqual(warnings);
    }
  });
});

it('the program creates everything for its owner alone, whatever the umask', async () => {
  const data = join(newFolder(), 'data');
  const before = process.umask(0o000);
  await commandOk(['init', '--data', data]).finally(() => process.umask(before));
  expect(permissionWarnings(filesOf({ data }))).toEqual([]);
});
