import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { issueKey, type Service, serve, urn, urnOk } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const files = newFolder();
/** A service runs throughout: these commands work beside it. */
const data = newFolder();
let service: Service;
let key: string;

beforeAll(async () => {
  key = await issueKey(data, 'edc');
  service = await serve({ data, studies: TRIALS });
  await clientOf(service.url, key).randomize('Sleep', '1', COOK);
  await clientOf(service.url, key).randomize('Sleep', '2', DUPAGE);
});
afterAll(() => service.stop());

const studies = (...args: string[]) => urn(['studies', ...args, '--data', data]);

function file(text: string, name = 'studies.yaml'): string {
  const path = join(files, name);
  writeFileSync(path, text);
  return path;
}

describe('urn studies check', () => {
  it('says of each study that it is new, without beginning a log', async () => {
    const empty = join(newFolder(), 'none');
    const { code, stdout } = await urn(['studies', 'check', '--studies', file(TRIALS), '--data', empty]);
    expect(code).toBe(0);
    expect(stdout.match(/^\S.*$/gm)).toEqual(
      ['Sleep', 'Ward', 'Patterned', 'Ordered', 'Exact'].map((name) => `${name}: new`),
    );
    expect(existsSync(empty)).toBe(false);
  });

  it('says if a study is as registered or new', async () => {
    const more = `${TRIALS}\nMore:\n  treatments: [a, b]\n  factors: {x: [y]}\n`;
    const { code, stdout } = await studies('check', '--studies', file(more));
    expect(code).toBe(0);
    expect(stdout).toContain('Sleep: as registered\n');
    expect(stdout).toContain('More: new\n');
  });

  it('says how a study differs, with exit code 1', async () => {
    const changed = TRIALS.replace('[Left, Right]', '[Right, Left]').replace(
      '[Male, Female]',
      '[Male, Female, X]',
    );
    const { code, stdout } = await studies('check', '--studies', file(changed));
    expect(code).toBe(1);
    expect(stdout).toContain('Sleep: differs\n  factors.sex differs (registered: ["Male", "Female"]; file: ');
    expect(stdout).toContain(
      'Ward: differs\n  treatments differs (registered: ["Left", "Right"]; file: ["Right", "Left"])',
    );
    expect(stdout).toContain('Exact: as registered');
  });

  it('--json prints the same for machines', async () => {
    const changed = file(TRIALS.replace('[Left, Right]', '[Right, Left]'));
    const { code, stdout } = await studies('check', '--json', '--studies', changed);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      studies: [
        { study: 'Sleep', outcome: 'as registered', differences: [] },
        {
          study: 'Ward',
          outcome: 'differs',
          differences: [expect.stringContaining('treatments differs'), expect.any(String)],
        },
        { outcome: 'as registered' },
        { outcome: 'as registered' },
        { outcome: 'as registered' },
      ],
      warnings: [
        { line: expect.any(Number), message: expect.stringContaining('factor "1" has one level') },
        { message: expect.stringContaining('"cafe\u0301" of "answer" differ only in case, outer blanks or') },
        { message: expect.stringContaining('"cafe\u0301" of "answer" contains U+0301, which') },
      ],
    });
  });

  it('prints what would be registered, and says that a missing mode means live', async () => {
    const text = [
      'Left out:',
      '  alpha: 1',
      '  treatments: [MART, "RMC, Q"]',
      '  factors: {sex: [Male, Female], site: ["11–Cook", "30"]}',
      'Rehearsal:',
      '  mode: test',
      '  D: range',
      '  w: 3',
      '  starting_seed: 340282366920938463463374607431768211457',
      '  id_pattern: "[0-9]+"',
      '  target_enrollment: 30',
      '  treatments: [a, b]',
      '  factors: {x: [y, z]}',
    ].join('\n');
    const { code, stdout } = await studies('check', '--studies', file(text, 'printed.yaml'));
    expect(code).toBe(0);
    expect(stdout).toBe(`Left out: new
  would be registered as
  mode           live (the file leaves mode out, so it registers as live; write "mode: test" for a rehearsal)
  blinding       open (the sites know the arms)
  arms           "MART", "RMC, Q"
  factor "sex"   "Male", "Female"
  factor "site"  "11–Cook", "30"
  urn            D=chisquare w=1 alpha=1 beta=1 urn_selection=method1
  seed           drawn from the operating system
Rehearsal: new
  would be registered as
  mode        test
  blinding    open (the sites know the arms)
  arms        "a", "b"
  factor "x"  "y", "z"
  urn         D=range w=3 alpha=0 beta=1 urn_selection=method1
  seed        given in the file
  id pattern  [0-9]+
  target      30 participants
`);
    const { stdout: json } = await studies('check', '--json', '--studies', file(text, 'printed.yaml'));
    expect(JSON.parse(json).studies).toMatchObject([
      { liveByDefault: true, seedSource: 'drawn', configuration: { mode: 'live', alpha: 1 } },
      { liveByDefault: false, seedSource: 'configured', configuration: { mode: 'test', D: 'range' } },
    ]);
  });

  it('refuses to register a name that is too long or looks like another, as urn serve does', async () => {
    const alike = file('"Sleep\u200b":\n  treatments: [a, b]\n  factors: {x: [y, z]}\n', 'alike.yaml');
    const long = file(
      `Long:\n  treatments: [${'a'.repeat(201)}, b]\n  factors: {x: [y, ${'z'.repeat(201)}]}\n`,
      'long.yaml',
    );
    for (const [path, reasons] of [
      [alike, [/study "Sleep\\u200b": its name contains U\+200B, which nobody sees/]],
      [long, [/study "Long": treatment 1 has more than 200 characters/, /level 2 of factor 1 has more/]],
    ] as const)
      for (const command of [
        ['studies', 'check', '--data', data],
        ['serve', '--port', '0', '--data', newFolder()],
      ]) {
        const { code, stdout, stderr } = await urn([...command, '--studies', path]);
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).toContain('the studies file is refused:');
        for (const reason of reasons) expect(stderr).toMatch(reason);
        expect(stderr).not.toContain('aaa');
      }
  });

  it('warns on stderr, with file and line, about questionable settings', async () => {
    const weak = file(
      'A:\n  starting_seed: 100\n  alpha: 2\n  treatments: [a, b]\n  factors: {x: [y]}\n',
      'weak.yaml',
    );
    const { code, stdout, stderr } = await studies('check', '--studies', weak);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^A: new\n/) });
    expect(stderr).toContain(`warning: ${weak}:2: study "A": starting_seed is below 2^96`);
    expect(stderr).toContain(`warning: ${weak}:3: study "A": alpha (2) is greater than beta (1)`);
  });

  it('refuses an invalid file with exit code 2 and every reason, with file and line', async () => {
    const wrong = file('A:\n  treatments: [a]\n  D: median\n  factors: {x: [y], id: [z]}\n', 'wrong.yaml');
    const { code, stdout, stderr } = await studies('check', '--studies', wrong);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`${wrong}:2: study "A": it has fewer than two treatments (hint:`);
    expect(stderr).toContain(`${wrong}:3: study "A": D is "median"`);
    expect(stderr).toContain(`${wrong}:4: study "A": factor "id" is called like a parameter`);
  });

  it('reads studies.yaml in the current directory, and refuses if there is none', async () => {
    const folder = newFolder();
    const check = () => urn(['studies', 'check'], { cwd: folder });
    expect(await check()).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--studies'),
    });
    writeFileSync(join(folder, 'studies.yaml'), TRIALS);
    expect(await check()).toMatchObject({ code: 0, stdout: expect.stringContaining('Sleep: new') });
    expect(readdirSync(folder)).toEqual(['studies.yaml']);
  });

  it('takes the file from URN_STUDIES', async () => {
    const { code } = await urn(['studies', 'check'], { env: { URN_STUDIES: file(TRIALS), URN_DATA: data } });
    expect(code).toBe(0);
  });
});

describe('urn studies list', () => {
  it('prints the studies in the log, one per line', async () => {
    const { code, stdout, stderr } = await studies('list');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')[0]).toMatch(/^Sleep +test +open +2 participants$/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(5);
  });

  it('--json prints the same for machines', async () => {
    expect(JSON.parse((await studies('list', '--json')).stdout)[0]).toEqual({
      name: 'Sleep',
      mode: 'test',
      state: 'open',
      participants: 2,
      revision: 2,
    });
  });

  it('of a log without a study is empty', async () => {
    const empty = newFolder();
    await urnOk(['init', '--data', empty]);
    const list = (...args: string[]) => urn(['studies', 'list', '--data', empty, ...args]);
    expect(await list()).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('no study') });
    expect(await list('--json')).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});

describe('urn studies show', () => {
  it('prints configuration, state and balance, but neither seed nor individual assignments', async () => {
    const { code, stdout } = await studies('show', 'Sleep');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^participants +2 participants$/m);
    expect(stdout).toMatch(/^seed +configured$/m);
    expect(stdout).toMatch(/^urn +D=chisquare w=1 alpha=0 beta=1 urn_selection=method1$/m);
    expect(stdout).toMatch(/^ +ZZTREATA +ZZTREATB$/m);
    expect(stdout).toMatch(/^sex = Female +(0 +1|1 +0)$/m);
    expect(stdout).not.toContain('340282366920938463463374607431768211457');
  });

  it('--json prints the same for machines', async () => {
    const shown = JSON.parse((await studies('show', 'Ward', '--json')).stdout);
    expect(shown).toMatchObject({
      name: 'Ward',
      seedSource: 'drawn',
      seedWeak: false,
      configuration: { treatments: ['Left', 'Right'] },
      balance: { totals: [0, 0] },
    });
    expect(shown).not.toHaveProperty('seed');
  });

  it('with a study that does not exist exits with 2', async () => {
    expect(await studies('show', 'Dream')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('"Dream"'),
    });
  });
});

describe('urn studies pause and resume', () => {
  it('say on stderr what they did, or that it was already so', async () => {
    const said = [];
    for (const verb of ['resume', 'pause', 'pause', 'resume'])
      said.push(await studies(verb, 'Exact', '--reason', 'for the test'));
    expect(said.map(({ code, stdout }) => `${code}${stdout}`)).toEqual(['0', '0', '0', '0']);
    expect(said.map(({ stderr }) => stderr)).toEqual([
      'Exact was not paused\n',
      'Exact is paused\n',
      'Exact was already paused\n',
      'Exact takes participants again\n',
    ]);
    const written = storedLog(data).filter(({ record }) => /Paused|Resumed/.test(record.type));
    expect(written.map(({ record }) => record.data)).toEqual([
      { reason: 'for the test' },
      { reason: 'for the test' },
    ]);
  });

  it('are visible in list and show', async () => {
    await studies('pause', 'Exact', '--reason', 'a question');
    expect((await studies('list')).stdout).toMatch(/^Exact +test +paused/m);
    expect((await studies('show', 'Exact')).stdout).toMatch(/^state +paused since \S+: a question$/m);
    await studies('resume', 'Exact', '--reason', 'answered');
  });

  it.each([
    ['no reason', ['pause', 'Exact']],
    ['an empty reason', ['pause', 'Exact', '--reason', ' ']],
    ['an unknown study', ['resume', 'Dream', '--reason', 'x']],
    ['no study', ['pause', '--reason', 'x']],
  ])('refuse %s with exit code 2', async (_, args) => {
    expect(await studies(...args)).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('a log that does not exist', () => {
  it('is distinguished from one that is lost: its signing key exists but its database does not', async () => {
    const lost = newFolder();
    await issueKey(lost, 'edc');
    rmSync(join(lost, 'urn.sqlite'));
    for (const args of [
      ['studies', 'list'],
      ['studies', 'show', 'A'],
      ['keys', 'list'],
      ['keys', 'add', 'edc'],
    ]) {
      const { code, stdout, stderr } = await urn([...args, '--data', lost]);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(
        /signing-key belongs to a log, but its database .*urn\.sqlite is missing \(hint: restore/,
      );
    }
    expect(readdirSync(lost)).toEqual(['signing-key']);
  });

  it('is not assumed for a kind of store that this program does not have', async () => {
    for (const args of [
      ['studies', 'list'],
      ['keys', 'list'],
      ['studies', 'check', '--studies', file(TRIALS)],
    ]) {
      const { code, stderr } = await urn([...args, '--store', 'redis://127.0.0.1']);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain('redis://127.0.0.1');
    }
  });

  it('can be in a file elsewhere', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'data'));
    const store = ['--store', `sqlite:${join(folder, 'trial.sqlite')}`, '--data', join(folder, 'data')];
    expect((await urn(['keys', 'add', 'edc', ...store])).code).toBe(0);
    expect((await urn(['keys', 'list', ...store])).stdout).toContain('edc');
    expect(readdirSync(folder).toSorted()).toEqual(['data', 'trial.sqlite']);
  });
});
