import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { commandsOn, typed } from '../../support/cli-log.ts';
import { command, commandOk } from '../../support/command.ts';
import { urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const KEY = /^urn_[A-Za-z0-9_-]{43}\n$/;

const keysOf = (data: string) => commandsOn(data).json`keys list --json`;
const begun = async () => {
  const data = newFolder();
  await commandOk(['init', '--data', data]);
  return data;
};

describe('urn keys add', () => {
  it('begins the log in an empty data folder, in files of its owner, and prints only the key on stdout', async () => {
    const data = join(newFolder(), 'made', 'too');
    const { code, stdout, stderr } = await commandsOn(data).run`keys add edc`;
    expect(code).toBe(0);
    expect(stdout).toMatch(KEY);
    expect(stderr).toMatch(
      /^there was no log in .*\nkey k[0-9a-f]{12} for edc \(read,randomize\); it is valid within a second, and shown only now:\n$/,
    );
    const files = readdirSync(data).toSorted();
    expect(files).toEqual(['signing-key', 'urn.sqlite', 'urn.sqlite.reserve']);
    expect(storedLog(data).map(({ record }) => record.type)).toEqual(['LogCreated', 'ApiKeyIssued']);
    for (const file of files) {
      expect(statSync(join(data, file)).mode & 0o077, file).toBe(0);
      expect(readFileSync(join(data, file)).includes(stdout.trim()), file).toBe(false);
    }
    // Only the SHA-256 of the key is stored.
    const { record, sealed } = storedLog(data).at(-1) ?? {};
    const sha256 = createHash('sha256').update(stdout.trim()).digest('hex');
    expect(sealed).toContain(sha256);
    expect(JSON.stringify(record)).not.toContain(sha256);
  });

  it('--json prints the key with its id and limits', async () => {
    const { json } = commandsOn(newFolder());
    expect(
      await json`keys add site --json --scope 'blinded, randomize' --study A --study B --where site=a=b --where site=c
        --where x=y`,
    ).toMatchObject({
      key: expect.stringMatching(/^urn_/),
      keyId: expect.stringMatching(/^k[0-9a-f]{12}$/),
      ...{ user: 'site', scopes: ['blinded', 'randomize'], studies: ['A', 'B'] },
      where: [
        { factor: 'site', levels: ['a=b', 'c'] },
        { factor: 'x', levels: ['y'] },
      ],
    });
  });

  it('--expires with a day means the end of that day; with an instant, that instant', async () => {
    const data = newFolder();
    const { ok } = commandsOn(data);
    await ok`keys add one --expires 2096-02-29`;
    await ok`keys add two --expires 2096-02-29T12:30:00Z`;
    expect((await keysOf(data)).map(({ expiresAt }: { expiresAt: string }) => expiresAt)).toEqual([
      '2096-03-01T00:00:00.000Z',
      '2096-02-29T12:30:00.000Z',
    ]);
  });

  it.each(['randomize,audit', 'force,audit', 'force,randomize'])(
    '--allow-prediction permits %s, and is recorded, but lets nobody who is blinded see more',
    async (scope) => {
      const data = newFolder();
      const { ok, said } = commandsOn(data);
      expect(await ok`keys add replay --scope ${scope} --allow-prediction`).toMatch(KEY);
      expect(storedLog(data).at(-1)?.record.data).toMatchObject({ user: 'replay', allowPrediction: true });
      expect(await ok`keys list`).toContain('may predict');
      expect(await said`keys add x --scope ${scope},blinded --allow-prediction`).toMatch(/^2 /);
    },
  );

  it.each(['force', 'force,read', 'force,read,correct,manage'])('issues %s without it', async (scope) => {
    expect(await commandsOn(newFolder()).ok`keys add edc --scope ${scope}`).toMatch(KEY);
  });

  it.each([
    [typed`--study Misspelt`, 'warning: no study "Misspelt" is registered yet'],
    [typed`--where site=a`, '--where was not checked'],
  ])('warns of what no study is registered for, and issues the key: %j', async (limits, warning) => {
    const { code, stdout, stderr } = await commandsOn(newFolder()).run`keys add edc ${limits}`;
    expect(code).toBe(0);
    expect(stdout).toMatch(KEY);
    expect(stderr).toContain(warning);
  });

  it('refuses --where with a value that no study has, suggesting the nearest name, unless forced', async () => {
    const data = newFolder();
    await (await serveHere(data, TRIALS)).stop();
    const { run } = commandsOn(data);
    const misspelt = typed`keys add site --study Sleep --where 'local_site=30-Dupage Country'`;
    const hint = 'no level "30-Dupage Country" (hint: did you mean "30-Dupage County"?)';
    const refused = await run`${misspelt}`;
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(hint) });
    expect(refused.stderr).toContain('--force');
    expect(await keysOf(data)).toEqual([]);
    expect(await run`${misspelt} --force`).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`warning: factor "local_site" has ${hint}`),
    });
    const right = await run`keys add site --study Sleep --where 'local_site=30-Dupage County'`;
    expect(right).toMatchObject({ code: 0, stderr: expect.not.stringContaining('warning') });
  });

  it('refuses a new user with a look-alike name, but gives an existing one further keys', async () => {
    const data = newFolder();
    const { run, ok, said } = commandsOn(data);
    const unfit = 'e\u200bdc';
    for (const user of [unfit, 'Mu\u0308ller']) {
      const { code, stdout, stderr } = await run`keys add ${user}`;
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/the name of the user contains U\+(200B|0308), which/);
    }
    expect(readdirSync(data)).toEqual([]);
    const older = { cli: true, user: 'an older version' } as const;
    const log = await openLog({ data }, older);
    await log.read('access');
    await log.keys.issue({ user: unfit, scopes: ['read'] }, older);
    await log.close();
    await ok`keys add ${unfit}`;
    expect(await said`keys add ${unfit}2`).toMatch(/^2 /);
    expect(await ok`keys list`).toContain('e\\u200bdc');
  });

  it.each([
    [typed`user --scope blinded,audit`, 'cannot be "blinded"'],
    [typed`user --scope read,audit --where site=a`, 'cannot be limited with --where'],
    [typed`user --scope randomize,audit`, '--allow-prediction'],
    [typed`user --scope manage,audit`, '--allow-prediction'],
    [typed`user --scope force,blinded`, '"force" enters arms, so it cannot be "blinded"'],
    [typed`user --scope force,audit`, '"force" with "audit" is refused'],
    [typed`user --scope force,randomize`, '"force" with "randomize" is refused'],
    [typed`user --scope manage --where site=a`, 'cannot be limited with --where'],
    [typed`user --scope audit --where a=b --allow-prediction`, '--where'],
    [typed`user --scope blinded,audit --allow-prediction`, 'blinded'],
    [
      typed`user --scope admin`,
      'choose from blinded, read, randomize, audit, correct, force, unblind, supply, manage',
    ],
    [typed`user --scope ''`, 'is not a scope'],
    [typed`user --where site`, 'FACTOR=LEVEL'],
    [typed`user --where site=`, 'FACTOR=LEVEL'],
    [typed`user --where =a`, 'FACTOR=LEVEL'],
    // No such day, another form, no zone, no such hour.
    [typed`user --expires 2097-02-29`, 'neither a day'],
    [typed`user --expires 'June 30, 2097'`, 'neither a day'],
    [typed`user --expires 2097-06-30T12:00:00`, 'neither a day'],
    [typed`user --expires 2097-06-30T25:00:00Z`, 'neither a day'],
    [typed`user --expires 2020-01-01`, 'has passed already'],
    [typed`user --study ''`, 'name of a study'],
    [typed`--json ' '`, 'name'],
    [['a\tb'], 'name'],
  ])('refuses %j with exit code 2, and begins no log', async (args, message) => {
    const data = join(newFolder(), 'data');
    const { code, stdout, stderr } = await commandsOn(data).run`keys add ${args}`;
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('unexpected');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(existsSync(data)).toBe(false);
  });
});

describe('urn keys list', () => {
  it('works on a log without a key', async () => {
    const data = await begun();
    expect(await commandsOn(data).run`keys list`).toEqual({
      ...{ code: 0, stdout: '', stderr: 'there is no key yet (hint: urn keys add USER)\n' },
    });
    expect(await keysOf(data)).toEqual([]);
  });

  it('prints one line per key, starting with its id, and nothing that would let anyone use a key', async () => {
    const { run, ok } = commandsOn(newFolder());
    const issued = [
      await ok`keys add edc`,
      await ok`keys add site --where site=a --study S --expires 2096-01-01`,
    ];
    const { code, stdout, stderr } = await run`keys list`;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^k[0-9a-f]{12} +edc +read,randomize +valid +issued .* +no limits$/),
      expect.stringMatching(
        /^k[0-9a-f]{12} +site +read,randomize +valid +issued .* study "S" site=a until 2096-01-02T/,
      ),
    ]);
    const json = await ok`keys list --json`;
    expect(JSON.parse(json)).toHaveLength(2);
    for (const key of issued)
      for (const secret of [key.trim(), createHash('sha256').update(key.trim()).digest('hex')])
        expect(stdout + json).not.toContain(secret);
  });
});

describe('urn keys revoke', () => {
  it('revokes a key, records the reason, and says if it was already revoked', async () => {
    const data = newFolder();
    const { ok, run, said } = commandsOn(data);
    await ok`keys add leaver`;
    const [{ keyId }] = await keysOf(data);
    const revoke = () => run`keys revoke ${keyId} --reason 'left the trial'`;
    expect(await said`keys revoke ${keyId} --reason ' '`).toMatch(/^2 /);
    expect(await revoke()).toEqual({ code: 0, stdout: '', stderr: `key ${keyId} is revoked\n` });
    expect(await revoke()).toEqual({ code: 0, stdout: '', stderr: `key ${keyId} was already revoked\n` });
    expect(await ok`keys list`).toMatch(/revoked .* \(left the trial\)/);
    expect((await keysOf(data))[0].revoked).toMatchObject({ reason: 'left the trial' });
  });

  it('prints a reason of several lines on one line', async () => {
    const data = newFolder();
    const { ok } = commandsOn(data);
    await ok`keys add leaver`;
    const [{ keyId }] = await keysOf(data);
    await ok`keys revoke ${keyId} --reason 'left\n\u001b[2Jthe trial'`;
    expect(await ok`keys list`).toMatch(/^k.*\(left {2}\[2Jthe trial\).*\n$/);
  });

  it('with an id that does not exist exits with 2, without repeating it: it might be the key', async () => {
    const { ok, run } = commandsOn(newFolder());
    const key = (await ok`keys add edc`).trim();
    const { code, stdout, stderr } = await run`keys revoke ${key}`;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('hint: urn keys list shows the id first');
    expect(stderr).not.toContain(key);
  });
});

describe('every option has an environment variable', () => {
  it('for keys: URN_DATA, URN_SCOPE, URN_STUDY, URN_WHERE, URN_EXPIRES, URN_JSON', async () => {
    const env = {
      ...{ URN_DATA: newFolder(), URN_SCOPE: 'read', URN_STUDY: 'S', URN_WHERE: 'site=a' },
      ...{ URN_EXPIRES: '2096-01-01', URN_JSON: '1' },
    };
    const { stdout } = await urn(['keys', 'add', 'edc'], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ scopes: ['read'], studies: ['S'], where: [{ factor: 'site', levels: ['a'] }] },
      expiresAt: '2096-01-02T00:00:00.000Z',
    });
  });

  it('and options take precedence', async () => {
    const [data, other] = [newFolder(), newFolder()];
    const env = { URN_DATA: other, URN_SCOPE: 'read', URN_STUDY: 'S' };
    await commandOk(typed`keys add edc --scope blinded --study T --data ${data}`, { env });
    expect(await keysOf(data)).toMatchObject([{ scopes: ['blinded'], studies: ['T'] }]);
    expect(readdirSync(other)).toEqual([]);
  });

  it('an empty variable is ignored, and 0, false or no turns a switch off', async () => {
    const env = {
      ...{ URN_STORE: '', URN_LOG_NAME: '', URN_EXPIRES: '', URN_JSON: 'false' },
      URN_ALLOW_PREDICTION: '0',
    };
    const add = (scope: string) =>
      command(typed`keys add edc --scope ${scope} --data ${newFolder()}`, { env });
    expect((await add('read')).stdout).toMatch(KEY);
    expect((await add('randomize,audit')).code).toBe(2);
  });
});
