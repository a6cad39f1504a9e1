/** urn import: continues here a history from the reference or another system. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { commandsOn, recordsOf, typed } from '../../support/cli-log.ts';
import { ask, clientOf, exactResults, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { CONFIGURATION, SEED } from '../../support/facts.ts';
import { drawnRows } from '../../support/import-facts.ts';
import {
  APPROVED,
  changedExport,
  HARVEST,
  importInto,
  REFERENCE,
  registerIn,
} from '../../support/importing.ts';
import { referenceCsv } from '../../support/reference-file.ts';
import { issueKey, start, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
/** A log in which the study is registered, without participants. */
const registered = newFolder();

beforeAll(() => registerIn(registered));

function copyOf(folder: string): string {
  const data = newFolder();
  cpSync(folder, data, { recursive: true });
  return data;
}

const showOf = async (data: string, study = HARVEST) =>
  JSON.parse(await commandOk(['studies', 'show', study, '--json', '--data', data]));

describe('a history of the reference', () => {
  it('comes back byte for byte when it is exported again', async () => {
    const data = copyOf(registered);
    const { code } = await importInto(
      data,
      REFERENCE.csv,
      ...['--generator', 'continued', '--seed-known', ...APPROVED],
    );
    expect(code).toBe(0);
    const out = join(newFolder(), 'back.csv');
    const args = ['export', '--study', HARVEST, '--format', 'reference-csv', '--out', out, '--data', data];
    expect((await command(args)).code).toBe(0);
    expect(readFileSync(out, 'utf8')).toBe(readFileSync(REFERENCE.csv, 'utf8'));
  });

  it('must be a file that may be read', async () => {
    const path = join(newFolder(), 'secret.csv');
    writeFileSync(path, 'id', { mode: 0o000 });
    const args = ['import', '--study', HARVEST, '--from', path, '--data', copyOf(registered)];
    const { code, stderr } = await urn(args, { heedsModes: true });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`cannot read ${path}: you may not read it`)]);
  });

  it.each([
    ['its export', REFERENCE.csv, ['--seed-known'], '60 rows: 60 redrawn, 0 unproven.'],
    ['its database', REFERENCE.database, ['--seed-known'], '60 rows: 60 redrawn, 0 unproven.'],
    ['without the seed', REFERENCE.csv, [], '60 rows: 59 redrawn, 1 unproven (1: first).'],
    ['with races', REFERENCE.raced, ['--seed-known'], '40 rows: 40 redrawn, 0 unproven.'],
    [
      'without its states',
      REFERENCE.csv,
      ['--format', 'csv'],
      '60 rows: 0 redrawn, 60 unproven (1: other-system, 2: other-system,',
    ],
  ])('is tried out: %s', async (_, file, args, expected) => {
    const before = storedLog(registered).length;
    const { code, stdout, stderr } = await importInto(registered, file, '--dry-run', ...args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'dry run: nothing was imported\n' });
    expect(stderr).toContain(expected);
    expect(stderr).toContain('The generator is fresh.');
    expect(stderr).toContain("the import needs --approved-by 'NAME, ROLE, DATE[, REFERENCE]'");
    expect(storedLog(registered)).toHaveLength(before);
  });

  it('warns of ids that a spreadsheet would compute, and takes them', async () => {
    const file = changedExport(newFolder(), (text) =>
      text.replace(/^[^,]+/m, 'id').replace(/\n[^,]+,/, '\n=1+1,'),
    );
    const data = copyOf(registered);
    const { code, stderr } = await importInto(data, file, '--format', 'csv', ...APPROVED);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('warning: a spreadsheet takes these ids for formulas: "=1+1" (row 1) (hint:'),
    ]);
    const exported = ['export', '--study', HARVEST, '--format', 'csv', '--data', data];
    expect(await commandOk(exported)).toContain(',=1+1,');
    expect(await commandOk([...exported, '--excel'])).toContain(",'=1+1,");
  });

  it('goes on with the draws that the reference would have made', async () => {
    const data = copyOf(registered);
    const args = ['--seed-known', '--generator', 'continued', ...APPROVED];
    const { code, stderr } = await importInto(data, REFERENCE.database, ...args);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        '60 rows: 60 redrawn, 0 unproven. The generator is continued.\n' +
        `60 participants were imported into ${HARVEST} (revision 62)\n`,
    });
    const [edc, auditor] = [
      await issueKey(data, 'edc'),
      await issueKey(data, 'auditor', '--scope', 'read,audit'),
    ];
    const service = await serveHere(data, REFERENCE.studies);
    const next = JSON.parse(readFileSync(REFERENCE.next, 'utf8')) as {
      id: string;
      levels: Record<string, string>;
      trt: string;
    }[];
    for (const { id, levels } of next) await clientOf(service.url, edc).randomize(HARVEST, id, levels);
    const listed = await clientOf(service.url, auditor).list(HARVEST);
    await service.stop();
    const exactly = (text: string) =>
      JSON.parse(text.replaceAll(/([:,]\s*)(\d{16,})/g, '$1"$2"')) as { id: string; trt: string }[];
    const shown = exactly(
      JSON.stringify(exactResults(listed), (_, v) => (typeof v === 'bigint' ? `${v}` : v)),
    );
    expect(shown.slice(60)).toEqual(
      exactly(readFileSync(REFERENCE.next, 'utf8')).map(({ id, trt, ...rest }) =>
        expect.objectContaining({ id, trt, bg_state: (rest as Record<string, unknown>)['bg_state'] }),
      ),
    );
    const { stdout } = await command(['verify', '--data', data]);
    expect(stdout).toContain('whoever has a copy of that system can compute every later arm');
    expect(stdout).toContain('no fault was found');
  });

  it('goes on from fresh entropy by default', async () => {
    const data = copyOf(registered);
    const { code } = await importInto(data, REFERENCE.csv, ...APPROVED);
    expect(code).toBe(0);
    const [begun] = recordsOf(data, 'HistoryImported');
    expect(begun?.data).toMatchObject({
      ...{ generator: 'fresh', proof: { redrawn: 59, unproven: 1 } },
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-10-01' }],
    });
    expect(begun?.data).not.toHaveProperty('seedKnown');
    expect(begun?.sections.generator.seed).toMatch(/^\d{30,39}$/);
    const shown = await commandOk(['studies', 'show', HARVEST, '--data', data]);
    expect(shown).toMatch(/^participants +60 participants\nimported +59 redrawn, 1 unproven$/m);
    const { stdout } = await command(['verify', '--data', data]);
    expect(stdout).toContain('an imported participant could not be drawn again (first)');
  });

  it('needs an approval if the study is live, and writes nothing without it', async () => {
    const before = storedLog(registered).length;
    const { code, stderr } = await importInto(registered, REFERENCE.csv);
    expect(code).toBe(2);
    expect(stderr).toContain("only with an approval (hint: --approved-by 'NAME, ROLE, DATE[, REFERENCE]')");
    expect(storedLog(registered)).toHaveLength(before);
  });

  it('is imported once', async () => {
    const data = copyOf(registered);
    await importInto(data, REFERENCE.csv, ...APPROVED);
    const { code, stderr } = await importInto(data, REFERENCE.csv, ...APPROVED);
    expect(code).toBe(2);
    expect(stderr).toContain('the study already has participants');
  });

  it('leaves a paused study paused', async () => {
    const studies = REFERENCE.studies.replace('  mode: live', '  mode: live\n  start: paused');
    const data = await registerIn(newFolder(), studies);
    expect((await importInto(data, REFERENCE.csv, ...APPROVED)).code).toBe(0);
    expect(await showOf(data)).toMatchObject({
      ...{ state: 'paused', reason: 'registered as paused', participants: 60 },
      imported: { redrawn: 59, unproven: 1 },
    });
  });

  it('needs the seed of the database to be that of the study', async () => {
    const studies = REFERENCE.studies.replace('20261122', '20261123');
    const data = await registerIn(newFolder(), studies);
    const { code, stderr } = await importInto(data, REFERENCE.database, '--seed-known', '--dry-run');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'the database has a different starting_seed from the study (hint: leave out --seed-known)',
    );
    const without = await importInto(data, REFERENCE.database, '--dry-run');
    expect(without.stderr).toContain('60 rows: 59 redrawn, 1 unproven (1: first)');
  });

  it('is of the design that is registered', async () => {
    const studies = REFERENCE.studies.replace('w: 1', 'w: 2').replace('[Female, Male]', '[Male, Female]');
    const data = await registerIn(newFolder(), studies);
    const { code, stderr } = await importInto(data, REFERENCE.database, '--dry-run');
    expect(code).toBe(2);
    expect(stderr).toContain('w is 1 in the database, and 2 in the study\n');
    expect(stderr).toMatch(
      /factors is \{.*"Female", ?"Male".*\} in the database, and \{.*"Male","Female".*\} in the study/,
    );
  });
});

describe('treatments that have other names in the file', () => {
  // As the reference eats the first letters of names: "standard" becomes "ndard".
  const studies = REFERENCE.studies.replace('Control', 'standard');
  const eaten = () => changedExport(newFolder(), (text) => text.replaceAll(',Control,', ',ndard,'));
  let data: string;
  beforeAll(async () => {
    data = await registerIn(newFolder(), studies);
  });

  it('are refused with the map that they need', async () => {
    const { code, stderr } = await importInto(data, eaten(), '--dry-run');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'row 4: there is no treatment "ndard"; the reference drops leading letters of names (hint: --treatment-map "ndard=standard")',
    );
  });

  it('are imported with it, and drawn again', async () => {
    const own = copyOf(data);
    const args = ['--seed-known', '--treatment-map', 'ndard=standard', ...APPROVED];
    const { code, stderr } = await importInto(own, eaten(), ...args);
    expect(code).toBe(0);
    expect(stderr).toContain('60 redrawn, 0 unproven');
    expect(recordsOf(own, 'HistoryImported')[0]?.sections.source.treatmentMap).toEqual([
      { from: 'ndard', to: 'standard' },
    ]);
    expect(await commandOk(['verify', '--data', own])).toContain('no fault was found');
  });

  it.each([
    ['of no treatment', ['ndard=none'], 'the study has no treatment "none"'],
    ['of two names for one treatment', ['ndard=standard,x=standard'], 'several names stand for "standard"'],
    [
      'of one name for two treatments',
      ['ndard=standard', 'ndard=Low dose'],
      '"ndard" is mapped to several treatments',
    ],
    ['of nothing', ['ndard='], 'write THEIRS=OURS, such as ndard=standard'],
    [
      'onto a name that the file has too',
      ['ndard=Low dose'],
      '"ndard" and "Low dose" are the same treatment',
    ],
  ])('are refused with a map %s', async (_, maps, expected) => {
    const args = maps.flatMap((map) => ['--treatment-map', map]);
    const { code, stderr } = await importInto(data, eaten(), '--dry-run', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(expected);
  });
});

describe('a history that kept a ratio by several names of one arm', () => {
  const RATIO = REFERENCE.studies.replace(
    'treatments: [Control, "Low dose", "High dose"]',
    'treatments: [Control, Dose]\n  ratio: {Control: 1, Dose: 2}',
  );
  const MAP = ['--treatment-map', 'Low dose=Dose,High dose=Dose'];
  const data = newFolder();
  beforeAll(() => registerIn(data, RATIO));

  it.each([
    ['export', REFERENCE.csv],
    ['database', REFERENCE.database],
  ])('is drawn again row by row from the %s of the reference, and goes on in the ratio', async (_, from) => {
    const own = copyOf(data);
    const { code, stderr } = await importInto(own, from, '--seed-known', ...MAP, ...APPROVED);
    expect(code).toBe(0);
    expect(stderr).toContain('60 rows: 60 redrawn, 0 unproven. The generator is fresh.');
    expect(recordsOf(own, 'HistoryImported')[0]?.sections.source.treatmentMap).toEqual([
      { from: 'Low dose', to: 'Dose', slot: 1 },
      { from: 'High dose', to: 'Dose', slot: 2 },
    ]);
    const key = await issueKey(own, 'edc');
    const service = await serveHere(own, RATIO);
    const levels = { site: '02-Süd', sex: 'Male', 'prior (1+) lines': '0' };
    expect((await clientOf(service.url, key).randomize(HARVEST, 'next', levels)).status).toBe(200);
    await service.stop();
    const { draw, allocation } = recordsOf(own, 'ParticipantRandomized')[0]?.sections ?? {};
    expect(draw.balls).toHaveLength(3);
    expect(['Control', 'Dose', 'Dose'][draw.slot]).toBe(allocation.treatment);
    expect(await commandOk(['verify', '--data', own])).toContain('no fault was found');
    const { balance } = await showOf(own);
    expect(balance).toMatchObject({ treatments: ['Control', 'Dose'], ratio: [1, 2] });
    const { code: refused, stderr: why } = await command([
      ...['export', '--study', HARVEST, '--format', 'reference-csv', '--out', join(newFolder(), 'x.csv')],
      ...['--data', own],
    ]);
    expect([refused, why]).toEqual([2, expect.stringContaining('the study has a ratio')]);
  });

  it('is drawn again as it was drawn, with the imbalance in the order of the slots', async () => {
    // Urns with few participants are often equally imbalanced, but for the order of their slots.
    const levels = Array.from({ length: 20 }, (_, i) => `${i + 1}`);
    const trick: StudyConfiguration = {
      ...CONFIGURATION,
      ...{ name: HARVEST, mode: 'test', D: 'variance', treatments: ['A1', 'A2', 'B'] },
      factors: [
        { name: 'site', levels },
        { name: 'surgeon', levels },
      ],
    };
    const rows = drawnRows(
      Array.from({ length: 300 }, (_, i) => ({
        levels: [levels[i % 20] ?? '', levels[(i + Math.floor(i / 20)) % 20] ?? ''],
      })),
      trick,
    );
    const from = join(newFolder(), 'trick.csv');
    writeFileSync(from, referenceCsv(rows, trick));
    const study = {
      ...{ mode: 'test', starting_seed: SEED, D: 'variance', treatments: ['A', 'B'], ratio: [2, 1] },
      factors: Object.fromEntries(trick.factors.map(({ name, levels }) => [name, levels])),
    };
    const yaml = JSON.stringify({ [HARVEST]: study }, (_, v) => (typeof v === 'bigint' ? Number(v) : v));
    const own = await registerIn(newFolder(), yaml.replace(String(Number(SEED)), String(SEED)));
    const { stderr } = await importInto(own, from, '--seed-known', '--treatment-map', 'A1=A,A2=A');
    expect(stderr).toContain('300 rows: 300 redrawn, 0 unproven');
    expect(await commandOk(['verify', '--data', own])).toContain('no fault was found');
  });

  it('is not drawn again if the names take the slots in another order, which the database shows', async () => {
    const turned = ['--treatment-map', 'High dose=Dose,Low dose=Dose', '--seed-known', '--dry-run'];
    expect((await importInto(data, REFERENCE.csv, ...turned)).stderr).toMatch(/60 rows: \d+ redrawn, [1-9]/);
    expect(await importInto(data, REFERENCE.database, ...turned)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'gives the slots of an arm in another order than the database (hint: the order there is "Control", "Low dose", "High dose")',
      ),
    });
  });

  it.each([
    ['without the map', [], 'there is no treatment "Low dose" (there are: "Control", "Dose")'],
    [
      'with more names than slots',
      ['--treatment-map', 'Low dose=Dose,High dose=Dose,x=Dose'],
      '3 names stand for "Dose", which has 2 slots (hint: one for each slot, or one in all)',
    ],
    [
      'with two names for one slot',
      ['--treatment-map', 'Low dose=Control,High dose=Control'],
      'several names stand for "Control", which has one slot',
    ],
    ['with a name that is left', ['--treatment-map', 'Low dose=Dose'], 'there is no treatment "High dose"'],
    [
      'that continues the generator',
      [...MAP, '--generator', 'continued'],
      '--generator continued: the other system has no ratios',
    ],
  ])('is refused %s', async (_, args, message) => {
    const { code, stderr } = await importInto(data, REFERENCE.csv, '--dry-run', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('is refused if the database was set up with other arms than the slots', async () => {
    const { code, stderr } = await importInto(
      ...[data, REFERENCE.database, '--dry-run', '--treatment-map', 'Low dose=Control,High dose=Dose'],
    );
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /treatments is \["Control","Low dose","High dose"\] in the database, and \["Control","Dose","Dose"\]/,
    );
  });
});

describe('a large history', () => {
  const ROWS = 1500;
  const LARGE = 'Large trial';
  const { treatments, factors } = CONFIGURATION;
  const design = {
    ...{ mode: 'live', D: 'chisquare', w: 1, alpha: 0, beta: 1, treatments },
    factors: Object.fromEntries(factors.map(({ name, levels }) => [name, levels])),
  };
  const yaml = `${LARGE}: ${JSON.stringify(design).replace('{', `{"starting_seed":${SEED},`)}`;
  const folder = newFolder();
  const [file, other] = [join(folder, 'large.csv'), join(folder, 'other.csv')];
  const empty = newFolder();
  /** Where an import was killed when some of the rows were in. */
  const interrupted = newFolder();
  const line = (data: string, from = file) =>
    typed`import --study ${LARGE} --from ${from} --seed-known --data ${data} ${APPROVED}`;
  const taken = (data: string) => recordsOf(data, 'ParticipantImported').length;
  const rowsIn = (data: string) => recordsOf(data, 'ParticipantImported').map((one) => one.data.row);
  const all = Array.from({ length: ROWS }, (_, i) => i + 1);

  beforeAll(async () => {
    const [sex, site] = factors;
    const levels = (i: number) => [sex?.levels[i % 2] ?? '', site?.levels[(i >> 1) % 2] ?? ''];
    const text = referenceCsv(drawnRows(all.map((_, i) => ({ levels: levels(i) }))));
    writeFileSync(file, text);
    writeFileSync(other, text.replace('dummy', 'other'));
    await registerIn(empty, yaml);
    cpSync(empty, interrupted, { recursive: true });
    const { child, exited } = start(line(interrupted));
    await within(60_000, async () => taken(interrupted) > 0);
    child.kill('SIGKILL');
    expect(await exited).toBeNull();
    expect(taken(interrupted)).toBeLessThan(ROWS);
  });

  it('goes on where it was killed, but only with the same file and options', async () => {
    const data = copyOf(interrupted);
    const before = taken(data);
    expect(await showOf(data, LARGE)).toMatchObject({
      ...{ state: 'importing', reason: `a history of ${ROWS} participants is being imported` },
      ...{ participants: before, imported: { redrawn: ROWS, unproven: 0 } },
    });
    for (const [otherwise, why] of [
      [line(data, other), 'from another file (hint: give the same file again, or --abort)'],
      [
        line(data).filter((word) => word !== '--seed-known'),
        'was begun with other options (hint: --format reference --generator fresh --seed-known)',
      ],
    ] as const)
      expect(await command(otherwise)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
    expect(await commandOk([...line(data), '--dry-run'])).toBe(
      `dry run: the import would continue after ${before} of ${ROWS} rows\n`,
    );
    expect(taken(data)).toBe(before);
    expect(await command(line(data))).toMatchObject({
      ...{ code: 0, stderr: expect.stringContaining(`continuing after ${before} of ${ROWS} rows`) },
    });
    expect(rowsIn(data)).toEqual(all);
    expect(recordsOf(data, 'HistoryImported')).toHaveLength(1);
    expect(await commandOk(['verify', '--data', data])).toContain('no fault was found');
  });

  it('can be given up with a reason, and imported again from another file', async () => {
    const data = copyOf(interrupted);
    const { said } = commandsOn(data, '--study', LARGE);
    expect(await said`import --abort`).toBe('2 urn: --reason is missing');
    const before = storedLog(data).length;
    expect(await said`import --abort --reason 'the wrong file' --dry-run`).toMatch(
      /^0 dry run: nothing was recorded; the import of \d+ of \d+ rows would be given up$/,
    );
    expect(storedLog(data)).toHaveLength(before);
    expect(await said`import --abort --reason 'the wrong file'`).toMatch(
      /^0 .*the study has no participants, as before/,
    );
    expect(await showOf(data, LARGE)).toMatchObject({ state: 'open', participants: 0 });
    expect(await showOf(data, LARGE)).not.toHaveProperty('imported');
    expect(await said`import --abort --reason 'the wrong file'`).toMatch(
      /^0 .*no import into Large trial is under way/,
    );
    await commandOk(line(data, other));
    expect(await showOf(data, LARGE)).toMatchObject({ state: 'open', participants: ROWS });
    expect(await commandOk(['verify', '--data', data])).toContain('no fault was found');
  });

  it('is imported once by two processes at the same time', async () => {
    const data = copyOf(interrupted);
    const ended = await Promise.all([urn(line(data)), urn(line(data))]);
    // One may be done before the other begins.
    for (const { code, stderr } of ended)
      if (code !== 0) expect(stderr).toContain('the study already has participants');
    expect(ended.map(({ code }) => code)).toContain(0);
    expect(rowsIn(data)).toEqual(all);
    expect(recordsOf(data, 'HistoryImportEnded')).toHaveLength(1);
  });

  it('is imported beside a running service, which takes no participants meanwhile', async () => {
    const data = copyOf(empty);
    const [edc, blinded] = [await issueKey(data, 'edc'), await issueKey(data, 'b', '--scope', 'blinded')];
    const service = await serveHere(data, yaml);
    const levels = { '10': 'Male', '9': '30-Dupage County' };
    const randomize = (id: string) => clientOf(service.url, edc).randomize(LARGE, id, levels);
    const { child, exited } = start(line(data));
    await within(60_000, async () => taken(data) > 0);
    // A stopped process has the study as a killed one leaves it.
    child.kill('SIGSTOP');
    expect(taken(data)).toBeLessThan(ROWS);
    await within(10_000, async () => (await randomize('new')).status === 409);
    expect(await randomize('new')).toMatchObject({
      ...{ status: 409, results: [] },
      message: 'A history is being imported into the study, which takes no participants until then',
    });
    const writing = await ask(service.url, '/readyz', { parameters: { 'urn.for': 'writing' } });
    expect(writing.text).toContain('importing');
    expect(await (await fetch(`${service.url}/metrics`)).text()).toMatch(
      /^urn_studies\{state="importing"\} 1$/m,
    );
    expect(await commandOk(['studies', 'list', '--data', data])).toContain('importing since');
    const listed = await clientOf(service.url, blinded).list(LARGE);
    expect(listed.results.length).toBeGreaterThan(0);
    expect(listed.results[0]).not.toHaveProperty('trt');
    child.kill('SIGCONT');
    expect(await exited).toBe(0);
    await within(10_000, async () => (await randomize('new')).status === 200);
    expect(await randomize('i1')).toMatchObject({ status: 400, message: expect.stringContaining('i1') });
    await service.stop();
    expect(await commandOk(['verify', '--data', data])).toContain('no fault was found');
  });
});
