import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { DomainError } from '../../../src/base/errors.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { commandsOn, recordsOf, registered, saidIn, typed } from '../../support/cli-log.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('list.csv');
const STUDY: StudyConfiguration = {
  name: 'Listed',
  mode: 'test',
  method: { name: 'list', by: ['local_site'] },
  treatments: ['A', 'B'],
  factors: [
    { name: 'sex', levels: ['F', 'M'] },
    { name: 'local_site', levels: ['11', '30'] },
  ],
};
const SAMPLE = 'treatment,local_site\nA,11\nB,30\nB,11\nA,11\nA,30\nB,11\n';
const APPROVED = typed`--approved-by 'Dr. K. Ode, statistician, 2026-02-01'`;

/** A data folder with these studies. */
const begun = (...studies: readonly Partial<StudyConfiguration>[]) =>
  registered(
    newFolder(),
    (studies.length > 0 ? studies : [{}]).map((more) => ({ ...STUDY, ...more }) as StudyConfiguration),
  );

const onList = (data: string, study = 'Listed') => {
  const { run, ok, said } = commandsOn(data, '--study', study);
  const add = (text: string, ...args: string[]) => run`lists add --from ${fileOf(text)} ${args}`;
  const status = async () => {
    const { strata, ...rest } = JSON.parse(await ok`lists status --json`);
    const numbers = strata.map(
      ({ levels, used, left }: { levels: { level: string }[]; used: number; left: number }) =>
        `${levels.map(({ level }) => level).join(' ')}: ${used}, ${left}`,
    );
    return { ...rest, strata: numbers };
  };
  return { run, ok, said, add, status };
};

afterEach(() => vi.restoreAllMocks());

describe('urn lists add', () => {
  it('registers a file, tells first what it would do, and does it once', async () => {
    const data = await begun();
    const { add, ok, status } = onList(data);
    expect((await add(SAMPLE, '--dry-run')).stderr).toMatch(/^dry run: would register 6 entries of Listed/m);
    expect(recordsOf(data, 'ListRegistered')).toEqual([]);
    expect((await add(SAMPLE)).stderr).toMatch(/registered 6 entries of Listed\n {2}list 1 {2}rows 1 to 6/);
    expect((await add(SAMPLE)).stderr).toContain('nothing new for Listed: nothing was recorded');
    expect(await status()).toEqual({
      ...{ study: 'Listed', lists: 1, skip_owed: false },
      strata: ['11: 0, 4', '30: 0, 2'],
    });
    const [{ data: clear, sections } = { data: {}, sections: {} }] = recordsOf(data, 'ListRegistered');
    expect(clear).toEqual({ approvals: [], count: 6, list: 1 });
    const file = 'af0a14b6c8b8d6b1f30cb7181b0617ff3c445552c881403169f136f10f023681';
    expect(sections.list).toMatchObject({ file, first: 1 });
    expect((await add('local_site,treatment,block\n30,A,1\n30,B,1\n', '--ignore', 'block')).code).toBe(0);
    expect(await ok`lists status`).toBe(
      'stratum        used  left\nlocal_site=11  0     4\nlocal_site=30  0     4\n',
    );
  });

  it('cuts a long file into lists, and goes on where it was interrupted', async () => {
    const data = await begun();
    const { add, status } = onList(data);
    const rows = Array.from({ length: 4001 }, (_, i) => `${'AB'[((i * i) % 7) % 2]},${i % 3 ? '11' : '30'}`);
    const text = `${['treatment,local_site', ...rows].join('\r\n')}\r\n`;
    const { submit } = Studies.prototype;
    let calls = 0;
    const spy = vi.spyOn(Studies.prototype, 'submit').mockImplementation(function (this: Studies, ...args) {
      calls++;
      return calls === 2
        ? Promise.reject(new DomainError('unavailable', 'no disk'))
        : submit.apply(this, args);
    });
    const interrupted = await add(text);
    spy.mockRestore();
    expect(interrupted.stderr).toContain('4000 of 4001 entries were registered');
    expect(interrupted.code).toBe(2);
    const { stderr } = await add(text);
    expect(stderr).toContain('4000 entries of the file: registered already');
    expect(recordsOf(data, 'ListRegistered').map(({ sections }) => sections.list.first)).toEqual([1, 4001]);
    expect((await status()).strata).toEqual(['11: 0, 2667', '30: 0, 1334']);
  });

  describe('refuses', () => {
    let data: string;
    beforeAll(async () => {
      data = await registered(newFolder(), [STUDY, CONFIGURATION]);
    });

    it.each<[text: string, args: string[], said: RegExp]>([
      ['treatment,site,block\nA,11,1\n', [], /no column "local_site".*\n.*"site", "block": no columns/],
      ['treatment,local_site,block\nA,11,1\n', [], /"block": no column .* \(hint: --ignore "block"\)/],
      ['Treatment,local_site\nA,11\n', [], /may be meant: rename it\)\n.*, which has treatment, local_site$/],
      ['treatment,local_site\nA,11\n', ['--ignore', 'block'], /--ignore block: there is no such column/],
      ['treatment,local_site\nA,11\n', ['--ignore', 'treatment'], /--ignore treatment: the list needs/],
      ['treatment,local_site,local_site\nA,11,11\n', [], /the column "local_site" is there 2 times/],
      ['treatment,local_site\n', [], /the file has no entries/],
      ['treatment;local_site\nA;11\n', [], /no commas between its fields.*save it as CSV in UTF-8/],
      ['treatment,local_site\rA,11\rB,11\r', [], /no line ends that are known/],
      [',treatment,local_site,block\n1,A,11,1\n', ['--ignore', 'block'], /hint: --ignore ",block"\)/],
      ['treatment,local_site,"a, b"\nA,11,1\n', [], /hint: --ignore "\\"a, b\\""\)/],
      ['treatment,local_site,a\nA,11,1\n', ['--ignore', 'a"'], /--ignore a" names no columns \(hint: put/],
    ])('other columns than those of the strata: %j', async (text, args, said) => {
      expect(saidIn(await onList(data).add(text, ...args))).toMatch(new RegExp(`^2 .*${said.source}`, 's'));
    });

    it('what is wrong in a file, by line, and writes nothing; and studies without a list', async () => {
      const { add } = onList(data);
      const said = saidIn(await add('treatment,local_site\na,11\nA,12\nC,9,\nA,30\n'));
      expect(said.replaceAll(/\S*list\.csv/g, 'list.csv').split(/\n +/)).toEqual([
        '2 urn: nothing was registered:',
        'list.csv, line 2: there is no open arm "a" (hint: A)',
        'list.csv, line 3: local_site has no level "12" (allowed: "11", "30")',
        'list.csv, line 4: 3 fields instead of 2',
      ]);
      expect(recordsOf(data, 'ListRegistered')).toEqual([]);
      expect(saidIn(await onList(data, CONFIGURATION.name).add(SAMPLE))).toMatch(
        /^2 .*follows no list: it draws its allocations itself/,
      );
    });
  });

  it('takes the columns that its hints name: of R, whose first has no name, and with a comma', async () => {
    const { add } = onList(await begun());
    const rows = 'treatment,local_site,"a, b"\n1,A,11,2\n2,B,11,2\n';
    expect((await add(`"",${rows}`, '--dry-run', '--ignore', ',"a, b"')).code).toBe(0);
    expect((await add(`"",${rows.replace('"a, b"', '')}`, '--dry-run', '--ignore', ',')).code).toBe(0);
  });

  const ALTERNATING = ['11', '30'].flatMap((site) => [...'AB'.repeat(12)].map((arm) => `${arm},${site}`));

  it('warns of a list that looks wrong', async () => {
    const data = await begun({
      targetEnrollment: 100,
      limits: { levels: [{ factor: 'local_site', level: '11', max: 30 }] },
      factors: [
        { name: 'sex', levels: ['F', 'M'] },
        { name: 'local_site', levels: ['11', '30', '40', '50', '60'] },
      ],
      treatments: ['A', 'B', 'C'],
    });
    const sorted = [...'AAAAAAAABBBBBBBB'].map((arm) => `${arm},40`);
    const { add } = onList(data);
    const { code, stderr } = await add(
      ['treatment,local_site', ...ALTERNATING, ...sorted, 'A,60'].join('\n'),
    );
    for (const why of [
      'no entry is of the arm "C", which is open',
      'the list for local_site = 40 is sorted by arm',
      'the lists for local_site = 11, local_site = 30 are in a pattern that repeats',
      'the lists for local_site = 11, local_site = 30 are in the same order, in the first 24 entries',
      '65 entries for a target of 100 participants: at least 120 are advisable',
      '24 entries for a limit of 30 participants with local_site = 11',
      'no entry is for local_site = 50, which is open',
      'only one entry is for local_site = 60',
    ])
      expect(stderr).toContain(`warning: ${why}`);
    expect(stderr.match(/warning/g)).toHaveLength(8);
    // It is a test.
    expect([code, stderr.includes('--yes')]).toEqual([0, false]);
  });

  describe('in a live study', () => {
    const ROWS = {
      'repeats in both strata': ['', ...ALTERNATING],
      'lacks an arm': ['', 'A,11', 'A,30', 'A,11', 'A,30'],
      'has a number twice': [',seq', 'A,11,1', 'B,11,2', 'A,30,3', 'B,30,3'],
      'was rehearsed': ['', 'A,11', 'B,11', 'B,30', 'A,30', 'B,11', 'B,30', 'A,11', 'A,30', 'A,11', 'B,30'],
    };
    const fileRows = ([more = '', ...rows]: readonly string[]) => [`treatment,local_site${more}`, ...rows];

    it.each(Object.entries(ROWS))(
      'a list that %s needs --yes, also where nobody can be asked',
      async (_, rows) => {
        const data = await begun({ mode: 'live' }, { name: 'Rehearsal' });
        if (rows === ROWS['was rehearsed'])
          await onList(data, 'Rehearsal').add([...fileRows(rows), 'B,11'].join('\r\n'));
        const already = recordsOf(data, 'ListRegistered').length;
        const { add } = onList(data);
        const ignored = rows[0] === '' ? [] : ['--ignore', 'seq'];
        const adds = (...args: string[]) => add(fileRows(rows).join('\n'), ...APPROVED, ...ignored, ...args);
        const tried = await adds('--dry-run', '--json');
        expect([tried.code, JSON.parse(tried.stdout).needsYes]).toEqual([0, true]);
        expect(tried.stderr).toMatch(/^warning: .* \(needs --yes\)$/m);
        expect(tried.stderr).toMatch(
          /^without --yes it would ask "Register .* in Listed .*though an honest file almost never looks like this\?", and/m,
        );
        expect(saidIn(await adds())).toMatch(
          /^2 [\s\S]*urn: nothing was recorded: an honest file almost never .*--yes registers it all the same\)$/,
        );
        expect(recordsOf(data, 'ListRegistered')).toHaveLength(already);
        expect((await adds('--yes')).code).toBe(0);
        expect(recordsOf(data, 'ListRegistered')).toHaveLength(already + 1);
      },
    );

    it('a person at a terminal is asked, and an honest list is taken', async () => {
      const data = await begun({ mode: 'live' }, { mode: 'live', name: 'Another' });
      const doubted = fileOf(fileRows(ROWS['lacks an arm']).join('\n'));
      const at = (answer: string) =>
        command(['lists', 'add', '--study', 'Listed', '--from', doubted, '--data', data, ...APPROVED], {
          answer,
        });
      const no = await at('n\n');
      expect([no.code, no.stderr.includes('never looks like this? [y/N]')]).toEqual([1, true]);
      expect((await at('y\n')).code).toBe(0);
      expect((await onList(data, 'Another').add(SAMPLE, ...APPROVED)).code).toBe(0);
    });

    it('a list of another live study needs it, and so does a test that would show its arms', async () => {
      const data = await begun({ mode: 'live' }, { name: 'Rehearsal' }, { mode: 'live', name: 'Another' });
      const rows = fileRows(ROWS['was rehearsed']);
      expect((await onList(data).add(rows.join('\n'), ...APPROVED)).code).toBe(0);
      const turned = rows.map((row) => row.split(',').toReversed().join(',')).join('\n');
      for (const study of ['Rehearsal', 'Another'])
        expect(saidIn(await onList(data, study).add(turned, ...APPROVED))).toMatch(
          /^2 warning: the live study "Listed" has the same list: .*\(needs --yes\)\nurn: nothing was recorded/,
        );
    });
  });

  it('warns of a list that is in already, in another file', async () => {
    const { add } = onList(await begun());
    const rows = [...'ABBABAABBA'].map((arm) => `${arm},11`);
    await add(['treatment,local_site', ...rows].join('\n'));
    const said =
      'warning: this study has the same list: in each stratum the entries of one begin those of the other';
    const again = async (...entries: string[]) =>
      (await add(['treatment,local_site', ...entries].join('\n'))).stderr;
    expect(await again(...rows, 'A,30')).toContain(said);
    expect(await again(...rows.toReversed(), 'B,11')).not.toContain(said);
  });

  it('warns of a file that was used before the list began anew', async () => {
    const data = await begun();
    const { add, status } = onList(data);
    await add(SAMPLE);
    const { name, mode, method, treatments } = STUDY as typeof STUDY & { method: object };
    const factors = { sex: ['F', 'M'], local_site: ['11', '30', '40'] };
    const studies = fileOf(JSON.stringify({ [name]: { mode, method, treatments, factors } }));
    await commandsOn(data).ok`studies amend ${name} --studies ${studies} --reason x --history restart
      --protocol 2.0,2026-01-01`;
    expect((await status()).strata).toEqual(['11: 0, 0', '30: 0, 0', '40: 0, 0']);
    const said = saidIn(await add(SAMPLE));
    expect(said).toMatch(/^0 [\s\S]*warning: this file was registered before the list began anew/);
    expect((await add(SAMPLE)).stderr).not.toContain('began anew');
  });

  it('wants an approval for a live study, and no file that the other mode knows', async () => {
    const data = await begun({ mode: 'live' }, { name: 'Rehearsal' });
    const { add } = onList(data);
    expect(saidIn(await add(SAMPLE))).toMatch(
      /^2 .*--approved-by: a list can be registered in a live study only with an approval/s,
    );
    expect((await add(SAMPLE, '--dry-run')).stderr).toContain('live: the list needs --approved-by');
    expect((await add(SAMPLE, ...APPROVED)).code).toBe(0);
    expect(saidIn(await onList(data, 'Rehearsal').add(SAMPLE))).toMatch(
      /^2 .*the live study "Listed" has this file, and a test would show its arms/,
    );
  });
});

describe('urn lists skip', () => {
  /** A study whose log was recovered. */
  async function recovered(more: Partial<StudyConfiguration> = {}, text = SAMPLE) {
    const data = await begun(more);
    await onList(data).add(text);
    const recovery = await commandsOn(data).said`recover --unproven --reason disk`;
    return { ...onList(data), data, recovery, shows: commandsOn(data) };
  }

  it('is owed after a recovery, which says so, and passes over entries', async () => {
    const { run, said, recovery, status, data, shows } = await recovered();
    expect(recovery).toContain('Listed follows a list: nobody is randomized until urn lists skip says');
    expect((await run`lists status`).stderr).toContain('nobody is randomized until');
    expect(await shows.ok`studies show Listed`).toMatch(
      /^entries +0 used, 6 left \(urn lists status\); nobody is randomized until urn lists skip$/m,
    );
    const used = typed`--used 'local_site = 11:2' --used local_site=30:1 --reason 'lists of the sites'`;
    expect(await said`lists skip ${used} --dry-run`).toContain('would skip 3 entries of 2 strata');
    expect(recordsOf(data, 'EntriesSkipped')).toEqual([]);
    expect(await said`lists skip ${used}`).toContain('3 entries of 2 strata were skipped in Listed');
    expect(await status()).toMatchObject({ skip_owed: false, strata: ['11: 2, 2', '30: 1, 1'] });
    const { entries } = await shows.json`studies show Listed --json`;
    expect(entries).toEqual({ lists: 1, used: 3, left: 3, skipOwed: false });
    expect(recordsOf(data, 'EntriesSkipped')[0]?.data).toEqual({
      reason: 'lists of the sites',
      skipped: [
        { levels: ['11'], count: 2 },
        { levels: ['30'], count: 1 },
      ],
    });
    expect(await said`lists skip --none --reason x`).toBe(
      '2 urn: nothing more was recorded: no entries are to be skipped: nothing was recovered or imported since the last skip',
    );
    await shows.ok`recover --unproven --reason again`;
    expect(await said`lists skip --none --reason x --json`).toContain('"skipped": []');
  });

  it('is refused with what is wrong, and then nothing is skipped', async () => {
    const { said, data } = await recovered();
    for (const [line, why] of [
      [[], /say which entries were used: --used for each stratum, or --none/],
      [typed`--used local_site=11`, /no number of at least 1 at the end/],
      [typed`--used local_site=12:1`, /no stratum "local_site=12" has entries \(hint: local_site=11;/],
      [typed`--used local_site=11:5`, /: 4 entries of the stratum are left \(hint: if a list was lost too/],
      [typed`--used local_site=11:1 --used 'local_site = 11 : 1'`, /there twice/],
      [typed`--none --reason ' '`, /--reason/],
      [typed`--none --used local_site=11:1`, /cannot be used with/],
    ] as const)
      expect(await said`lists skip --reason x ${line}`).toMatch(new RegExp(`^2 .*${why.source}`, 's'));
    expect(recordsOf(data, 'EntriesSkipped')).toEqual([]);
  });

  type Factor = StudyConfiguration['factors'][number];
  const [SEX, SITE] = STUDY.factors as [Factor, Factor];
  const alike = [
    { name: 'sex', levels: ['F', 'F,site=1'] },
    { name: 'site', levels: ['a,b', 'a, b', '1,site=2', '2'] },
  ];
  it.each([
    [[], [SEX], 'treatment\nA\nB\nB\n', 'the whole study:2', [': 2, 1']],
    [
      ['sex', 'local_site'],
      [SEX, SITE],
      'treatment,sex,local_site\nA,M,11\nB,M,11\nA,F,30\nB,F,11\n',
      'sex=M,local_site=11:2',
      ['F 11: 0, 1', 'F 30: 0, 1', 'M 11: 2, 0', 'M 30: 0, 0'],
    ],
    [
      ['sex', 'site'],
      alike,
      'treatment,sex,site\nA,F,"a,b"\nB,F,"a, b"\nA,F,"1,site=2"\nB,"F,site=1",2\n',
      'sex=F,site=a, b:1',
      ['F a,b: 0, 1', 'F a, b: 1, 0'],
    ],
  ])('is of the stratum with exactly this name, and of none if two have it: %j', async (by, ...given) => {
    const [factors, text, used, strata] = given;
    const { ok, said, status } = await recovered({ factors, method: { name: 'list', by } }, text);
    const ofTwo = await said`lists skip --used sex=F,site=1,site=2:1 --reason x`;
    expect(ofTwo).toContain(factors === alike ? 'several strata are called that' : 'no stratum "sex=F,');
    await ok`lists skip --used ${used} --reason x`;
    expect((await status()).strata.slice(0, strata.length)).toEqual(strata);
  });

  it('is owed after an import, which says what to skip if its rows have used the list', async () => {
    const { add, ok, said } = onList(await begun());
    await add(SAMPLE);
    const rows = [...['11', '11', '30'].entries()].map(
      ([i, site]) => `${i},F,${site},A,2026-01-01 00:00:0${i}.000000,other`,
    );
    const history = fileOf(['id,f_sex,f_local_site,trt,datetime,user', ...rows, ''].join('\n'));
    expect(await said`import --from ${history} --format csv`).toContain(
      'if all were allocated from it: --used "local_site=11:2" --used "local_site=30:1"',
    );
    await ok`lists skip --used local_site=11:2 --used local_site=30:1 --reason x`;
  });
});

it('the statistician’s sealed file has the entries, and that is recorded', async () => {
  const data = await begun();
  await onList(data).add(SAMPLE);
  const { ok, json } = commandsOn(data);
  expect(await ok`studies show Listed --sealed`).toContain('1     2      local_site=30  B');
  const { entries } = await json`studies show Listed --sealed --json`;
  expect(entries).toHaveLength(6);
  expect(entries[1]).toEqual({
    ...{ list: 1, entry: 2, levels: [{ factor: 'local_site', level: '30' }], treatment: 'B', used: false },
  });
  expect(await ok`operations`).toMatch(/was shown the seed of Listed/);
});

it('no allocation depends on who is counted, and the command line says so', async () => {
  const { said } = onList(await begun());
  const outside = typed`--treatment A --cause outage --occurred-at NOW --note x`;
  expect(await said`participants force --id 1 --level sex=F --level local_site=11 ${outside}`).toBe(
    '0 1 is entered (revision 1); later allocations do not count 1',
  );
});
