/** urn import: continues here a history from the reference or another system, which others then see. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, enrol, recordsOf, registered, saidIn, typed } from '../../support/cli-log.ts';
import { clientOf, exactJson, exactResults, within } from '../../support/client.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
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
import { served } from '../../support/served.ts';
import { issueKeys, start, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const RATIO = REFERENCE.studies.replace(
  'treatments: [Control, "Low dose", "High dose"]',
  'treatments: [Control, Dose]\n  ratio: {Control: 1, Dose: 2}',
);
/** Logs in which the study is registered, without participants: as it is, and with fewer arms or otherwise. */
const LOGS = {
  plain: REFERENCE.studies,
  // As the reference eats the first letters of names: "standard" becomes "ndard".
  eaten: REFERENCE.studies.replace('Control', 'standard'),
  ratio: RATIO,
  otherSeed: REFERENCE.studies.replace('20261122', '20261123'),
  otherDesign: REFERENCE.studies.replace('w: 1', 'w: 2').replace('[Female, Male]', '[Male, Female]'),
};
const logs = Object.fromEntries(Object.keys(LOGS).map((name) => [name, newFolder()])) as typeof LOGS;
const FILES = {
  ...REFERENCE,
  ndard: changedExport(newFolder(), (text) => text.replaceAll(',Control,', ',ndard,')),
  unreadable: join(newFolder(), 'secret.csv'),
};
beforeAll(async () => {
  for (const [name, studies] of Object.entries(LOGS)) await registerIn(logs[name as 'plain'], studies);
  writeFileSync(FILES.unreadable, 'id', { mode: 0o000 });
});

const showOf = async (data: string, study = HARVEST) =>
  JSON.parse(await commandOk(['studies', 'show', study, '--json', '--data', data]));
const map = (text: string) => ['--treatment-map', text];
const DOSES = map('Low dose=Dose,High dose=Dose');
const TURNED = map('High dose=Dose,Low dose=Dose');
const SOUND = 'no fault was found';

it.each<[string, keyof typeof LOGS, keyof typeof FILES, readonly string[], string | RegExp]>([
  ['its database', 'plain', 'database', ['--seed-known'], '60 rows: 60 redrawn, 0 unproven.'],
  ['the seed unknown', 'plain', 'csv', [], '60 rows: 59 redrawn, 1 unproven (1: first).'],
  ['a seed of its own', 'otherSeed', 'database', [], '60 rows: 59 redrawn, 1 unproven (1: first).'],
  ['another name', 'eaten', 'ndard', ['--seed-known', ...map('ndard=standard')], '60 redrawn, 0 unproven'],
  ['races', 'plain', 'raced', ['--seed-known'], '40 rows: 40 redrawn, 0 unproven.'],
  ['no states', 'plain', 'csv', ['--format', 'csv'], '0 redrawn, 60 unproven (1: other-system, 2: other-'],
  ['arms in another order', 'ratio', 'csv', ['--seed-known', ...TURNED], /60 rows: \d+ redrawn, [1-9]/],
])('a history of the reference is tried out, with %s', async (_, log, file, args, expected) => {
  const { code, stdout, stderr } = await importInto(logs[log], FILES[file], '--dry-run', ...args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'dry run: nothing was imported\n' });
  expect(stderr).toMatch(expected);
  expect(stderr).toContain('The generator is fresh.');
  expect(stderr).toContain("the import needs --approved-by 'NAME, ROLE, DATE[, REFERENCE]'");
  expect(recordsOf(logs[log], 'HistoryImported')).toEqual([]);
});

describe('a history of the reference is refused', () => {
  const ndard = (names: string) => ['eaten', 'ndard', names.split('|').flatMap(map)] as const;
  const ofRatio = (args: string[]) => ['ratio', 'csv', args] as const;
  it.each<[keyof typeof LOGS, keyof typeof FILES, readonly string[], string]>([
    ['eaten', 'ndard', [], 'drops leading letters of names (hint: --treatment-map "ndard=standard")'],
    [...ndard('ndard=none'), 'the study has no treatment "none"'],
    [...ndard('ndard=standard,x=standard'), 'several names stand for "standard", which has one slot'],
    [...ndard('ndard=standard|ndard=Low dose'), '"ndard" is mapped to several treatments'],
    [...ndard('ndard='), 'write THEIRS=OURS, such as ndard=standard'],
    [...ndard('ndard=Low dose'), '"ndard" and "Low dose" are the same treatment'],
    [...ofRatio([]), 'there is no treatment "Low dose" (there are: "Control", "Dose")'],
    [...ofRatio(map('Low dose=Dose,High dose=Dose,x=Dose')), '3 names stand for "Dose", which has 2 slots ('],
    [...ofRatio([...DOSES, '--generator', 'continued']), 'continued: the other system has no ratios'],
    ['ratio', 'database', TURNED, '(hint: the order there is "Control", "Low dose", "High dose")'],
    [
      'ratio',
      'database',
      map('Low dose=Control,High dose=Dose'),
      'the database, and ["Control","Dose","Dose"]',
    ],
    ['otherSeed', 'database', ['--seed-known'], 'a different starting_seed from the study (hint: leave out'],
    ['otherDesign', 'database', [], 'w is 1 in the database, and 2 in the study\n'],
  ])('into a log %s from %s with %j: %s', async (log, file, args, message) => {
    expect(await refusal(importInto(logs[log], FILES[file], '--dry-run', ...args))).toContain(message);
  });

  it('without an approval if the study is live, and from a file that may not be read', async () => {
    expect(await refusal(importInto(logs.plain, REFERENCE.csv))).toContain(
      'only with an approval (hint: --approved-by ',
    );
    const args = ['import', '--study', HARVEST, '--from', FILES.unreadable, '--data', logs.plain];
    expect(await refusal(urn(args, { heedsModes: true }))).toContain(
      `cannot read ${FILES.unreadable}: you may not read it`,
    );
    expect(recordsOf(logs.plain, 'HistoryImported')).toEqual([]);
  });
});

it('a history of the reference goes on with the draws that it would have made, and comes back byte for byte', async () => {
  const data = newFolder(logs.plain);
  const args = ['--seed-known', '--generator', 'continued', ...APPROVED];
  expect(saidIn(await importInto(data, REFERENCE.csv, ...args))).toBe(
    `0 60 rows: 60 redrawn, 0 unproven. The generator is continued.\n60 participants were imported into ${HARVEST} (revision 62)`,
  );
  const exported = ['export', '--study', HARVEST, '--format', 'reference-csv', '--data', data];
  expect(await commandOk(exported)).toBe(readFileSync(REFERENCE.csv, 'utf8'));
  const keys = await issueKeys(data, { edc: ['edc'], auditor: ['auditor', '--scope', 'read,audit'] });
  const service = await serveHere(data, REFERENCE.studies);
  const text = readFileSync(REFERENCE.next, 'utf8').replaceAll(/\n\s*/g, '').replaceAll('": ', '":');
  const next = exactJson(text) as Record<string, unknown>[];
  for (const { id, levels } of next)
    await clientOf(service.url, keys.edc).randomize(HARVEST, id as string, levels as Record<string, string>);
  const listed = exactResults(await clientOf(service.url, keys.auditor).list(HARVEST)) as object[];
  await service.stop();
  const shown = next.map(({ id, trt, bg_state }) => ({ id, trt, bg_state }));
  expect(listed.slice(60)).toMatchObject(shown);
  const verified = await commandOk(['verify', '--data', data]);
  expect(verified).toContain('whoever has a copy of that system can compute every later arm');
  expect(verified).toContain(SOUND);
});

it('a history goes on from fresh entropy by default, leaves a paused study paused, and is imported once', async () => {
  const studies = REFERENCE.studies.replace('  mode: live', '  mode: live\n  start: paused');
  const data = await registerIn(newFolder(), studies);
  // An id that a spreadsheet would compute is taken.
  const file = changedExport(newFolder(), (text) => text.replace(/\n[^,]+,/, '\n=1+1,'));
  expect(saidIn(await importInto(data, file, ...APPROVED))).toMatch(
    /^0 [\s\S]*warning: a spreadsheet takes these ids for formulas: "=1\+1" \(row 1\) \(hint:/,
  );
  const [begun] = recordsOf(data, 'HistoryImported');
  expect(begun?.data).toMatchObject({
    ...{ generator: 'fresh', proof: { redrawn: 59, unproven: 1 } },
    approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-10-01' }],
  });
  expect(begun?.data).not.toHaveProperty('seedKnown');
  expect(begun?.sections.generator.seed).toMatch(/^\d{30,39}$/);
  expect(await showOf(data)).toMatchObject({
    ...{ state: 'paused', reason: 'registered as paused', participants: 60 },
    imported: { redrawn: 59, unproven: 1 },
  });
  const shown = await commandOk(['studies', 'show', HARVEST, '--data', data]);
  expect(shown).toMatch(/^participants +60 participants\nimported +59 redrawn, 1 unproven$/m);
  const verified = await commandOk(['verify', '--data', data]);
  expect(verified).toContain('an imported participant could not be drawn again (first)');
  const again = await refusal(importInto(data, REFERENCE.csv, ...APPROVED));
  expect(again).toContain('the study has participants already');
});

it('names ids that are one and the same but for case, width or leading zeros', async () => {
  const ids = ['P-1', 'Ｐ-1', 'p-1', 'P-01', 'P-10', 'Q'];
  const file = changedExport(newFolder(), (text) =>
    ids.reduce((all, id, i) => all.replace(new RegExp(`^((?:.*\\n){${i + 1}})[^,]+`), `$1${id}`), text),
  );
  expect((await importInto(logs.plain, file, '--dry-run')).stderr).toMatch(
    /leading zeros: "P-1" \(row 1\) and "Ｐ-1" \(row 2\) and "p-1" \(row 3\) and "P-01" \(row 4\) \(hint: make sure/,
  );
});

it('a history that kept a ratio by several names of one arm is drawn again, and goes on in the ratio', async () => {
  const data = newFolder(logs.ratio);
  const { stderr } = await importInto(data, REFERENCE.csv, '--seed-known', ...DOSES, ...APPROVED);
  expect(stderr).toContain('60 rows: 60 redrawn, 0 unproven. The generator is fresh.');
  expect(recordsOf(data, 'HistoryImported')[0]?.sections.source.treatmentMap).toEqual([
    { from: 'Low dose', to: 'Dose', slot: 1 },
    { from: 'High dose', to: 'Dose', slot: 2 },
  ]);
  await enrol(data, HARVEST, { next: ['02-Süd', 'Male', '0'] });
  const { draw, allocation } = recordsOf(data, 'ParticipantRandomized')[0]?.sections ?? {};
  expect(draw.balls).toHaveLength(3);
  expect(['Control', 'Dose', 'Dose'][draw.slot]).toBe(allocation.treatment);
  expect(await commandOk(['verify', '--data', data])).toContain(SOUND);
});

describe('imported participants, as others see them', () => {
  const data = newFolder();
  /** Row 2 has no state, so row 3 cannot be drawn again, and row 4 has a different arm from the one its state gives. */
  const file = changedExport(newFolder(), (text) =>
    text
      .split('\n')
      .map((line, i) => (i === 2 ? line.replace(/"\{.*\}"/, '') : line))
      .map((line, i) => (i === 4 ? line.replace('Control', 'High dose') : line))
      .join('\n'),
  );
  const digest = createHash('sha256').update(readFileSync(file)).digest('hex');
  const STATE = '145281957688160817555677171447984817743';
  const [REDRAWN, STATELESS, OVERRIDDEN] = ['01-0000', '02-0001', '01-0003'] as const;
  beforeAll(async () => {
    await registerIn(data);
    expect(saidIn(await importInto(data, file, '--seed-known', ...APPROVED))).toMatch(
      /^0 [\s\S]*60 rows: 47 redrawn, 13 unproven \(2: no-state, 3: differs, 4: override/,
    );
  });
  const keys = {
    reader: ['reader', '--scope', 'read'],
    auditor: ['auditor', '--scope', 'read,audit'],
    blinded: ['blinded', '--scope', 'blinded'],
  };
  const http = served(REFERENCE.studies, keys, { data });
  const get = (path: string, id?: string) =>
    http.get('blinded', path, { study: HARVEST, ...(id !== undefined && { id }) });

  it('are listed with their original time and user, and with its state if that is known', async () => {
    const { results } = await http.as('reader').list(HARVEST);
    expect(results).toHaveLength(60);
    expect(results[0]).toEqual({
      ...{ id: REDRAWN, f_site: '02-Süd', trt: 'Low dose', user: 'dummy', f_sex: expect.any(String) },
      ...{ datetime: 'Sun, 22 Nov 2026 05:38:14 GMT', 'f_prior (1+) lines': expect.any(String) },
    });
    const exact = exactResults(await http.as('auditor').list(HARVEST)) as { bg_state?: object }[];
    expect(exact[0]?.bg_state).toMatchObject({ state: { state: BigInt(STATE) } });
    expect(exact.map((one) => one.bg_state !== undefined)).toEqual(exact.map((_, i) => i !== 1));
  });

  it.each([
    [REDRAWN, 1, 'drew it again from the state of an earlier row, and arm and state agree with the file'],
    [STATELESS, 2, 'could not draw it again: the file has no state of the generator for it'],
    [
      OVERRIDDEN,
      4,
      "could not draw it again: the generator's state follows from an earlier row, but gives another arm",
    ],
  ])('are not explained: %s', async (id, row, why) => {
    const text = `Participant "${id}" was imported; the draw was made by another system (row ${row} of the file). The import ${why}`;
    const answer = await http.as('auditor').explain(HARVEST, id);
    expect(answer).toMatchObject({ status: 422, message: text });
    const explained = command(['explain', '--study', HARVEST, '--id', id, '--data', data]);
    expect(await refusal(explained)).toBe(`urn: ${text}\n`);
  });

  it('have a history that begins with the import, also on the command line, where it is listed', async () => {
    const { results } = await get('/participant_history', OVERRIDDEN);
    expect(results).toMatchObject([
      {
        ...{ revision: 5, type: 'ParticipantImported' },
        data: {
          ...{ participantId: OVERRIDDEN, row: 4, redrawn: false, cause: 'override' },
          original: { user: 'José, site', datetime: '2026-11-22 05:38:14.537476' },
        },
      },
    ]);
    const { ok } = commandsOn(data, '--study', HARVEST);
    expect(await ok`participants history --id ${OVERRIDDEN}`).toContain(
      'imported as 01-0003 (row 4, 2026-11-22 05:38:14.537476 by José, site',
    );
    expect(await ok`participants list`).toMatch(/01-0000 .*2026-11-22T05:38:14\.477Z +dummy/);
  });

  it('a blinded reader sees no arm and nothing that reveals one, nor does the unsealed part of the records', async () => {
    const { results, text: design } = await get('/study_design');
    expect(results.imported).toMatchObject({ participants: 60, redrawn: 47, at: expect.any(String) });
    const answers = [
      (await http.as('blinded').list(HARVEST)).text,
      ...(await Promise.all([REDRAWN, OVERRIDDEN].map((id) => get('/participant_history', id)))).map(
        ({ text }) => text,
      ),
      (await http.as('blinded').explain(HARVEST, OVERRIDDEN)).text,
      http.service.output.stderr,
    ];
    const records = storedLog(data).filter(({ record }) => /Import/.test(record.type));
    expect(records).toHaveLength(62);
    expect(records[0]?.sealed).toContain(digest);
    const inClear = records.map(({ record }) => JSON.stringify(record));
    for (const text of [...answers, ...inClear, design])
      expect(text).not.toMatch(new RegExp(`${digest}|${STATE}|bg_state`));
    for (const text of [...answers, ...inClear]) expect(text).not.toMatch(/Low dose|High dose|Control/);
  });
});

describe('a large history', () => {
  const ROWS = 1500;
  const LARGE = 'Large trial';
  const folder = newFolder();
  const [file, other] = [join(folder, 'large.csv'), join(folder, 'other.csv')];
  const short = join(folder, 'short.csv');
  /** Where an import was killed when some of the rows were in. */
  const interrupted = newFolder();
  const line = (data: string, from = file) =>
    typed`import --study ${LARGE} --from ${from} --seed-known --data ${data} ${APPROVED}`;
  const taken = (data: string) => recordsOf(data, 'ParticipantImported').length;
  const rowsIn = (data: string) => recordsOf(data, 'ParticipantImported').map((one) => one.data.row);
  const all = Array.from({ length: ROWS }, (_, i) => i + 1);

  beforeAll(async () => {
    const text = referenceCsv(drawnRows(all.map(() => ({}))));
    writeFileSync(file, text);
    writeFileSync(other, text.replace('dummy', 'other'));
    writeFileSync(short, text.split('\n').slice(0, 4).join('\n'));
    await registered(interrupted, [{ ...CONFIGURATION, name: LARGE }], SEED);
    const { child, exited } = start(line(interrupted));
    await within(60_000, async () => taken(interrupted) > 0);
    child.kill('SIGKILL');
    expect(await exited).toBeNull();
    expect(taken(interrupted)).toBeLessThan(ROWS);
  });

  it('goes on where it was killed, but only with the same file and options', async () => {
    const data = newFolder(interrupted);
    const before = taken(data);
    expect(await commandOk(['studies', 'list', '--data', data])).toContain('importing since');
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
      expect(await refusal(command(otherwise))).toContain(why);
    expect(await commandOk([...line(data), '--dry-run'])).toBe(
      `dry run: the import would continue after ${before} of ${ROWS} rows\n`,
    );
    expect(taken(data)).toBe(before);
    expect(await command(line(data))).toMatchObject({
      ...{ code: 0, stderr: expect.stringContaining(`continuing after ${before} of ${ROWS} rows`) },
    });
    expect(rowsIn(data)).toEqual(all);
    expect(recordsOf(data, 'HistoryImported')).toHaveLength(1);
    expect(await commandOk(['verify', '--data', data])).toContain(SOUND);
  });

  it('can be given up with a reason, and imported again from another file', async () => {
    const data = newFolder(interrupted);
    const { said } = commandsOn(data, '--study', LARGE);
    expect(await said`import --abort`).toBe('2 urn: --reason is missing');
    const abort = typed`import --abort --reason 'the wrong file'`;
    expect(await said`${abort} --dry-run`).toMatch(
      /^0 dry run: nothing was recorded; the import of \d+ of \d+ rows would be given up$/,
    );
    expect(await said`${abort}`).toMatch(/^0 .*the study has no participants, as before/);
    const { imported, ...shown } = await showOf(data, LARGE);
    expect([imported, shown]).toMatchObject([undefined, { state: 'open', participants: 0 }]);
    expect(await said`${abort}`).toMatch(/^0 .*no import into Large trial is under way/);
    await commandOk(line(data, short));
    expect(await showOf(data, LARGE)).toMatchObject({ state: 'open', participants: 3 });
  });

  it('is imported once by two processes at the same time', async () => {
    const data = newFolder(interrupted);
    // One of them is this one.
    const ended = await Promise.all([urn(line(data)), command(line(data))]);
    // One may be done before the other begins.
    for (const { code, stderr } of ended)
      if (code !== 0) expect(stderr).toContain('the study has participants already');
    expect(ended.map(({ code }) => code)).toContain(0);
    expect(rowsIn(data)).toEqual(all);
    expect(recordsOf(data, 'HistoryImportEnded')).toHaveLength(1);
  });
});
