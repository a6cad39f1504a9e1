/** Files of a log that more people than its owner may use. */
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { permissionWarnings, refuseKeyOfOthers, studiesFileWarning } from '../../../src/base/permissions.ts';
import { SIGNING_KEY } from '../../../src/core/ledger/keyring.ts';
import { filesOf } from '../../../src/service/open/store-location.ts';
import { command, commandOk } from '../../support/command.ts';
import { serve, start, urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

async function newLog(): Promise<string> {
  const data = join(newFolder(), 'data of "us"');
  await commandOk(['init', '--data', data]);
  return data;
}

const list = (data: string, ...args: string[]) => command(['keys', 'list', '--data', data, ...args]);

describe('a signing key that everybody on the machine can use', () => {
  it.each([0o604, 0o602, 0o601, 0o666, 0o644])(
    'is refused with mode %o, by every command that needs it',
    (mode) => {
      const file = join(newFolder(), 'signing-key');
      mkdirSync(file);
      chmodSync(file, mode);
      expect(() => refuseKeyOfOthers(file, SIGNING_KEY)).toThrow(
        `(mode 0${mode.toString(8)}), and sign for the log with it (hint: chmod 600 ${file}; if somebody`,
      );
      chmodSync(file, 0o660);
      expect(() => refuseKeyOfOthers(file, SIGNING_KEY)).not.toThrow();
    },
  );

  it('stops commands and the service, which say how to fix it', async () => {
    const data = await newLog();
    const key = join(data, 'signing-key');
    chmodSync(key, 0o666);
    const records = storedLog(data).length;
    for (const args of [
      ['keys', 'list'],
      ['keys', 'add', 'edc'],
      ['serve', '--port', '0'],
    ]) {
      const { code, stdout, stderr } = await command([...args, '--data', data, '--allow-group-key']);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`(mode 0666), and sign for the log with it (hint: chmod 600 '${key}'; if`);
    }
    expect(storedLog(data)).toHaveLength(records);
    chmodSync(key, 0o600);
    expect(await list(data)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('warning') });
  });
});

it('a data folder in which nothing can be kept stops a service whose store is elsewhere', async () => {
  const [data, store] = [newFolder(), `sqlite:${join(newFolder(), 'urn.sqlite')}`];
  await commandOk(['init', '--data', data, '--store', store]);
  await commandOk(['session-key', 'replace', '--data', data]);
  chmodSync(data, 0o500);
  const args = ['serve', '--data', data, '--store', store, '--port', '0'];
  const { code, stderr } = await urn(args, { heedsModes: true });
  chmodSync(data, 0o700);
  expect(stderr).toContain(`what the log signs last cannot be kept in ${data}`);
  expect(code).toBe(2);
});

describe('permissions wider than the owner cause a warning with the command that fixes them', () => {
  let data: string;
  beforeAll(async () => {
    data = await newLog();
  });

  it.each([
    [
      'signing-key',
      0o640,
      0o600,
      "the group of the signing key .* \\(mode 0640; hint: chmod 600 '.*signing-key', or --allow-group-key",
    ],
    ['.', 0o777, 0o700, 'the data folder .* \\(mode 0777; hint: chmod 700 '],
    ['.', 0o750, 0o700, 'the data folder .* \\(mode 0750; hint: chmod 700 '],
    [
      'urn.sqlite',
      0o644,
      0o600,
      "the database .*, which holds every arm, .* \\(mode 0644; hint: chmod 600 '.*urn.sqlite'\\*\\)",
    ],
    ['urn.sqlite', 0o660, 0o600, 'the database .* \\(mode 0660'],
  ])('%s with mode %o', async (file, mode, right, warning) => {
    chmodSync(join(data, file), mode);
    const { code, stderr } = await list(data);
    chmodSync(join(data, file), right);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(`^warning: ${warning}`) });
    expect(stderr.match(/warning/g)).toHaveLength(1);
  });

  it('--allow-group-key silences only the warning about a mounted secret', async () => {
    chmodSync(join(data, 'signing-key'), 0o440);
    chmodSync(data, 0o770);
    const { stderr } = await list(data, '--allow-group-key');
    const { stderr: byVariable } = await command(['keys', 'list', '--data', data], {
      env: { URN_ALLOW_GROUP_KEY: '1' },
    });
    chmodSync(data, 0o700);
    chmodSync(join(data, 'signing-key'), 0o600);
    expect(stderr).toMatch(/^warning: the data folder .*\nthere is no key yet.*\n$/);
    expect(byVariable).toBe(stderr);
  });

  it('the service warns too, as a line of its log', async () => {
    chmodSync(data, 0o777);
    const studies = join(newFolder(), 'studies.yaml');
    writeFileSync(studies, 'Sleep: { mode: test, treatments: [A, B], factors: { sex: [F, M] } }\n');
    chmodSync(studies, 0o644);
    const service = await serve({ data, args: ['--studies', studies] });
    await service.stop();
    chmodSync(data, 0o700);
    expect(service.output.stderr, 'urns keep no secret parameter').not.toContain('keep secret');
    const [line] = service.output.stderr.split('\n').filter((text) => text.includes('the data folder'));
    expect(JSON.parse(line ?? '')).toMatchObject({ level: 40, msg: expect.stringContaining('mode 0777') });
  });

  it('a session key that its group may use, unless that is intended', () => {
    const files = { ...filesOf({ data: newFolder() }), sessionKeyFile: join(newFolder(), 'session-key') };
    writeFileSync(files.sessionKeyFile, '', { mode: 0o640 });
    expect(permissionWarnings(files)).toEqual([
      expect.stringMatching(/^the group of the session key .* \(mode 0640; hint: chmod 600 /),
    ]);
    expect(permissionWarnings(files, true)).toEqual([]);
  });

  it('a studies file that everybody may read, if its methods keep something secret', async () => {
    const file = join(newFolder(), 'studies.yaml');
    writeFileSync(file, '', { mode: 0o640 });
    expect(studiesFileWarning(file)).toBeUndefined();
    const method = '{ name: minimization, p: 0.7 }';
    writeFileSync(
      file,
      `Sleep: { mode: test, treatments: [A, B], factors: { sex: [F, M] }, method: ${method} }\n`,
    );
    chmodSync(file, 0o644);
    const service = await serve({ data: newFolder(), args: ['--studies', file] });
    await service.stop();
    expect(service.output.stderr).toContain(`keep secret (mode 0644; hint: chmod o= ${file})`);
  });

  it('a folder of a database elsewhere, where anyone can replace it', () => {
    const place = newFolder();
    const settings = { data: newFolder(), store: `sqlite:${join(place, 'trial.sqlite')}` };
    expect(permissionWarnings(filesOf(settings))).toEqual([]);
    chmodSync(place, 0o755);
    expect(permissionWarnings(filesOf(settings))).toEqual([]);
    chmodSync(place, 0o777);
    expect(permissionWarnings(filesOf(settings))).toEqual([
      expect.stringContaining(`hint: chmod o-w ${place})`),
    ]);
    // As /tmp.
    chmodSync(place, 0o1777);
    expect(permissionWarnings(filesOf(settings))).toEqual([]);
    chmodSync(place, 0o700);
  });
});

it('the program creates everything for its owner alone, whatever the umask', async () => {
  const before = process.umask(0o000);
  const data = join(newFolder(), 'data');
  const { exited } = start(['init', '--data', data]);
  process.umask(before);
  expect(await exited).toBe(0);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(permissionWarnings(filesOf({ data }))).toEqual([]);
});
