/** What reaches a terminal: lines for people, and nothing that the terminal would obey, whatever is in a log or a file. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { writeArchive } from '../../../src/evidence/bundle/archive.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { asCommand } from '../../support/acts.ts';
import {
  commandsOn,
  recordsOf,
  registered,
  saidIn,
  studyRecords,
  typed,
  withOpenLog,
} from '../../support/cli-log.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION, randomize, SEED } from '../../support/facts.ts';
import { drawnRows } from '../../support/import-facts.ts';
import { referenceCsv } from '../../support/reference-file.ts';
import { PROGRAM, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
/** Clears the screen, names the window, in seven and in eight bits; then what reverses a line, and what is invisible. */
const EVIL = 'x\u001b[2J\u001b]0;owned\u0007\u009b2J\u007f\u202ey\u200b';
/** All but ends of lines, which `script` writes as \r\n. */
const OBEYED = /(?![\r\n])[\p{Cc}\p{Cf}]/u;

interface Running {
  readonly output: () => string;
  readonly ended: Promise<void>;
  has(text: string): Promise<void>;
  type(text: string): void;
  interrupt(): void;
}

/** The program on a pseudo-terminal: its stdout, stderr and stdin are one. */
function onTerminal(args: readonly string[]): Running {
  const quoted = [process.execPath, PROGRAM, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const child = spawn('script', ['-qec', quoted.join(' '), '/dev/null'], {
    cwd: newFolder(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const has = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => output.includes(text) && resolve();
      child.stdout.on('data', look);
      child.once('close', () => reject(new Error(`it ended without "${text}":\n${output}`)));
      look();
    });
  // As a person does it: control and C.
  const type = (text: string) => void child.stdin.write(text);
  return { output: () => output, ended, has, type, interrupt: () => type('\u0003') };
}

describe('urn serve on a terminal', () => {
  it('logs lines for people, before and after its own messages', async () => {
    const { output, has, interrupt, ended } = onTerminal(['serve', '--data', newFolder(), '--port', '0']);
    await has('API key for the user');
    const [, url = ''] = /The service is ready at (\S+);/.exec(output()) ?? [];
    await fetch(`${url}/study_config?study=none`);
    await has('route=/study_config');
    interrupt();
    await ended;
    expect(output()).toMatch(
      /^\[\d\d:\d\d:\d\d\] WARN: there was no log in \S+: a new one named "urn" has been begun\r$/m,
    );
    expect(output()).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: ready {2}address=http:\S+ {2}logName=urn {2}/m);
    expect(output()).toMatch(/INFO: request {2}method=GET {2}route=\/study_config {2}status=401 {2}ms=/);
    expect(output()).toMatch(/INFO: stopped/);
    expect(output()).not.toMatch(/^\{/m);
    // The terminal shows ^C for what was typed.
    expect(output()).not.toMatch(OBEYED);
  });

  it('logs JSON lines if stderr is not a terminal', async () => {
    const service = await serve({ data: newFolder() });
    await service.stop();
    const lines = service.output.stderr.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(expect.arrayContaining(['ready', 'stopped']));
  });
});

describe('a live study on a terminal', () => {
  const STUDY = { ...CONFIGURATION, name: 'Sleep' };
  let data: string;
  const recorded = (type: string) => recordsOf(data, type).length;
  beforeAll(async () => {
    data = await registered(newFolder(), [STUDY]);
  });

  it.each([
    ['no', 'n\r'],
    ['nothing', '\r'],
    ['control and C', '\u0003'],
    ['control and D', '\u0004'],
    ['yes', 'y\r'],
  ])('is closed only when the answer is yes: %s', async (name, answer) => {
    const line = typed`studies close Sleep --cause end --reason x --data ${data}`;
    const { output, has, type, ended } = onTerminal(line);
    await has('Close Sleep (live, 0 participants)? [y/N]');
    type(answer);
    await ended;
    expect(output()).toContain(name === 'yes' ? 'Sleep: closed (' : 'nothing was recorded');
    expect(recorded('StudyClosed')).toBe(name === 'yes' ? 1 : 0);
  });

  it('is not asked about with --yes', async () => {
    const approved = typed`--reason x --approved-by 'A, sponsor, 2026-09-01'`;
    const { output, ended } = onTerminal(typed`studies reopen Sleep ${approved} --yes --data ${data}`);
    await ended;
    expect(output()).toMatch(
      /^Sleep: reopened: x; .*; it takes participants again, and allocates as before\r\n$/,
    );
  });

  it('is amended when the answer is yes, but not if it was amended while the person thought it over', async () => {
    const wished = join(newFolder(), 'studies.yaml');
    const write = (...more: readonly string[]) => {
      // An object would put the factor "9" before "10".
      const factors = STUDY.factors.map(
        ({ name, levels }) => `"${name}": ${JSON.stringify([...levels, ...more])}`,
      );
      const design = `{mode: live, treatments: ${JSON.stringify(STUDY.treatments)}, factors: {${factors.join(', ')}}}`;
      writeFileSync(wished, `Sleep: ${design}`);
    };
    const line = typed`studies amend Sleep --studies ${wished} --reason x --approved-by 'A, sponsor, 2026-09-01'
      --data ${data}`;
    write('New');
    const refused = await command(line, { answer: 'n\n' });
    expect(refused.stdout + refused.stderr).toMatch(
      /^factors\.9 +new level "New"\n[\s\S]*Amend Sleep \(live, 0 participants\)\? \[y\/N\] nothing was recorded/m,
    );
    expect([refused.code, recorded('StudyAmended')]).toEqual([1, 0]);
    const slow = onTerminal(line);
    await slow.has('[y/N]');
    write('New', 'Newest');
    const { stderr } = await command(line, { answer: 'y\n' });
    expect(stderr).toContain('Sleep is amended (amendment 1, revision 3)');
    slow.type('y\r');
    await slow.ended;
    expect(slow.output()).toContain('Sleep was amended meanwhile: nothing was recorded (hint: run it again)');
    expect(recorded('StudyAmended')).toBe(1);
    expect(saidIn(await command(line))).toBe('0 nothing to amend: Sleep is as the file says');
  });

  it('gets packs only when the answer is yes', async () => {
    const file = join(newFolder(), 'codes.csv');
    writeFileSync(file, 'code,treatment\nP1,MART\nP2,RMC-Q\nP3,RMC-A\n');
    const line = typed`codes add --study Sleep --from ${file} --data ${data}`;
    for (const answer of ['n', 'y']) {
      const { stderr } = await command(line, { answer: `${answer}\n` });
      expect(stderr).toContain('Register 3 packs in Sleep (live, 0 participants)? [y/N]');
      expect(recorded('CodesRegistered')).toBe(answer === 'y' ? 1 : 0);
    }
  });

  it('gets a history only when the answer is yes, and sees how many rows are in from the first second on', async () => {
    const own = await registered(newFolder(), [CONFIGURATION], SEED);
    const file = join(newFolder(), 'history.csv');
    writeFileSync(file, referenceCsv(drawnRows([{}, {}, {}])));
    const line = typed`import --study ${CONFIGURATION.name} --from ${file} --seed-known --data ${own}
      --approved-by 'A, sponsor, 2026-09-01'`;
    const refused = await command(line, { answer: 'n\n' });
    expect(refused.stderr).toContain('Import 3 participants into CHS JCOIN? [y/N] nothing was imported');
    expect(studyRecords(own)).toHaveLength(1);
    let ms = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (ms += 600));
    const isTTY = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
    Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
    const { stderr } = await command([...line, '--yes']).finally(() => {
      clock.mockRestore();
      Object.defineProperty(process.stderr, 'isTTY', isTTY ?? { value: undefined, configurable: true });
    });
    expect(stderr).toMatch(/\r\[#+ *\] \d of 3 rows imported/);
    expect(stderr).toContain('rows imported\r\u001b[K3 participants were imported into CHS JCOIN');
  });
});

describe('a log, and files, full of terminal control characters', () => {
  const data = newFolder();
  const files = newFolder();

  const file = (name: string) => join(files, name);

  /** As anybody could who owns the file: names are checked when they are recorded, not when they are read. */
  beforeAll(async () => {
    const factors = [{ name: EVIL, levels: [EVIL, 'b'] }];
    const study: StudyConfiguration = {
      ...CONFIGURATION,
      name: EVIL,
      mode: 'test',
      treatments: [EVIL, 'other'],
      factors,
    };
    await registered(data, [study]);
    await withOpenLog(data, async ({ studies, keys }) => {
      const operator = { cli: true, user: EVIL } as const;
      const issued = await keys.issue(
        { user: EVIL, scopes: ['read', 'randomize'], studies: [EVIL] },
        operator,
      );
      if ('refused' in issued) throw new Error(issued.refused);
      const actor = { accessRevision: 0, keyId: issued.keyId, user: EVIL, onBehalfOf: EVIL };
      const stream = studies.streamOf(EVIL);
      for (const id of ['1', '1\u200b'])
        await studies.submit(stream, randomize(id, { levels: [EVIL], user: EVIL }), actor);
      const pause = asCommand({ act: 'StudyPaused', user: 'operator', reason: EVIL });
      await studies.submit(stream, pause, operator);
      await keys.revoke(issued.keyId, EVIL, operator);
    });
    const db = new Database(join(data, 'urn.sqlite'));
    const insert = db.prepare(
      'INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, 0, ?, ?, zeroblob(32))',
    );
    const type = JSON.stringify({ type: EVIL, version: 1 });
    insert.run(EVIL, Buffer.from('{}'), Buffer.from('{}'));
    insert.run(`study-${EVIL}`, Buffer.from(type), Buffer.from('{}'));
    db.close();
    const name = JSON.stringify(EVIL);
    writeFileSync(file('studies.yaml'), `${name}:\n  treatments: [a]\n  ${name}: 1\n`);
    const other = { treatments: ['a', 'b'], factors: { x: ['y', 'z'] } };
    writeFileSync(file('wished.yaml'), JSON.stringify({ other }));
    const [header, row] = [`id,f_${EVIL},trt,datetime,user`, `${EVIL},${EVIL},${EVIL}2,${EVIL},${EVIL}`];
    writeFileSync(file('import.csv'), `${header}\n${row}\n`);
    writeFileSync(file('checkpoints'), `${EVIL}\n1\nAAAA\n\n— ${EVIL} AAAA\n`);
    const manifest = { path: 'manifest.json', parts: () => [JSON.stringify({ format: EVIL })] };
    await writeArchive(file('foreign.zip'), [manifest], () => undefined);
  });

  it.each([
    typed`keys list --data ${data}`,
    typed`keys list --json --data ${data}`,
    typed`keys add ${EVIL} --data ${data}`,
    typed`keys add u --study ${EVIL}. --where ${EVIL}=z --data ${data}`,
    typed`studies list --data ${data}`,
    typed`studies show ${EVIL} --data ${data}`,
    typed`studies pause ${EVIL} --reason ${EVIL} --data ${data}`,
    typed`studies amend ${EVIL} --studies ${file('wished.yaml')} --reason x --rename ${EVIL} --data ${data}`,
    typed`studies show ${EVIL}. --data ${data}`,
    typed`import --study ${EVIL} --from ${file('import.csv')} --data ${data}`,
    typed`studies check --studies ${file('studies.yaml')} --data ${data}`,
    typed`participants list --study ${EVIL} --data ${data}`,
    typed`participants history --study ${EVIL} --id 1 --data ${data}`,
    typed`participants correct --study ${EVIL} --id 1\u200b --cause ${EVIL} --level ${EVIL}=${EVIL} --level ${EVIL}
      --note ${EVIL} --data ${data}`,
    typed`participants rename --study ${EVIL} --id 1 --to ${EVIL} --cause ${EVIL} --data ${data}`,
    typed`explain --study ${EVIL} --id 1 --data ${data}`,
    typed`operations --data ${data}`,
    typed`verify --data ${data}`,
    typed`verify --json --data ${data}`,
    typed`verify --data ${data} --checkpoint ${file('checkpoints')}`,
    typed`verify --bundle ${file('foreign.zip')}`,
    typed`bundle --study ${EVIL} --data ${data} --out ${file('bundle.zip')}`,
    typed`report --study ${EVIL} --data ${data} --out ${file(`${EVIL}.html`)}`,
    typed`recover --dry-run --reason ${EVIL} --data ${data}`,
    typed`signing-key show --data ${data}`,
    typed`simulate --studies ${file(EVIL)} --study ${EVIL}`,
    typed`copy --dry-run --data ${data} --to sqlite:${file(EVIL)}`,
    typed`serve --data ${join(files, EVIL, EVIL)} --port x`,
    typed`keys list --data ${EVIL}`,
    typed`${EVIL}`,
    typed`keys list --${EVIL}`,
    typed`serve --log-level ${EVIL}`,
  ])('urn %s %s prints nothing that a terminal obeys', async (...line) => {
    const { stdout, stderr } = await command(line, { cwd: files });
    expect(stdout + stderr).not.toBe('');
    expect(stdout + stderr).not.toMatch(OBEYED);
    expect(stdout + stderr).not.toContain('unexpected error');
  });

  it('are printed with invisible characters escaped', async () => {
    const { ok, json } = commandsOn(data);
    expect(await ok`keys list`).toContain('\\u202ey\\u200b');
    expect((await json`keys list --json`)[0].user).toBe(EVIL);
  });

  it('are printed safely by a service on a terminal that cannot read its streams', async () => {
    const { output, has, interrupt, ended } = onTerminal(['serve', '--data', data, '--port', '0']);
    await has('serving at');
    interrupt();
    await ended;
    expect(output()).toContain('a stream cannot be read any further');
    expect(output()).not.toMatch(OBEYED);
  });
});

describe('a reader who has read enough', () => {
  it('ends the command silently', async () => {
    // `true` has ended long before the program writes.
    const cwd = newFolder();
    writeFileSync(join(cwd, 'studies.yaml'), 'S: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}\n');
    const line = `'${process.execPath}' '${PROGRAM}' simulate --participants 4 --reps 10 | true; echo "\${PIPESTATUS[0]}"`;
    const child = spawn('bash', ['-c', line], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    await new Promise((resolve) => child.once('close', resolve));
    expect(texts.stderr).toBe('');
    expect(texts.stdout.trim().split('\n')).toEqual(['141']);
  });
});
