/** urn codes, and what else the command line says about packs. */
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { DomainError } from '../../../src/base/errors.ts';
import type { Amend } from '../../../src/core/study/commands.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { commandsOn, enrol, recordsOf, registered, typed, withOpenLog } from '../../support/cli-log.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import { hold } from '../../support/held-lock.ts';
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

const begun = (more: More = {}) => registered(newFolder(), [{ ...STUDY, ...more }]);

/** So many packs, of the arms in turn. */
const inTurn = (count: number, name = 'P') =>
  Array.from({ length: count }, (_, i) => `${name}${String(i).padStart(5, '0')},${i % 2 ? CONTROL : ACTIVE}`);

/** The same, as text without a pattern in it: the codes of the two arms in pairs, each pair the other way round. */
const shuffled = (count: number, name = 'P') =>
  inTurn(count, name).map((row, i, rows) => (i % 4 < 2 ? row : (rows[i % 4 === 2 ? i + 1 : i - 1] ?? row)));

const withRows = (rows: readonly string[], header = 'code,treatment') => `${[header, ...rows].join('\n')}\n`;

const onSleep = (data: string) => {
  const commands = commandsOn(data, '--study', 'Sleep');
  /** What a command says, but for which log it opens. */
  const said = async (...line: Parameters<typeof commands.said>) =>
    (await commands.said(...line)).replace(/log: .*\n?/, '').trimEnd();
  const add = (text: string, ...args: string[]) => {
    const file = join(newFolder(), 'codes.csv');
    writeFileSync(file, text);
    return commands.run`codes add --from ${file} ${args}`;
  };
  return { ...commands, said, add };
};

const randomized = (data: string, ...ids: string[]) =>
  enrol(data, 'Sleep', Object.fromEntries(ids.map((id) => [id, ['Male', 'North', 'old']])));

interface Mapped {
  readonly code: string;
  readonly treatment: string;
  readonly state: string;
  readonly where?: object;
  readonly id?: string;
}

const mapOf = async (data: string): Promise<Mapped[]> => (await onSleep(data).json`codes list --json`).packs;
const expectSound = async (data: string) =>
  expect(await commandsOn(data).ok`verify`).toContain('no fault was found');

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
async function stocked(more: More = {}): Promise<string> {
  const data = await begun(more);
  expect((await onSleep(data).add(withRows(shuffled(12)))).code).toBe(0);
  expect(await randomized(data, '001', '002')).toEqual(['randomized', 'randomized']);
  return data;
}

const packOf = async (data: string, id: string) =>
  (await mapOf(data)).find((one) => one.id === id && one.state === 'given')?.code ?? '';

describe('packs that are registered', () => {
  it('are in one record, with the arms sealed and a key of 128 random bits', async () => {
    const data = await begun();
    expect(await onSleep(data).add(withRows(shuffled(12)))).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: 'registered 12 packs of Sleep\n  list 1  12 packs  all levels  revision 1\n',
    });
    const [one, ...others] = recordsOf(data, 'CodesRegistered');
    expect(others).toEqual([]);
    expect(one?.data).toEqual({ count: 12, list: 1 });
    expect(one?.sections.codes.key).toMatch(/^[0-9a-f]{32}$/);
    const entries = one?.sections.codes.entries.map(({ code, treatment }: Mapped) => `${code},${treatment}`);
    expect(entries).toEqual(shuffled(12));
    await expectSound(data);
  });

  it('of levels are in one list each, in the order of their first rows', async () => {
    const data = await begun();
    const rows = shuffled(12).map((row, i) => `${row},${i % 3 === 0 ? 'South' : 'North'}`);
    const { code, stdout } = await onSleep(data).add(withRows(rows, 'code,treatment,site'), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ...{ study: 'Sleep', dryRun: false, registered: 12, skipped: 0, warnings: [] },
      lists: [
        { list: 1, where: { factor: 'site', level: 'South' }, count: 4, revision: 1 },
        { list: 2, where: { factor: 'site', level: 'North' }, count: 8, revision: 2 },
      ],
    });
    const keys = recordsOf(data, 'CodesRegistered').map(({ sections }) => sections.codes.key);
    expect(new Set(keys).size).toBe(2);
  });

  it('are only checked with --dry-run', async () => {
    const data = await begun();
    const before = storedLog(data).length;
    expect(await onSleep(data).add(withRows(shuffled(12)), '--dry-run')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('dry run: would register 12 packs of Sleep; nothing was recorded'),
    });
    expect(storedLog(data)).toHaveLength(before);
  });

  it('may be more than a record holds', async () => {
    const data = await begun();
    const { code, stdout } = await onSleep(data).add(withRows(shuffled(8001)), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).lists.map(({ count }: { count: number }) => count)).toEqual([4000, 4000, 1]);
    // 64 characters each: 4000 of them would take more bytes than a record may.
    const long = shuffled(3000, 'x'.repeat(58));
    expect((await onSleep(data).add(withRows(long))).code).toBe(0);
    const lists = recordsOf(data, 'CodesRegistered').slice(3);
    expect(lists.reduce((sum, { sections }) => sum + sections.codes.entries.length, 0)).toBe(3000);
    for (const { sections } of lists)
      expect(Buffer.byteLength(JSON.stringify(sections.codes.entries))).toBeLessThanOrEqual(200_000);
    expect(lists).toHaveLength(2);
    await expectSound(data);
  });

  it('are completed by the same file if the command was interrupted, and registered once', async () => {
    const data = await begun();
    const { add } = onSleep(data);
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
    expect(recordsOf(data, 'CodesRegistered')).toHaveLength(2);
  });
});

describe('a file of packs that cannot be registered', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
    const { add } = onSleep(data);
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
    const { code, stderr } = await onSleep(data).add(withRows(rows, 'code,treatment,site'));
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
    const { code, stderr } = await onSleep(data).add(text);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(why) });
  });

  it('is one with packs of a stopped arm, or for levels of a retired factor', async () => {
    const own = await begun({ treatments: [...STUDY.treatments, 'Placebo'] });
    const outcome = await withOpenLog(own, async ({ studies }) => {
      const amendment: Amend = {
        ...{ type: 'amend', user: 'operator', amendment: 1, reason: 'stopped' },
        changes: [
          { kind: 'level-renamed', factor: 'site', level: 'South', to: 'Coast' },
          { kind: 'factor-retired', factor: 'age' },
          { kind: 'arm-closed', treatment: 'Placebo' },
          { kind: 'arm-stopped', treatment: 'Placebo' },
        ],
        approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }],
      };
      return (await studies.submit(studies.streamOf('Sleep'), amendment, OPERATOR)).outcome;
    });
    expect(outcome.type).toBe('amended');
    const { add } = onSleep(own);
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
      const approved = typed`--reason futile --approved-by 'Dr. A. Ruiz, sponsor, 2026-03-01'`;
      await commandsOn(own).ok`studies amend Sleep --studies ${file} ${approved} ${args}`;
    };
    writeFileSync(
      file,
      `Sleep: {treatments: [${STUDY.treatments.join(', ')}], visits: [V2], factors: {sex: [Male, Female], site: [North, South], age: [old]}}`,
    );
    await amend();
    const { add } = onSleep(own);
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
    expect(recordsOf(own, 'CodesRegistered').map(({ sections }) => sections.codes.closedArms)).toEqual([
      true,
      undefined,
      undefined,
      undefined,
    ]);
    await expectSound(own);
  });
});

describe('a warning', () => {
  it('is given of packs that are sorted by arm, in the file or by code', async () => {
    const { add } = onSleep(await begun());
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
    const { add } = onSleep(await begun({ limits, ratio: [3, 1] }));
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
    const { ok } = onSleep(data);
    const stdout = await ok`codes list`;
    const [head, ...lines] = stdout.split('\n');
    expect(head?.split(/\s+/)).toEqual(['code', 'treatment', 'factor', 'level', 'state', 'id']);
    expect(lines.filter((line) => /given +00[12]$/.test(line))).toHaveLength(2);
    const stock = lines.slice(lines.indexOf('stock') + 1, -1).map((line) => line.split(/\s{2,}/));
    expect(stock.map(([arm, where]) => [arm, where])).toEqual([
      [ACTIVE, 'all levels'],
      [CONTROL, 'all levels'],
    ]);
    expect(stock.reduce((sum, [, , free]) => sum + Number.parseInt(free ?? '', 10), 0)).toBe(10);
    const rows = parseCsv(await ok`codes list --csv`);
    expect(rows).toHaveLength(13);
    expect(rows[0]).toEqual(['code', 'treatment', 'factor', 'level', 'state', 'id']);
    const disclosed = storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
    expect(disclosed.map(({ record }) => record.data)).toEqual([
      expect.objectContaining({ what: 'codes', study: 'Sleep', toRevision: 3 }),
      expect.objectContaining({ what: 'codes', study: 'Sleep', toRevision: 3 }),
    ]);
    await expectSound(data);
  });

  it('says so if there are none', async () => {
    expect(await onSleep(await begun()).said`codes list`).toBe('0 Sleep has no packs (hint: urn codes add)');
  });
});

describe('a withdrawal', () => {
  it('takes all packs of a file out of the stock, or none if one is unknown, given or withdrawn', async () => {
    const data = await stocked();
    const { ok, said } = onSleep(data);
    const free = (await mapOf(data)).flatMap(({ state, code }) => (state === 'free' ? [code] : []));
    const [one = '', other = ''] = free;
    const pack = await packOf(data, '001');
    expect(await said`codes withdraw --code ${one} --code ${pack} --code XX --reason recall`).toBe(
      `2 urn: --code: no free pack has the code ${pack}, XX`,
    );
    expect(recordsOf(data, 'CodesWithdrawn')).toEqual([]);
    const file = join(newFolder(), 'recalled.csv');
    writeFileSync(file, `treatment,code\n?,${one}\n?,${other}\n`);
    await ok`codes withdraw --from ${file} --reason 'the cold chain was broken'`;
    expect(recordsOf(data, 'CodesWithdrawn')).toMatchObject([
      {
        data: { count: 2 },
        sections: { withdrawn: { codes: [one, other], reason: 'the cold chain was broken' } },
      },
    ]);
    const states = (await mapOf(data)).filter(({ code }) => code === one || code === other);
    expect(states.map(({ state }) => state)).toEqual(['withdrawn', 'withdrawn']);
    await expectSound(data);
  });
});

describe('a replacement', () => {
  it('is of the same arm, and shown everywhere, without naming it', async () => {
    const data = await stocked();
    const { said, ok } = onSleep(data);
    const pack = await packOf(data, '001');
    const replaced = await said`codes replace --id 001 --cause damaged --code ${pack}`;
    const [, by = ''] = /^0 Sleep: pack \S+ of 001 replaced by (\S+) /.exec(replaced) ?? [];
    expect(replaced).toBe(`0 Sleep: pack ${pack} of 001 replaced by ${by} (damaged) (revision 4)`);
    const arms = new Map((await mapOf(data)).map(({ code, treatment }) => [code, treatment]));
    expect(arms.get(by)).toBe(arms.get(pack));
    expect(await ok`participants list`).toMatch(new RegExp(`001 .*${by}`));
    const history = await ok`participants history --id 001`;
    expect(history).toContain(`randomized as 001: Male, North, old; pack ${pack}`);
    expect(history).toContain(`pack ${pack} of 001 replaced by ${by} (damaged)`);
    for (const arm of [ACTIVE, CONTROL]) expect(history).not.toContain(arm);
    const { ok: shows } = commandsOn(data);
    expect(await shows`studies show Sleep`).toMatch(/packs +12 registered, 3 given, 1 replaced, 0 withdrawn/);
    expect(await shows`studies show Sleep --revision 3`).toMatch(
      /packs +12 registered, 2 given, 0 replaced, 0 withdrawn/,
    );
    expect(await ok`code-breaks print --id 001`).toContain(`Pack         ${by}\n`);
    await expectSound(data);
  });

  it('is possible more than three times here, and until the arm has no pack left', async () => {
    const data = await stocked();
    const { said, json } = onSleep(data);
    const answers: string[] = [];
    for (let i = 0; i < 7; i++) {
      const [{ pack }] = await json`participants list --json`;
      answers.push(await said`codes replace --id 001 --cause lost --code ${pack}`);
    }
    expect(answers.filter((text) => text.startsWith('0')).length).toBeGreaterThan(3);
    expect(answers.find((text) => text.startsWith('2'))).toBe(
      '2 urn: no pack is left that this participant could have: nothing was recorded (hint: urn codes list, urn codes add)',
    );
  });
});

describe('a code-break by the pack', () => {
  const why = typed`--category emergency --reason 'a child swallowed tablets'`;

  it('is about the participant who has or had it, or only about the pack', async () => {
    const data = await stocked();
    const { said, ok, json } = onSleep(data);
    const pack = await packOf(data, '001');
    const arm = (await mapOf(data)).find(({ code }) => code === pack)?.treatment;
    expect(await said`reveal --code ${pack} ${why}`).toBe(
      `0 001, who has the pack ${pack}, is on ${arm} (code-break recorded at revision 4)`,
    );
    await ok`codes replace --id 001 --cause lost --code ${pack}`;
    expect(await said`reveal --code ${pack} ${why}`).toContain(`001, who had the pack ${pack}, is on`);
    // The replacement took one of those that were free.
    const free = (await mapOf(data)).find(({ state }) => state === 'free');
    const { code = '', treatment } = free ?? {};
    expect(await said`reveal --code ${code} ${why} --dry-run`).toBe(
      `0 the code of the pack ${code} would be broken; nothing was recorded`,
    );
    expect(await said`reveal --code ${code} ${why}`).toBe(
      `0 the pack ${code} holds ${treatment}; nobody is known to have it (code-break recorded at revision 7)`,
    );
    expect(await json`reveal --code ${pack} ${why} --json`).toMatchObject({
      ...{ study: 'Sleep', id: '001', code: pack, treatment: arm },
    });
    expect(await said`reveal --code XX ${why}`).toContain('2 urn: study "Sleep" has no pack "XX"');
    expect(await said`reveal ${why}`).toContain('say whose code to break: --id, or --code of a pack');
    expect(await said`reveal --id 001 --code ${pack} ${why}`).toMatch(/^2 /);
    expect(await ok`participants history --id 001`).toContain(
      `code of 001 broken: emergency; requested with the pack ${pack}`,
    );
    await expectSound(data);
  });

  it('is shown in an emergency, and recorded later, while the log cannot be written', async () => {
    const data = await stocked();
    const { said, ok } = onSleep(data);
    const map = await mapOf(data);
    const free = map.find(({ state }) => state === 'free')?.code ?? '';
    const pack = await packOf(data, '002');
    const release = await hold(join(data, 'urn.sqlite'));
    for (const code of [free, pack]) {
      const shown = await said`reveal --code ${code} ${why}`;
      expect(shown).toMatch(/^0 /);
      expect(shown).toContain(map.find((one) => one.code === code)?.treatment);
      expect(shown).toContain('the log could not be written, so this is NOT recorded yet. It waits in');
    }
    await release();
    expect(await said`code-breaks list`).toContain('recorded now: 2 code-breaks');
    const events = recordsOf(data, 'AllocationRevealed').map((one) => one.data);
    expect(events).toMatchObject([{ code: free }, { code: pack, participantId: '002' }]);
    expect(events[0]).not.toHaveProperty('participantId');
    expect(await ok`codes list`).toContain(free);
    await expectSound(data);
  });
});

const entryOf = (id: string, treatment: string) => typed`participants force --id ${id} --level sex=Male
  --level site=North --level age=old --treatment ${treatment} --cause other --note 'envelope 12' --occurred-at NOW`;

it('an entry of an allocation made outside names the pack that was given, a free one of the arm, or says that there was none', async () => {
  const data = await stocked();
  const { said, ok } = onSleep(data);
  const map = await mapOf(data);
  const freeOf = (arm: string) =>
    map.find((one) => one.state === 'free' && one.treatment === arm)?.code ?? '';
  const [own, other] = [freeOf('Melatonin'), freeOf('Control')];
  const entry = entryOf('003', 'Melatonin');
  expect(await said`${entry} --code ${other}`).toBe('2 urn: --code: no free pack of this arm has this code');
  for (const more of [[], ['--dry-run']])
    expect(await said`${entry} ${more}`).toBe(
      '2 urn: --code: the study has packs: say which one the participant was given, or that it was none (null, or --no-code)',
    );
  expect(await said`${entry} --code ${own} --dry-run`).toContain(
    `pack         ${own} (not checked to be of this arm)`,
  );
  expect(await said`${entry} --code ${own}`).toMatch(/^0 003 is entered/);
  expect(await packOf(data, '003')).toBe(own);
  expect(await ok`participants history --id 003`).toContain(`; pack ${own}`);
  await ok`${entryOf('004', 'Melatonin')} --no-code`;
  expect(await packOf(data, '004')).toBe('');
});

it('a log that is restored gives packs of lost participants again, unless they are entered, as urn recover says', async () => {
  const data = await begun();
  const { add, said } = onSleep(data);
  await add(withRows(shuffled(12)));
  const [database, backup] = [join(data, 'urn.sqlite'), join(newFolder(), 'backup.sqlite')];
  copyFileSync(database, backup);
  await randomized(data, '001');
  const lost = (await mapOf(data)).find(({ id }) => id === '001');
  const stateNow = async () => (await mapOf(data)).find((one) => one.code === lost?.code);
  for (const beside of ['-wal', '-shm']) rmSync(`${database}${beside}`, { force: true });
  copyFileSync(backup, database);
  expect(await commandsOn(data).said`recover --unproven --reason disk`).toMatch(
    /^0 [\s\S]*Packs that were given to lost participants are free again/,
  );
  expect((await stateNow())?.state).toBe('free');
  expect(await said`${entryOf('001', lost?.treatment ?? '')} --code ${lost?.code ?? ''}`).toMatch(
    /^0 001 is entered/,
  );
  expect(await stateNow()).toEqual(lost);
  await commandsOn(data).ok`verify --no-last-checkpoints`;
});

it('packs at visits are given for machines, taken from a participant, and shown', async () => {
  const data = await stocked({ visits: ['V2', 'V3'] });
  const { said, ok, json } = onSleep(data);
  const { code, ...given } = await json`participants dispense --id 001 --visit U1 --json`;
  expect([given, code]).toEqual([
    { study: 'Sleep', id: '001', visit: 'U1', revision: 4 },
    expect.stringMatching(/^P/),
  ]);
  const { by, ...replaced } = await json`codes replace --id 001 --code ${code} --cause lost --json`;
  expect([replaced, by]).toEqual([
    { study: 'Sleep', id: '001', code, revision: 5 },
    expect.stringMatching(/^P/),
  ]);
  expect(await ok`code-breaks print --id 001`).toContain(`Pack         ${by} (U1)\n`);
  const wrong = typed`participants correct-dispensation --id 001 --code ${by} --note 'a slip'`;
  expect(await said`${wrong} --cause not-handed-out --not-theirs --dry-run`).toMatch(/^to +null$/m);
  expect(await said`${wrong} --cause not-handed-out --not-theirs`).toBe(
    `0 Sleep: pack ${by} of 001: was never theirs (not-handed-out) (revision 6)`,
  );
  expect(await ok`participants history --id 001`).toContain(`pack ${by} of 001: was never theirs`);
  expect(await commandsOn(data).ok`studies show Sleep`).toMatch(
    /packs +12 registered, 4 given, 1 replaced, 0 withdrawn, 1 given at visits \(1 corrected\)/,
  );
  await expectSound(data);
});
