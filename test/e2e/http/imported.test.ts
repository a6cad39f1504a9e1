/** Imported participants as clients and the command line see them, and what blinded readers must not see. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf, exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import {
  APPROVED,
  changedExport,
  HARVEST,
  importInto,
  REFERENCE,
  registerIn,
} from '../../support/importing.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const GRANTS = {
  reader: ['reader', '--scope', 'read,randomize'],
  auditor: ['auditor', '--scope', 'read,audit'],
  blinded: ['blinded', '--scope', 'blinded,correct,unblind'],
} as const;
let keys: Record<keyof typeof GRANTS, string>;
let data: string;
let service: ServiceHere;
/** Of the file. */
let digest: string;

/** Row 2 has no state, so row 3 cannot be drawn again, and row 4 has a different arm from the one its state gives. */
const change = (text: string) =>
  text
    .split('\n')
    .map((line, i) => (i === 2 ? line.replace(/"\{.*\}"/, '') : line))
    .map((line, i) => (i === 4 ? line.replace('Control', 'High dose') : line))
    .join('\n');
const [REDRAWN, STATELESS, OVERRIDDEN] = ['01-0000', '02-0001', '01-0003'] as const;

beforeAll(async () => {
  data = await registerIn(newFolder());
  keys = await issueKeys(data, GRANTS);
  const file = changedExport(newFolder(), change);
  digest = createHash('sha256').update(readFileSync(file)).digest('hex');
  const { code, stderr } = await importInto(data, file, '--seed-known', ...APPROVED);
  expect(stderr).toMatch(/60 rows: 47 redrawn, 13 unproven \(2: no-state, 3: differs, 4: override/);
  expect(code).toBe(0);
  service = await serveHere(data, REFERENCE.studies);
});

afterAll(() => service.stop());

const client = (name: keyof typeof GRANTS) => clientOf(service.url, keys[name]);
const historyOf = (name: keyof typeof GRANTS, id: string) =>
  ask(service.url, '/participant_history', { key: keys[name], parameters: { study: HARVEST, id } });
const designOf = () =>
  ask(service.url, '/study_design', { key: keys.blinded, parameters: { study: HARVEST } });
const act = (path: string, body: object) =>
  postJson(service.url, path, keys.blinded, { study: HARVEST, ...body });

describe('an imported participant', () => {
  it('is listed with its original time and user, and with its state if that is known', async () => {
    const { results } = await client('auditor').list(HARVEST);
    expect(results).toHaveLength(60);
    expect(results[0]).toMatchObject({
      ...{ id: REDRAWN, f_site: '02-Süd', trt: 'Low dose', user: 'dummy' },
      datetime: 'Sun, 22 Nov 2026 05:38:14 GMT',
    });
    const exact = exactResults(await client('auditor').list(HARVEST)) as { bg_state?: object }[];
    expect(exact[0]?.bg_state).toMatchObject({
      state: { state: 145281957688160817555677171447984817743n },
    });
    expect(exact.map((one) => one.bg_state !== undefined)).toEqual(exact.map((_, i) => i !== 1));
    const plain = await client('reader').list(HARVEST);
    expect(plain.text).not.toContain('bg_state');
  });

  it('has a history that begins with the import', async () => {
    const { results } = await historyOf('blinded', OVERRIDDEN);
    expect(results).toEqual([
      {
        ...{ revision: 5, at: expect.any(String), user: expect.any(String), type: 'ParticipantImported' },
        data: expect.objectContaining({
          ...{ participantId: OVERRIDDEN, row: 4, redrawn: false, cause: 'override' },
          original: { user: 'José, site', datetime: '2026-11-22 05:38:14.537476' },
        }),
      },
    ]);
  });

  it.each([
    [
      REDRAWN,
      1,
      'The import drew it again from the state of an earlier row, and arm and state agree with the file',
    ],
    [STATELESS, 2, 'The import could not draw it again: the file has no state of the generator for it'],
    [
      OVERRIDDEN,
      4,
      "The import could not draw it again: the generator's state follows from an earlier row, but gives another arm",
    ],
  ])('is not explained: %s', async (id, row, why) => {
    const text = `Participant "${id}" was imported; the draw was made by another system (row ${row} of the file). ${why}`;
    const answer = await client('auditor').explain(HARVEST, id);
    expect(answer).toMatchObject({ status: 422, message: text });
    const { code, stderr } = await command(['explain', '--study', HARVEST, '--id', id, '--data', data]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `urn: ${text}\n` });
  });

  it('is in the balance, and in the counts of the next draw', async () => {
    const { results } = await client('auditor').balance(HARVEST);
    expect(results.counted.totals.reduce((sum: number, n: number) => sum + n, 0)).toBe(60);
    const levels = { site: '03-West', sex: 'Male', 'prior (1+) lines': '0' };
    expect((await client('reader').randomize(HARVEST, 'new', levels)).status).toBe(200);
    const explained = await client('auditor').explain(HARVEST, 'new');
    expect(explained.results).toMatchObject({ earlier_participants: 60, agrees: true });
    const { code, stdout } = await command(['explain', '--study', HARVEST, '--id', 'new', '--data', data]);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('60 participants') });
  });

  it('is corrected, renamed and unblinded like any other', async () => {
    const body = { id: STATELESS, cause: 'misread', note: 'chart' };
    const changes = [{ factor: 'sex', from: 'Female', to: 'Male' }];
    const answers = [
      await act('/level_corrections', { ...body, id: REDRAWN, changes, cause: 'entry' }),
      await act('/level_corrections', { ...body, changes, cause: 'entry' }),
      await act('/id_corrections', { id: STATELESS, to: '02-9999', cause: 'entry' }),
      await act('/code_breaks', { id: '02-9999', category: 'emergency', reason: 'anaphylaxis, ICU' }),
    ];
    expect(answers.map(({ status, message }) => [status, message])).toEqual(
      answers.map(() => [200, 'Success']),
    );
    expect(answers.at(-1)?.text).toContain('High dose');
    const { results } = await historyOf('blinded', '02-9999');
    expect(results.map(({ type }: { type: string }) => type)).toEqual([
      'ParticipantImported',
      'LevelsCorrected',
      'ParticipantIdCorrected',
      'AllocationRevealed',
    ]);
    // Under its current id, too.
    const { stderr } = await command(['explain', '--study', HARVEST, '--id', '02-9999', '--data', data]);
    expect(stderr).toContain(`Participant "${STATELESS}" was imported`);
    expect((await command(['verify', '--data', data])).stdout).toContain('no fault was found');
  });

  it('shows on the command line', async () => {
    const listed = await commandOk(['participants', 'list', '--study', HARVEST, '--data', data]);
    expect(listed).toMatch(/01-0000 .*2026-11-22T05:38:14\.477Z +dummy/);
    const history = ['participants', 'history', '--study', HARVEST, '--id', OVERRIDDEN, '--data', data];
    expect(await commandOk(history)).toContain(
      'imported as 01-0003 (row 4, 2026-11-22 05:38:14.537476 by José, site',
    );
    // A correction does not count as unblinding.
    const rows = JSON.parse(
      await commandOk(['participants', 'list', '--json', '--study', HARVEST, '--data', data]),
    );
    expect(rows.map(({ revealed }: { revealed: boolean }) => revealed)).toEqual(
      rows.map((_: unknown, i: number) => i === 1),
    );
    const shown = await commandOk(['studies', 'show', HARVEST, '--data', data]);
    expect(shown).toMatch(/^imported +47 redrawn, 13 unproven$/m);
  });
});

describe('a blinded reader of an import', () => {
  it('sees no arm, and nothing that reveals one', async () => {
    const answers = [
      (await client('blinded').list(HARVEST)).text,
      ...(await Promise.all([REDRAWN, OVERRIDDEN].map(async (id) => (await historyOf('blinded', id)).text))),
      (await client('blinded').explain(HARVEST, OVERRIDDEN)).text,
      service.output.stderr,
    ];
    for (const text of [...answers, (await designOf()).text])
      expect(text).not.toMatch(new RegExp(`${digest}|145281957688160817555677171447984817743|bg_state`));
    for (const text of answers) expect(text).not.toMatch(/Low dose|High dose|Control/);
  });

  it('finds neither an arm nor the digest of the file in the unsealed part of the records', () => {
    const records = storedLog(data).filter(({ record }) => /Import/.test(record.type));
    expect(records).toHaveLength(62);
    for (const { record } of records)
      expect(JSON.stringify(record)).not.toMatch(new RegExp(`${digest}|Low dose|High dose|Control|1452819`));
    expect(records[0]?.sealed).toContain(digest);
  });
});

it('the design shows how many participants were imported, how many of them were redrawn, and when', async () => {
  const { results } = await designOf();
  const [first] = (await historyOf('reader', REDRAWN)).results;
  expect(results.imported).toMatchObject({ participants: 60, redrawn: 47 });
  expect(results.imported.at <= first.at).toBe(true);
});
