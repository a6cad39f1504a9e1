/** urn participants: corrections at the command line, lists and histories. None of them reveals an arm. */
import { beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
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
  // The name of one factor begins like the other's, with a character that also precedes the level.
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'sex=2', levels: ['North', 'South'] },
  ],
  idPattern: '\\d{3}|é+',
};
const FOLLOWING = { levelCounts: 'as-corrected', voidCounts: 'removed' } as const;

/** A data folder with a live study and four participants, 001 to 004. The policies decide what moves the urns' counts. */
async function begun(policies?: typeof FOLLOWING): Promise<string> {
  const data = newFolder();
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  const configuration = { ...STUDY, ...(policies && { policies }) };
  await log.studies.register(configuration, undefined, OPERATOR);
  const issued = await log.keys.issue({ user: 'site', scopes: ['randomize', 'read'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  const site = { keyId: issued.keyId, user: 'site', accessRevision: 0, onBehalfOf: 'nurse Ada' };
  const stream = log.studies.streamOf('Sleep');
  for (const [i, participantId] of ['001', '002', '003', '004'].entries()) {
    const levels = [i % 2 === 0 ? 'Male' : 'Female', 'North'];
    await log.studies.submit(stream, { type: 'randomize', participantId, levels, user: 'site' }, site);
  }
  await log.close();
  return data;
}

const commandsOn = (data: string) => {
  const run = async (words: readonly string[], args: readonly string[]) => {
    const finished = await command([...words, ...args, '--study', 'Sleep', '--data', data]);
    if (!['reveal', 'print', 'explain'].includes(words.at(-1) ?? ''))
      for (const arm of ARMS) expect(`${finished.stdout}${finished.stderr}`).not.toContain(arm);
    return finished;
  };
  const participants = (verb: string, ...args: string[]) => run(['participants', verb], args);
  /** What a correction says: exit code and text. */
  const said = async (verb: string, ...args: string[]) => {
    const { code, stdout, stderr } = await participants(verb, ...args);
    return `${code} ${stdout}${stderr}`.trimEnd();
  };
  return { run, participants, said };
};

const written = (data: string) =>
  storedLog(data)
    .filter(({ stream }) => stream.startsWith('study-'))
    .map(({ record }) => record);

const CORRECT = ['--level', 'sex=Male', '--cause', 'entry', '--note', 'source record of 3 March'];
const VOID = ['--cause', 'duplicate', '--duplicate-of', '001', '--analysis', 'exclude', '--note', 'twice'];

describe('the corrections of a study with the default policies', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
  });

  it('are recorded, in one sentence each, and leave the counts of the urns as they were', async () => {
    const { said } = commandsOn(data);
    expect([
      await said('correct', '--id', '002', ...CORRECT),
      await said('void', '--id', '003', ...VOID),
      await said('reinstate', '--id', '003', '--note', 'was another person'),
      await said('rename', '--id', '004', '--to', '040', '--cause', 'entry'),
    ]).toEqual([
      '0 Sleep: 002 corrected (entry): sex from Female to Male (revision 5); later allocations count as before',
      '0 Sleep: 003 voided: duplicate of 001; analysis: exclude (revision 6); later allocations count as before',
      '0 Sleep: 003 no longer voided (revision 7); later allocations count as before',
      '0 Sleep: 004 renamed to 040 (entry) (revision 8); later allocations count as before',
    ]);
    const facts = written(data)
      .slice(5)
      .map(({ type, data: fact }) => [type, fact]);
    expect(facts).toEqual([
      [
        'LevelsCorrected',
        {
          ...{ participantId: '002', randomizedAt: 2, cause: 'entry', counts: 'as-randomized' },
          changes: [{ factor: 'sex', from: 'Female', to: 'Male' }],
        },
      ],
      [
        'AllocationVoided',
        {
          ...{ participantId: '003', randomizedAt: 3, cause: 'duplicate', counts: 'kept' },
          ...{ analysis: 'exclude', duplicateOf: '001' },
        },
      ],
      ['AllocationReinstated', { participantId: '003', randomizedAt: 3, voidedAt: 6 }],
      [
        'ParticipantIdCorrected',
        { participantId: '004', randomizedAt: 4, cause: 'entry', from: '004', to: '040' },
      ],
    ]);
    expect(written(data)[5]?.actor).toMatchObject({ cli: true });
  });

  it('are not an error if they would change nothing, and then nothing is recorded', async () => {
    const { said } = commandsOn(data);
    await said('void', '--id', '003', ...VOID);
    const before = written(data).length;
    expect([
      await said('correct', '--id', '002', ...CORRECT),
      await said('void', '--id', '003', ...VOID),
      await said('reinstate', '--id', '001', '--note', 'x'),
      await said('rename', '--id', '004', '--to', '040', '--cause', 'entry'),
    ]).toEqual([
      '0 Sleep: sex of 002 is already Male; nothing was recorded',
      '0 Sleep: the participant is voided already (duplicate, revision 9); nothing was recorded',
      '0 Sleep: the participant is not voided; nothing was recorded',
      '0 Sleep: the participant has this id already; nothing was recorded',
    ]);
    expect(written(data)).toHaveLength(before);
  });

  it('take the longest name of a factor that fits, and leave out levels that are right', async () => {
    const levels = ['--level', 'sex=2=South', '--level', 'sex=Male'];
    const { said } = commandsOn(data);
    expect(await said('correct', '--id', '002', ...levels, '--cause', 'transfer', '--note', 'x')).toMatch(
      /^0 Sleep: 002 corrected \(transfer\): sex=2 from North to South \(revision \d+\); later allocations count as before$/,
    );
  });

  it('verify', async () => {
    const { streams } = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
    const { life } = streams.find(({ study }: { study?: string }) => study === 'Sleep');
    expect(life).toMatchObject({ corrected: 2, idsCorrected: 1, voided: { duplicate: 1 } });
  });
});

describe('the corrections of a study whose urns follow them', () => {
  it('say that later allocations count differently', async () => {
    const { said } = commandsOn(await begun(FOLLOWING));
    expect([
      await said('correct', '--id', '002', ...CORRECT),
      await said('void', '--id', '002', ...VOID),
      await said('correct', '--id', '002', '--level', 'sex=Female', '--cause', 'entry', '--note', 'x'),
      await said('reinstate', '--id', '002', '--note', 'x'),
    ]).toEqual([
      '0 Sleep: 002 corrected (entry): sex from Female to Male (revision 5); later allocations count the participant at the new levels',
      '0 Sleep: 002 voided: duplicate of 001; analysis: exclude (revision 6); later allocations no longer count the participant',
      '0 Sleep: 002 corrected (entry): sex from Male to Female (revision 7); later allocations count as before',
      '0 Sleep: 002 no longer voided (revision 8); later allocations count the participant again',
    ]);
  });

  it('--dry-run says the same beforehand, and writes nothing', async () => {
    const data = await begun(FOLLOWING);
    const before = storedLog(data).length;
    const { participants } = commandsOn(data);
    const { code, stdout, stderr } = await participants('correct', '--id', '002', ...CORRECT, '--dry-run');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`dry run: nothing was recorded; the record would be
event        LevelsCorrected
study        Sleep (live, 4 participants)
participant  002
level        sex from Female to Male
cause        entry
note         source record of 3 March
effect       later allocations count the participant at the new levels
`);
    const voided = await participants('void', '--id', '002', ...VOID, '--dry-run');
    expect(voided.stdout).toMatch(/^cause +duplicate\nanalysis +exclude\nduplicate-of +001\nnote +twice$/m);
    expect(storedLog(data)).toHaveLength(before);
  });
});

describe('corrections that are not possible', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
    const { said } = commandsOn(data);
    await said('rename', '--id', '004', '--to', '040', '--cause', 'entry');
    await said('void', '--id', '040', ...VOID);
  });

  it.each([
    [
      'correct',
      [
        ...['--id', '002', '--cause', 'slip', '--note', ' '],
        ...['--level', 'sex=North', '--level', 'age=9', '--level', 'sex', '--level', 'sex=Male'],
      ],
      `--level "sex=North": sex has no level "North" (allowed: "Male", "Female"); it is a level of sex=2
     --level "age=9": the study has no factor "age" (factors: "sex", "sex=2")
     --level "sex": it is not FACTOR=LEVEL (factors: "sex", "sex=2")
     --level "sex=Male": sex is given more than once
     --cause: must be one of entry, source, definition, transfer, other
     --note: must be 1 to 2000 characters`,
    ],
    [
      'void',
      [
        ...['--id', '001', '--cause', 'entry', '--duplicate-of', '001'],
        ...['--analysis', 'maybe', '--note', 'a\u0007b'],
      ],
      `--analysis: must be one of keep, exclude
     --note: contains a control character`,
    ],
    [
      'void',
      ['--id', '001', '--cause', 'entry', '--duplicate-of', '001', '--analysis', 'keep', '--note', 'x'],
      '--duplicate-of: is only for the cause duplicate',
    ],
    [
      'void',
      ['--id', '001', '--cause', 'duplicate', '--duplicate-of', '001', '--analysis', 'keep', '--note', 'x'],
      '--duplicate-of: it is the same participant',
    ],
    [
      'void',
      ['--id', '001', '--cause', 'duplicate', '--duplicate-of', '999', '--analysis', 'keep', '--note', 'x'],
      '--duplicate-of: there is no such participant',
    ],
    [
      'void',
      ['--id', '001', '--cause', 'duplicate', '--duplicate-of', '004', '--analysis', 'keep', '--note', 'x'],
      '--duplicate-of: that participant is voided as a duplicate of this one',
    ],
    [
      'void',
      ['--id', '001', '--cause', 'entry', '--analysis', 'keep', '--note', 'x'],
      '--cause: the allocation was not entered by hand, so it cannot be entered wrongly',
    ],
    [
      'void',
      ['--id', '004', '--cause', 'other', '--analysis', 'keep', '--note', 'x'],
      'nothing was recorded: the participant is voided already (duplicate, revision 6) (hint: urn participants history)',
    ],
    [
      'rename',
      ['--id', '001', '--to', '12 ', '--cause', 'slip'],
      `--to: begins or ends with white space
     --cause: must be one of entry, pattern, other`,
    ],
    [
      'rename',
      ['--id', '001', '--to', '12', '--cause', 'entry'],
      "--to: does not match this study's pattern \\d{3}|é+ (an id of this form: 111)",
    ],
    [
      'rename',
      ['--id', '001', '--to', 'e\u0301', '--cause', 'entry'],
      '--to: contains U+0301, which Unicode also writes in another way: send it in its composed form, NFC',
    ],
    [
      'rename',
      ['--id', '001', '--to', '004', '--cause', 'entry'],
      '--to: another participant has, or had, this id',
    ],
    [
      'reinstate',
      ['--id', '999', '--note', 'x'],
      'study "Sleep" has no participant "999" (hint: urn participants list)',
    ],
  ])('are refused, with everything that is wrong, and write nothing: %s %j', async (verb, args, why) => {
    const before = storedLog(data).length;
    expect(await commandsOn(data).said(verb, ...args)).toBe(`2 urn: ${why}`);
    expect(storedLog(data)).toHaveLength(before);
  });

  it('as are those without a note, a cause or a level', async () => {
    const { participants } = commandsOn(data);
    for (const [verb, missing] of [
      ['correct', '--level'],
      ['void', '--cause'],
      ['reinstate', '--note'],
      ['rename', '--to'],
    ] as const) {
      const { code, stderr } = await participants(verb, '--id', '001');
      expect({ verb, code }).toEqual({ verb, code: 2 });
      expect(stderr).toContain(`required option '${missing}`);
    }
  });
});

describe('participants who were corrected', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun(FOLLOWING);
    const { said, run } = commandsOn(data);
    await said('correct', '--id', '002', ...CORRECT);
    await said('rename', '--id', '003', '--to', '030', '--cause', 'entry');
    await said('void', '--id', '004', ...VOID);
    const grounds = ['--reason', 'anaphylaxis', '--requested-by', 'Dr. K.'];
    await run(['reveal'], ['--id', '003', '--category', 'emergency', ...grounds]);
  });

  it('are listed as they are, with the id as randomized where it differs', async () => {
    const { stdout } = await commandsOn(data).participants('list');
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head?.split(/ {2,}/)).toEqual([
      ...['sequence', 'revision', 'id', 'randomized as', 'sex', 'sex=2', 'randomized at', 'user'],
      ...['voided', 'unblinded'],
    ]);
    expect(rows.map((row) => row.replace(/ +\S+T\S+Z +/, ' ').split(/ +/))).toEqual([
      ['1', '1', '001', 'Male', 'North', 'site'],
      ['2', '2', '002', 'Male', 'North', 'site'],
      ['3', '3', '030', '003', 'Male', 'North', 'site', 'unblinded'],
      ['4', '4', '004', 'Female', 'North', 'site', 'duplicate'],
    ]);
  });

  it('are listed for machines, in both views', async () => {
    const list = async (...args: string[]) =>
      JSON.parse((await commandsOn(data).participants('list', '--json', ...args)).stdout);
    const at = expect.stringMatching(/^\d{4}-.*Z$/);
    const common = { randomizedAt: at, user: 'site', revealed: false };
    const [first, second, third, fourth] = await list();
    expect([first, second, third, fourth]).toEqual([
      { ...common, sequence: 1, revision: 1, id: '001', levels: ['Male', 'North'] },
      { ...common, sequence: 2, revision: 2, id: '002', levels: ['Male', 'North'] },
      {
        ...{ ...common, sequence: 3, revision: 3, id: '030', idAsRandomized: '003' },
        ...{ levels: ['Male', 'North'], revealed: true },
      },
      { ...common, sequence: 4, revision: 4, id: '004', levels: ['Female', 'North'], voided: 'duplicate' },
    ]);
    const then = [first, { ...second, levels: ['Female', 'North'] }, third, fourth];
    expect(await list('--view', 'as_randomized')).toEqual(then);
    expect((await commandsOn(data).participants('list', '--view', 'then')).code).toBe(2);
  });

  it.each(['003', '030'])('have one history, by any id: %s', async (id) => {
    const { participants } = commandsOn(data);
    const { stdout } = await participants('history', '--id', id);
    const rows = stdout.trimEnd().split('\n');
    expect(rows.map((row) => row.split(/ {2,}/).slice(2))).toEqual([
      [
        expect.stringMatching(/^site \(k[0-9a-f]+\) on behalf of nurse Ada$/),
        'randomized as 003: Male, North',
      ],
      [expect.stringMatching(/\(command line\)$/), '003 renamed to 030 (entry)'],
      [
        expect.stringMatching(/\(command line\)$/),
        'code of 030 broken: emergency (asked for by Dr. K.)',
        'anaphylaxis',
      ],
    ]);
    const events = JSON.parse((await participants('history', '--id', id, '--json')).stdout);
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
  });

  it.each([
    ['002', '002 corrected (entry): sex from Female to Male', 'source record of 3 March'],
    ['004', '004 voided: duplicate of 001; analysis: exclude', 'twice'],
  ])('have a history in plain words: %s', async (id, words, note) => {
    const { stdout } = await commandsOn(data).participants('history', '--id', id);
    expect(stdout.trimEnd().split('\n')[1]?.split(/ {2,}/).slice(3)).toEqual([words, note]);
  });

  it.each(['003', '030'])('are found by every other command: %s', async (id) => {
    const { run } = commandsOn(data);
    const grounds = ['--id', id, '--reason', 'a question', '--dry-run'];
    expect((await run(['reveal'], [...grounds, '--category', 'other'])).code).toBe(0);
    const label = ['--how', 'label', '--occurred-at', '2026-01-02T03:04Z'];
    expect((await run(['unblindings', 'add'], [...grounds, ...label])).code).toBe(0);
    expect((await run(['explain'], ['--id', id])).stdout).toMatch(/^Why participant 003 was assigned/);
    expect((await run(['code-breaks', 'print'], ['--id', id])).stdout).toMatch(
      /^Participant +030\nFormerly +003\n/m,
    );
    expect((await run(['code-breaks', 'list'], [])).stdout).toContain('030 (randomized as 003)  emergency');
    const [broken] = JSON.parse((await run(['code-breaks', 'list'], ['--json'])).stdout);
    expect(broken).toMatchObject({ id: '030', participantId: '003' });
  });

  it('are counted by urn studies show, which shows what the urns hold beside everybody', async () => {
    const show = (...args: string[]) => command(['studies', 'show', 'Sleep', '--data', data, ...args]);
    const { stdout } = await show();
    expect(stdout).toMatch(/^voided +1: 1 duplicate$/m);
    expect(stdout).toMatch(/^of these voided +(1 +0|0 +1)$/m);
    const [everybody = '', urns = ''] = stdout.split('as the urns count them');
    const all = (text: string) =>
      (/^all +(\d) +(\d)$/m.exec(text) ?? []).slice(1).reduce((sum, n) => sum + Number(n), 0);
    expect([all(everybody), all(urns)]).toEqual([4, 3]);
    expect(JSON.parse((await show('--json')).stdout).voided).toEqual({ duplicate: 1 });
    const past = (await show('--revision', '5')).stdout;
    // A correction that the urns follow makes no difference between the two.
    expect(past).not.toMatch(/voided|as the urns count/);
  });
});

describe('a running service', () => {
  it('follows what is corrected at the command line, within a second', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'edc', '--scope', 'read,randomize');
    const studies = 'Sleep:\n  treatments: [a, b]\n  factors: {sex: [Male, Female]}\n  mode: live\n';
    const service = await serveHere(data, studies);
    try {
      const client = clientOf(service.url, key);
      await client.randomize('Sleep', '1', { sex: 'Female' });
      const at = ['--study', 'Sleep', '--data', data];
      expect(await urn(['participants', 'correct', '--id', '1', ...CORRECT, ...at])).toEqual({
        ...{ code: 0, stdout: '' },
        stderr:
          'Sleep: 1 corrected (entry): sex from Female to Male (revision 2); later allocations count as before\n',
      });
      await commandOk(['participants', 'rename', '--id', '1', '--to', '10', '--cause', 'entry', ...at]);
      await expect
        .poll(async () => (await client.list('Sleep')).results)
        .toMatchObject([{ id: '10', f_sex: 'Male', 'urn.id_as_randomized': '1' }]);
    } finally {
      await service.stop();
    }
  });
});
