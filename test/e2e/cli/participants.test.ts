/** What lists, histories and other commands show of participants who were corrected, or entered. None of them reveals an arm. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { commandsOn, enrol, recordsOf, registered, typed } from '../../support/cli-log.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const ARMS = ['ZZARM-A', 'ZZARM-B'];
/** A live study. The name of one factor begins like the other's, with a character that also precedes the level. */
const STUDY: StudyConfiguration = {
  ...CONFIGURATION,
  name: 'Sleep',
  treatments: ARMS,
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'sex=2', levels: ['North', 'South'] },
  ],
};

/** A data folder with the study and these participants, who are men and women in turn. */
async function begun(ids: readonly string[], policies?: StudyConfiguration['policies']) {
  const data = await registered(newFolder(), [{ ...STUDY, ...(policies && { policies }) }]);
  const people = ids.map((id, i) => [id, [i % 2 === 0 ? 'Male' : 'Female', 'North']] as const);
  await enrol(data, 'Sleep', Object.fromEntries(people), 'nurse Ada');
  return data;
}

const onSleep = (data: string) => commandsOn(data, '--study', 'Sleep');
/** A table as words, without its instants. */
const cells = (row: string) => row.replace(/\d{4}-\S+Z/g, 'then').split(/ {2,}/);
const ENTRY = typed`--level sex=Male --level sex=2=North --occurred-at NOW --note 'envelope 12'`;

it('--level takes the longest name of a factor that fits, and leaves out levels that are right', async () => {
  const { said } = onSleep(await begun(['001', '002']));
  expect(
    await said`participants correct --id 001 --level sex=2=South --level sex=Male --cause transfer --note x`,
  ).toBe(
    '0 Sleep: 001 corrected (transfer): sex=2 from North to South (revision 3); later allocations count as before',
  );
});

describe('participants who were corrected', () => {
  let data: string;
  let commands: ReturnType<typeof commandsOn>;
  beforeAll(async () => {
    data = await begun(['001', '002', '003', '004'], {
      ...{ levelCounts: 'as-corrected', voidCounts: 'removed' },
    });
    commands = onSleep(data);
    const { ok } = commands;
    await ok`participants correct --id 002 --level sex=Male --cause entry --note 'source record of 3 March'`;
    await ok`participants rename --id 003 --to 030 --cause entry`;
    await ok`participants void --id 004 --cause duplicate --duplicate-of 001 --analysis exclude --note twice`;
    await ok`reveal --id 003 --category emergency --reason anaphylaxis --requested-by 'Dr. K.'`;
  });

  it('are listed as they are, with the id as randomized where it differs', async () => {
    const text = await commands.ok`participants list`;
    const [head = '', ...rows] = text.trimEnd().split('\n');
    expect(head.split(/ {2,}/)).toEqual([
      ...['sequence', 'revision', 'id', 'randomized as', 'sex', 'sex=2', 'randomized at', 'user'],
      ...['voided', 'unblinded'],
    ]);
    expect(rows.map((row) => row.replace(/ +\S+T\S+Z +/, ' ').split(/ +/))).toEqual([
      ['1', '1', '001', 'Male', 'North', 'site'],
      ['2', '2', '002', 'Male', 'North', 'site'],
      ['3', '3', '030', '003', 'Male', 'North', 'site', 'unblinded'],
      ['4', '4', '004', 'Female', 'North', 'site', 'duplicate'],
    ]);
    for (const arm of ARMS) expect(text).not.toContain(arm);
  });

  it('are listed for machines, in both views', async () => {
    const common = { randomizedAt: expect.stringMatching(/^\d{4}-.*Z$/), user: 'site', revealed: false };
    const rows = [
      { ...common, sequence: 1, revision: 1, id: '001', levels: ['Male', 'North'] },
      { ...common, sequence: 2, revision: 2, id: '002', levels: ['Male', 'North'] },
      {
        ...{ ...common, sequence: 3, revision: 3, id: '030', idAsRandomized: '003' },
        ...{ levels: ['Male', 'North'], revealed: true },
      },
      { ...common, sequence: 4, revision: 4, id: '004', levels: ['Female', 'North'], voided: 'duplicate' },
    ];
    expect(await commands.json`participants list --json`).toEqual(rows);
    const then = rows.map((row) => (row.id === '002' ? { ...row, levels: ['Female', 'North'] } : row));
    expect(await commands.json`participants list --json --view as_randomized`).toEqual(then);
    expect(await commands.said`participants list --view then`).toMatch(/^2 error: option '--view/);
  });

  it.each(['003', '030'])('have one history, and are found by every command, by any id: %s', async (id) => {
    const { ok, json, said } = commands;
    const rows = (await ok`participants history --id ${id}`).trimEnd().split('\n');
    const byHand = expect.stringMatching(/\(command line\)$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(2))).toEqual([
      [
        expect.stringMatching(/^site \(k[0-9a-f]+\) on behalf of nurse Ada$/),
        'randomized as 003: Male, North',
      ],
      [byHand, '003 renamed to 030 (entry)'],
      [byHand, 'code of 030 broken: emergency (asked for by Dr. K.)', 'anaphylaxis'],
    ]);
    const events = await json`participants history --id ${id} --json`;
    expect(events).toMatchObject([
      {
        ...{ revision: 3, type: 'ParticipantRandomized', user: 'site' },
        ...{ keyId: expect.stringMatching(/^k/), onBehalfOf: 'nurse Ada' },
        data: { participantId: '003', levels: [{ factor: 'sex', level: 'Male' }, {}] },
      },
      { revision: 6, type: 'ParticipantIdCorrected', data: { from: '003', to: '030' } },
      { revision: 8, type: 'AllocationRevealed', note: 'anaphylaxis', requestedBy: 'Dr. K.' },
    ]);
    expect(events[1]).not.toHaveProperty('keyId');

    expect(await said`reveal --id ${id} --category other --reason 'a question' --dry-run`).toMatch(/^0 /);
    const label = typed`--how label --occurred-at 2026-01-02T03:04Z --reason 'a question' --dry-run`;
    expect(await said`unblindings add --id ${id} ${label}`).toMatch(
      /^0 .*\n[\s\S]*participant +030 \(randomized as 003\)$/m,
    );
    expect(await ok`explain --id ${id}`).toMatch(/^Why participant 003 was assigned/);
    expect(await ok`code-breaks print --id ${id}`).toMatch(/^Participant +030\nFormerly +003\n/m);
    expect(await ok`code-breaks list`).toContain('030 (randomized as 003)  emergency');
    const [broken] = await json`code-breaks list --json`;
    expect(broken).toMatchObject({ id: '030', participantId: '003' });
  });

  it.each([
    ['002', '002 corrected (entry): sex from Female to Male', 'source record of 3 March'],
    ['004', '004 voided: duplicate of 001; analysis: exclude', 'twice'],
  ])('have a history in plain words: %s', async (id, words, note) => {
    const [, row = ''] = (await commands.ok`participants history --id ${id}`).trimEnd().split('\n');
    expect(row.split(/ {2,}/).slice(3)).toEqual([words, note]);
  });

  it('are counted by urn studies show, which shows what the urns hold beside everybody, and verified', async () => {
    const { ok, json } = commandsOn(data);
    const text = await ok`studies show Sleep`;
    expect(text).toMatch(/^voided +1: 1 duplicate$/m);
    expect(text).toMatch(/^of these voided +(1 +0|0 +1)$/m);
    const all = (part = '') =>
      (/^all +(\d) +(\d)$/m.exec(part) ?? []).slice(1).reduce((sum, n) => sum + Number(n), 0);
    expect(text.split('as the urns count them').map(all)).toEqual([4, 3]);
    expect((await json`studies show Sleep --json`).voided).toEqual({ duplicate: 1 });
    // A correction that the urns follow makes no difference between the two.
    expect(await ok`studies show Sleep --revision 5`).not.toMatch(/voided|as the urns count/);
    const { streams } = await json`verify --json`;
    const { life } = streams.find(({ study }: { study?: string }) => study === 'Sleep');
    expect(life).toMatchObject({ corrected: 1, idsCorrected: 1, voided: { duplicate: 1 } });
  });
});

describe('a wrong entry', () => {
  let data: string;
  let commands: ReturnType<typeof commandsOn>;
  beforeAll(async () => {
    data = await begun(['001', '002']);
    commands = onSleep(data);
    await commands.ok`participants force --id 003 ${ENTRY} --treatment ZZARM-B --cause elsewhere`;
    await commands.ok`participants void --id 003 --cause entry --analysis exclude --note 'the other arm'`;
  });

  it('is voided, and then replaced by its revision', async () => {
    const again = typed`participants force --id 003 ${ENTRY} --treatment ZZARM-A --cause outage`;
    expect(await commands.said`${again}`).toBe(
      '2 urn: --id: a participant has, or had, this id (hint: replaces 3)',
    );
    expect(await commands.said`${again} --replaces 3`).toBe(
      '0 003 is entered (revision 5); later allocations count 003',
    );
    expect(recordsOf(data, 'AllocationForced')[1]?.sections.allocation.treatment).toBe('ZZARM-A');
  });

  it('is no longer in the list, which has its replacement in a place of its own', async () => {
    const [head = '', ...rows] = (await commands.ok`participants list`).trimEnd().split('\n');
    expect(head.split(/ {2,}/)).toEqual([
      ...['sequence', 'revision', 'id', 'sex', 'sex=2', 'randomized at', 'user', 'allocated outside at'],
    ]);
    expect(rows.map((row) => row.split(/ +/).slice(0, 3))).toEqual([
      ['1', '1', '001'],
      ['2', '2', '002'],
      ['4', '5', '003'],
    ]);
    const listed = await commands.json`participants list --json`;
    expect(listed[2]).toMatchObject({ id: '003', occurredAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(listed[1]).not.toHaveProperty('occurredAt');
  });

  it('is in the history, with its voiding, and names no arm', async () => {
    const text = await commands.ok`participants history --id 003`;
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((row) => cells(row).slice(3)),
    ).toEqual([
      ['entered as 003 (elsewhere, allocated at then): Male, North', 'envelope 12'],
      ['003 voided: entry; analysis: exclude', 'the other arm'],
      [
        'entered as 003 (outage, allocated at then, in place of the entry at revision 3): Male, North',
        'envelope 12',
      ],
    ]);
    for (const arm of ARMS) expect(text).not.toContain(arm);
  });

  it('has no explanation, and is verified', async () => {
    const said = await commands.said`explain --id 003`;
    expect(said).toMatch(/^2 .*was allocated outside the service/);
    for (const arm of ARMS) expect(said).not.toContain(arm);
    const { ok, streams } = await commandsOn(data).json`verify --json`;
    expect(ok).toBe(true);
    const { life } = streams.find(({ study }: { study?: string }) => study === 'Sleep');
    expect(life.forced).toEqual({ elsewhere: 1, outage: 1 });
  });

  it('is refused for what was allocated after the study was closed', async () => {
    const before = new Date().toISOString();
    await commandsOn(data).ok`studies close Sleep --cause end --reason x`;
    const late = typed`participants force --id 004 ${ENTRY} --treatment ZZARM-A --cause outage`;
    expect(await commands.said`${late}`).toMatch(/^2 urn: --occurred-at: the study was closed at \d{4}-/);
    expect(await commands.said`${late} --occurred-at ${before}`).toMatch(/^0 004 is entered/);
  });
});

describe('urn export of a study with forced allocations', () => {
  const forced = async (policies?: StudyConfiguration['policies']) => {
    const commands = onSleep(await begun(['001', '002'], policies));
    await commands.ok`participants force --id 003 ${ENTRY} --treatment ZZARM-B --cause outage`;
    return commands;
  };

  it('has them where they are counted', async () => {
    const { ok, run } = await forced();
    const read = (text: string) => {
      const [columns = [], ...rows] = parseCsv(text);
      return rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i] ?? ''])));
    };
    const csv = read(await ok`export --format csv`);
    expect(csv.map(({ kind }) => kind)).toEqual(['drawn', 'drawn', 'forced']);
    expect(csv.map((row) => row['occurred_at'] !== '')).toEqual([false, false, true]);
    expect(csv[2]?.['treatment']).toBe('ZZARM-B');
    const { stdout, stderr } = await run`export --format reference-csv`;
    const rows = read(stdout);
    expect(rows).toHaveLength(3);
    // The generator has not moved.
    expect(rows[2]).toMatchObject({ bg_state: rows[1]?.['bg_state'], trt: 'ZZARM-B' });
    expect(stderr).toContain('read again: the next 5 participants get the same arms and states');
  });

  it('has those that are not counted in a file of their own, and the state of the last row is the present one', async () => {
    const { said } = await forced({ forcedCounts: 'not-counted' });
    expect(await said`export --format reference-csv`).toContain('1 participant is not counted');
    const out = join(newFolder(), 'sleep.csv');
    expect(await said`export --format reference-csv --out ${out}`).toMatch(
      /^0 [\s\S]*read again: the next 5 participants get the same arms and states/,
    );
    const counted = parseCsv(readFileSync(out, 'utf8'));
    expect(counted.map(([id]) => id)).toEqual(['id', '001', '002']);
    const others = parseCsv(readFileSync(`${out}.not-counted.csv`, 'utf8'));
    expect(others.map(([id, , , arm]) => [id, arm])).toEqual([
      ['id', 'trt'],
      ['003', 'ZZARM-B'],
    ]);
    expect(others[1]?.at(-2)).toBe(counted.at(-1)?.at(-1));
  });
});
