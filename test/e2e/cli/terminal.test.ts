/** What reaches a terminal: lines for people, and nothing that the terminal would obey, whatever is in a log or a file. */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { writeArchive } from '../../../src/evidence/bundle/bundle.ts';
import { asCommand } from '../../support/acts.ts';
import {
  actorWith,
  commandsOn,
  recordsOf,
  registered,
  studyRecords,
  typed,
  withOpenLog,
} from '../../support/cli-log.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION, randomize, SEED } from '../../support/facts.ts';
import { drawnRows } from '../../support/import-facts.ts';
import { referenceCsv } from '../../support/reference-file.ts';
import { PROGRAM } from '../../support/service.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { storeRow } from '../audit/database.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('file.csv');
/** Clears the screen, names the window, in seven and in eight bits; then what reverses a line, and what is invisible. */
const EVIL = 'x\u001b[2J\u001b]0;owned\u0007\u009b2J\u007f\u202ey\u200b';
/** All but ends of lines, which `script` writes as \r\n. */
const OBEYED = /(?![\r\n])[\p{Cc}\p{Cf}]/u;

/** The program on a pseudo-terminal: its stdout, stderr and stdin are one. */
function onTerminal(args: readonly string[]) {
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
  const has = (text: string) => vi.waitFor(() => expect(output).toContain(text), 60_000);
  return { output: () => output, ended, has, type: (text: string) => void child.stdin.write(text) };
}
const CONTROL_C = '\u0003';

/** As anybody could who owns the file. */
function addEvilStreams(data: string): void {
  const at = { revision: 0, sealed: Buffer.from('{}'), leaf: Buffer.alloc(32) };
  const record = Buffer.from(JSON.stringify({ type: EVIL, version: 1 }));
  storeRow(data, { ...at, stream: EVIL, record: Buffer.from('{}') });
  storeRow(data, { ...at, stream: `study-${EVIL}`, record });
}

it('urn serve on a terminal logs lines for people, before and after its own messages, also of streams that it cannot read', async () => {
  const data = await registered(newFolder(), []);
  addEvilStreams(data);
  const { output, has, type, ended } = onTerminal(['serve', '--data', data, '--port', '0']);
  await has('API key for the user');
  const [, url = ''] = /The service is ready at (\S+);/.exec(output()) ?? [];
  await fetch(`${url}/study_config?study=none`);
  await has('route=/study_config');
  type(CONTROL_C);
  await ended;
  expect(output()).toMatch(/^\[\d\d:\d\d:\d\d\] ERROR: a stream cannot be read any further {2}stream=/m);
  expect(output()).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: ready {2}address=http:\S+ {2}logName=urn {2}/m);
  expect(output()).toMatch(/INFO: request {2}method=GET {2}route=\/study_config {2}status=401 {2}ms=/);
  expect(output()).toMatch(/INFO: stopped/);
  expect(output()).not.toMatch(/^\{/m);
  // The terminal shows ^C for what was typed.
  expect(output()).not.toMatch(OBEYED);
});

describe('a live study on a terminal', () => {
  const STUDY = { ...CONFIGURATION, name: 'Sleep' };
  let data: string;
  const recorded = (type: string) => recordsOf(data, type).length;
  beforeAll(async () => {
    data = await registered(newFolder(), [STUDY]);
  });

  it.each([
    ['control and C', CONTROL_C],
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

  it('gets packs or a history only when the answer is yes, and says how many rows are in', async () => {
    const own = await registered(newFolder(), [CONFIGURATION], SEED);
    const lineOf = (name: string, text: string) =>
      typed`${name.split(' ')} --study ${CONFIGURATION.name} --from ${fileOf(text)} --data ${own}`;
    const packs = lineOf('codes add', 'code,treatment\nP1,MART\nP2,RMC-Q\nP3,RMC-A\n');
    const approved = typed`--seed-known --approved-by 'A, sponsor, 2026-09-01'`;
    const history = [...lineOf('import', referenceCsv(drawnRows([{}, {}, {}]))), ...approved];
    for (const [line, question] of [
      [packs, 'Register 3 packs in CHS JCOIN (live, 0 participants)?'],
      [history, 'Import 3 participants into CHS JCOIN?'],
    ] as const)
      expect((await command(line, { answer: 'n\n' })).stderr).toContain(`${question} [y/N] nothing was `);
    expect(studyRecords(own)).toHaveLength(1);
    let ms = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (ms += 600));
    const isTTY = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
    Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
    const { stderr } = await command([...history, '--yes']).finally(() => {
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

  /** Names are checked when they are recorded, not when they are read. */
  beforeAll(async () => {
    const study: StudyConfiguration = {
      ...{ ...CONFIGURATION, name: EVIL, mode: 'test', treatments: [EVIL, 'other'] },
      factors: [{ name: EVIL, levels: [EVIL, 'b'] }],
    };
    await registered(data, [study]);
    await withOpenLog(data, async (log) => {
      const operator = { cli: true, user: EVIL } as const;
      const actor = await actorWith(log, EVIL, ['read', 'randomize']);
      const stream = log.studies.streamOf(EVIL);
      for (const id of ['1', '1\u200b'])
        await log.studies.submit(stream, randomize(id, { levels: [EVIL], user: EVIL }), {
          ...actor,
          onBehalfOf: EVIL,
        });
      const pause = asCommand({ act: 'StudyPaused', user: 'operator', reason: EVIL });
      await log.studies.submit(stream, pause, operator);
      await log.keys.revoke(log.keys.list()[0]?.keyId ?? '', EVIL, operator);
    });
    addEvilStreams(data);
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
    typed`keys list --json --data ${data}`,
    typed`keys add u --study ${EVIL}. --where ${EVIL}=z --data ${data}`,
    typed`studies list --data ${data}`,
    typed`studies show ${EVIL} --data ${data}`,
    typed`studies pause ${EVIL} --reason ${EVIL} --data ${data}`,
    typed`studies amend ${EVIL} --studies ${file('wished.yaml')} --reason x --rename ${EVIL} --data ${data}`,
    typed`import --study ${EVIL} --from ${file('import.csv')} --data ${data}`,
    typed`studies check --studies ${file('studies.yaml')} --data ${data}`,
    typed`participants list --study ${EVIL} --data ${data}`,
    typed`participants history --study ${EVIL} --id 1 --data ${data}`,
    typed`participants correct --study ${EVIL} --id 1\u200b --cause ${EVIL} --level ${EVIL}=${EVIL} --level ${EVIL}
      --note ${EVIL} --data ${data}`,
    typed`explain --study ${EVIL} --id 1 --data ${data}`,
    typed`operations --data ${data}`,
    typed`verify --data ${data}`,
    typed`verify --data ${data} --checkpoint ${file('checkpoints')}`,
    typed`verify --bundle ${file('foreign.zip')}`,
    typed`report --study ${EVIL} --data ${data} --out ${file(`${EVIL}.html`)}`,
    typed`recover --dry-run --reason ${EVIL} --data ${data}`,
    typed`simulate --studies ${file(EVIL)} --study ${EVIL}`,
    typed`${EVIL}`,
    typed`serve --log-level ${EVIL}`,
  ])('urn %s %s prints nothing that a terminal obeys', async (...line) => {
    const { stdout, stderr } = await command(line, { cwd: files });
    expect(stdout + stderr).not.toBe('');
    expect(stdout + stderr).not.toMatch(OBEYED);
    expect(stdout + stderr).not.toContain('unexpected error');
  });

  it('are printed with invisible characters escaped', async () => {
    expect(await commandsOn(data).ok`keys list`).toContain('\\u202ey\\u200b');
  });
});

it('a reader who has read enough ends the command silently', () => {
  // `true` has ended long before the program writes.
  const cwd = newFolder();
  writeFileSync(join(cwd, 'studies.yaml'), 'S: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}\n');
  const line = `'${process.execPath}' '${PROGRAM}' simulate --participants 4 --reps 10 | true; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', line], { cwd, encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['141\n', '']);
});
