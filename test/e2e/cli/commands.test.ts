/** Every command, one row each: its help, what it refuses before it begins, and that it begins no log and leaves nothing behind where there is none. */
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../../src/store/sqlite/schema.ts';
import { commandsOn, saidIn, typed } from '../../support/cli-log.ts';
import { command, refusal } from '../../support/command.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
/** Where commands run that write files into the working folder. */
const elsewhere = newFolder();
const COPY = typed`--to sqlite:${join(elsewhere, 'copy.sqlite')}`;
const ABOUT = typed`--study Sleep --id 1`;
const WHY = typed`--reason 'for the test'`;
const OUTSIDE = typed`${ABOUT} --level a=b --treatment A --occurred-at NOW --cause outage --note x`;
/** What commands read before they open a log. */
const given = newFolder();
const STUDIES = join(given, 'studies.yaml');
writeFileSync(STUDIES, 'Sleep: {mode: test, treatments: [a, b], factors: {x: [y, z]}}\n');
const HISTORY = join(given, 'history.csv');
writeFileSync(HISTORY, 'id,f_ward,trt,datetime,user\n');

type Without = 'needs a log' | 'begins a log' | 'needs none';
/** Every command, with the options without which it does not get as far as opening a log. */
const COMMANDS: readonly (readonly [words: string, without: Without, ...options: string[][]])[] = [
  ['init', 'begins a log'],
  ['serve', 'begins a log'],
  ['keys add', 'begins a log', ['edc']],
  ['keys list', 'needs a log'],
  ['keys revoke', 'needs a log', ['k0123456789ab']],
  ['studies check', 'needs none'],
  ['studies register', 'needs a log', typed`--studies ${STUDIES}`],
  ['studies list', 'needs a log', ['--json']],
  ['studies show', 'needs a log', ['Sleep']],
  ['studies expected', 'needs a log', ['Sleep']],
  ['studies pause', 'needs a log', ['Sleep', ...WHY]],
  ['studies resume', 'needs a log', ['Sleep', ...WHY]],
  ['studies close', 'needs a log', typed`Sleep --cause end ${WHY}`],
  ['studies reopen', 'needs a log', ['Sleep', ...WHY]],
  ['studies amend', 'needs a log', typed`Sleep --studies ${STUDIES} ${WHY}`],
  ['simulate', 'needs none'],
  ['import', 'needs a log', typed`--study Sleep --from ${HISTORY}`],
  ['verify', 'needs a log'],
  ['explain', 'needs a log', ABOUT],
  ['participants list', 'needs a log', typed`--study Sleep`],
  ['participants history', 'needs a log', ABOUT],
  ['participants force', 'needs a log', OUTSIDE],
  ['participants correct', 'needs a log', typed`${ABOUT} --level a=b --cause entry --note x`],
  ['participants void', 'needs a log', typed`${ABOUT} --cause other --analysis keep --note x`],
  ['participants reinstate', 'needs a log', typed`${ABOUT} --note x`],
  ['participants rename', 'needs a log', typed`${ABOUT} --to 2 --cause entry`],
  ['participants dispense', 'needs a log', typed`${ABOUT} --visit V2`],
  ['participants correct-dispensation', 'needs a log', typed`${ABOUT} --code P1 --cause entry --note x`],
  ['codes add', 'needs a log', typed`--study Sleep --from packs.csv`],
  ['codes list', 'needs a log', typed`--study Sleep`],
  ['codes accountability', 'needs a log', typed`--study Sleep`],
  ['codes replace', 'needs a log', typed`${ABOUT} --code P1 --cause lost`],
  ['codes withdraw', 'needs a log', typed`--study Sleep --code P1 ${WHY}`],
  ['lists add', 'needs a log', typed`--study Sleep --from list.csv`],
  ['lists status', 'needs a log', typed`--study Sleep`],
  ['lists skip', 'needs a log', typed`--study Sleep --none ${WHY}`],
  ['reveal', 'needs a log', typed`${ABOUT} --category emergency ${WHY}`],
  ['code-breaks list', 'needs a log', typed`--study Sleep`],
  ['code-breaks print', 'needs a log', ABOUT],
  ['code-breaks page', 'needs a log'],
  ['unblindings add', 'needs a log', typed`${ABOUT} --how label --occurred-at 2026-03-02T21:40Z ${WHY}`],
  ['rerandomize', 'needs a log', typed`--study Sleep --outcomes y.csv --outcome y --statistic mean`],
  ['bundle', 'needs a log', typed`--study Sleep`],
  ['report', 'needs a log', typed`--study Sleep`],
  ['export', 'needs a log', typed`--study Sleep --format csv`],
  ['relay', 'needs a log', typed`--kafka-brokers 127.0.0.1:1`],
  ['operations', 'needs a log'],
  ['recover', 'needs a log', ['--dry-run', ...WHY], ['--stopped', ...WHY]],
  ['copy', 'needs a log', [...COPY, ...WHY], [...COPY, '--dry-run']],
  ['signing-key show', 'needs a log'],
  ['signing-key rotate', 'needs a log', WHY],
  ['session-key replace', 'needs none'],
];
const names = COMMANDS.map(([name]) => name);
const NEED_A_LOG = COMMANDS.flatMap(([name, without, ...options]) =>
  without === 'needs a log'
    ? (options.length > 0 ? options : [[]]).map((more) => [name, [...name.split(' '), ...more]] as const)
    : [],
);

/** One of each group. */
const ONE_OF_EACH = NEED_A_LOG.filter(
  ([name], i) =>
    !NEED_A_LOG.slice(0, i).some(([other]) => other !== name && other.split(' ')[0] === name.split(' ')[0]),
);

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

const NO_LOG = /^2 (log: .*\n)?urn: there is no (log in|store) .*\(hint: /;
const runs = async (line: readonly string[]) => saidIn(await command(line, { cwd: elsewhere }));

describe('every command', () => {
  /** The commands that a help lists. */
  const listed = (help: string) =>
    [...help.matchAll(/^ {2}([a-z][a-z-]*)\b(?! \[command\])/gm)].flatMap(([, name = '']) =>
      name === 'help' ? [] : [name],
    );

  it('is in the help, and has a row here; each group names its own', async () => {
    const help = (await command(['--help'])).stdout.replaceAll('\n                         ', ' ');
    const found: string[] = [];
    for (const name of listed(help.split('Commands:')[1]?.split('Most options')[0] ?? '')) {
      const own = listed((await command([name, '--help'])).stdout.split('Commands:')[1] ?? '');
      found.push(...(own.length === 0 ? [name] : own.map((one) => `${name} ${one}`)));
      const about = help.split(new RegExp(`^ {2}${name} `, 'm'))[1]?.split('\n')[0];
      for (const one of own) expect(about, name).toMatch(new RegExp(`[ ,:]${one}\\b`));
    }
    expect(found).toEqual(names);
  });

  const LINES = COMMANDS.map(([name, , options = []]) => [name, [...name.split(' '), ...options]] as const);
  it.each(LINES)('urn %s has a help, and refuses an option that it does not have', async (name, line) => {
    const { code, stdout, stderr } = await command([...name.split(' '), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: urn ${name}`);
    expect(stdout.split('\n').length).toBeGreaterThan(5);
    const nonsense = "2 error: unknown option '--nonsense'\n(hint: add --help)";
    expect(await runs([...line, '--nonsense'])).toBe(nonsense);
  });

  it.each(NEED_A_LOG)('urn %s creates and writes nothing where there is no log', async (_, line) => {
    const folder = newFolder();
    expect(await runs([...line, '--data', join(folder, 'wrong', 'place')])).toMatch(NO_LOG);
    expect(existsSync(join(folder, 'wrong'))).toBe(false);
    expect(await runs([...line, '--data', folder])).toMatch(NO_LOG);
    expect(readdirSync(folder)).toEqual([]);
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});

const KAFKA = typed`relay --kafka-brokers localhost:9092`;
it.each([
  ['no command', []],
  ['an unknown command', ['randomize']],
  ['a group without a command', ['keys']],
  ['a missing argument', ['keys', 'add']],
  ['an argument too many', ['keys', 'list', 'all']],
  ['a port above 65535', typed`serve --port 65536`],
  ['a certificate without its key', typed`serve --tls-cert cert.pem`],
  ['a relay without brokers', typed`serve --relay`],
  ['a broker that is a URL', typed`relay --kafka-brokers kafka://localhost:9092`],
  ['a broker without a port', typed`relay --kafka-brokers localhost`],
  ['certificates without TLS', [...KAFKA, '--kafka-ca', 'ca.pem']],
  ['a certificate file that does not exist', [...KAFKA, ...typed`--kafka-tls --kafka-ca none.pem`]],
  ['a password without a user', [...KAFKA, '--kafka-password-file', 'p']],
  ['a metrics port that is not a number', [...KAFKA, '--metrics-port', 'x']],
])('wrong usage exits with 2, with output only on stderr: %s', async (_, line) => {
  expect(await refusal(command(line))).not.toBe('');
});

it('a command in the process of the tests says and returns what the program does', async () => {
  const cwd = newFolder();
  writeFileSync(join(cwd, 'studies.yaml'), TRIALS);
  const env = { URN_DATA: join(cwd, 'none'), URN_STUDIES: 'studies.yaml' };
  const line = ['studies', 'check'];
  expect(await command(line, { cwd, env })).toEqual(await urn(line, { cwd, env }));
});

describe('in a store without records, nothing is written', () => {
  let server: EventStoreDbServer;
  beforeAll(async () => {
    server = await new EventStoreDbServer().start();
  });
  afterAll(() => server.stop());
  const at = (prefix: string, data: string) =>
    typed`--store ${server.connectionString()} --stream-prefix ${prefix} --data ${data}`;

  it.each(ONE_OF_EACH)('by urn %s', async (name, line) => {
    // As a first start leaves it that is killed at the wrong moment.
    const folder = newFolder();
    createDatabase(join(folder, 'urn.sqlite'));
    const before = listing(folder);
    const said = await runs([...line, '--data', folder]);
    // A verification says what is wrong with such a database.
    if (name === 'verify') expect(said).toMatch(/^1 /);
    else expect(said).toMatch(name === 'operations' ? /^0 / : NO_LOG);
    expect(listing(folder)).toEqual(before);

    const data = join(newFolder(), 'data');
    const there = await runs([...line, ...at('mistyped', data)]);
    expect(there).toMatch(NO_LOG);
    expect(there).toContain('stream prefix mistyped');
    expect(server.received).toEqual([]);
    expect(existsSync(data)).toBe(false);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('but by urn init, which begins a log there, and says where', async () => {
    const data = join(newFolder(), 'data');
    expect(await runs(['init', ...at('mine', data)])).toMatch(/^0 [\s\S]*prefix mine: a new one/);
    expect(server.received.map(({ stream }) => stream)).toEqual(['mine.log']);
    expect(readdirSync(data)).toEqual(['signing-key']);
  });
});

describe('a log is begun, which is reported on stderr, by', () => {
  const BEGUN = (data: string) => `there was no log in ${data}: a new one named "urn" has been begun`;

  it('urn init, which prints the verifier key and leaves an existing log as it is', async () => {
    const data = join(newFolder(), 'data');
    const { run, json, said } = commandsOn(data);
    const first = await run`init`;
    expect(first).toMatchObject({ code: 0, stderr: `${BEGUN(data)}\n` });
    expect(first.stdout).toMatch(/^urn\+[0-9a-f]{8}\+\S+\n$/);
    expect(readdirSync(data).toSorted()).toEqual(['signing-key', 'urn.sqlite', 'urn.sqlite.reserve']);
    const before = listing(data);

    const second = await run`init`;
    expect(second).toMatchObject({ code: 0, stdout: first.stdout });
    expect(second.stderr).toMatch(/^there is already a log in .*, named "urn"; nothing was written\n$/);
    expect(await json`init --json`).toMatchObject({
      ...{ begun: false, logName: 'urn', verifierKey: first.stdout.trim() },
    });
    expect(await said`init --log-name other`).toMatch(/^2 urn: this log is named "urn"/);
    expect(listing(data)).toEqual(before);
    expect(storedLog(data).map(({ record }) => record.type)).toEqual(['LogCreated']);
  });

  it.each([typed`init`, typed`keys add edc`, typed`serve --port 0`])(
    'urn %s, but not in memory or with an odd name',
    async (...line) => {
      const data = join(newFolder(), 'data');
      expect(await runs([...line, ...typed`--data ${data} --log-name ur\u200bn`])).toBe(
        '2 urn: the name of the log contains U+200B, which nobody sees',
      );
      expect(existsSync(data)).toBe(false);
      if (line[0] !== 'serve')
        expect(await runs([...line, '--store', 'memory:'])).toMatch(/^2 urn: a log in memory is gone when/);
    },
  );
});
