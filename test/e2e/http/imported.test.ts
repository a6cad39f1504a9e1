/** Imported participants as clients and the command line see them, and what blinded readers must not see. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import {
  APPROVED,
  changedExport,
  HARVEST,
  importInto,
  REFERENCE,
  registerIn,
} from '../../support/importing.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
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
  const { code, stderr } = await importInto(data, file, '--seed-known', ...APPROVED);
  expect(stderr).toMatch(/60 rows: 47 redrawn, 13 unproven \(2: no-state, 3: differs, 4: override/);
  expect(code).toBe(0);
});
const http = served(
  REFERENCE.studies,
  {
    reader: ['reader', '--scope', 'read,randomize'],
    auditor: ['auditor', '--scope', 'read,audit'],
    blinded: ['blinded', '--scope', 'blinded'],
  },
  { data },
);
const get = (path: string, id?: string) =>
  http.get('blinded', path, { study: HARVEST, ...(id !== undefined && { id }) });

describe('an imported participant', () => {
  it('is listed with its original time and user, and with its state if that is known', async () => {
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
    [
      ...([REDRAWN, 1] as const),
      'The import drew it again from the state of an earlier row, and arm and state agree with the file',
    ],
    [
      ...([STATELESS, 2] as const),
      'The import could not draw it again: the file has no state of the generator for it',
    ],
    [
      ...([OVERRIDDEN, 4] as const),
      "The import could not draw it again: the generator's state follows from an earlier row, but gives another arm",
    ],
  ])('is not explained: %s', async (id, row, why) => {
    const text = `Participant "${id}" was imported; the draw was made by another system (row ${row} of the file). ${why}`;
    const answer = await http.as('auditor').explain(HARVEST, id);
    expect(answer).toMatchObject({ status: 422, message: text });
    const { code, stderr } = await command(['explain', '--study', HARVEST, '--id', id, '--data', data]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `urn: ${text}\n` });
  });

  it('is in the counts of the next draw', async () => {
    const levels = { site: '03-West', sex: 'Male', 'prior (1+) lines': '0' };
    expect((await http.as('reader').randomize(HARVEST, 'new', levels)).status).toBe(200);
    const explained = await http.as('auditor').explain(HARVEST, 'new');
    expect(explained.results).toMatchObject({ earlier_participants: 60, agrees: true });
  });

  it('has a history that begins with the import, also on the command line, where it is listed', async () => {
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
    const of = ['--study', HARVEST, '--data', data];
    expect(await commandOk(['participants', 'history', '--id', OVERRIDDEN, ...of])).toContain(
      'imported as 01-0003 (row 4, 2026-11-22 05:38:14.537476 by José, site',
    );
    expect(await commandOk(['participants', 'list', ...of])).toMatch(
      /01-0000 .*2026-11-22T05:38:14\.477Z +dummy/,
    );
  });
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
