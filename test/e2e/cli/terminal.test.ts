/** What reaches a terminal: lines for people, and nothing that the terminal would obey, whatever is in a log or a file. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeArchive } from '../../../src/evidence/bundle/archive.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { asCommand } from '../../support/acts.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION, OPERATOR, randomize, SEED } from '../../support/facts.ts';
import { drawnRows } from '../../support/import-facts.ts';
import { referenceCsv } from '../../support/reference-file.ts';
import { PROGRAM, serve, urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
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
  const data = newFolder();
  const isClosed = () => storedLog(data).some(({ record }) => record.type === 'StudyClosed');
  const close = (...args: string[]) =>
    onTerminal([
      'studies',
      'close',
      CONFIGURATION.name,
      '--cause',
      'end',
      '--reason',
      'x',
      '--data',
      data,
      ...args,
    ]);

  beforeAll(async () => {
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    await log.close();
  });

  it.each([
    ['no', 'n\r'],
    ['nothing', '\r'],
    ['control and C', '\u0003'],
    ['control and D', '\u0004'],
  ])('is not closed when the answer is %s', async (_, answer) => {
    const { output, has, type, ended } = close();
    await has('Close CHS JCOIN (live, 0 participants)? [y/N]');
    type(answer);
    await ended;
    expect(output()).toContain('nothing was recorded');
    expect(isClosed()).toBe(false);
  });

  it('is closed when the answer is yes, and without a question with --yes', async () => {
    const asked = close();
    await asked.has('[y/N]');
    asked.type('y\r');
    await asked.ended;
    expect(asked.output()).toContain('CHS JCOIN: closed (');
    expect(isClosed()).toBe(true);
    const reopen = ['--reason', 'x', '--approved-by', 'A, sponsor, 2026-09-01', '--yes', '--data', data];
    const { output, ended } = onTerminal(['studies', 'reopen', CONFIGURATION.name, ...reopen]);
    await ended;
    expect(output()).toMatch(
      /^CHS JCOIN: reopened: x; .*; it takes participants again, and allocates as before\r\n$/,
    );
  });
});

describe('an amendment of a live study on a terminal', () => {
  const data = newFolder();
  const wished = join(newFolder(), 'studies.yaml');
  const amended = () => storedLog(data).filter(({ record }) => record.type === 'StudyAmended').length;
  const amend = (...args: string[]) =>
    onTerminal([
      ...['studies', 'amend', CONFIGURATION.name, '--studies', wished, '--reason', 'x', '--data', data],
      ...['--approved-by', 'A, sponsor, 2026-09-01', ...args],
    ]);

  beforeAll(async () => {
    const { treatments, factors } = CONFIGURATION;
    // An object would put the factor "9" before "10".
    const lines = factors.map(({ name, levels }) => `    "${name}": ${JSON.stringify([...levels, 'New'])}`);
    const settings = ['  mode: live', `  treatments: ${JSON.stringify(treatments)}`, '  factors:', ...lines];
    writeFileSync(wished, [`${CONFIGURATION.name}:`, ...settings].join('\n'));
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    await log.close();
  });

  it('is shown first, and recorded only when the answer is yes', async () => {
    const refused = amend();
    await refused.has('Amend CHS JCOIN (live, 0 participants)? [y/N]');
    expect(refused.output()).toMatch(/^factors\.9 +new level "New"\r$/m);
    refused.type('n\r');
    await refused.ended;
    expect(refused.output()).toContain('nothing was recorded');
    expect(amended()).toBe(0);
    const agreed = amend();
    await agreed.has('[y/N]');
    agreed.type('y\r');
    await agreed.ended;
    expect(agreed.output()).toContain('CHS JCOIN is amended (amendment 1, revision 1)');
    expect(amended()).toBe(1);
    const again = amend();
    await again.ended;
    expect(again.output()).toBe('nothing to amend: CHS JCOIN is as the file says\r\n');
  });

  it('is not recorded if another one was, while the person thought it over', async () => {
    const text = readFileSync(wished, 'utf8');
    writeFileSync(wished, text.replaceAll('"New"', '"Newer"'));
    const slow = amend();
    await slow.has('[y/N]');
    writeFileSync(wished, text.replaceAll('"New"', '"New","Newest"'));
    const quick = amend('--yes');
    await quick.ended;
    expect(quick.output()).toContain('(amendment 2, revision 2)');
    slow.type('y\r');
    await slow.ended;
    expect(slow.output()).toContain(
      'CHS JCOIN was amended meanwhile: nothing was recorded (hint: run it again)',
    );
    expect(amended()).toBe(2);
  });
});

describe('a participant of a live study on a terminal', () => {
  const data = newFolder();
  const voided = () => storedLog(data).filter(({ record }) => record.type === 'AllocationVoided').length;
  const voiding = (...args: string[]) =>
    onTerminal([
      ...['participants', 'void', '--study', CONFIGURATION.name, '--id', '1', '--cause', 'ineligible'],
      ...['--analysis', 'keep', '--note', 'too old', '--data', data, ...args],
    ]);

  beforeAll(async () => {
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    const issued = await log.keys.issue({ user: 'site', scopes: ['randomize'] }, OPERATOR);
    if ('refused' in issued) throw new Error(issued.refused);
    const site = { keyId: issued.keyId, user: 'site', accessRevision: 0 };
    const stream = log.studies.streamOf(CONFIGURATION.name);
    await log.studies.submit(stream, randomize('1', { user: 'site' }), site);
    await log.close();
  });

  it('is corrected only when the answer is yes', async () => {
    const refused = voiding();
    await refused.has('Void 1 in CHS JCOIN (live, 1 participant)? [y/N]');
    refused.type('n\r');
    await refused.ended;
    expect(refused.output()).toContain('nothing was recorded');
    expect(voided()).toBe(0);
    const agreed = voiding();
    await agreed.has('[y/N]');
    agreed.type('y\r');
    await agreed.ended;
    expect(agreed.output()).toContain('1 voided: ineligible; analysis: keep (revision 2)');
    expect(voided()).toBe(1);
  });

  it('is corrected without a question with --yes, and without one if nothing would change', async () => {
    const again = voiding();
    await again.ended;
    expect(again.output()).toBe(
      'CHS JCOIN: the participant is voided already (ineligible, revision 2); nothing was recorded\r\n',
    );
    const reinstated = onTerminal([
      ...['participants', 'reinstate', '--study', CONFIGURATION.name, '--id', '1', '--note', 'was 64'],
      ...['--yes', '--data', data],
    ]);
    await reinstated.ended;
    expect(reinstated.output()).toBe(
      'CHS JCOIN: 1 no longer voided (revision 3); later allocations count as before\r\n',
    );
  });
});

describe('an allocation that is entered into a live study on a terminal', () => {
  const data = newFolder();
  const forced = () => storedLog(data).filter(({ record }) => record.type === 'AllocationForced').length;
  const force = (id: string, ...args: string[]) =>
    onTerminal([
      ...['participants', 'force', '--study', CONFIGURATION.name, '--id', id, '--level', '10=Male'],
      ...['--level', '9=30-Dupage County', '--treatment', 'MART', '--occurred-at', new Date().toISOString()],
      ...['--cause', 'outage', '--note', 'envelope 12', '--data', data, ...args],
    ]);

  beforeAll(async () => {
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    await log.close();
  });

  it('is recorded only when the answer is yes, or with --yes, and the question names no arm', async () => {
    const refused = force('1');
    await refused.has('Enter 1 in CHS JCOIN (live, 0 participants)? [y/N]');
    refused.type('n\r');
    await refused.ended;
    expect(refused.output()).toContain('nothing was recorded');
    expect(refused.output()).not.toContain('MART');
    expect(forced()).toBe(0);
    const agreed = force('1');
    await agreed.has('[y/N]');
    agreed.type('y\r');
    await agreed.ended;
    expect(agreed.output()).toContain('1 is entered (revision 1); later allocations count 1');
    const unasked = force('2', '--yes');
    await unasked.ended;
    expect(unasked.output()).toBe('2 is entered (revision 2); later allocations count 2\r\n');
    expect(forced()).toBe(2);
  });
});

describe('an import on a terminal', () => {
  const ROWS = 24_000;
  const data = newFolder();
  const file = join(newFolder(), 'history.csv');
  const args = ['import', '--study', CONFIGURATION.name, '--from', file, '--seed-known', '--data', data];

  beforeAll(async () => {
    writeFileSync(file, referenceCsv(drawnRows(Array.from({ length: ROWS }, () => ({})))));
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, SEED, OPERATOR);
    await log.close();
  });

  it('asks before a live study is changed', async () => {
    const { output, has, type, ended } = onTerminal([...args, '--approved-by', 'A, sponsor, 2026-09-01']);
    await has(`Import ${ROWS} participants into CHS JCOIN? [y/N]`);
    type('n\r');
    await ended;
    expect(output()).toContain('nothing was imported');
    expect(storedLog(data).map(({ record }) => record.type)).not.toContain('HistoryImported');
  });

  it('shows how many rows are in, and clears that at the end', async () => {
    const { output, ended } = onTerminal([...args, '--approved-by', 'A, sponsor, 2026-09-01', '--yes']);
    await ended;
    expect(output()).toMatch(new RegExp(`\\r\\[#+ *\\] \\d+ of ${ROWS} rows imported`));
    expect(output()).toMatch(
      new RegExp(`rows imported\\r\u001b\\[K${ROWS} participants were imported into CHS JCOIN`),
    );
  });
});

describe('a log, and files, full of terminal control characters', () => {
  const data = newFolder();
  const files = newFolder();

  /** As anybody could who owns the file: names are checked when they are recorded, not when they are read. */
  beforeAll(async () => {
    const operator = { cli: true, user: EVIL } as const;
    const log = await openLog({ data }, operator);
    await log.rebuild();
    const factors = [{ name: EVIL, levels: [EVIL, 'b'] }];
    const weights = { D: 'chisquare', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 } as const;
    const configuration = {
      name: EVIL,
      mode: 'test' as const,
      ...weights,
      treatments: [EVIL, 'other'],
      factors,
    };
    await log.studies.register(configuration, undefined, operator);
    const issued = await log.keys.issue(
      { user: EVIL, scopes: ['read', 'randomize'], studies: [EVIL] },
      operator,
    );
    if ('refused' in issued) throw new Error(issued.refused);
    const actor = { accessRevision: 0, keyId: issued.keyId, user: EVIL, onBehalfOf: EVIL };
    const stream = log.studies.streamOf(EVIL);
    for (const participantId of ['1', '1\u200b'])
      await log.studies.submit(
        stream,
        { type: 'randomize', participantId, levels: [EVIL], user: EVIL },
        actor,
      );
    const pause = asCommand({ act: 'StudyPaused', user: 'operator', reason: EVIL });
    await log.studies.submit(stream, pause, operator);
    await log.keys.revoke(issued.keyId, EVIL, operator);
    await log.close();
    const db = new Database(join(data, 'urn.sqlite'));
    const insert = db.prepare(
      'INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, 0, ?, ?, zeroblob(32))',
    );
    const type = JSON.stringify({ type: EVIL, version: 1 });
    insert.run(EVIL, Buffer.from('{}'), Buffer.from('{}'));
    insert.run(`study-${EVIL}`, Buffer.from(type), Buffer.from('{}'));
    db.close();
    writeFileSync(
      join(files, 'studies.yaml'),
      `${JSON.stringify(EVIL)}:\n  treatments: [a]\n  ${JSON.stringify(EVIL)}: 1\n`,
    );
    const other = { treatments: ['a', 'b'], factors: { x: ['y', 'z'] } };
    writeFileSync(join(files, 'wished.yaml'), JSON.stringify({ other }));
    writeFileSync(
      join(files, 'import.csv'),
      `id,f_${EVIL},trt,datetime,user\n${EVIL},${EVIL},${EVIL}2,${EVIL},${EVIL}\n`,
    );
    writeFileSync(join(files, 'checkpoints'), `${EVIL}\n1\nAAAA\n\n— ${EVIL} AAAA\n`);
    const manifest = JSON.stringify({ format: EVIL });
    await writeArchive(
      join(files, 'foreign.zip'),
      [{ path: 'manifest.json', parts: () => [manifest] }],
      () => undefined,
    );
  });

  const file = (name: string) => join(files, name);
  const COMMANDS: Record<string, () => string[]> = {
    'keys list': () => ['keys', 'list', '--data', data],
    'keys list as JSON': () => ['keys', 'list', '--json', '--data', data],
    'keys add': () => ['keys', 'add', EVIL, '--data', data],
    'keys add for a study': () => [
      'keys',
      'add',
      'u',
      '--study',
      `${EVIL}.`,
      '--where',
      `${EVIL}=z`,
      '--data',
      data,
    ],
    'studies list': () => ['studies', 'list', '--data', data],
    'studies show': () => ['studies', 'show', EVIL, '--data', data],
    'studies pause': () => ['studies', 'pause', EVIL, '--reason', EVIL, '--data', data],
    'studies amend': () => [
      ...['studies', 'amend', EVIL, '--studies', file('wished.yaml'), '--reason', 'x', '--rename', EVIL],
      ...['--data', data],
    ],
    'studies show of none': () => ['studies', 'show', `${EVIL}.`, '--data', data],
    'import of a file of that name': () => [
      'import',
      '--study',
      EVIL,
      '--from',
      file('import.csv'),
      '--data',
      data,
    ],
    'studies check': () => ['studies', 'check', '--studies', file('studies.yaml'), '--data', data],
    'participants list': () => ['participants', 'list', '--study', EVIL, '--data', data],
    'participants history': () => ['participants', 'history', '--study', EVIL, '--id', '1', '--data', data],
    'participants correct': () => [
      ...['participants', 'correct', '--study', EVIL, '--id', '1\u200b', '--cause', EVIL],
      ...['--level', `${EVIL}=${EVIL}`, '--level', EVIL, '--note', EVIL, '--data', data],
    ],
    'participants rename': () => [
      ...['participants', 'rename', '--study', EVIL, '--id', '1', '--to', EVIL, '--cause', EVIL],
      ...['--data', data],
    ],
    explain: () => ['explain', '--study', EVIL, '--id', '1', '--data', data],
    operations: () => ['operations', '--data', data],
    verify: () => ['verify', '--data', data],
    'verify as JSON': () => ['verify', '--json', '--data', data],
    'verify with checkpoints': () => ['verify', '--data', data, '--checkpoint', file('checkpoints')],
    'verify of a bundle': () => ['verify', '--bundle', file('foreign.zip')],
    bundle: () => ['bundle', '--study', EVIL, '--data', data, '--out', file('bundle.zip')],
    report: () => ['report', '--study', EVIL, '--data', data, '--out', file(`${EVIL}.html`)],
    'recover --dry-run': () => ['recover', '--dry-run', '--reason', EVIL, '--data', data],
    'signing-key show': () => ['signing-key', 'show', '--data', data],
    simulate: () => ['simulate', '--studies', file(EVIL), '--study', EVIL],
    copy: () => ['copy', '--dry-run', '--data', data, '--to', `sqlite:${file(EVIL)}`],
    'serve in a folder of that name': () => ['serve', '--data', join(files, EVIL, EVIL), '--port', 'x'],
    'a folder of that name': () => ['keys', 'list', '--data', EVIL],
    'a command of that name': () => [EVIL],
    'an option of that name': () => ['keys', 'list', `--${EVIL}`],
    'a value that is none': () => ['serve', '--log-level', EVIL],
  };

  it.each(Object.entries(COMMANDS))('%s', async (_, args) => {
    const { stdout, stderr } = await command(args(), { cwd: files });
    expect(stdout + stderr).not.toBe('');
    expect(stdout + stderr).not.toMatch(OBEYED);
    expect(`${stdout}${stderr}`).not.toContain('unexpected error');
  });

  it('are printed with invisible characters escaped', async () => {
    const { stdout } = await urn(['keys', 'list', '--data', data]);
    expect(stdout).toContain('\\u202ey\\u200b');
    const json = await command(['keys', 'list', '--json', '--data', data]);
    expect(JSON.parse(json.stdout)[0].user).toBe(EVIL);
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

describe('packs on a terminal', () => {
  it('are registered and withdrawn in a live study only if the answer is yes', async () => {
    const data = newFolder();
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, SEED, OPERATOR);
    await log.close();
    const file = join(newFolder(), 'codes.csv');
    writeFileSync(file, 'code,treatment\nP1,MART\nP2,RMC-Q\nP3,RMC-A\n');
    const add = ['codes', 'add', '--study', CONFIGURATION.name, '--from', file, '--data', data];
    const recorded = () => storedLog(data).filter(({ record }) => record.type.startsWith('Codes')).length;
    for (const [args, question, before] of [
      [add, 'Register 3 packs in CHS JCOIN (live, 0 participants)? [y/N]', 0],
      [
        [
          'codes',
          'withdraw',
          '--study',
          CONFIGURATION.name,
          '--code',
          'P1',
          '--reason',
          'recall',
          '--data',
          data,
        ],
        'Withdraw 1 pack in CHS JCOIN (live, 0 participants)? [y/N]',
        1,
      ],
    ] as const)
      for (const answer of ['n', 'y']) {
        const { output, has, type, ended } = onTerminal(args);
        await has(question);
        type(`${answer}\r`);
        await ended;
        if (answer === 'n') expect(output()).toContain('nothing was recorded');
        expect(recorded()).toBe(answer === 'n' ? before : before + 1);
      }
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
