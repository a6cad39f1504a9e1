/**
 * urn export --format reference-csv: a study moves to the reference. A stand-in for the reference reads the file with
 * pandas, writes it, and goes on with numpy; then the service randomizes the same participants.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { parseStudiesFile } from '../../../src/core/configuration/studies-file.ts';
import { READ_AS_MISSING } from '../../../src/evidence/export/reference.ts';
import { exactResults } from '../../support/client.ts';
import { command, refusal } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { requiredPython } from '../../support/numpy.ts';
import { REFERENCE_EXPORT, referenceNext, referenceStudy, standIn } from '../../support/reference.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const python = requiredPython('numpy, pandas');
const newFolder = temporaryFolders();
const data = newFolder();
const NAME = 'Harvest (2)';
const STUDIES = `
"${NAME}":
  mode: test
  treatments: [Control, "Low, dose", standard]
  policies: {level_counts: as-corrected, void_counts: removed}
  factors:
    site: ["01-Nord, Haus \\"A\\"", "02-Süd"]
    "prior (1+)": ["0", "1", "2 or more"]
Empty:
  mode: test
  treatments: [A, B]
  factors: {sex: [Male, NA]}
`;
const [CONFIGURATION] = parseStudiesFile(STUDIES, 'studies.yaml').studies.map((one) => one.configuration);
const SITES = ['01-Nord, Haus "A"', '02-Süd'];
const levelsOf = (n: number) => [SITES[n % 2] ?? '', String(n % 3).replace('2', '2 or more')];
const keys = {
  edc: ['José, site', '--scope', 'randomize,read,audit', '--allow-prediction'],
  manager: ['manager', '--scope', 'correct'],
};
const http = served(STUDIES, keys, { data });

const randomize = (id: string, [site = '', prior = '']: readonly string[]) =>
  http.as('edc').randomize(NAME, id, { site, 'prior (1+)': prior });
const post = (path: string, body: object) => http.post('manager', path, { study: NAME, ...body });
const exported = (...args: string[]) =>
  command(['export', '--study', NAME, '--format', 'reference-csv', '--data', data, ...args]);

beforeAll(async () => {
  // At once, so that some of them share an instant.
  const ids = Array.from({ length: 30 }, (_, n) => `00${n}`);
  await Promise.all(ids.map((id, n) => randomize(id, levelsOf(n))));
  const changes = [{ factor: 'prior (1+)', from: '0', to: '1' }];
  const done = [
    await post('/level_corrections', { id: '000', changes, cause: 'entry', note: 'typo' }),
    await post('/id_corrections', { id: '001', to: '"7", 8', cause: 'entry' }),
    await post('/voids', { id: '002', cause: 'never-enrolled', analysis: 'exclude', note: 'left' }),
    await post('/voids', { id: '003', cause: 'ineligible', analysis: 'keep', note: 'too old' }),
  ];
  expect(done.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

describe.skipIf(python === undefined)('the reference', () => {
  const stand = (file: string, configuration: StudyConfiguration, next: readonly (readonly string[])[]) => {
    const out = join(newFolder(), 'out.csv');
    const answer = standIn(python ?? '', { file, out }, configuration, next);
    return { ...answer, written: readFileSync(out, 'utf8') };
  };

  it('is matched by its stand-in, which writes and goes on like the reference itself', () => {
    const file = join(newFolder(), 'history.csv');
    writeFileSync(file, REFERENCE_EXPORT);
    const study = referenceStudy();
    const drawn = referenceNext();
    const next = drawn.map(({ levels }) => study.factors.map(({ name }) => levels[name] ?? ''));
    const answer = stand(file, study, next);
    expect(answer.written).toBe(REFERENCE_EXPORT);
    expect(answer.next).toEqual(drawn.map(({ trt, bg_state }) => ({ treatment: trt, state: bg_state })));
    expect(answer.readAsMissing.filter((text) => !READ_AS_MISSING.has(text))).toEqual([]);
  });

  it('takes the file, writes it back byte for byte, and goes on as the service does', async () => {
    const file = join(newFolder(), 'history.csv');
    expect((await exported('--out', file)).code).toBe(0);
    const next = Array.from({ length: 12 }, (_, n) => levelsOf(5 * n + 1));
    const answer = stand(file, CONFIGURATION as StudyConfiguration, next);
    expect(answer).toMatchObject({ missing: 0, increasing: true });
    expect(answer.ids).toHaveLength(29);
    expect(answer.ids).toEqual(expect.arrayContaining(['000', '"7", 8', '003', '0029']));
    // pandas writes fewer digits if the whole column needs no more.
    const text = readFileSync(file, 'utf8');
    const needsAll = parseCsv(text).some((row) => /\.\d{3}(?!000)\d{3}$/.test(row[4] ?? ''));
    expect(answer.written).toBe(needsAll ? text : text.replaceAll(/(:\d\d\.\d{3})000,/g, '$1,'));
    for (const [n, levels] of next.entries()) {
      const [{ trt, bg_state }] = exactResults(await randomize(`next-${n}`, levels)) as [
        { trt: string; bg_state: { state: Record<'state' | 'inc', bigint> } },
      ];
      const { state, inc } = bg_state.state;
      const words = { state: { state: String(state), inc: String(inc) } };
      expect({ treatment: trt, state: { ...bg_state, ...words } }).toEqual(answer.next[n]);
    }
  });
});

describe('urn export --format reference-csv', () => {
  it('says what it wrote and proved, and seals the digest', async () => {
    const folder = newFolder();
    const { code, stdout, stderr } = await exported('--out', folder, '--json', '--revision', '34');
    const out = join(folder, 'Harvest-2--TEST-reference.csv');
    expect({ code, told: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      told: {
        files: [out, `${out}.at.csv`, `${out}.not-counted.csv`],
        ...{ format: 'reference-csv', content: 'full', study: NAME, mode: 'test', revision: 34 },
        ...{ participants: 29, notCounted: 1, drawnMore: 5 },
      },
    });
    expect(stderr).toContain('UNBLINDING MATERIAL');
    expect(stderr).toContain('the arm "standard" as "ndard"');
    for (const file of JSON.parse(stdout).files) expect(statSync(file).mode & 0o777).toBe(0o600);
    const { record, sealed = '' } = storedLog(data).findLast((one) => one.stream === 'operations') ?? {};
    expect(record.data).toMatchObject({ what: 'export', study: NAME, content: 'full', toRevision: 34 });
    expect(JSON.stringify(record)).not.toContain(JSON.parse(stdout).sha256);
    expect(JSON.parse(sealed).file.sha256).toBe(JSON.parse(stdout).sha256);
  });

  it('is refused with all reasons at once, and then nothing is recorded or written', async () => {
    const before = storedLog(data).length;
    expect(await refusal(exported('--study', 'Empty'))).toContain('nobody is counted');
    expect(storedLog(data)).toHaveLength(before);
    await http.as('edc').randomize('Empty', 'null', { sex: 'NA' });
    const out = join(newFolder(), 'a.csv');
    expect(await refusal(exported('--study', 'Empty', '--out', out))).toContain(
      'pandas reads "null" (id) as missing\n  pandas reads "NA" (f_sex) as missing',
    );
    expect(existsSync(out)).toBe(false);
    expect((await exported('--revision', '34')).stderr).toContain('1 participant is not counted');
    // If everybody is, it goes to stdout.
    const all = await exported('--revision', '30');
    expect([all.stdout.split('\n').length, all.stdout.includes('\r')]).toEqual([32, false]);
    expect(all.stderr).toContain('read again: the next 5 participants get the same arms and states');
    // Options of other formats.
    for (const flag of ['--blinded', '--excel']) expect(await refusal(exported(flag))).toContain(flag);
  });
});
