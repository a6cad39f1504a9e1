import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { command, commandOk } from '../../support/command.ts';
import { type Finished, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const KEY = /^urn_[A-Za-z0-9_-]{43}\n$/;

const keys = (data: string, ...args: string[]): Promise<Finished> =>
  command(['keys', ...args, '--data', data]);
const listed = async (data: string) => JSON.parse((await keys(data, 'list', '--json')).stdout);

describe('urn keys add', () => {
  it('begins the log in an empty data folder, and prints only the key on stdout', async () => {
    const data = join(newFolder(), 'made', 'too');
    const { code, stdout, stderr } = await keys(data, 'add', 'edc');
    expect(code).toBe(0);
    expect(stdout).toMatch(KEY);
    expect(stderr).toMatch(
      /^there was no log in .*\nkey k[0-9a-f]{12} for edc \(read,randomize\); it is valid within a second, and shown only now:\n$/,
    );
    expect(readdirSync(data).toSorted()).toEqual(['signing-key', 'urn.sqlite', 'urn.sqlite.reserve']);
    expect(storedLog(data).map(({ record }) => record.type)).toEqual(['LogCreated', 'ApiKeyIssued']);
  });

  it('makes files that only their owner can read', async () => {
    const data = newFolder();
    await keys(data, 'add', 'edc');
    for (const file of readdirSync(data)) expect(statSync(join(data, file)).mode & 0o077, file).toBe(0);
  });

  it('stores only the SHA-256 of the key', async () => {
    const data = newFolder();
    const key = (await keys(data, 'add', 'edc')).stdout.trim();
    for (const file of readdirSync(data))
      expect(readFileSync(join(data, file)).includes(key), file).toBe(false);
    const { record, sealed } = storedLog(data).at(-1) ?? {};
    const sha256 = createHash('sha256').update(key).digest('hex');
    expect(sealed).toContain(sha256);
    expect(JSON.stringify(record)).not.toContain(sha256);
  });

  it('--json prints the key with its id and limits', async () => {
    const args = ['add', 'site', '--json', '--scope', 'blinded, randomize', '--study', 'A', '--study', 'B'];
    const { stdout } = await keys(
      newFolder(),
      ...args,
      '--where',
      'site=a=b',
      '--where',
      'site=c',
      '--where',
      'x=y',
    );
    expect(JSON.parse(stdout)).toMatchObject({
      key: expect.stringMatching(/^urn_/),
      keyId: expect.stringMatching(/^k[0-9a-f]{12}$/),
      user: 'site',
      scopes: ['blinded', 'randomize'],
      studies: ['A', 'B'],
      where: [
        { factor: 'site', levels: ['a=b', 'c'] },
        { factor: 'x', levels: ['y'] },
      ],
    });
  });

  it('--expires with a day means the end of that day; with an instant, that instant', async () => {
    const data = newFolder();
    await keys(data, 'add', 'one', '--expires', '2096-02-29');
    await keys(data, 'add', 'two', '--expires', '2096-02-29T12:30:00Z');
    expect((await listed(data)).map(({ expiresAt }: { expiresAt: string }) => expiresAt)).toEqual([
      '2096-03-01T00:00:00.000Z',
      '2096-02-29T12:30:00.000Z',
    ]);
  });

  it('--allow-prediction permits randomize together with audit, and is recorded', async () => {
    const data = newFolder();
    const { code, stdout } = await keys(
      data,
      'add',
      'replay',
      '--scope',
      'randomize,audit',
      '--allow-prediction',
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(KEY);
    expect(storedLog(data).at(-1)?.record.data).toMatchObject({ user: 'replay', allowPrediction: true });
    expect((await keys(data, 'list')).stdout).toContain('may predict');
  });

  it('warns of a study that is not registered, and issues the key', async () => {
    const { code, stdout, stderr } = await keys(newFolder(), 'add', 'edc', '--study', 'Misspelt');
    expect(code).toBe(0);
    expect(stdout).toMatch(KEY);
    expect(stderr).toContain('warning: no study "Misspelt" is registered yet');
  });

  it('refuses --where with a value that no study has, suggesting the nearest name, unless forced', async () => {
    const data = newFolder();
    await (await serveHere(data, TRIALS)).stop();
    const add = (...args: string[]) => keys(data, 'add', 'site', '--study', 'Sleep', ...args);
    const misspelt = ['--where', 'local_site=30-Dupage Country'];
    const hint = 'no level "30-Dupage Country" (hint: did you mean "30-Dupage County"?)';
    const refused = await add(...misspelt);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(hint) });
    expect(refused.stderr).toContain('--force');
    expect(await listed(data)).toEqual([]);
    const forced = await add(...misspelt, '--force');
    expect(forced).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`warning: factor "local_site" has ${hint}`),
    });
    const right = await add('--where', 'local_site=30-Dupage County');
    expect(right).toMatchObject({ code: 0, stderr: expect.not.stringContaining('warning') });
  });

  it('warns if no study is registered that --where could be compared with', async () => {
    const { code, stderr } = await keys(newFolder(), 'add', 'site', '--where', 'site=a');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('--where was not checked') });
  });

  it('refuses a new user with a look-alike name, but gives an existing one further keys', async () => {
    const data = newFolder();
    const unfit = 'e\u200bdc';
    for (const args of [
      ['add', unfit],
      ['add', 'Mu\u0308ller'],
    ]) {
      const { code, stdout, stderr } = await keys(data, ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/the name of the user contains U\+(200B|0308), which/);
    }
    expect(readdirSync(data)).toEqual([]);
    const log = await openLog({ data }, { cli: true, user: 'an older version' });
    await log.read('access');
    await log.keys.issue({ user: unfit, scopes: ['read'] }, { cli: true, user: 'an older version' });
    await log.close();
    expect((await keys(data, 'add', unfit)).code).toBe(0);
    expect((await keys(data, 'add', `${unfit}2`)).code).toBe(2);
    expect((await keys(data, 'list')).stdout).toContain('e\\u200bdc');
  });

  it.each([
    ['blinded with audit', ['--scope', 'blinded,audit'], 'cannot be "blinded"'],
    ['--where with audit', ['--scope', 'read,audit', '--where', 'site=a'], 'cannot be limited with --where'],
    ['randomize with audit', ['--scope', 'randomize,audit'], '--allow-prediction'],
    ['manage with audit', ['--scope', 'manage,audit'], '--allow-prediction'],
    ['--where with manage', ['--scope', 'manage', '--where', 'site=a'], 'cannot be limited with --where'],
    [
      '--where with audit, prediction or not',
      ['--scope', 'audit', '--where', 'a=b', '--allow-prediction'],
      '--where',
    ],
    ['blinded with audit, prediction or not', ['--scope', 'blinded,audit', '--allow-prediction'], 'blinded'],
    [
      'an unknown scope',
      ['--scope', 'admin'],
      'choose from blinded, read, randomize, audit, correct, force, unblind, supply, manage',
    ],
    ['no scope', ['--scope', ''], 'is not a scope'],
    ['--where without "="', ['--where', 'site'], 'FACTOR=LEVEL'],
    ['--where without a level', ['--where', 'site='], 'FACTOR=LEVEL'],
    ['--where without a factor', ['--where', '=a'], 'FACTOR=LEVEL'],
    ['a day that does not exist', ['--expires', '2097-02-29'], 'neither a day'],
    ['a day in another form', ['--expires', 'June 30, 2097'], 'neither a day'],
    ['an instant without a zone', ['--expires', '2097-06-30T12:00:00'], 'neither a day'],
    ['an hour that does not exist', ['--expires', '2097-06-30T25:00:00Z'], 'neither a day'],
    ['a day that has passed', ['--expires', '2020-01-01'], 'has passed already'],
    ['a study without a name', ['--study', ''], 'name of a study'],
    ['a user without a name', ['--json', ' '], 'name'],
    ['a user with a control character', ['a\tb'], 'name'],
    ['an unknown option', ['--scopes', 'read'], 'unknown option'],
  ])('refuses %s with exit code 2, and begins no log', async (_, args, message) => {
    const data = join(newFolder(), 'data');
    const user = args.at(-1) === ' ' || args.at(-1) === 'a\tb' ? [] : ['user'];
    const { code, stdout, stderr } = await keys(data, 'add', ...user, ...args);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('unexpected');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(existsSync(data)).toBe(false);
  });
});

describe('urn keys list', () => {
  it('works on a log without a key', async () => {
    const data = newFolder();
    await commandOk(['init', '--data', data]);
    expect(await keys(data, 'list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'there is no key yet (hint: urn keys add USER)\n',
    });
    expect(await listed(data)).toEqual([]);
  });

  it('prints one line per key, starting with its id, and nothing that would let anyone use a key', async () => {
    const data = newFolder();
    const issued = [
      await commandOk(['keys', 'add', 'edc', '--data', data]),
      await commandOk([
        'keys',
        'add',
        'site',
        '--where',
        'site=a',
        '--study',
        'S',
        '--expires',
        '2096-01-01',
        '--data',
        data,
      ]),
    ];
    const { code, stdout, stderr } = await keys(data, 'list');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^k[0-9a-f]{12} +edc +read,randomize +valid +issued .* +no limits$/),
      expect.stringMatching(
        /^k[0-9a-f]{12} +site +read,randomize +valid +issued .* study "S" site=a until 2096-01-02T/,
      ),
    ]);
    const json = (await keys(data, 'list', '--json')).stdout;
    expect(JSON.parse(json)).toHaveLength(2);
    for (const key of issued)
      for (const shown of [stdout, json]) {
        expect(shown).not.toContain(key.trim());
        expect(shown).not.toContain(createHash('sha256').update(key.trim()).digest('hex'));
      }
  });
});

describe('urn keys revoke', () => {
  it('revokes a key, records the reason, and says if it was already revoked', async () => {
    const data = newFolder();
    await keys(data, 'add', 'leaver');
    const [{ keyId }] = await listed(data);
    const revoke = () => keys(data, 'revoke', keyId, '--reason', 'left the trial');
    expect(await revoke()).toEqual({ code: 0, stdout: '', stderr: `key ${keyId} is revoked\n` });
    expect(await revoke()).toEqual({ code: 0, stdout: '', stderr: `key ${keyId} was already revoked\n` });
    expect((await keys(data, 'list')).stdout).toMatch(/revoked .* \(left the trial\)/);
    expect((await listed(data))[0].revoked).toMatchObject({ reason: 'left the trial' });
  });

  it('accepts a reason of several lines, printed on one line, but not an empty one', async () => {
    const data = newFolder();
    await keys(data, 'add', 'leaver');
    const [{ keyId }] = await listed(data);
    expect(await keys(data, 'revoke', keyId, '--reason', ' ')).toMatchObject({ code: 2, stdout: '' });
    expect((await keys(data, 'revoke', keyId, '--reason', 'left\n\u001b[2Jthe trial')).code).toBe(0);
    expect((await keys(data, 'list')).stdout).toMatch(/^k.*\(left {2}\[2Jthe trial\).*\n$/);
  });

  it('with an id that does not exist exits with 2, without repeating it: it might be the key', async () => {
    const data = newFolder();
    const key = (await keys(data, 'add', 'edc')).stdout.trim();
    const { code, stdout, stderr } = await keys(data, 'revoke', key);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('hint: urn keys list shows the id first');
    expect(stderr).not.toContain(key);
  });
});

describe('every option has an environment variable', () => {
  it('for keys: URN_DATA, URN_SCOPE, URN_STUDY, URN_WHERE, URN_EXPIRES, URN_JSON', async () => {
    const data = newFolder();
    const env = {
      URN_DATA: data,
      URN_SCOPE: 'read',
      URN_STUDY: 'S',
      URN_WHERE: 'site=a',
      URN_EXPIRES: '2096-01-01',
      URN_JSON: '1',
    };
    const { stdout } = await urn(['keys', 'add', 'edc'], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      scopes: ['read'],
      studies: ['S'],
      where: [{ factor: 'site', levels: ['a'] }],
      expiresAt: '2096-01-02T00:00:00.000Z',
    });
  });

  it('and options take precedence', async () => {
    const [data, other] = [newFolder(), newFolder()];
    const env = { URN_DATA: other, URN_SCOPE: 'read', URN_STUDY: 'S' };
    await commandOk(['keys', 'add', 'edc', '--scope', 'blinded', '--study', 'T', '--data', data], { env });
    expect(await listed(data)).toMatchObject([{ scopes: ['blinded'], studies: ['T'] }]);
    expect(readdirSync(other)).toEqual([]);
  });

  it('an empty variable is ignored, and 0, false or no turns a switch off', async () => {
    const env = {
      URN_STORE: '',
      URN_LOG_NAME: '',
      URN_EXPIRES: '',
      URN_JSON: 'false',
      URN_ALLOW_PREDICTION: '0',
    };
    const add = (scope: string) =>
      command(['keys', 'add', 'edc', '--scope', scope, '--data', newFolder()], { env });
    expect((await add('read')).stdout).toMatch(KEY);
    expect((await add('randomize,audit')).code).toBe(2);
  });
});
