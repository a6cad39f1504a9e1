/**
 * What lists, histories and other commands show of participants who were corrected, or entered; none of them reveals an arm.
 * And urn explain, which does. What it says: test/unit/explain.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { altered } from '../../support/altered-record.ts';
import {
  ARMS,
  commandsOn,
  enrol,
  FOUR,
  recordsOf,
  registered,
  SLEEP,
  studyRecords,
  typed,
} from '../../support/cli-log.ts';
import { exactJson } from '../../support/client.ts';
import { refusal } from '../../support/command.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { type Row, replaceRows, rowsOf } from '../audit/database.ts';

const entered = (arm: string, cause: string) =>
  typed`--id 005 --level sex=Male --level sex=2=North --occurred-at NOW --note 'envelope 12' --treatment ${arm} --cause ${cause}`;

const data = temporaryFolders()();
const whole = commandsOn(data);
const commands = commandsOn(data, '--study', 'Sleep');
let stream: string;
beforeAll(async () => {
  await registered(data, [{ ...SLEEP, policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } }]);
  await enrol(data, 'Sleep', FOUR, 'nurse Ada');
  stream = studyRecords(data)[0]?.stream ?? '';
  const { ok, said } = commands;
  // The longest name of a factor that fits is taken, and levels that are right are left out.
  const levels = typed`--level sex=2=North --level sex=Male`;
  await ok`participants correct --id 002 ${levels} --cause entry --note 'source record of 3 March'`;
  await ok`participants rename --id 003 --to 030 --cause entry`;
  await ok`participants void --id 004 --cause duplicate --duplicate-of 001 --analysis exclude --note twice`;
  await ok`reveal --id 003 --category emergency --reason anaphylaxis --requested-by 'Dr. K.'`;
  await ok`participants force ${entered('ZZARM-B', 'elsewhere')}`;
  await ok`participants void --id 005 --cause entry --analysis exclude --note 'the other arm'`;
  const again = typed`participants force ${entered('ZZARM-A', 'outage')}`;
  expect(await said`${again}`).toBe('2 urn: --id: a participant has, or had, this id (hint: replaces 9)');
  await ok`${again} --replaces 9`;
  for (const category of ['planned', 'emergency'])
    await ok`reveal --id 001 --category ${category} --reason 'a reason'`;
  await ok`unblindings add --id 001 --how label --occurred-at NOW --reason 'a reason'`;
  expect(recordsOf(data, 'AllocationForced')[1]?.sections.allocation.treatment).toBe('ZZARM-A');
});

it('participants are listed as they are, with the id as randomized where it differs, and no wrong entry', async () => {
  const text = await commands.ok`participants list`;
  const [head = '', ...rows] = text.trimEnd().split('\n');
  expect(head.split(/ {2,}/)).toEqual([
    ...['sequence', 'revision', 'id', 'randomized as', 'sex', 'sex=2', 'randomized at', 'user'],
    ...['allocated outside at', 'voided', 'unblinded'],
  ]);
  expect(rows.map((row) => row.replaceAll(/\d+-\S+T\S+Z/g, 'then').split(/ +/))).toEqual([
    ['1', '1', '001', 'Male', 'North', 'then', 'site', 'unblinded'],
    ['2', '2', '002', 'Male', 'North', 'then', 'site'],
    ['3', '3', '030', '003', 'Male', 'North', 'then', 'site', 'unblinded'],
    ['4', '4', '004', 'Female', 'North', 'then', 'site', 'duplicate'],
    ['6', '11', '005', 'Male', 'North', 'then', expect.any(String), 'then'],
  ]);
  for (const arm of ARMS) expect(text).not.toContain(arm);
});

it('participants are listed for machines, in both views', async () => {
  const at = expect.stringMatching(/^\d{4}-.*Z$/);
  const common = { randomizedAt: at, user: 'site', revealed: false, levels: ['Male', 'North'] };
  const [, second, ...others] = await commands.json`participants list --json`;
  expect(second).toEqual({ ...common, sequence: 2, revision: 2, id: '002' });
  expect(others).toMatchObject([
    { sequence: 3, id: '030', idAsRandomized: '003', revealed: true },
    { sequence: 4, id: '004', voided: 'duplicate' },
    { sequence: 6, revision: 11, id: '005', occurredAt: at },
  ]);
  const [, then] = await commands.json`participants list --json --view as_randomized`;
  expect(then).toEqual({ ...second, levels: ['Female', 'North'] });
  expect(await commands.said`participants list --view then`).toMatch(/^2 error: option '--view/);
});

it.each<[string, ...string[][]]>([
  ['002', ['002 corrected (entry): sex from Female to Male', 'source record of 3 March']],
  ['004', ['004 voided: duplicate of 001; analysis: exclude', 'twice']],
  [
    '030',
    ['003 renamed to 030 (entry)'],
    ['code of 030 broken: emergency (asked for by Dr. K.)', 'anaphylaxis'],
  ],
  [
    '005',
    ['005 voided: entry; analysis: exclude', 'the other arm'],
    [
      'entered as 005 (outage, allocated at then, in place of the entry at revision 9): Male, North',
      'envelope 12',
    ],
  ],
])('participants have a history in plain words: %s', async (id, ...words) => {
  const text = await commands.ok`participants history --id ${id}`;
  const [first = [], ...rows] = text
    .replaceAll(/(?<=allocated at )\S+Z/g, 'then')
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/ {2,}/).slice(2));
  const [who, what] = first;
  expect(what).toMatch(/^(randomized|entered) as \d+(: | \(elsewhere, allocated at then\): )/);
  expect(who).toMatch(id === '005' ? /\(command line\)$/ : /^site \(k[0-9a-f]+\) on behalf of nurse Ada$/);
  expect(rows.map((row) => row.slice(1))).toEqual(words);
  for (const arm of ARMS) expect(text).not.toContain(arm);
});

it.each(['003', '030'])('participants are found by every command, by any id: %s', async (id) => {
  const { ok, json, said } = commands;
  const [first, ...events] = await json`participants history --id ${id} --json`;
  expect(first).toMatchObject({
    ...{ revision: 3, type: 'ParticipantRandomized', user: 'site' },
    ...{ keyId: expect.stringMatching(/^k/), onBehalfOf: 'nurse Ada' },
    data: { participantId: '003', levels: [{ factor: 'sex', level: 'Male' }, {}] },
  });
  expect(events).toMatchObject([
    { revision: 6, type: 'ParticipantIdCorrected', data: { from: '003', to: '030' } },
    { revision: 8, type: 'AllocationRevealed', note: 'anaphylaxis', requestedBy: 'Dr. K.' },
  ]);
  expect(events[0]).not.toHaveProperty('keyId');
  const label = typed`--how label --occurred-at 2026-01-02T03:04Z --reason 'a question' --dry-run`;
  expect(await said`unblindings add --id ${id} ${label}`).toMatch(
    /^0 .*\n[\s\S]*participant +030 \(randomized as 003\)$/m,
  );
  expect(await said`reveal --id ${id} --category other --reason 'a question' --dry-run`).toMatch(/^0 /);
  expect(await ok`explain --id ${id}`).toMatch(/^Why participant 003 was assigned/);
  expect(await ok`code-breaks print --id ${id}`).toMatch(/^Participant +030\nFormerly +003\n/m);
  expect(await ok`code-breaks list`).toContain('030 (randomized as 003)  emergency');
  expect(await json`code-breaks list --json`).toMatchObject([
    { id: '030', participantId: '003' },
    {},
    {},
    {},
  ]);
});

it('participants are counted by urn studies show, which shows what the urns hold beside everybody, and verified', async () => {
  const { ok, json } = whole;
  const text = await ok`studies show Sleep`;
  expect(text).toMatch(/^voided +1: 1 duplicate$/m);
  expect(text).toMatch(
    /^code-breaks +3: 2 emergency, 1 planned\nunblinded outside +1 reported\npeople unblinded +2$/m,
  );
  expect(text).toMatch(/^of these voided +(1 +0|0 +1)$/m);
  const all = (part = '') =>
    (/^all +(\d) +(\d)$/m.exec(part) ?? []).slice(1).reduce((sum, n) => sum + Number(n), 0);
  expect(text.split('as the urns count them').map(all)).toEqual([5, 4]);
  expect(text).not.toContain('a reason');
  expect(await json`studies show Sleep --json`).toMatchObject({
    ...{ voided: { duplicate: 1 }, revealed: { emergency: 2, planned: 1 }, unblindingReported: 1 },
  });
  const past = await ok`studies show Sleep --revision 8`;
  expect(past).toMatch(/^code-breaks +1: 1 emergency\npeople unblinded +1$/m);
  expect(past).not.toContain('unblinded outside');
  // A correction that the urns follow makes no difference between the two.
  expect(await ok`studies show Sleep --revision 5`).not.toMatch(/voided|as the urns count/);
  const { streams } = await json`verify --json`;
  const { life } = streams.find(({ study }: { study?: string }) => study === 'Sleep');
  expect(life).toMatchObject({ corrected: 1, idsCorrected: 1, voided: { duplicate: 1 } });
  expect(life).toMatchObject({ forced: { elsewhere: 1, outage: 1 }, revealed: { emergency: 2, planned: 1 } });
  await commands.ok`code-breaks print --id 004`;
  expect(await ok`operations`).toContain('the printed code-break of participant 004');
});

const explain = (id: string, ...args: string[]) => commands.run`explain --id ${id} ${args}`;

it('urn explain describes the steps in the terms of the method', async () => {
  const { code, stdout, stderr } = await explain('001');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Why participant 001 was assigned to ZZARM-[AB]\nStudy Sleep\. Randomized 20/);
  expect(stdout).toMatch(/^ {3}sex=2 = North +participants +0 +0 +0$/m);
  expect(stdout).toContain('The record says the same');
  const json = (await explain('001', '--json')).stdout;
  expect(exactJson(json)).toMatchObject({
    study: 'Sleep',
    id: '001',
    on_behalf_of: 'nurse Ada',
    agrees: true,
  });
  expect(json).toMatch(/"state":\{"inc":\d{20,39},/);
  expect(await refusal(explain('999'))).toContain('has no participant "999"');
  expect(await refusal(whole.run`explain --study Dream --id 001`)).toContain('no study "Dream"');
});

describe('urn explain, on a log that was altered,', () => {
  it('reports a resealed record that contradicts its history, and explains those before it', async () => {
    const row = altered(rowsOf(data, stream)[3] as Row, (_, { allocation }) => {
      allocation.treatment = ARMS[1 - ARMS.indexOf(allocation.treatment)];
    });
    replaceRows(data, [row]);
    const { code, stdout, stderr } = await explain('003');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^THE RECORD OF PARTICIPANT 003 DIFFERS/);
    expect(stderr).toContain('the record of 003 does not follow from the history before it');
    const { agrees, differences } = JSON.parse((await explain('003', '--json')).stdout);
    expect([agrees, differences]).toMatchObject([false, [{ field: 'treatment' }]]);
    expect((await explain('002')).code).toBe(0);
  });

  it('names a record that cannot be trusted: exit code 1', async () => {
    const row = rowsOf(data, stream)[4] as Row;
    replaceRows(data, [{ ...row, leaf: Buffer.alloc(32) }]);
    const { code, stdout, stderr } = await explain('004');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/cannot be explained: study-\S+\/4: the record does not match the leaf hash/);
  });
});
