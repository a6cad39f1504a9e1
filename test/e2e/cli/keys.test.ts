import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsOn, registered, typed } from '../../support/cli-log.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const KEY = /^urn_[A-Za-z0-9_-]{43}\n$/;

const keysOf = (data: string) => commandsOn(data).json`keys list --json`;

describe('urn keys add', () => {
  it('begins the log in an empty data folder, prints only the key on stdout, and stores only its SHA-256', async () => {
    const data = join(newFolder(), 'made', 'too');
    const { code, stdout, stderr } = await commandsOn(data).run`keys add edc`;
    expect([code, stdout]).toEqual([0, expect.stringMatching(KEY)]);
    expect(stderr).toMatch(
      /^there was no log in .*\nkey k[0-9a-f]{12} for edc \(read,randomize\); it is valid within a second, and shown only now:\n$/,
    );
    for (const file of readdirSync(data)) {
      expect(statSync(join(data, file)).mode & 0o077, file).toBe(0);
      expect(readFileSync(join(data, file)).includes(stdout.trim()), file).toBe(false);
    }
    const { record, sealed } = storedLog(data).at(-1) ?? {};
    expect(record.type).toBe('ApiKeyIssued');
    expect(sealed).toContain(createHash('sha256').update(stdout.trim()).digest('hex'));
  });

  it.each([
    ['2096-02-29', '2096-03-01T00:00:00.000Z'],
    ['2096-02-29T12:30:00Z', '2096-02-29T12:30:00.000Z'],
  ])('--json prints the key with its id and limits; --expires %s is %s', async (until, expiresAt) => {
    const { json, ok } = commandsOn(newFolder());
    const issued = {
      ...{ keyId: expect.stringMatching(/^k[0-9a-f]{12}$/), user: 'site', scopes: ['randomize', 'audit'] },
      ...{ studies: ['A', 'B'], expiresAt, allowPrediction: true },
    };
    expect(
      await json`keys add site --json --scope 'randomize, audit' --study A --study B --allow-prediction --expires ${until}`,
    ).toMatchObject({ ...issued, key: expect.stringMatching(/^urn_/) });
    expect(await ok`keys list`).toContain('may predict');
    expect((await json`keys add site --json --where site=a=b --where site=c --where x=y`).where).toEqual([
      { factor: 'site', levels: ['a=b', 'c'] },
      { factor: 'x', levels: ['y'] },
    ]);
  });

  it('refuses --where with a value that no study has, unless forced, and warns of what is not registered', async () => {
    const data = newFolder();
    const { run, ok } = commandsOn(data);
    const unchecked = await run`keys add edc --study Sleep --where site=a`;
    expect([unchecked.code, unchecked.stdout]).toEqual([0, expect.stringMatching(KEY)]);
    for (const warning of ['warning: no study "Sleep" is registered yet', '--where was not checked'])
      expect(unchecked.stderr).toContain(warning);
    await registered(data, [{ ...CONFIGURATION, name: 'Sleep' }]);
    const line = typed`keys add site --study Sleep`;
    const misspelt = [...line, '--where', '9=30-Dupage Country'];
    const hint = 'no level "30-Dupage Country" (hint: did you mean "30-Dupage County"?)';
    const refused = await refusal(run`${misspelt}`);
    for (const said of [hint, '--force']) expect(refused).toContain(said);
    const stderr = expect.stringContaining(`warning: factor "9" has ${hint}`);
    expect(await run`${misspelt} --force`).toMatchObject({ code: 0, stderr });
    await ok`${line} --where '9=30-Dupage County'`;
    expect(await keysOf(data)).toHaveLength(3);
  });

  it('refuses a user with a look-alike name', async () => {
    const data = newFolder();
    const { said } = commandsOn(data);
    expect(await said`keys add ${'e\u200bdc'}`).toMatch(
      /^2 urn: the name of the user contains U\+200B, which/,
    );
    expect(readdirSync(data)).toEqual([]);
  });

  it('warns of what a user may do with several valid keys, whatever the spelling of the name', async () => {
    const { run, ok, json } = commandsOn(newFolder());
    expect((await run`keys add EDC --scope read,randomize,correct`).stderr).toContain('needs two users');
    const both = 'warning: edc has "manage" and "randomize" over several valid keys (k';
    expect((await run`keys add edc --scope manage`).stderr).toContain(both);
    for (const { keyId } of await json`keys list --json`) await ok`keys revoke ${keyId}`;
    expect((await run`keys add edc --scope manage`).stderr).not.toContain('warning');
  });

  it.each([
    [typed`user --scope blinded,audit`, 'cannot be "blinded"'],
    [typed`user --scope manage,randomize`, '"manage" with "randomize" is refused'],
    [
      typed`user --scope admin`,
      'choose from blinded, read, randomize, audit, correct, force, unblind, supply',
    ],
    [typed`user --scope ''`, 'is not a scope'],
    [typed`user --where site`, 'FACTOR=LEVEL'],
    [typed`user --where site=`, 'FACTOR=LEVEL'],
    // No such day, no zone, no such hour.
    [typed`user --expires 2097-02-29`, 'neither a day'],
    [typed`user --expires 2097-06-30T12:00:00`, 'neither a day'],
    [typed`user --expires 2097-06-30T25:00:00Z`, 'neither a day'],
    [typed`user --expires 2020-01-01`, 'has passed already'],
    [typed`user --study ''`, 'name of a study'],
    [typed`--json ' '`, 'name'],
    [['a\tb'], 'name'],
  ])('refuses %j with exit code 2, and begins no log', async (args, message) => {
    const data = join(newFolder(), 'data');
    expect(await refusal(commandsOn(data).run`keys add ${args}`)).toContain(message);
    expect(existsSync(data)).toBe(false);
  });
});

it('urn keys list prints one line per key, starting with its id, and nothing that would let anyone use a key', async () => {
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

it('urn keys revoke revokes a key, records the reason, which is printed on one line, and says if it was already revoked', async () => {
  const data = newFolder();
  const { ok, run, said } = commandsOn(data);
  const secret = (await ok`keys add leaver`).trim();
  const [{ keyId }] = await keysOf(data);
  const revoke = () => run`keys revoke ${keyId} --reason 'left\n\u001b[2Jthe trial'`;
  expect(await said`keys revoke ${keyId} --reason ' '`).toMatch(/^2 /);
  expect(await revoke()).toEqual({ code: 0, stdout: '', stderr: `key ${keyId} is revoked\n` });
  expect(await revoke()).toEqual({ code: 0, stdout: '', stderr: `key ${keyId} was already revoked\n` });
  expect(await ok`keys list`).toMatch(/^k.* revoked .*\(left {2}\[2Jthe trial\).*\n$/);
  // An id that does not exist is not repeated: it might be the key.
  const stderr = await refusal(run`keys revoke ${secret}`);
  expect(stderr).toContain('hint: urn keys list shows the id first');
  expect(stderr).not.toContain(secret);
});

describe('every option has an environment variable', () => {
  it('for keys: URN_DATA, URN_SCOPE, URN_STUDY, URN_WHERE, URN_EXPIRES, URN_JSON; options take precedence', async () => {
    const env = {
      ...{ URN_DATA: newFolder(), URN_SCOPE: 'read', URN_STUDY: 'S', URN_WHERE: 'site=a' },
      ...{ URN_EXPIRES: '2096-01-01', URN_JSON: '1' },
    };
    const printed = async (...more: string[]) =>
      JSON.parse(await commandOk(['keys', 'add', 'edc', ...more], { env }));
    const [where, expiresAt] = [[{ factor: 'site', levels: ['a'] }], '2096-01-02T00:00:00.000Z'];
    expect(await printed()).toMatchObject({ scopes: ['read'], studies: ['S'], where, expiresAt });
    const given = typed`--scope blinded --study T --data ${newFolder()}`;
    expect(await printed(...given)).toMatchObject({ scopes: ['blinded'], studies: ['T'] });
    expect(storedLog(env.URN_DATA)).toHaveLength(2);
  });

  it('an empty variable is ignored, and 0, false or no turns a switch off', async () => {
    const unset = { URN_STORE: '', URN_LOG_NAME: '', URN_EXPIRES: '', URN_JSON: 'false' };
    const line = (scope: string) => typed`keys add edc --scope ${scope} --data ${newFolder()}`;
    const env = { ...unset, URN_ALLOW_PREDICTION: '0' };
    expect((await command(line('read'), { env })).stdout).toMatch(KEY);
    expect((await command(line('randomize,audit'), { env })).code).toBe(2);
  });
});
