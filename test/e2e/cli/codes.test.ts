/** urn codes, and what else the command line says about packs. */
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { DomainError } from '../../../src/base/errors.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { command, commandOk } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import { hold } from '../../support/held-lock.ts';
import { urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const [ACTIVE, CONTROL] = ['Melatonin', 'Control'];
const STUDY = {
  ...CONFIGURATION,
  name: 'Sleep',
  treatments: [ACTIVE, CONTROL],
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels: ['North', 'South'] },
    { name: 'age', levels: ['old'] },
  ],
};
type More = Partial<typeof CONFIGURATION>;

/** A data folder with a live study. */
async function begun(more: More = {}): Promise<string> {
  const data = newFolder();
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  await log.studies.register({ ...STUDY, ...more }, undefined, OPERATOR);
  await log.close();
  return data;
}

/** So many packs, of the arms in turn. */
const inTurn = (count: number, name = 'P') =>
  Array.from({ length: count }, (_, i) => `${name}${String(i).padStart(5, '0')},${i % 2 ? CONTROL : ACTIVE}`);

/** The same, as text without a pattern in it: the codes of the two arms in pairs, each pair the other way round. */
const shuffled = (count: number, name = 'P') =>
  inTurn(count, name).map((row, i, rows) => (i % 4 < 2 ? row : (rows[i % 4 === 2 ? i + 1 : i - 1] ?? row)));

const withRows = (rows: readonly string[], header = 'code,treatment') => `${[header, ...rows].join('\n')}\n`;

const written = (data: string) => storedLog(data).filter(({ stream }) => stream.startsWith('study-'));
const sealedOf = (data: string, type: string) =>
  written(data).flatMap(({ record, sealed }) =>
    record.type === type ? [{ data: record.data, sections: JSON.parse(sealed ?? '{}') }] : [],
  );

const commandsOn = (data: string, run = command) => {
  const codes = (verb: string, ...args: string[]) =>
    run(['codes', verb, '--study', 'Sleep', '--data', data, ...args]);
  /** What a command says, but for which log it opens: exit code and text. */
  const said = async (...words: string[]) => {
    const { code, stdout, stderr } = await run([...words, '--study', 'Sleep', '--data', data]);
    return `${code} ${stdout}${stderr.replace(/^log: .*\n/, '')}`.trimEnd();
  };
  const add = (text: string, ...args: string[]) => {
    const file = join(newFolder(), 'codes.csv');
    writeFileSync(file, text);
    return codes('add', '--from', file, ...args);
  };
  return { codes, said, add };
};

async function enrol(data: string, ids: readonly string[], levels = ['Male', 'North', 'old']) {
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  const issued = await log.keys.issue({ user: 'site', scopes: ['randomize'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  const stream = log.studies.streamOf('Sleep');
  const actor = { keyId: issued.keyId, user: 'site', accessRevision: 0 };
  const outcomes: string[] = [];
  for (const participantId of ids) {
    const randomize = { type: 'randomize', participantId, levels, user: 'site' } as const;
    outcomes.push((await log.studies.submit(stream, randomize, actor)).outcome.type);
  }
  await log.close();
  return outcomes;
}

interface Mapped {
  readonly code: string;
  readonly treatment: string;
  readonly state: string;
  readonly where?: object;
  readonly id?: string;
}

async function mapOf(data: string): Promise<Mapped[]> {
  const { packs } = JSON.parse(
    await commandOk(['codes', 'list', '--study', 'Sleep', '--json', '--data', data]),
  );
  return packs;
}

/** Runs it while the log accepts this many records and no more. */
async function failingAfter<T>(records: number, run: () => Promise<T>): Promise<T> {
  const { submit } = Studies.prototype;
  const spy = vi.spyOn(Studies.prototype, 'submit').mockImplementation(function (this: Studies, ...asked) {
    if (spy.mock.calls.length > records) throw new DomainError('unavailable', 'the disk is full');
    return submit.apply(this, asked);
  });
  try {
    return await run();
  } finally {
    spy.mockRestore();
  }
}

/** A study with 12 packs and two participants, 001 and 002. */
async function stocked(): Promise<string> {
  const data = await begun();
  expect((await commandsOn(data).add(withRows(shuffled(12)))).code).toBe(0);
  expect(await enrol(data, ['001', '002'])).toEqual(['randomized', 'randomized']);
  return data;
}

const packOf = async (data: string, id: string) =>
  (await mapOf(data)).find((one) => one.id === id && one.state === 'given')?.code ?? '';

describe('packs that are registered', () => {
  it('are in one record, with the arms sealed and a key of 128 random bits', async () => {
    const data = await begun();
    expect(await commandsOn(data).add(withRows(shuffled(12)))).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: 'registered 12 packs of Sleep\n  list 1  12 packs  all levels  revision 1\n',
    });
    const [one, ...others] = sealedOf(data, 'CodesRegistered');
    expect(others).toEqual([]);
    expect(one?.data).toEqual({ count: 12, list: 1 });
    expect(one?.sections.codes.key).toMatch(/^[0-9a-f]{32}$/);
    const entries = one?.sections.codes.entries.map(({ code, treatment }: Mapped) => `${code},${treatment}`);
    expect(entries).toEqual(shuffled(12));
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  it('of levels are in one list each, in the order of their first rows', async () => {
    const data = await begun();
    const rows = shuffled(12).map((row, i) => `${row},${i % 3 === 0 ? 'South' : 'North'}`);
    const { code, stdout } = await commandsOn(data).add(withRows(rows, 'code,treatment,site'), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ...{ study: 'Sleep', dryRun: false, registered: 12, skipped: 0, warnings: [] },
      lists: [
        { list: 1, where: { factor: 'site', level: 'South' }, count: 4, revision: 1 },
        { list: 2, where: { factor: 'site', level: 'North' }, count: 8, revision: 2 },
      ],
    });
    const keys = sealedOf(data, 'CodesRegistered').map(({ sections }) => sections.codes.key);
    expect(new Set(keys).size).toBe(2);
  });

  it('are only checked with --dry-run', async () => {
    const data = await begun();
    const before = storedLog(data).length;
    expect(await commandsOn(data).add(withRows(shuffled(12)), '--dry-run')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('dry run: would register 12 packs of Sleep; nothing was recorded'),
    });
    expect(storedLog(data)).toHaveLength(before);
  });

  it('may be more than a record holds', async () => {
    const data = await begun();
    const { code, stdout } = await commandsOn(data).add(withRows(shuffled(10_000)), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).lists.map(({ count }: { count: number }) => count)).toEqual([4000, 4000, 2000]);
    // 64 characters each: 4000 of them would take more bytes than a record may.
    const long = shuffled(3000, 'x'.repeat(58));
    expect((await commandsOn(data).add(withRows(long))).code).toBe(0);
    const lists = sealedOf(data, 'CodesRegistered').slice(3);
    expect(lists.reduce((sum, { sections }) => sum + sections.codes.entries.length, 0)).toBe(3000);
    for (const { sections } of lists)
      expect(Buffer.byteLength(JSON.stringify(sections.codes.entries))).toBeLessThanOrEqual(200_000);
    expect(lists).toHaveLength(2);
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  it('are completed by the same file if the command was interrupted, and registered once', async () => {
    const data = await begun();
    const { add } = commandsOn(data);
    const rows = shuffled(12).map((row, i) => `${row},${i % 3 === 0 ? 'South' : 'North'}`);
    const all = withRows(rows, 'code,treatment,site');
    expect(await failingAfter(1, () => add(all))).toEqual({
      ...{ code: 2, stdout: '' },
      stderr:
        '4 of 12 packs were registered (hint: run it again with the same file)\nurn: the disk is full\n',
    });
    expect((await add(all)).stderr).toBe(
      [
        '4 packs of the file: registered already, and left as they are',
        'registered 8 packs of Sleep',
        '  list 2  8 packs  site = North  revision 2\n',
      ].join('\n'),
    );
    expect(await add(all)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('nothing new for Sleep: nothing was recorded'),
    });
    expect(sealedOf(data, 'CodesRegistered')).toHaveLength(2);
  });
});

describe('a file of packs that cannot be registered', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
    const { add } = commandsOn(data);
    await add(withRows(shuffled(4)));
    await add(withRows(['R1,Control,North'], 'code,treatment,site'));
  });

  it('is refused with all that is wrong, by line, and nothing is written', async () => {
    const before = storedLog(data).length;
    const rows = [
      ...['Q1,Melatonin,North', 'Q 2,Melatonin,North', 'Q3,Placebo,North', 'Q1,Control,North'],
      ...['P00001,Melatonin,North', 'Control,Control,North', 'xmelatonin1,Melatonin,North'],
      ...['Q4,Control,West', 'Q5,Control,', 'Q6,Control', `${'x'.repeat(65)},Control,North`],
      '',
      '"Q7",Placebo,West',
      ...['P00000,Melatonin,North', 'R1,Control,South', 'R1,Control,North'],
    ];
    const { code, stderr } = await commandsOn(data).add(withRows(rows, 'code,treatment,site'));
    expect(code).toBe(2);
    expect(stderr).toBe(
      `urn: nothing was registered:
     line 3: "Q 2" is not a code: 1 to 64 of A–Z a–z 0–9 - _ . /
     line 4: the study has no arm "Placebo" (allowed: "Melatonin", "Control")
     line 5: the code Q1 is also in line 2
     line 6: the code P00001 is registered already, with another treatment or level (hint: urn codes list)
     line 7: the code Control is, or contains, the name of an arm
     line 8: the code xmelatonin1 is, or contains, the name of an arm
     line 9: site has no level "West" (allowed: "North", "South")
     line 10: no level of site (hint: packs for all levels go into a file without this column)
     line 11: 2 fields instead of 3 (hint: code,treatment or code,treatment,<factor>)
     line 12: "${'x'.repeat(65)}" is not a code: 1 to 64 of A–Z a–z 0–9 - _ . /
     line 14: the study has no arm "Placebo" (allowed: "Melatonin", "Control"); site has no level "West" (allowed: "North", "South")
     line 15: the code P00000 is registered already, with another treatment or level (hint: urn codes list)
     line 16: the code R1 is registered already, with another treatment or level (hint: urn codes list)
     line 17: the code R1 is also in line 16
`,
    );
    expect(storedLog(data)).toHaveLength(before);
  });

  it.each([
    ['', 'is empty'],
    ['code,treatment\n', 'the file has no codes'],
    ['Q1,Control\n', 'the first line is "Q1,Control" (expected: code,treatment or code,treatment,<factor>)'],
    ['code,treatment,site,sex\nQ1,Control,North,Male\n', '(expected: code,treatment or'],
    [
      'code,treatment,town\nQ1,Control,North\n',
      'the study has no factor "town" (allowed: "sex", "site", "age")',
    ],
    ['code,treatment\n"Q1,Control\n', 'the file is not CSV'],
  ])('%j is refused', async (text, why) => {
    const { code, stderr } = await commandsOn(data).add(text);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(why) });
  });

  it('is one with packs of a stopped arm, or for levels of a retired factor', async () => {
    const own = await begun({ treatments: [...STUDY.treatments, 'Placebo'] });
    const log = await openLog({ data: own }, OPERATOR);
    await log.rebuild();
    const { outcome } = await log.studies.submit(
      log.studies.streamOf('Sleep'),
      {
        ...{ type: 'amend', user: 'operator', amendment: 1, reason: 'stopped' },
        changes: [
          { kind: 'level-renamed', factor: 'site', level: 'South', to: 'Coast' },
          { kind: 'factor-retired', factor: 'age' },
          { kind: 'arm-closed', treatment: 'Placebo' },
          { kind: 'arm-stopped', treatment: 'Placebo' },
        ],
        approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }],
      },
      OPERATOR,
    );
    expect(outcome.type).toBe('amended');
    await log.close();
    const { add } = commandsOn(own);
    expect((await add(withRows(['Q1,Control,old'], 'code,treatment,age'))).stderr).toContain(
      'the factor "age" is retired',
    );
    expect((await add(withRows(['Q1,Control,South'], 'code,treatment,site'))).stderr).toContain(
      'line 2: site has no level "South": it is called "Coast" now',
    );
    expect((await add(withRows(['Q1,Placebo']))).stderr).toContain('line 2: the arm "Placebo" is stopped');
  });
});

describe('a file with packs of a closed arm', () => {
  it('is registered, and says under seal that some are of a closed arm', async () => {
    const own = await begun({ treatments: [...STUDY.treatments, 'Placebo'] });
    const file = join(own, 'studies.yaml');
    const amend = async (...args: string[]) => {
      const approved = ['--reason', 'futile', '--approved-by', 'Dr. A. Ruiz, sponsor, 2026-03-01'];
      await commandOk(['studies', 'amend', 'Sleep', '--data', own, '--studies', file, ...approved, ...args]);
    };
    writeFileSync(
      file,
      `Sleep: {treatments: [${STUDY.treatments.join(', ')}], visits: [V2], factors: {sex: [Male, Female], site: [North, South], age: [old]}}`,
    );
    await amend();
    const { add } = commandsOn(own);
    const { code, stderr } = await add(withRows(['Q1,Control', 'Q2,Placebo', 'Q3,Melatonin']));
    expect(code).toBe(0);
    expect(stderr).not.toContain('warning');
    const partial = await add(withRows(['R1,Melatonin,North', 'R2,Control,South'], 'code,treatment,site'));
    expect(partial.code).toBe(0);
    expect(partial.stderr).toContain('warning: the packs for site = North include none of Control, Placebo:');
    expect(partial.stderr).toContain(
      'warning: the packs for site = South include none of Melatonin, Placebo:',
    );
    await amend('--stop', 'Placebo');
    expect((await add(withRows(['S1,Melatonin', 'S2,Control']))).stderr).not.toContain('warning');
    expect(sealedOf(own, 'CodesRegistered').map(({ sections }) => sections.codes.closedArms)).toEqual([
      true,
      undefined,
      undefined,
      undefined,
    ]);
    expect((await command(['verify', '--data', own])).stdout).toContain('no fault was found');
  });
});

describe('a warning', () => {
  it('is given of packs that are sorted by arm, in the file or by code', async () => {
    const { add } = commandsOn(await begun());
    const sorted = inTurn(12).toSorted((a, b) =>
      (a.split(',')[1] ?? '').localeCompare(b.split(',')[1] ?? ''),
    );
    const { code, stderr } = await add(withRows(sorted));
    expect(code).toBe(0);
    expect(stderr).toContain('warning: the list for all levels is sorted by arm');
    expect(stderr).not.toContain('sorted by code');
    const blocks = [...Array(12).keys()].map((i) => `B${10 + i},${i < 6 ? ACTIVE : CONTROL}`);
    const turned = blocks.map((_, i) => blocks[(i * 5) % 12] ?? '');
    const other = (await add(withRows(turned))).stderr;
    expect(other).toContain(
      'warning: sorted by code, the list for all levels is in blocks, one for each arm',
    );
    expect(other).not.toContain('is sorted by arm');
    expect((await add(withRows(shuffled(12, 'S')))).stderr).not.toContain('warning');
  });

  it('is given of fewer packs of an arm than 1.2 times its share of a limit', async () => {
    const limits = { total: 20, levels: [{ factor: 'site', level: 'North', max: 8 }] };
    const { add } = commandsOn(await begun({ limits, ratio: [3, 1] }));
    // 18 and 6 of all, 8 and 3 for the North (7.2 and 2.4, rounded up) are enough.
    const packs = (arm: string, count: number, level: string, name: string) =>
      Array.from({ length: count }, (_, i) => `${name}${i},${arm},${level}`);
    const first = [
      ...packs(CONTROL ?? '', 2, 'North', 'a'),
      ...packs(ACTIVE ?? '', 8, 'North', 'b'),
      ...packs(ACTIVE ?? '', 9, 'South', 'c'),
      ...packs(CONTROL ?? '', 4, 'South', 'd'),
    ];
    const warnings = async (rows: readonly string[]) => {
      const { stdout } = await add(withRows(rows, 'code,treatment,site'), '--json');
      return (JSON.parse(stdout).warnings as string[]).filter((text) => text.includes('advisable'));
    };
    const advisable = (min: number) => `at least ${min} are advisable (1.2 times the expected share)`;
    expect(await warnings(first)).toEqual([
      `17 packs of Melatonin for a limit of 20 participants: ${advisable(18)}`,
      `2 packs of Control for a limit of 8 participants with site = North: ${advisable(3)}`,
    ]);
    expect(await warnings(['e1,Melatonin,South', 'e2,Control,North'])).toEqual([]);
  });
});

describe('the list of packs', () => {
  it('names arms, holders and the stock, and reading it is recorded', async () => {
    const data = await stocked();
    const { stdout } = await commandsOn(data).codes('list');
    const [head, ...lines] = stdout.split('\n');
    expect(head?.split(/\s+/)).toEqual(['code', 'treatment', 'factor', 'level', 'state', 'id']);
    expect(lines.filter((line) => /given +00[12]$/.test(line))).toHaveLength(2);
    const stock = lines.slice(lines.indexOf('stock') + 1, -1).map((line) => line.split(/\s{2,}/));
    expect(stock.map(([arm, where]) => [arm, where])).toEqual([
      [ACTIVE, 'all levels'],
      [CONTROL, 'all levels'],
    ]);
    expect(stock.reduce((sum, [, , free]) => sum + Number.parseInt(free ?? '', 10), 0)).toBe(10);
    const rows = parseCsv((await commandsOn(data).codes('list', '--csv')).stdout);
    expect(rows).toHaveLength(13);
    expect(rows[0]).toEqual(['code', 'treatment', 'factor', 'level', 'state', 'id']);
    const disclosed = storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
    expect(disclosed.map(({ record }) => record.data)).toEqual([
      expect.objectContaining({ what: 'codes', study: 'Sleep', toRevision: 3 }),
      expect.objectContaining({ what: 'codes', study: 'Sleep', toRevision: 3 }),
    ]);
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  it('says so if there are none', async () => {
    const data = await begun();
    expect(await commandsOn(data, urn).said('codes', 'list')).toBe(
      '0 Sleep has no packs (hint: urn codes add)',
    );
  });
});

describe('a withdrawal', () => {
  it('takes packs out of the stock, and says in the clear only how many', async () => {
    const data = await stocked();
    const { said, codes } = commandsOn(data);
    const free = (await mapOf(data)).filter(({ state }) => state === 'free').map(({ code }) => code);
    const file = join(newFolder(), 'recalled.csv');
    writeFileSync(file, `treatment,code\n?,${free[1]}\n?,${free[2]}\n`);
    const why = ['--reason', 'the cold chain was broken'];
    expect(await said('codes', 'withdraw', '--code', free[0] ?? '', '--dry-run', ...why)).toBe(
      `0 dry run: nothing was recorded; the record would be
event   CodesWithdrawn
study   Sleep (live, 2 participants)
code    ${free[0]}
reason  the cold chain was broken`,
    );
    expect(await said('codes', 'withdraw', '--code', free[0] ?? '', ...why)).toBe(
      '0 Sleep: packs withdrawn that nobody had: 1 (revision 4)',
    );
    expect((await codes('withdraw', '--from', file, ...why)).code).toBe(0);
    const [, one] = sealedOf(data, 'CodesWithdrawn');
    expect(one).toMatchObject({
      data: { count: 2 },
      sections: { withdrawn: { codes: [free[1], free[2]], reason: 'the cold chain was broken' } },
    });
    const states = (await mapOf(data)).filter(({ code }) => free.slice(0, 3).includes(code));
    expect(states.map(({ state }) => state)).toEqual(['withdrawn', 'withdrawn', 'withdrawn']);
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  it('is refused as a whole if a pack is unknown, given or withdrawn', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    const before = written(data).length;
    const [pack, free] = [await packOf(data, '001'), (await mapOf(data)).find((one) => one.state === 'free')];
    const why = ['--reason', 'recall'];
    expect(
      await said('codes', 'withdraw', '--code', free?.code ?? '', '--code', pack, '--code', 'XX', ...why),
    ).toBe(`2 urn: --code: no free pack has the code ${pack}, XX`);
    expect(await said('codes', 'withdraw', '--code', 'a b', ...why)).toContain('--code "a b" is not a code');
    expect(await said('codes', 'withdraw', ...why)).toContain('say which packs: --code, or --from');
    expect(written(data)).toHaveLength(before);
  });
});

describe('a replacement', () => {
  it('gives the participant another pack, and names no arm', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    const pack = await packOf(data, '001');
    const asked = ['codes', 'replace', '--id', '001', '--cause', 'damaged'];
    expect(await said(...asked, '--code', pack, '--dry-run')).toBe(
      `0 dry run: nothing was recorded; the record would be
event        CodeReplaced
study        Sleep (live, 2 participants)
participant  001
code         ${pack}
cause        damaged`,
    );
    const replaced = await said(...asked, '--code', pack);
    const [, by = ''] = /^0 Sleep: pack \S+ of 001 replaced by (\S+) /.exec(replaced) ?? [];
    expect(replaced).toBe(`0 Sleep: pack ${pack} of 001 replaced by ${by} (damaged) (revision 4)`);
    const arms = new Map((await mapOf(data)).map(({ code, treatment }) => [code, treatment]));
    expect(arms.get(by)).toBe(arms.get(pack));
    expect(await said(...asked, '--code', pack)).toBe(
      `2 urn: nothing was recorded: the participant has the pack ${by} now (hint: urn participants history)`,
    );
    expect(await said('participants', 'list')).toMatch(new RegExp(`001 .*${by}`));
    const history = await said('participants', 'history', '--id', '001');
    expect(history).toContain(`randomized as 001: Male, North, old; pack ${pack}`);
    expect(history).toContain(`pack ${pack} of 001 replaced by ${by} (damaged)`);
    const shown = await command(['studies', 'show', 'Sleep', '--data', data]);
    expect(shown.stdout).toMatch(/packs +12 registered, 3 given, 1 replaced, 0 withdrawn/);
    const past = await command(['studies', 'show', 'Sleep', '--revision', '3', '--data', data]);
    expect(past.stdout).toMatch(/packs +12 registered, 2 given, 0 replaced, 0 withdrawn/);
    const letter = await said('code-breaks', 'print', '--id', '001');
    expect(letter).toContain(`Pack         ${by}\n`);
    for (const text of [replaced, history])
      for (const arm of [ACTIVE, CONTROL]) expect(text).not.toContain(arm);
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  it('is possible more than three times here, and until the arm has no pack left', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    const answers: string[] = [];
    for (let i = 0; i < 7; i++) {
      const now = JSON.parse((await said('participants', 'list', '--json')).slice(2))[0].pack;
      answers.push(await said('codes', 'replace', '--id', '001', '--cause', 'lost', '--code', now));
    }
    const [refused] = answers.filter((text) => text.startsWith('2'));
    expect(answers.filter((text) => text.startsWith('0')).length).toBeGreaterThan(3);
    expect(refused).toBe(
      '2 urn: no pack is left that this participant could have: nothing was recorded (hint: urn codes list, urn codes add)',
    );
  });
});

describe('a code-break by the pack', () => {
  const why = ['--category', 'emergency', '--reason', 'a child swallowed tablets'];

  it('is about the participant who has or had it, or only about the pack', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    const map = await mapOf(data);
    const pack = await packOf(data, '001');
    const arm = map.find(({ code }) => code === pack)?.treatment;
    expect(await said('reveal', '--code', pack, ...why)).toBe(
      `0 001, who has the pack ${pack}, is on ${arm} (code-break recorded at revision 4)`,
    );
    await said('codes', 'replace', '--id', '001', '--cause', 'lost', '--code', pack);
    expect(await said('reveal', '--code', pack, ...why)).toContain(`001, who had the pack ${pack}, is on`);
    // The replacement took one of those that were free.
    const free = (await mapOf(data)).find(({ state }) => state === 'free');
    const [code = '', holds] = [free?.code, free?.treatment];
    const dry = ['reveal', '--code', code, ...why, '--dry-run'];
    expect(await said(...dry)).toBe(`0 the code of the pack ${code} would be broken; nothing was recorded`);
    expect(await said('reveal', '--code', code, ...why)).toBe(
      `0 the pack ${code} holds ${holds}; nobody is known to have it (code-break recorded at revision 7)`,
    );
    const json = await said('reveal', '--code', pack, ...why, '--json');
    expect(JSON.parse(json.slice(2))).toMatchObject({
      study: 'Sleep',
      id: '001',
      code: pack,
      treatment: arm,
    });
    expect(await said('reveal', '--code', 'XX', ...why)).toContain('2 urn: study "Sleep" has no pack "XX"');
    expect(await said('reveal', ...why)).toContain('say whose code to break: --id, or --code of a pack');
    expect((await said('reveal', '--id', '001', '--code', pack, ...why)).slice(0, 1)).toBe('2');
    expect(await said('participants', 'history', '--id', '001')).toContain(
      `code of 001 broken: emergency; requested with the pack ${pack}`,
    );
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  it('is shown in an emergency, and recorded later, while the log cannot be written', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    const map = await mapOf(data);
    const free = map.find(({ state }) => state === 'free');
    const pack = await packOf(data, '002');
    const release = await hold(join(data, 'urn.sqlite'));
    for (const code of [free?.code ?? '', pack]) {
      const arm = map.find((one) => one.code === code)?.treatment;
      const shown = await said('reveal', '--code', code, ...why);
      expect(shown).toMatch(/^0 /);
      expect(shown).toContain(arm);
      expect(shown).toContain('the log could not be written, so this is NOT recorded yet. It waits in');
    }
    await release();
    expect(await said('code-breaks', 'list')).toContain('recorded now: 2 code-breaks');
    const events = written(data).flatMap(({ record }) =>
      record.type === 'AllocationRevealed' ? [record.data] : [],
    );
    expect(events).toEqual([
      expect.objectContaining({ code: free?.code }),
      expect.objectContaining({ code: pack, participantId: '002' }),
    ]);
    expect(events[0]).not.toHaveProperty('participantId');
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});

const entryOf = (id: string, treatment: string, more: readonly string[]) => [
  ...['participants', 'force', '--id', id, '--level', 'sex=Male', '--level', 'site=North'],
  ...['--level', 'age=old', '--treatment', treatment, '--cause', 'other', '--note', 'envelope 12'],
  ...['--occurred-at', new Date().toISOString(), ...more],
];

describe('an entry of an allocation made outside', () => {
  const entry = (more: readonly string[]) => entryOf('003', ACTIVE ?? '', more);

  it('may name the pack that was given, which must be a free one of the arm', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    const map = await mapOf(data);
    const freeOf = (arm: string | undefined) =>
      map.find(({ state, treatment }) => state === 'free' && treatment === arm)?.code ?? '';
    expect(await said(...entry(['--code', freeOf(CONTROL)]))).toBe(
      '2 urn: --code: no free pack of this arm has this code',
    );
    expect(await said(...entry(['--code', 'a b']))).toContain('--code "a b" is not a code');
    expect(await said(...entry(['--code', freeOf(ACTIVE), '--dry-run']))).toContain(
      `pack         ${freeOf(ACTIVE)} (not checked to be of this arm)`,
    );
    expect(await said(...entry(['--code', freeOf(ACTIVE)]))).toMatch(/^0 003 is entered/);
    expect(await packOf(data, '003')).toBe(freeOf(ACTIVE));
    expect(await said('participants', 'history', '--id', '003')).toContain(`; pack ${freeOf(ACTIVE)}`);
  });

  it('says so if there was no pack: silence is refused', async () => {
    const data = await stocked();
    const { said } = commandsOn(data);
    for (const more of [[], ['--dry-run']])
      expect(await said(...entry(more))).toBe(
        '2 urn: --code: the study has packs: say which one the participant was given, or that it was none (null, or --no-code)',
      );
    expect(await said(...entry(['--no-code', '--dry-run']))).toContain('pack         none');
    expect(await said(...entry(['--no-code']))).toMatch(/^0 003 is entered/);
    expect(await packOf(data, '003')).toBe('');
  });
});

describe('a log that is restored from a backup', () => {
  it('gives packs of lost participants again, unless they are entered, as urn recover says', async () => {
    const data = await begun();
    const { add, said } = commandsOn(data);
    await add(withRows(shuffled(12)));
    const [database, backup] = [join(data, 'urn.sqlite'), join(newFolder(), 'backup.sqlite')];
    copyFileSync(database, backup);
    await enrol(data, ['001']);
    const lost = (await mapOf(data)).find(({ id }) => id === '001');
    for (const beside of ['-wal', '-shm']) rmSync(`${database}${beside}`, { force: true });
    copyFileSync(backup, database);
    const { code, stderr } = await command(['recover', '--unproven', '--reason', 'disk', '--data', data]);
    expect(code).toBe(0);
    expect(stderr).toContain('Packs that were given to lost participants are free again');
    expect((await mapOf(data)).find((one) => one.code === lost?.code)?.state).toBe('free');
    const args = entryOf('001', lost?.treatment ?? '', ['--code', lost?.code ?? '']);
    expect(await said(...args)).toMatch(/^0 001 is entered/);
    expect((await mapOf(data)).find((one) => one.code === lost?.code)).toEqual(lost);
    expect((await command(['verify', '--no-last-checkpoints', '--data', data])).code).toBe(0);
  });
});

describe('urn participants dispense', () => {
  it('gives out packs at visits, and correct-dispensation moves and takes them', async () => {
    const data = await begun({ visits: ['V2', 'V3'] });
    const { add, said } = commandsOn(data);
    await add(withRows(shuffled(12)));
    await enrol(data, ['001']);
    const asked = ['participants', 'dispense', '--id', '001', '--visit'];
    expect(await said(...asked, 'v2', '--dry-run')).toMatch(
      /^0 dry run: [\s\S]*event +PackDispensed[\s\S]*visit +v2$/,
    );
    const [, code = ''] =
      /: pack (\S+) given to 001 for V2 \(revision 3\)$/.exec(await said(...asked, 'v2')) ?? [];
    expect(await said(...asked, 'V2')).toMatch(
      /^2 urn: 001 has a pack for V2 already: nothing was recorded \(hint: /,
    );
    expect(await said(...asked, 'Control')).toBe('2 urn: --visit: is, or contains, the name of an arm');
    expect(JSON.parse((await said(...asked, 'U1', '--json')).slice(2))).toEqual({
      ...{ study: 'Sleep', id: '001', visit: 'U1', code: expect.stringMatching(/^P/), revision: 4 },
    });
    const wrong = ['participants', 'correct-dispensation', '--id', '001', '--code', code, '--note', 'a slip'];
    expect(await said(...wrong, '--cause', 'entry')).toBe('2 urn: --to <visit>, or --not-theirs, is missing');
    expect(await said(...wrong, '--cause', 'entry', '--to', 'v3')).toBe(
      `0 Sleep: pack ${code} of 001: for V3, not V2 (entry) (revision 5)`,
    );
    expect(await said(...wrong, '--cause', 'entry', '--to', 'V3')).toBe(
      '0 Sleep: the pack is for V3 already; nothing was recorded',
    );
    expect(await said('code-breaks', 'print', '--id', '001')).toContain(`Pack         ${code} (V3)\n`);
    expect(await said(...wrong, '--cause', 'not-handed-out', '--not-theirs')).toContain(
      `pack ${code} of 001: was never theirs (not-handed-out)`,
    );
    expect(await said('participants', 'history', '--id', '001')).toContain(
      `pack ${code} of 001: was never theirs`,
    );
    const shown = await command(['studies', 'show', 'Sleep', '--data', data]);
    expect(shown.stdout).toMatch(
      /packs +12 registered, 3 given, 0 replaced, 0 withdrawn, 2 given at visits \(2 corrected\)/,
    );
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});
