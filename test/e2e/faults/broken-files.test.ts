/** Files that are not what they should be: refused with one clear message, and left as they were found. */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { STUDIES } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKey, type Surroundings, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const temporaryFolder = temporaryFolders();
const templates = temporaryFolder();
/** A log whose service was stopped. */
const stopped = join(templates, 'stopped');
/** The same log later, as a killed service leaves it: much of it is only in the write-ahead log. */
const killed = join(templates, 'killed');
const other = join(templates, 'other');
const choices = seededChoices();
const database = (data: string) => join(data, 'urn.sqlite');
const signingKey = (data: string) => join(data, 'signing-key');
let key = '';
let ids = 0;

beforeAll(async () => {
  key = await issueKey(stopped, 'edc');
  const service = await serveHere(stopped, STUDIES);
  await enrol(service.url, 12);
  await service.stop();
  const data = temporaryFolder(stopped);
  const later = await serveHere(data);
  await enrol(later.url, 12);
  copyAsKilled(data, killed);
  await later.stop();
  await commandOk(['init', '--data', other]);
});

// What the store alone finds wrong with a file is in integration/store/sqlite-refusals.test.ts.
describe('a data folder that cannot be used is refused:', () => {
  const cases: Record<string, { from?: () => string; damage: (data: string) => void; says: RegExp }> = {
    'a database with a damaged page': {
      damage: (data) => {
        const bytes = readFileSync(database(data));
        writeFileSync(database(data), bytes.fill(randomBytes(4096), 4096, 8192));
      },
      says: /urn\.sqlite.*(damaged|malformed).*\(hint: .*backup/,
    },
    'no signing key, after a crash': {
      from: () => killed,
      damage: (data) => rmSync(signingKey(data)),
      says: /the log's signing key .*signing-key is missing \(hint: .*restore it/,
    },
    'the signing key of another log': {
      damage: (data) => copyFileSync(signingKey(other), signingKey(data)),
      says: /the signing key is not this log's \(hint: .*restore the pair/,
    },
    'a signing key that is not one': {
      damage: (data) => writeFileSync(signingKey(data), 'PRIVATE+KEY+urn+00000000+AAAA\n'),
      says: /signing-key holds no signing key \(hint: restore it/,
    },
    'a signing key without its database': {
      damage: (data) => rmSync(database(data)),
      says: /signing-key belongs to a log, but its database .* is missing \(hint: /,
    },
  };
  it.each(Object.entries(cases))('%s', async (_, { from = () => stopped, damage, says }) => {
    const data = temporaryFolder(from());
    damage(data);
    await refused(data, says);
  });

  it('a port in use', async () => {
    const first = await serveHere(temporaryFolder(stopped));
    const data = temporaryFolder(stopped);
    const before = contents(data);
    const { port } = new URL(first.url);
    const stderr = await refusal(command(['serve', '--data', data, '--port', port]));
    expect(stderr).toMatch(/^urn: .*port.* in use \(hint: .*--port\)\n$/);
    expect(contents(data)).toEqual(before);
    await first.stop();
  });
});

describe('a folder in which no log can be, or go on, is refused:', () => {
  const says = /cannot open .*urn\.sqlite: .*\(hint: .*able to write/;
  const none = /there is no log in .*\(hint: /;

  it('a file', async () => {
    const data = join(temporaryFolder(), 'data');
    writeFileSync(data, 'no folder');
    for (const folder of [data, join(data, 'below')])
      await refused(folder, /cannot make the folder .*\(hint: --data/, {}, none);
    expect(readFileSync(data, 'utf8')).toBe('no folder');
  });

  it.each([
    ['a log that a crash left in a read-only folder', () => temporaryFolder(killed), says],
    ['an empty read-only folder', temporaryFolder, none],
  ] as const)('%s', async (_, made, saysWhoReads) => {
    const data = made();
    for (const name of readdirSync(data)) chmodSync(join(data, name), 0o444);
    chmodSync(data, 0o555);
    await refused(data, says, { heedsModes: true }, saysWhoReads);
    chmodSync(data, 0o755);
  });
});

describe('a database without part of its write-ahead log', () => {
  it('contains everything up to its last complete transaction, wherever the log was truncated', async () => {
    const log = `${database(killed)}-wal`;
    const { size } = statSync(log);
    for (let cut = 0; cut < 3; cut++) {
      const data = temporaryFolder(killed);
      truncateSync(`${database(data)}-wal`, cut === 0 ? 0 : choices.between(0, size - 1));
      rmSync(`${database(data)}-shm`, { force: true });
      // By what it signed last, the log would know that it lost something.
      rmSync(join(data, 'last-checkpoints'), { force: true });
      const service = await serveHere(data, STUDIES);
      await enrol(service.url, 3);
      await service.stop();
      const check = new LogCheck(data).check();
      expect(check.records).toBeGreaterThanOrEqual(new LogCheck(stopped).check().records + 3);
      expect(check.events('log')).toEqual(new LogCheck(killed).check().events('log'));
    }
  });

  it('is never mistaken for an empty one, in which a new log could begin', async () => {
    const data = join(temporaryFolder(), 'data');
    const first = await serveHere(join(temporaryFolder(), 'new'));
    expect(first.output.stderr).toContain('a new one named \\"urn\\" has been begun');
    copyAsKilled(first.data, data);
    const [begun] = storedLog(first.data);
    await first.stop();
    for (const side of ['-wal', '-shm']) rmSync(`${database(data)}${side}`);
    await commandOk(['keys', 'list', '--data', data]);
    expect(storedLog(data)[0]).toEqual(begun);
  });
});

/** A command that may begin a log and one that only reads end with 2 and one message, and leave every file as it was. */
async function refused(
  data: string,
  says: RegExp,
  as: Surroundings = {},
  saysWhoReads = says,
): Promise<void> {
  const before = contents(data);
  // File modes do not apply to this process if the superuser runs the tests.
  const run = as.heedsModes ? urn : command;
  for (const [args, expected] of [
    [['serve', '--port', '0'], says],
    [['keys', 'list'], saysWhoReads],
  ] as const) {
    const stderr = await refusal(run([...args, '--data', data], as));
    expect(stderr).toMatch(/^urn: .*\n$/);
    expect(stderr).toMatch(expected);
  }
  expect(contents(data)).toEqual(before);
}

/** SHA-256 by file, without what SQLite rebuilds at every start: its index, and an empty write-ahead log. */
function contents(data: string): Record<string, string> {
  if (!existsSync(data) || !statSync(data).isDirectory()) return {};
  const files = readdirSync(data).flatMap((name) => {
    if (name.endsWith('-shm')) return [];
    const path = join(data, name);
    const mode = statSync(path).mode & 0o777;
    chmodSync(path, mode | 0o400);
    const bytes = readFileSync(path);
    chmodSync(path, mode);
    if (name.endsWith('-wal') && bytes.length === 0) return [];
    return [[name, createHash('sha256').update(bytes).digest('hex')]];
  });
  return Object.fromEntries(files);
}

/** What a service would leave if it were killed now. What it signed last may be on its way to the disk. */
function copyAsKilled(data: string, to: string): void {
  cpSync(data, to, { recursive: true, filter: (path) => !path.includes('last-checkpoints') });
}

async function enrol(url: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const answer = await clientOf(url, key).randomize('One', `${++ids}`, { sex: choices.pick(['F', 'M']) });
    expect(answer.status, answer.text).toBe(200);
  }
}
