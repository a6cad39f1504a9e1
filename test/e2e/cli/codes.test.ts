/** urn codes, and what else the command line says about packs, of the enrolment and of visits. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { DomainError } from '../../../src/base/errors.ts';
import { stale } from '../../../src/core/model/outcomes.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { commandsOn, enrol, recordsOf, registered, typed } from '../../support/cli-log.ts';
import { command, refusal } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { hold } from '../../support/held-lock.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('codes.csv');
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

/** Logs that are made once: with the study alone, and with packs. */
let bare: string;
let stock: string;
beforeAll(async () => {
  bare = await begun();
  stock = await stocked();
});

/** So many packs, of the arms in pairs, each pair the other way round: a text without a pattern in it. */
const shuffled = (count: number) =>
  Array.from({ length: count }, (_, i) => `P${10 + i},${[0, 3].includes(i % 4) ? ACTIVE : CONTROL}`);

const withRows = (rows: readonly string[], header = 'code,treatment') => `${[header, ...rows].join('\n')}\n`;

const onSleep = (data: string) => {
  const commands = commandsOn(data, '--study', 'Sleep');
  /** What a command says, but for which log it opens. */
  const said = async (...line: Parameters<typeof commands.said>) =>
    (await commands.said(...line)).replace(/log: .*\n?/, '').trimEnd();
  const add = (text: string, ...args: string[]) => commands.run`codes add --from ${fileOf(text)} ${args}`;
  return { ...commands, said, add };
};

const randomized = (data: string, ...ids: string[]) =>
  enrol(data, 'Sleep', Object.fromEntries(ids.map((id) => [id, ['Male', 'North', 'old']])));

type Mapped = Readonly<Record<'code' | 'treatment' | 'state', string>> & { readonly id?: string };

/** As the command shows it, which is recorded. */
const mapOf = async (data: string): Promise<Mapped[]> => (await onSleep(data).json`codes list --json`).packs;

/** As the file of `stocked` says it. */
const armOf = (code = '') =>
  shuffled(12)
    .find((row) => row.startsWith(`${code},`))
    ?.split(',')[1] ?? 'none';
const expectSound = async (data: string) =>
  expect(await commandsOn(data).ok`verify`).toContain('no fault was found');

/** A study with 12 packs and two participants, 001 and 002. */
async function stocked(more: More = {}): Promise<string> {
  const data = await begun(more);
  expect((await onSleep(data).add(withRows(shuffled(12)))).code).toBe(0);
  expect(await randomized(data, '001', '002')).toEqual(['randomized', 'randomized']);
  return data;
}

const packOf = async (data: string, id: string) => (await mapOf(data)).find((one) => one.id === id)?.code;
/** A pack that nobody has. */
const freeIn = async (data: string) => (await mapOf(data)).find(({ state }) => state === 'free')?.code;

describe('packs that are registered', () => {
  it('are in one record, with the arms sealed and a key of 128 random bits; with --dry-run, only checked', async () => {
    const data = newFolder(bare);
    const { add } = onSleep(data);
    expect((await add(withRows(shuffled(12)), '--dry-run')).stderr).toContain(
      'dry run: would register 12 packs of Sleep; nothing was recorded',
    );
    expect(await add(withRows(shuffled(12)))).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: 'registered 12 packs of Sleep\n  list 1  12 packs  all levels  revision 1\n',
    });
    const [one, ...others] = recordsOf(data, 'CodesRegistered');
    expect([others, one?.data]).toEqual([[], { count: 12, list: 1 }]);
    expect(one?.sections.codes.key).toMatch(/^[0-9a-f]{32}$/);
    const entries = one?.sections.codes.entries.map(({ code, treatment }: Mapped) => `${code},${treatment}`);
    expect(entries).toEqual(shuffled(12));
  });

  /** What is wrong in a file, and warned of: test/integration/pack-files.test.ts. */
  it('are refused with all that is wrong in the file, and warned of', async () => {
    const { add } = onSleep(newFolder(bare));
    expect(await refusal(add(withRows(['Q 1,Control', 'Q2,Placebo'])))).toMatch(
      /^urn: nothing was registered:\n {5}line 2: .*\n {5}line 3: .*\n$/,
    );
    const { stderr } = await add(withRows([`Q1,${ACTIVE}`]));
    expect(stderr).toMatch(/^warning: the packs for all levels include none of Control:/);
  });

  it('whose numbers tell the arm need --yes in a live study, and every run says so', async () => {
    const data = await begun({ mode: 'live' });
    const { add } = onSleep(data);
    const odd = Array.from({ length: 60 }, (_, i) => `K${1000 + i},${i % 2 ? ACTIVE : CONTROL}`);
    const dry = await add(withRows(odd), '--dry-run', '--json');
    const { warnings, needsYes } = JSON.parse(dry.stdout);
    expect([dry.code, warnings, needsYes]).toEqual([0, [expect.stringContaining('is odd or even')], true]);
    const warned = `warning: ${warnings[0]} (needs --yes)\n`;
    expect(dry.stderr).toContain(warned);
    expect(dry.stderr).toContain('record nothing where nobody can be asked (exit code 2)');
    const refused = await add(withRows(odd));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`${warned}urn: nothing was recorded: `);
    expect(recordsOf(data, 'CodesRegistered')).toEqual([]);
    expect(await add(withRows(odd), '--yes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(warned),
    });
  });

  it('of levels are in one list each; the same file completes what was interrupted, and registers nothing twice', async () => {
    const data = newFolder(bare);
    const { add } = onSleep(data);
    const rows = shuffled(12).map((row, i) => `${row},${i % 3 === 0 ? 'South' : 'North'}`);
    const all = withRows(rows, 'code,treatment,site');
    const { submit } = Studies.prototype;
    const submitting = vi.spyOn(Studies.prototype, 'submit');
    submitting.mockRejectedValue(new DomainError('unavailable', 'the disk is full'));
    submitting.mockImplementationOnce(submit);
    expect(await refusal(add(all))).toBe(
      '4 of 12 packs were registered (hint: run it again with the same file)\nurn: the disk is full\n',
    );
    submitting.mockResolvedValue({ outcome: stale('the next list is number 3', 'list'), revision: 2 });
    const again = await refusal(add(all));
    expect(again).toMatch(
      /^urn: nothing more was registered: the next list is number 3 \(hint: run it again\)$/m,
    );
    submitting.mockRestore();
    const { stdout, stderr } = await add(all, '--json');
    expect(stderr).toBe('4 packs of the file: registered already, and left as they are\n');
    expect(JSON.parse(stdout)).toEqual({
      ...{ study: 'Sleep', dryRun: false, registered: 8, skipped: 4, warnings: [], needsYes: false },
      lists: [{ list: 2, where: { factor: 'site', level: 'North' }, count: 8, revision: 2 }],
    });
    expect((await add(all)).stderr).toContain('nothing new for Sleep: nothing was recorded');
    const keys = recordsOf(data, 'CodesRegistered').map(({ sections }) => sections.codes.key);
    expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
  });
});

it('the list names arms, holders and the stock, and reading it is recorded; there may be none', async () => {
  const HEAD = ['code', 'treatment', 'factor', 'level', 'state', 'id'];
  const empty = newFolder(bare);
  for (const what of ['list', 'accountability'])
    expect(await onSleep(empty).said`codes ${what}`).toBe('0 Sleep has no packs (hint: urn codes add)');
  const data = newFolder(stock);
  const { ok, json } = onSleep(data);
  const text = await ok`codes list`;
  expect(text.split('\n')[0]?.split(/\s+/)).toEqual(HEAD);
  expect(text.match(/given +00[12]$/gm)).toHaveLength(2);
  const free = /\nstock\nMelatonin {2}all levels {2}(\d+) free\nControl {4}all levels {2}(\d+) free\n$/.exec(
    text,
  );
  expect(Number(free?.[1]) + Number(free?.[2])).toBe(10);
  const rows = parseCsv(await ok`codes list --csv`);
  expect([rows.length, rows[0]]).toEqual([13, HEAD]);
  const shown = await json`codes list --json`;
  const members = [...shown.packs, ...shown.stock].flatMap((one) => Object.keys(one));
  expect(new Set(members)).toEqual(new Set(['code', 'treatment', 'state', 'id', 'free']));
  const disclosed = storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
  const reading = { what: 'codes', study: 'Sleep', toRevision: 3 };
  expect(disclosed.map(({ record }) => record.data)).toMatchObject([reading, reading, reading]);
  expect(await ok`participants list`).not.toMatch(/ packs/);
  // Packs of a file are withdrawn, and none if it names one twice.
  const [one = '', other] = rows.flatMap(([code, , , , state]) => (state === 'free' ? [code] : []));
  const { said } = onSleep(data);
  expect(await said`codes withdraw --from ${fileOf(`code\n${one}\n${one}\n`)} --reason recall`).toContain(
    `line 3: the code ${one} is also in line 2`,
  );
  expect(await said`codes withdraw --code ${one} --code ${one} --reason recall`).toContain(
    `the list names a code more than once: ${one}`,
  );
  await ok`codes withdraw --from ${fileOf(`treatment,code\n?,${one}\n?,${other}\n`)} --reason recall`;
  const [withdrawn] = recordsOf(data, 'CodesWithdrawn');
  expect(withdrawn?.sections.withdrawn.codes).toEqual([one, other]);
  expect((await ok`codes list`).match(/ withdrawn *$/gm)).toHaveLength(2);
});

describe('a code-break by the pack', () => {
  const why = typed`--category emergency --reason 'a child swallowed tablets'`;

  it('is about the participant who has or had it, or only about the pack', async () => {
    const data = newFolder(stock);
    const { said, ok, json } = onSleep(data);
    const pack = (await packOf(data, '001')) ?? '';
    const arm = armOf(pack);
    expect(await said`reveal --code ${pack} ${why}`).toBe(
      `0 001, who has the pack ${pack}, is on ${arm} (code-break recorded at revision 4)`,
    );
    await ok`codes replace --id 001 --cause lost --code ${pack}`;
    expect(await said`reveal --code ${pack} ${why}`).toContain(`001, who had the pack ${pack}, is on`);
    // The replacement took one of those that were free.
    const code = (await freeIn(data)) ?? '';
    expect(await said`reveal --code ${code} ${why} --dry-run`).toBe(
      `0 the code of the pack ${code} would be broken; nothing was recorded`,
    );
    expect(await said`reveal --code ${code} ${why}`).toBe(
      `0 the pack ${code} holds ${armOf(code)}; nobody is known to have it (code-break recorded at revision 7)`,
    );
    expect(await json`reveal --code ${pack} ${why} --json`).toMatchObject({
      ...{ study: 'Sleep', id: '001', code: pack, treatment: arm },
    });
    expect(await said`reveal --code XX ${why}`).toContain('2 urn: study "Sleep" has no pack "XX"');
    expect(await said`reveal ${why}`).toContain('say whose code to break: --id, or --code of a pack');
    expect(await said`reveal --id 001 --code ${pack} ${why}`).toMatch(/^2 /);
    const history = await ok`participants history --id 001`;
    // How it tells of the others: test/integration/bundles/report.test.ts.
    expect(history).toContain(`randomized as 001: Male, North, old; pack ${pack}`);
    expect(history).not.toMatch(/Melatonin|Control/);
  });

  it('is shown in an emergency, and recorded later, while the log cannot be written', async () => {
    const data = newFolder(stock);
    const { said } = onSleep(data);
    const [free = '', pack = ''] = [await freeIn(data), await packOf(data, '002')];
    const release = await hold(join(data, 'urn.sqlite'));
    for (const code of [free, pack]) {
      const shown = await said`reveal --code ${code} ${why}`;
      expect(shown).toMatch(/^0 /);
      expect(shown).toContain(armOf(code));
      expect(shown).toContain('the log could not be written, so this is NOT recorded yet. It waits in');
    }
    await release();
    expect(await said`code-breaks list`).toContain('recorded now: 2 code-breaks');
    const events = recordsOf(data, 'AllocationRevealed').map((one) => one.data);
    expect(events).toMatchObject([{ code: free }, { code: pack, participantId: '002' }]);
    expect(events[0]).not.toHaveProperty('participantId');
    await expectSound(data);
  });
});

it('a log that is recovered gives packs of lost participants again, unless they are entered, as it says', async () => {
  const data = newFolder(stock);
  const { said } = onSleep(data);
  const code = (await freeIn(data)) ?? '';
  expect(await commandsOn(data).said`recover --unproven --reason disk`).toMatch(
    /^0 [\s\S]*Packs that were given to lost participants are free again/,
  );
  const entry = typed`participants force --id 003 --level sex=Male --level site=North --level age=old
    --treatment ${armOf(code)} --cause other --note 'envelope 12' --occurred-at NOW`;
  expect(await said`${entry} --dry-run`).toMatch(/^2 urn: --code: the study has packs: say which one /);
  expect(await said`${entry} --code ${code} --dry-run`).toContain(
    `pack         ${code} (not checked to be of this arm)`,
  );
  expect(await said`${entry} --code ${code}`).toMatch(/^0 003 is entered/);
  expect(await packOf(data, '003')).toBe(code);
});

describe('packs at visits', () => {
  let data: string;
  let v2: string;
  beforeAll(async () => {
    data = await stocked({ visits: ['V2', 'V3'] });
  });

  it('are given for machines, taken from a participant, and shown', async () => {
    const { said, ok, json } = onSleep(data);
    const first = await json`participants dispense --id 001 --visit V2 --json`;
    v2 = first.code;
    expect(first).toEqual({ study: 'Sleep', id: '001', visit: 'V2', revision: 4, code: v2 });
    const { code } = await json`participants dispense --id 001 --visit U1 --json`;
    const { by, ...replaced } = await json`codes replace --id 001 --code ${code} --cause lost --json`;
    expect(replaced).toEqual({ study: 'Sleep', id: '001', code, revision: 6 });
    expect(await ok`code-breaks print --id 001`).toContain(`Pack         ${by} (U1)\n`);
    const wrong = typed`participants correct-dispensation --id 001 --code ${by} --note 'a slip'`;
    expect(await said`${wrong} --cause not-handed-out --not-theirs --dry-run`).toMatch(/^to +null$/m);
    expect(await said`${wrong} --cause not-handed-out --not-theirs`).toBe(
      `0 Sleep: pack ${by} of 001: was never theirs (not-handed-out) (revision 7)`,
    );
    expect(await ok`participants list`).toMatch(new RegExp(`V2=${v2}`));
    const shows = (...args: string[]) => commandsOn(data).ok`studies show Sleep ${args}`;
    expect(await shows()).toMatch(
      /packs +12 registered, 5 given, 1 replaced, 0 withdrawn, 2 given at visits \(1 corrected\)/,
    );
    expect(await shows('--revision', '3')).toMatch(/packs +12 registered, 2 given, 0 replaced, 0 withdrawn/);
    const [{ pack }] = await json`participants list --json`;
    expect(parseCsv(await ok`export --format csv`)[1]?.slice(-2)).toEqual([pack, `V2=${v2}`]);
  });

  it('are in the list of packs, with their visit, and where the stock is low', async () => {
    const { ok, json } = onSleep(data);
    const { packs, stock } = await json`codes list --json`;
    expect(packs.find(({ code }: Mapped) => code === v2)).toMatchObject({ id: '001', visit: 'V2' });
    expect(stock.filter(({ low }: { low?: true }) => low)).not.toEqual([]);
    const [head, ...rows] = parseCsv(await ok`codes list --csv`);
    expect([head?.at(-1), rows.find(([code]) => code === v2)?.at(-1)]).toEqual(['visit', 'V2']);
    expect(await ok`codes list`).toMatch(/^(Melatonin|Control) +all levels {2}\d free {2}low$/m);
  });

  it('are accounted for: without arms, as JSON, as CSV, and on a page to print, once, which is recorded', async () => {
    const { run, said, ok, json } = onSleep(data);
    const rows = await json`codes accountability --json`;
    const states = rows.map(({ state }: Mapped) => state).toSorted();
    expect(states).toEqual([...Array(7).fill('free'), 'held', 'held', 'held', 'replaced', 'void']);
    expect(parseCsv(await ok`codes accountability --csv`)).toHaveLength(1 + rows.length);
    const shown = () => storedLog(data).filter(({ record }) => record.data.what === 'codes').length;
    const [file, before] = [join(newFolder(), 'packs.html'), shown()];
    expect(await said`codes accountability --out ${file}`).toBe(`0 ${file}`);
    const page = readFileSync(file, 'utf8');
    expect(page).toContain('<title>Sleep: accountability of packs</title>');
    expect(page.match(/<tr><td>/g)).toHaveLength(12);
    expect(page + JSON.stringify(rows)).not.toMatch(/Melatonin|Control/);
    expect(await refusal(run`codes accountability --out ${file}`)).toContain('already exists');
    expect(shown()).toBe(before + 1);
    const folder = newFolder();
    const args = ['codes', 'accountability', '--study', 'Sleep', '--data', data];
    expect((await command(args, { cwd: folder })).stdout).toBe(
      `${join(folder, 'Sleep-accountability.html')}\n`,
    );
    for (const both of ['--csv --json', '--csv --out x', '--json --out x'])
      expect((await run`codes accountability ${both.split(' ')}`).code, both).toBe(2);
  });

  it('are replaced here as often as somebody asks, until the arm has no pack left', async () => {
    const { said } = onSleep(data);
    const answers: string[] = [];
    for (let pack: string | undefined = v2; pack !== undefined; ) {
      const answer: string = await said`codes replace --id 001 --cause lost --code ${pack}`;
      answers.push(answer);
      pack = / replaced by (\S+) /.exec(answer)?.[1];
    }
    expect(answers.length).toBeGreaterThan(1);
    expect(answers.at(-1)).toBe(
      '2 urn: nothing was recorded: there are not enough packs left for this participant (hint: urn codes list, urn codes add)',
    );
    await expectSound(data);
  });
});
