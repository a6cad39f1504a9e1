/** urn participants force: allocations made outside the service, entered at the command line. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import { issueKey, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const ARMS = ['ZZARM-A', 'ZZARM-B'];
const STUDY = {
  ...CONFIGURATION,
  name: 'Sleep',
  treatments: ARMS,
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels: ['North', 'South'] },
  ],
  idPattern: '\\d{3}',
};
const NOTE = 'envelope 12, during the power cut';
type Policies = { readonly forcedCounts: 'not-counted' };

/** A data folder with a live study and two participants, 001 and 002. */
async function begun(policies?: Policies): Promise<string> {
  const data = newFolder();
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  await log.studies.register({ ...STUDY, ...(policies && { policies }) }, undefined, OPERATOR);
  const issued = await log.keys.issue({ user: 'site', scopes: ['randomize'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  const site = { keyId: issued.keyId, user: 'site', accessRevision: 0 };
  const stream = log.studies.streamOf('Sleep');
  for (const participantId of ['001', '002'])
    await log.studies.submit(
      stream,
      { type: 'randomize', participantId, levels: ['Male', 'North'], user: 'site' },
      site,
    );
  await log.close();
  return data;
}

const written = (data: string) => storedLog(data).filter(({ stream }) => stream.startsWith('study-'));

/** The options of an entry that is possible, with others in place of these. */
function entry(id: string, more: Readonly<Record<string, string | readonly string[] | undefined>> = {}) {
  const options = {
    ...{ id, level: ['sex=Male', 'site=North'], treatment: 'ZZARM-B', cause: 'outage', note: NOTE },
    ...{ 'occurred-at': new Date().toISOString(), ...more },
  };
  return Object.entries(options).flatMap(([name, given]) =>
    [given ?? []].flat().flatMap((value) => [`--${name}`, value]),
  );
}

const commandsOn = (data: string) => {
  const participants = (verb: string, ...args: string[]) =>
    command(['participants', verb, ...args, '--study', 'Sleep', '--data', data]);
  /** What a command says: exit code and text. */
  const said = async (verb: string, ...args: string[]) => {
    const { code, stdout, stderr } = await participants(verb, ...args);
    return `${code} ${stdout}${stderr}`.trimEnd();
  };
  const exported = (format: string, ...args: string[]) =>
    command(['export', '--study', 'Sleep', '--format', format, '--data', data, ...args]);
  return { participants, said, exported };
};

const annul = (id: string) => [
  ...['--id', id, '--cause', 'entry', '--analysis', 'exclude', '--note', 'the other arm'],
];

describe('an allocation that is entered', () => {
  it('is recorded, in one sentence that names no arm', async () => {
    const data = await begun();
    const occurredAt = new Date().toISOString();
    const { said } = commandsOn(data);
    expect(await said('force', ...entry('003', { 'occurred-at': occurredAt }))).toBe(
      '0 003 is entered (revision 3); later allocations count 003',
    );
    const { record, sealed = '' } = written(data).at(-1) ?? {};
    expect(record).toMatchObject({ type: 'AllocationForced', revision: 3, actor: { cli: true } });
    expect(record.data).toEqual({
      ...{ cause: 'outage', counted: true, occurredAt, participantId: '003' },
      levels: [
        { factor: 'sex', level: 'Male' },
        { factor: 'site', level: 'North' },
      ],
    });
    expect(JSON.parse(sealed)).toMatchObject({ allocation: { treatment: 'ZZARM-B' }, note: { text: NOTE } });
  });

  it('says so if the study does not count it', async () => {
    const { said } = commandsOn(await begun({ forcedCounts: 'not-counted' }));
    expect([
      await said('force', ...entry('003')),
      await said('void', ...annul('003')),
      await said('reinstate', '--id', '003', '--note', 'right after all'),
    ]).toEqual([
      '0 003 is entered (revision 3); later allocations do not count 003',
      '0 Sleep: 003 voided: entry; analysis: exclude (revision 4); later allocations count as before',
      '0 Sleep: 003 no longer voided (revision 5); later allocations count as before',
    ]);
  });

  it('can be tried: --dry-run says the same beforehand, and writes nothing', async () => {
    const data = await begun();
    const before = storedLog(data).length;
    const tried = entry('003', { level: ['site=South', 'sex=Male'], 'occurred-at': '2999-01-01T00:00Z' });
    const { participants } = commandsOn(data);
    expect((await participants('force', ...tried, '--dry-run')).code).toBe(2);
    const at = new Date().toISOString();
    const levels = { level: ['site=South', 'sex=Male'], 'occurred-at': at };
    expect(await participants('force', ...entry('003', levels), '--dry-run')).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: `dry run: nothing was recorded; the record would be
event        AllocationForced
study        Sleep (live, 2 participants)
participant  003
levels       Male, South
treatment    ZZARM-B
cause        outage
occurred at  ${at}
note         ${NOTE}
effect       later allocations count 003
`,
    });
    expect(storedLog(data)).toHaveLength(before);
  });
});

describe('an entry that is not possible', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
    await commandsOn(data).said('force', ...entry('003'));
  });

  it.each([
    [
      {
        ...{ id: '4 ', treatment: 'Placebo', cause: 'whim', note: ' ', replaces: '-1' },
        ...{ level: ['sex=North', 'age=9'], 'occurred-at': 'yesterday' },
      },
      [
        '--id "4 " begins or ends with white space',
        '--level "sex=North": sex has no level "North" (allowed: "Male", "Female"); it is a level of site',
        '--level "age=9": the study has no factor "age" (factors: "sex", "site")',
        '--level is missing for site',
        '--treatment: the study has no treatment "Placebo" (allowed: "ZZARM-A", "ZZARM-B")',
        '--cause "whim" is not one of outage, elsewhere, protocol, other',
        '--occurred-at',
        '--replaces "-1" is not a revision',
        '--note must be 1 to 2000 characters',
      ],
    ],
    [{ 'occurred-at': '2020-01-01T00:00Z' }, ['--occurred-at is before the study was registered (']],
    [{ 'occurred-at': '2999-01-01T00:00Z' }, ['--occurred-at']],
    [{ id: '1' }, ['--id "1" does not match this study\'s pattern \\d{3} (an id of this form: 111)']],
    [{ id: '001' }, ['--id: a participant has, or had, this id']],
    [{ id: '003' }, ['--id: a participant has, or had, this id']],
    [{ replaces: '3' }, ['--replaces: no participant with this id was entered at this revision']],
    [{ id: '003', replaces: '3' }, ['--replaces: that allocation is not voided as a wrong entry']],
  ])('is refused with everything that is wrong, and writes nothing: %j', async (more, problems) => {
    const before = storedLog(data).length;
    const { code, stdout, stderr } = await commandsOn(data).participants('force', ...entry('004', more));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(problems.length);
    for (const [i, problem] of problems.entries()) expect(lines[i]).toContain(problem);
    expect(storedLog(data)).toHaveLength(before);
  });

  it.each(['id', 'level', 'treatment', 'occurred-at', 'cause', 'note'])('nor without --%s', async (name) => {
    const { code, stderr } = await commandsOn(data).participants(
      'force',
      ...entry('004', { [name]: undefined }),
    );
    expect(code).toBe(2);
    expect(stderr).toContain(`required option '--${name}`);
  });

  it('is refused for what was allocated after the study was closed', async () => {
    const closed = await begun();
    const before = new Date().toISOString();
    await commandOk(['studies', 'close', 'Sleep', '--cause', 'end', '--reason', 'x', '--data', closed]);
    const { said } = commandsOn(closed);
    expect(await said('force', ...entry('003'))).toMatch(
      /^2 urn: --occurred-at: the study was closed at \d{4}-/,
    );
    expect(await said('force', ...entry('003', { 'occurred-at': before }))).toMatch(/^0 003 is entered/);
  });

  it('is refused for a study that is not there', async () => {
    const args = [...entry('003'), '--study', 'Dream', '--data', data];
    const { code, stderr } = await command(['participants', 'force', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Dream')]);
  });
});

describe('a wrong entry', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
    const { said } = commandsOn(data);
    await said('force', ...entry('003', { cause: 'elsewhere' }));
    await said('void', ...annul('003'));
  });

  it('is voided, and then replaced by its revision', async () => {
    const { said } = commandsOn(data);
    expect(await said('force', ...entry('003'))).toBe(
      '2 urn: --id: a participant has, or had, this id (hint: replaces 3)',
    );
    expect(await said('force', ...entry('003', { treatment: 'ZZARM-A', replaces: '3' }))).toBe(
      '0 003 is entered (revision 5); later allocations count 003',
    );
    const { sealed = '' } = written(data).at(-1) ?? {};
    expect(JSON.parse(sealed).allocation.treatment).toBe('ZZARM-A');
  });

  it('is no longer in the list, which has its replacement in a place of its own', async () => {
    const { stdout } = await commandsOn(data).participants('list');
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head?.split(/ {2,}/)).toEqual([
      ...['sequence', 'revision', 'id', 'sex', 'site', 'randomized at', 'user', 'allocated outside at'],
    ]);
    expect(rows.map((row) => row.split(/ +/).slice(0, 3))).toEqual([
      ['1', '1', '001'],
      ['2', '2', '002'],
      ['4', '5', '003'],
    ]);
    const listed = JSON.parse((await commandsOn(data).participants('list', '--json')).stdout);
    expect(listed[2]).toMatchObject({ id: '003', occurredAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(listed[1]).not.toHaveProperty('occurredAt');
  });

  it('is in the history, with its voiding', async () => {
    const { stdout } = await commandsOn(data).participants('history', '--id', '003');
    const at = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
    const rows = stdout.trimEnd().split('\n');
    expect(rows.map((row) => row.split(/ {2,}/).slice(3).join(' | ').replace(at, 'then'))).toEqual([
      `entered as 003 (elsewhere, allocated at then): Male, North | ${NOTE}`,
      '003 voided: entry; analysis: exclude | the other arm',
      `entered as 003 (outage, allocated at then, in place of the entry at revision 3): Male, North | ${NOTE}`,
    ]);
    for (const arm of ARMS) expect(stdout).not.toContain(arm);
  });

  it('has no explanation', async () => {
    const asked = await command(['explain', '--study', 'Sleep', '--id', '003', '--data', data]);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('was allocated outside the service');
    for (const arm of ARMS) expect(asked.stderr).not.toContain(arm);
  });

  it('is verified', async () => {
    const { ok, streams } = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
    expect(ok).toBe(true);
    const { life } = streams.find(({ study }: { study?: string }) => study === 'Sleep');
    expect(life.forced).toEqual({ elsewhere: 1, outage: 1 });
  });
});

describe('urn export of a study with forced allocations', () => {
  const states = (text: string) => parseCsv(text).map((row) => row.at(-1));

  it.each(['reference-csv', 'csv'])('has them where they are counted: %s', async (format) => {
    const { said, exported } = commandsOn(await begun());
    await said('force', ...entry('003'));
    const { code, stdout, stderr } = await exported(format);
    expect(code, stderr).toBe(0);
    const [columns = [], ...rows] = parseCsv(stdout);
    const cell = (row: number, column: string) => rows[row]?.[columns.indexOf(column)];
    expect(rows).toHaveLength(3);
    if (format === 'csv') {
      expect([1, 2].map((row) => cell(row, 'kind'))).toEqual(['drawn', 'forced']);
      expect([1, 2].map((row) => cell(row, 'occurred_at') !== '')).toEqual([false, true]);
      expect(cell(2, 'treatment')).toBe('ZZARM-B');
    } else {
      // The generator has not moved.
      expect(cell(2, 'bg_state')).toBe(cell(1, 'bg_state'));
      expect(cell(2, 'trt')).toBe('ZZARM-B');
      expect(stderr).toContain('read again: the next 5 participants get the same arms and states');
    }
  });

  it('has those that are not counted in a file of their own, and the state of the last row is the present one', async () => {
    const { said, exported } = commandsOn(await begun({ forcedCounts: 'not-counted' }));
    await said('force', ...entry('003'));
    expect((await exported('reference-csv')).stderr).toContain('1 participant is not counted');
    const out = join(newFolder(), 'sleep.csv');
    const { code, stdout, stderr } = await exported('reference-csv', '--out', out);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('read again: the next 5 participants get the same arms and states');
    const text = readFileSync(out, 'utf8');
    expect(parseCsv(text).map(([id]) => id)).toEqual(['id', '001', '002']);
    const others = parseCsv(readFileSync(`${out}.not-counted.csv`, 'utf8'));
    expect(others.map(([id, , , arm]) => [id, arm])).toEqual([
      ['id', 'trt'],
      ['003', 'ZZARM-B'],
    ]);
    expect(others[1]?.at(-2)).toBe(states(text).at(-1));
  });
});

describe('urn keys add with the scope force', () => {
  const add = (scope: string, ...args: string[]) =>
    command(['keys', 'add', 'edc', '--scope', scope, '--data', newFolder(), ...args]);

  it.each([
    ['force,blinded', /"force" enters arms, so it cannot be "blinded"/],
    ['force,audit', /"force" with "audit" is refused .*--allow-prediction/],
    ['force,randomize', /"force" with "randomize" is refused .*--allow-prediction/],
  ])('refuses %s', async (scope, why) => {
    const { code, stdout, stderr } = await add(scope);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(why);
  });

  it.each([['force'], ['force,read'], ['force,read,correct,manage']])('issues %s', async (scope) => {
    expect((await add(scope)).code).toBe(0);
  });

  it.each(['force,audit', 'force,randomize'])('issues %s with --allow-prediction', async (scope) => {
    expect((await add(scope, '--allow-prediction')).code).toBe(0);
    expect((await add(`${scope},blinded`, '--allow-prediction')).code).toBe(2);
  });
});

describe('a running service', () => {
  it('follows what is entered at the command line, within a second', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'edc', '--scope', 'read,randomize');
    const studies = 'Sleep:\n  treatments: [a, b]\n  factors: {sex: [Male, Female]}\n  mode: live\n';
    const service = await serveHere(data, studies);
    try {
      const client = clientOf(service.url, key);
      await client.randomize('Sleep', '1', { sex: 'Female' });
      const at = ['--study', 'Sleep', '--data', data];
      const args = entry('2', { level: 'sex=Male', treatment: 'a' });
      expect(await urn(['participants', 'force', ...args, ...at])).toEqual({
        ...{ code: 0, stdout: '' },
        stderr: '2 is entered (revision 2); later allocations count 2\n',
      });
      await expect
        .poll(async () => (await client.list('Sleep')).results)
        .toMatchObject([{ id: '1' }, { id: '2', trt: 'a', 'urn.occurred_at': expect.any(String) }]);
      expect((await client.randomize('Sleep', '3', { sex: 'Male' })).status).toBe(200);
    } finally {
      await service.stop();
    }
  });
});
