import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { asCommand, type FlatAct } from '../../support/acts.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../../support/facts.ts';
import { fixedId } from '../../support/fixed-tools.ts';
import { issueKey, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const files = newFolder();
/** A service runs throughout: these commands work beside it. */
const data = newFolder();
let service: ServiceHere;
let key: string;

beforeAll(async () => {
  key = await issueKey(data, 'edc');
  service = await serveHere(data, TRIALS);
  await clientOf(service.url, key).randomize('Sleep', '1', COOK);
  await clientOf(service.url, key).randomize('Sleep', '2', DUPAGE);
});
afterAll(() => service.stop());

const studies = (...args: string[]) => command(['studies', ...args, '--data', data]);

function file(text: string, name = 'studies.yaml'): string {
  const path = join(files, name);
  writeFileSync(path, text);
  return path;
}

describe('urn studies check', () => {
  it('says of each study that it is new, without beginning a log', async () => {
    const empty = join(newFolder(), 'none');
    const { code, stdout } = await command(['studies', 'check', '--studies', file(TRIALS), '--data', empty]);
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
    const path = file(changed);
    const { code, stdout } = await studies('check', '--studies', path);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `Sleep: differs\n  ${path}:7: factors.sex differs (in force: ["Male", "Female"]; file: `,
    );
    expect(stdout).toContain(
      `Ward: differs\n  ${path}:12: treatments differs (in force: ["Left", "Right"]; file: ["Right", "Left"])`,
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
        {
          line: 24,
          message: expect.stringContaining('with 3 arms and 5 factors, D: chisquare does not give'),
        },
        { line: 27, message: expect.stringContaining('factor "1" has one level') },
        {
          message: expect.stringContaining(
            '"cafe\u0301" of "answer" differ only in case, leading or trailing blanks, or',
          ),
        },
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
      '  blinding: blinded',
      '  policies: {forced_counts: not-counted}',
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
  policies       level_counts as-randomized, void_counts kept, forced_counts counted
Rehearsal: new
  would be registered as
  mode        test
  blinding    blinded
  arms        "a", "b"
  factor "x"  "y", "z"
  urn         D=range w=3 alpha=0 beta=1 urn_selection=method1
  seed        given in the file
  id pattern  [0-9]+
  target      30 participants
  policies    level_counts as-corrected, void_counts kept, forced_counts not-counted
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
      for (const { code, stdout, stderr } of [
        await command(['studies', 'check', '--data', data, '--studies', path]),
        await urn(['serve', '--port', '0', '--data', newFolder(), '--studies', path]),
      ]) {
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
    expect(stderr).toContain(`${wrong}:4: study "A": factor "id" has the name of a parameter`);
  });

  it('reads studies.yaml in the current directory, and refuses if there is none', async () => {
    const folder = newFolder();
    const check = () => command(['studies', 'check'], { cwd: folder });
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
      filled: 2,
      revision: 2,
    });
  });

  it('of a log without a study is empty', async () => {
    const empty = newFolder();
    await commandOk(['init', '--data', empty]);
    const list = (...args: string[]) => command(['studies', 'list', '--data', empty, ...args]);
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
  it('say on stderr what they did, or that nothing changed', async () => {
    const said = [];
    for (const verb of ['resume', 'pause', 'pause', 'resume'])
      said.push(await studies(verb, 'Exact', '--reason', 'for the test'));
    expect(said.map(({ code, stdout }) => `${code}${stdout}`)).toEqual(['0', '0', '0', '0']);
    expect(said.map(({ stderr }) => stderr)).toEqual([
      'Exact: the study is not paused; nothing was recorded\n',
      'Exact: paused: for the test (revision 1); no new participants until it is resumed\n',
      'Exact: the study is paused already; nothing was recorded\n',
      'Exact: resumed: for the test (revision 2); it takes participants again\n',
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

describe('urn studies close and reopen', () => {
  const data = newFolder();
  const LIVE = CONFIGURATION.name;
  const TARGET = ['--cause', 'target', '--reason', '300 randomized'];
  const RUIZ = ['--approved-by', 'Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3'];
  const studies = (...args: string[]) => command(['studies', ...args, '--data', data]);
  const said = async (verb: string, ...args: string[]) => {
    const { code, stdout, stderr } = await studies(verb, ...args);
    return `${code}${stdout} ${stderr}`;
  };
  const written = () => storedLog(data).filter(({ stream }) => stream.startsWith('study-'));

  beforeAll(async () => {
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    await log.studies.register({ ...CONFIGURATION, name: 'Rehearsal', mode: 'test' }, undefined, OPERATOR);
    await log.close();
  });

  it('say what they did, or that nothing changed, and record causes, approvals and protocol', async () => {
    const before = written().length;
    expect([
      await said('reopen', LIVE, '--reason', 'x'),
      await said('close', LIVE, ...TARGET, ...RUIZ, '--approved-by', 'Ana, DSMB, 2026-09-21'),
      await said('close', LIVE, '--cause', 'end', '--reason', 'again'),
      await said('reopen', LIVE, '--reason', 'target\n raised', ...RUIZ, '--protocol', '3.0,2027-02-20'),
      await said('reopen', LIVE, '--reason', 'x'),
    ]).toEqual([
      `0 ${LIVE}: the study is not closed; nothing was recorded\n`,
      `0 ${LIVE}: closed (target): 300 randomized; approved by Dr. A. Ruiz (sponsor, 2026-09-20, Amendment 3); approved by Ana (DSMB, 2026-09-21) (revision 1); no new participants; codes can still be broken\n`,
      `0 ${LIVE}: the study is closed already; nothing was recorded\n`,
      `0 ${LIVE}: reopened: target  raised; approved by Dr. A. Ruiz (sponsor, 2026-09-20, Amendment 3); protocol 3.0 of 2027-02-20 from here on (revision 2); it takes participants again, and allocates as before\n`,
      `0 ${LIVE}: the study is not closed; nothing was recorded\n`,
    ]);
    const ruiz = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-09-20', reference: 'Amendment 3' };
    const ana = { name: 'Ana', role: 'DSMB', on: '2026-09-21' };
    expect(
      written()
        .slice(before)
        .map(({ record: { type, version, data, seals } }) => ({ type, version, data, seals })),
    ).toEqual([
      {
        ...{ type: 'StudyClosed', version: 1, seals: {} },
        data: { approvals: [ruiz, ana], cause: 'target', reason: '300 randomized' },
      },
      {
        ...{ type: 'StudyReopened', version: 1, seals: {} },
        data: {
          ...{ approvals: [ruiz], reason: 'target\n raised' },
          protocol: { version: '3.0', date: '2027-02-20' },
        },
      },
    ]);
  });

  it('of a paused study: it is closed as it is, and reopened for participants', async () => {
    await studies('pause', LIVE, '--reason', 'a question');
    expect(await said('reopen', LIVE, '--reason', 'x', ...RUIZ)).toBe(
      `2 urn: ${LIVE} is paused: nothing was recorded (hint: urn studies resume)\n`,
    );
    await studies('close', LIVE, ...TARGET);
    for (const verb of ['pause', 'resume'])
      expect(await said(verb, LIVE, '--reason', 'x')).toBe(
        `2 urn: ${LIVE} is closed: nothing was recorded (hint: urn studies reopen)\n`,
      );
    expect((await studies('list')).stdout).toMatch(
      /^CHS JCOIN +live +closed +0 participants +closed since [-:.TZ0-9]+: target: 300 randomized$/m,
    );
    const { stdout } = await studies('show', LIVE);
    expect(stdout).toMatch(/^state +closed since [-:.TZ0-9]+: target: 300 randomized$/m);
    expect(stdout).not.toContain('codes broken');
    await studies('reopen', LIVE, '--reason', 'x', ...RUIZ);
    const { stdout: listed } = await studies('list', '--studies', file(TRIALS));
    expect(listed).toMatch(/^CHS JCOIN +live +open /m);
  });

  it('a live study is reopened only with an approval, a test study without one', async () => {
    for (const name of [LIVE, 'Rehearsal']) await studies('close', name, ...TARGET);
    expect(await said('reopen', LIVE, '--reason', 'x')).toBe(
      `2 urn: --approved-by: a live study can be reopened only with an approval (hint: --approved-by 'Dr. A. Ruiz, sponsor, 2026-09-01', for each person who decided it)\n`,
    );
    const tomorrow = ['--approved-by', 'Dr. A. Ruiz, sponsor, 9999-12-31'];
    expect(await said('reopen', LIVE, '--reason', 'x', ...tomorrow)).toBe(
      '2 urn: --approved-by: 9999-12-31 is in the future\n',
    );
    expect(await said('reopen', 'Rehearsal', '--reason', 'x')).toEqual(
      expect.stringMatching(/^0 Rehearsal: reopened: x .*; it takes participants again/),
    );
    expect(written().at(-1)?.record.data).toEqual({ approvals: [], reason: 'x' });
    await studies('reopen', LIVE, '--reason', 'x', ...RUIZ);
  });

  it('--dry-run says what would be recorded, or that it is impossible, and writes nothing', async () => {
    const before = storedLog(data).length;
    const { code, stdout, stderr } = await studies('close', LIVE, ...TARGET, ...RUIZ, '--dry-run');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`dry run: nothing was recorded; the record would be
event        StudyClosed
study        CHS JCOIN (live, 0 participants)
reason       300 randomized
cause        target
approved-by  Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3
effect       no new participants; codes can still be broken
`);
    expect(await said('pause', LIVE, '--reason', 'x', '--dry-run')).toContain('event   StudyPaused');
    expect(await said('resume', LIVE, '--reason', 'x', '--dry-run')).toBe(
      `0 ${LIVE}: the study is not paused; nothing was recorded\n`,
    );
    expect(storedLog(data)).toHaveLength(before);
    await studies('close', LIVE, ...TARGET);
    expect(await said('pause', LIVE, '--reason', 'x', '--dry-run')).toMatch(/^2 urn: CHS JCOIN is closed/);
    const reopened = await said('reopen', LIVE, '--reason', 'x', ...RUIZ, '--protocol', '3.0', '--dry-run');
    expect(reopened).toMatch(/^protocol +3\.0$/m);
    expect(storedLog(data)).toHaveLength(before + 1);
    await studies('reopen', LIVE, '--reason', 'x', ...RUIZ);
  });

  it('report everything that is wrong at once, before anything is read', async () => {
    const before = storedLog(data).length;
    const wrong = ['--approved-by', 'Dr. A. Ruiz, 2026-02-30', '--protocol', '3.0,soon'];
    const { code, stderr } = await studies('reopen', LIVE, '--reason', 'a\u0007b', ...wrong, ...RUIZ);
    expect(code).toBe(2);
    expect(stderr.split('\n     ')).toEqual([
      expect.stringMatching(/^urn: --approved-by "Dr\. A\. Ruiz, 2026-02-30": the role is missing/),
      expect.stringMatching(/^--approved-by .*: 2026-02-30 is not a day of the calendar/),
      expect.stringMatching(/^--protocol "3\.0,soon": "soon" is not a date/),
      '--reason: contains a control character\n',
    ]);
    expect(storedLog(data)).toHaveLength(before);
  });

  it.each([
    ['no cause', ['close', '--reason', 'x'], '--cause'],
    ['an unknown cause', ['close', '--reason', 'x', '--cause', 'boredom'], 'Allowed choices are target,'],
    ['no reason', ['close', '--cause', 'end'], '--reason'],
    ['an empty reason', ['reopen', '--reason', ' \n', ...RUIZ], '--reason: must be 1 to 2000 characters'],
    ['a long reason', ['pause', '--reason', 'x'.repeat(2001)], '--reason: must be 1 to 2000 characters'],
    ['an approval of a pause', ['pause', '--reason', 'x', ...RUIZ], "unknown option '--approved-by'"],
  ])('refuse %s', async (_, [verb = '', ...args], message) => {
    expect(await studies(verb, LIVE, ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });

  it('take effect in a running service, and ask nothing without a terminal', async () => {
    const run = (...args: string[]) => command(['studies', ...args, '--data', service.data]);
    const closed = await run('close', 'Sleep', '--cause', 'end', '--reason', 'over');
    expect(closed).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Sleep: closed (end): over (revision 3); no new participants; codes can still be broken\n',
    });
    const { status, message } = await clientOf(service.url, key).randomize('Sleep', '3', COOK);
    expect({ status, message }).toEqual({ status: 409, message: expect.stringContaining('closed') });
    expect((await run('close', 'Sleep', '--cause', 'end', '--reason', 'over')).code).toBe(0);
    expect((await run('pause', 'Sleep', '--reason', 'x')).code).toBe(2);
  });
});

describe('urn studies show of a study with broken codes', () => {
  it('counts them by category, now and then, and names no arm', async () => {
    const data = newFolder();
    const log = await openLog({ data }, OPERATOR);
    await log.rebuild();
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    const stream = log.studies.streamOf(CONFIGURATION.name);
    const issued = await log.keys.issue({ user: 'site', scopes: ['randomize', 'unblind'] }, OPERATOR);
    if ('refused' in issued) throw new Error(issued.refused);
    const site = { keyId: issued.keyId, user: 'site', accessRevision: 0 };
    const about = { participantId: '1', user: 'site', grounds: { reason: 'a reason' } };
    await log.studies.submit(stream, randomize('1', { user: 'site' }), site);
    const submit = (act: FlatAct) => log.studies.submit(stream, asCommand({ ...about, ...act }), site);
    for (const [n, category] of ['emergency', 'planned', 'emergency'].entries())
      await submit({ act: 'AllocationRevealed', category, reveal: fixedId(n) });
    const unblinding = { how: 'label', inadvertent: false, occurredAt: '2026-03-01T09:00:00.000Z' };
    await submit({ act: 'UnblindingReported', ...unblinding });
    await log.close();
    const show = (...args: string[]) =>
      command(['studies', 'show', CONFIGURATION.name, '--data', data, ...args]);
    const { stdout } = await show();
    expect(stdout).toMatch(/^codes broken +3: 2 emergency, 1 planned$/m);
    expect(stdout).toMatch(/^unblinded outside +1 reported$/m);
    expect(JSON.parse((await show('--json')).stdout)).toMatchObject({
      revealed: { emergency: 2, planned: 1 },
      unblindingReported: 1,
    });
    const past = (await show('--revision', '2')).stdout;
    expect(past).toMatch(/^codes broken +1: 1 emergency$/m);
    expect(past).not.toContain('unblinded outside');
    expect(`${stdout}${past}`).not.toContain('a reason');
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
      const { code, stdout, stderr } = await command([...args, '--data', lost]);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(
        /signing-key belongs to a log, but its database .*urn\.sqlite is missing \(hint: restore/,
      );
    }
    expect(readdirSync(lost).toSorted()).toEqual(['signing-key', 'urn.sqlite.reserve']);
  });

  it('is not assumed for a kind of store that this program does not have', async () => {
    for (const args of [
      ['studies', 'list'],
      ['keys', 'list'],
      ['studies', 'check', '--studies', file(TRIALS)],
    ]) {
      const { code, stderr } = await command([...args, '--store', 'redis://127.0.0.1']);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain('redis://127.0.0.1');
    }
  });

  it('can be in a file elsewhere', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'data'));
    const store = ['--store', `sqlite:${join(folder, 'trial.sqlite')}`, '--data', join(folder, 'data')];
    expect((await command(['keys', 'add', 'edc', ...store])).code).toBe(0);
    expect((await command(['keys', 'list', ...store])).stdout).toContain('edc');
    expect(readdirSync(folder).toSorted()).toEqual(['data', 'trial.sqlite', 'trial.sqlite.reserve']);
  });
});
