/** What the command line shows of packs at visits, and what became of each pack: lists, exports, and a page to print. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, typed } from '../../support/cli-log.ts';
import { command, commandOk } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerIn } from '../../support/importing.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const STUDY = `
Sleep:
  mode: test
  treatments: [ZZMELATONIN, ZZCONTROL]
  factors: {site: [North, South]}
`;
const ARMS = ['ZZMELATONIN', 'ZZCONTROL'];
const VISITS = '  visits: [V2, V3]\n';
const HEAD = 'code,visit,state,id,dispensed_at,user,on_behalf_of,replaced_by,cause';

/** A data folder with a study, 24 packs, and two participants who were given packs by hand. */
async function begun(visits: string): Promise<string> {
  const data = await registerIn(newFolder(), `${STUDY}${visits}`);
  const file = join(data, 'codes.csv');
  const rows = Array.from({ length: 24 }, (_, n) => `P${(n * 7) % 24},${ARMS[n % 2]}`);
  writeFileSync(file, `code,treatment\n${rows.join('\n')}\n`);
  const { ok } = onSleep(data);
  await ok`codes add --from ${file}`;
  const outside = typed`--level site=North --cause outage --occurred-at ${new Date().toISOString()} --note x`;
  await ok`participants force --id 001 --treatment ZZMELATONIN --code P0 ${outside}`;
  await ok`participants force --id 002 --treatment ZZCONTROL --code P7 ${outside}`;
  return data;
}

let data: string;
let plain: string;
const onSleep = (folder: string) => commandsOn(folder, '--study', 'Sleep');
const on = (folder: string, ...words: string[]) => onSleep(folder).run`${words}`;
const ok = (folder: string, ...words: string[]) => onSleep(folder).ok`${words}`;

interface Row {
  readonly code: string;
  readonly state: string;
  readonly [member: string]: string;
}
const accounts = async (folder = data): Promise<Row[]> =>
  JSON.parse(await ok(folder, 'codes', 'accountability', '--json'));
const packsOf = async (id: string): Promise<{ visit: string; code: string; at: string }[]> =>
  JSON.parse(await ok(data, 'participants', 'list', '--json')).find((one: { id: string }) => one.id === id)
    .packs;

beforeAll(async () => {
  [data, plain] = [await begun(VISITS), await begun('')];
  const commands = onSleep(data);
  await commands.ok`participants dispense --id 001 --visit V3`;
  await commands.ok`participants dispense --id 001 --visit V2`;
  await commands.ok`participants dispense --id 002 --visit V2`;
  const [given, dropped] = [(await packsOf('001'))[0]?.code ?? '', (await packsOf('002'))[0]?.code ?? ''];
  await commands.ok`codes replace --id 001 --code ${given} --cause expired`;
  const cause = typed`--cause not-handed-out --note dropped`;
  await commands.ok`participants correct-dispensation --id 002 --code ${dropped} --not-theirs ${cause}`;
});

describe('urn participants list', () => {
  it('has a column for packs of visits, where there are some', async () => {
    const [v3, v2] = await packsOf('001');
    expect([v3, v2]).toMatchObject([
      { visit: 'V3', code: /^P\d+$/.exec(v3?.code ?? '')?.[0] },
      { visit: 'V2' },
    ]);
    const [head, first, second] = (await ok(data, 'participants', 'list')).split('\n');
    expect(head).toMatch(/ pack +packs/);
    expect(first).toContain(`P0    V3=${v3?.code}; V2=${v2?.code}`);
    expect(second).not.toContain('V2=');
    expect(await packsOf('002')).toBeUndefined();
    expect((await ok(plain, 'participants', 'list')).split('\n')[0]).not.toContain('packs');
  });
});

describe('urn export', () => {
  const exported = (folder: string, ...args: string[]) =>
    commandOk(['export', '--study', 'Sleep', '--data', folder, '--format', 'csv', ...args]);

  it('has a column for packs of visits after pack_code, in the companions, too', async () => {
    const out = join(newFolder(), 'list.csv');
    await exported(data, '--blinded', '--out', out);
    const rows = parseCsv(readFileSync(out, 'utf8'));
    const [v3, v2] = await packsOf('001');
    expect(rows.map((row) => row.slice(-2))).toEqual([
      ['pack_code', 'packs'],
      ['P0', `V3=${v3?.code}; V2=${v2?.code}`],
      ['P7', ''],
    ]);
    for (const companion of ['.dictionary.csv', '.R', '.sas'])
      expect(readFileSync(`${out}${companion}`, 'utf8'), companion).toMatch(/\bpacks\b/);
    expect(readFileSync(`${out}.sas`, 'utf8')).toMatch(/informat packs \$char\d+\./);
    const then = parseCsv(await exported(data, '--revision', '3'));
    expect(then.map((row) => row.at(-1))).toEqual(['packs', '', '']);
  });

  it('has none in a study without visits', async () => {
    const out = join(newFolder(), 'list.csv');
    await exported(plain, '--out', out);
    expect(parseCsv(readFileSync(out, 'utf8'))[0]?.at(-1)).toBe('pack_code');
    for (const companion of ['.dictionary.csv', '.R', '.sas'])
      expect(readFileSync(`${out}${companion}`, 'utf8'), companion).not.toMatch(/\bpacks\b/);
  });
});

describe('urn codes list', () => {
  it('says for which visit somebody has a pack, and where the stock is low', async () => {
    const [v3] = await packsOf('001');
    const { packs, stock } = JSON.parse(await ok(data, 'codes', 'list', '--json'));
    expect(packs.find(({ code }: Row) => code === v3?.code)).toMatchObject({ id: '001', visit: 'V3' });
    expect(stock.some(({ low }: { low?: true }) => low)).toBe(false);
    const [head, ...rows] = parseCsv(await ok(data, 'codes', 'list', '--csv'));
    expect(head).toEqual(['code', 'treatment', 'factor', 'level', 'state', 'id', 'visit']);
    expect(rows.flatMap((row) => (row.at(-1) === '' ? [] : [row.at(-1)])).toSorted()).toEqual(['V2', 'V3']);
    const free = packs.filter(({ state, treatment }: Row) => state === 'free' && treatment === ARMS[0]);
    const left = free.slice(3).flatMap(({ code }: Row) => ['--code', code]);
    await ok(data, 'codes', 'withdraw', ...left, '--reason', 'recall');
    const text = await ok(data, 'codes', 'list');
    expect(text).toMatch(/^ZZMELATONIN {2}all levels {2}3 free {3}low$/m);
    expect(text).toMatch(/^ZZCONTROL {4}all levels {2}10 free$/m);
    expect(text.split('\n')[0]).toMatch(/ id +visit$/);
  });

  it('is as before in a study without visits', async () => {
    const text = await ok(plain, 'codes', 'list');
    expect(text.split('\n')[0]?.split(/\s+/)).toEqual([
      'code',
      'treatment',
      'factor',
      'level',
      'state',
      'id',
    ]);
    expect(text).not.toContain('low');
    const { packs, stock } = JSON.parse(await ok(plain, 'codes', 'list', '--json'));
    expect(new Set([...packs, ...stock].flatMap((one) => Object.keys(one)))).toEqual(
      new Set(['code', 'treatment', 'state', 'id', 'free']),
    );
  });
});

describe('urn codes accountability', () => {
  it('says of each pack what became of it, without arms', async () => {
    const rows = await accounts();
    expect(rows.map(({ code }) => code)).toEqual(Array.from({ length: 24 }, (_, n) => `P${(n * 7) % 24}`));
    const of = (state: string) => rows.filter((one) => one.state === state);
    expect(of('void')).toEqual([
      expect.objectContaining({ id: '002', cause: 'not-handed-out', user: expect.any(String) }),
    ]);
    const [v3] = await packsOf('001');
    expect(of('replaced')).toEqual([
      expect.objectContaining({ visit: 'V3', id: '001', replacedBy: v3?.code, cause: 'expired' }),
    ]);
    const [entered] = storedLog(data).filter(({ record }) => record.type === 'AllocationForced');
    const { occurredAt } = entered?.record.data ?? {};
    expect(rows[0]).toMatchObject({ code: 'P0', state: 'held', id: '001', dispensedAt: occurredAt });
    expect(of('held')).toHaveLength(4);
    expect(JSON.stringify(rows)).not.toContain('ZZ');
  });

  it('writes the same as CSV', async () => {
    const [head, ...rows] = parseCsv(await ok(data, 'codes', 'accountability', '--csv'));
    expect(head).toEqual(HEAD.split(','));
    const json = await accounts();
    expect(rows.map(([code, visit, state]) => [code, visit, state])).toEqual(
      json.map(({ code, visit = '', state }) => [code, visit, state]),
    );
  });

  it('writes a page to print, once, and reading it is recorded', async () => {
    const shown = () => storedLog(data).filter(({ record }) => record.data.what === 'codes').length;
    const [file, before] = [join(newFolder(), 'packs.html'), shown()];
    expect(await on(data, 'codes', 'accountability', '--out', file)).toEqual({
      ...{ code: 0, stdout: `${file}\n`, stderr: '' },
    });
    expect(shown()).toBe(before + 1);
    const page = readFileSync(file, 'utf8');
    expect(page).toContain('<title>Sleep: accountability of packs</title>');
    expect(page).toContain('Test study');
    expect(page.match(/<tr><td>/g)).toHaveLength(24);
    expect(page).not.toContain('ZZ');
    const again = await on(data, 'codes', 'accountability', '--out', file);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('already exists')]);
    expect(shown()).toBe(before + 1);
  });

  it('has a name of its own in the folder where it is run, if none is given', async () => {
    const folder = newFolder();
    const args = ['codes', 'accountability', '--study', 'Sleep', '--data', plain];
    const { stdout } = await command(args, { cwd: folder });
    expect(stdout).toBe(`${join(folder, 'Sleep-TEST-accountability.html')}\n`);
    expect(readFileSync(stdout.trimEnd(), 'utf8')).toContain('<td>held</td>');
  });

  it('is one of three, and says if there are no packs', async () => {
    for (const both of [
      ['--csv', '--json'],
      ['--csv', '--out', 'x'],
      ['--json', '--out', 'x'],
    ])
      expect((await on(plain, 'codes', 'accountability', ...both)).code, both.join(' ')).toBe(2);
    const empty = await registerIn(newFolder(), STUDY);
    expect(await on(empty, 'codes', 'accountability')).toEqual({
      ...{ code: 0, stdout: '', stderr: 'Sleep has no packs (hint: urn codes add)\n' },
    });
    expect((await command(['codes', 'accountability', '--study', 'X', '--data', plain])).stderr).toContain(
      'no study "X"',
    );
  });
});

describe('the log', () => {
  it('verifies', async () => {
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});
