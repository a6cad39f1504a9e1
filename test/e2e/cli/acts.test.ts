import { beforeAll, describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { actCommands } from '../../../src/cli/act-commands.ts';
import { forceCommand } from '../../../src/cli/participants.ts';
import {
  ARMS,
  commandsOn,
  enrol,
  FOUR,
  registered,
  SLEEP,
  saidIn,
  studyRecords,
  typed,
} from '../../support/cli-log.ts';
import { command, refusal } from '../../support/command.ts';
import { SEED } from '../../support/facts.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('packs.csv');
const STUDY: StudyConfiguration = { ...SLEEP, idPattern: '\\d{3}', visits: ['V2', 'V3'] };
const RUIZ = ['--approved-by', 'Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3'];

const AS_BEFORE = 'later allocations count as before';

interface Row {
  /** The options without which it is not tried at all, and then the others. */
  readonly needs: Readonly<Record<string, string>>;
  readonly more?: readonly string[];
  /** What a person at a terminal is asked; a report is made without a question. */
  readonly question?: string;
  /** What would be recorded, after event and study. Default: the participant, and the options as they are given. */
  readonly dry?: readonly string[];
  readonly said: string;
  /** Said of both. */
  readonly effect?: string;
  readonly event: string;
  /** What is recorded under seal beside a note. In the clear is what is given; what else, test/unit/acts knows. */
  readonly sealed?: object;
  /** What the same command says then. */
  readonly again: string;
}

/** What a row is about: packs, by what they are, and an instant. */
const NONE = { ofFirst: 'P01', atVisit: 'P01', free: 'P01', now: '' };
type Given = Readonly<typeof NONE>;

/** In a study with the participants 001 to 004 and 24 packs. */
const ROWS: Readonly<Record<string, (packs: Given) => Row>> = {
  'participants correct': () => ({
    needs: { id: '002', level: 'sex=Male', cause: 'entry', note: 'source record of 3 March' },
    question: 'Correct 002 (sex from Female to Male)',
    dry: ['participant 002', 'level sex from Female to Male', 'cause entry', 'note source record of 3 March'],
    said: 'Sleep: 002 corrected (entry): sex from Female to Male (revision #)',
    effect: AS_BEFORE,
    event: 'LevelsCorrected',
    again: '0 Sleep: sex of 002 is already Male; nothing was recorded',
  }),
  'participants void': () => ({
    needs: { id: '003', cause: 'duplicate', analysis: 'exclude', note: 'twice' },
    more: ['--duplicate-of', '001'],
    question: 'Void 003',
    dry: ['participant 003', 'cause duplicate', 'analysis exclude', 'duplicate-of 001', 'note twice'],
    said: 'Sleep: 003 voided: duplicate of 001; analysis: exclude (revision #)',
    effect: AS_BEFORE,
    event: 'AllocationVoided',
    again: '0 Sleep: the participant is voided already (duplicate, revision #); nothing was recorded',
  }),
  'participants reinstate': () => ({
    needs: { id: '003', note: 'was another person' },
    question: 'Reinstate 003',
    said: 'Sleep: 003 no longer voided (revision #)',
    effect: AS_BEFORE,
    event: 'AllocationReinstated',
    again: '0 Sleep: the participant is not voided; nothing was recorded',
  }),
  'participants rename': () => ({
    needs: { id: '004', to: '040', cause: 'entry' },
    question: 'Rename 004 to 040',
    said: 'Sleep: 004 renamed to 040 (entry) (revision #)',
    effect: AS_BEFORE,
    event: 'ParticipantIdCorrected',
    again: '0 Sleep: the participant has this id already; nothing was recorded',
  }),
  'codes replace': ({ ofFirst }) => ({
    needs: { id: '001', code: ofFirst, cause: 'damaged' },
    question: `Replace the pack ${ofFirst} of 001`,
    said: `Sleep: pack ${ofFirst} of 001 replaced by P?? (damaged) (revision #)`,
    event: 'CodeReplaced',
    again:
      '2 urn: nothing was recorded: the participant has the pack P?? now (hint: urn participants history)',
  }),
  'participants dispense': () => ({
    needs: { id: '001', visit: 'V2' },
    question: 'Give 001 a pack for V2',
    said: 'Sleep: pack P?? given to 001 for V2 (revision #)',
    event: 'PackDispensed',
    again:
      '2 urn: nothing was recorded: 001 has a pack for V2 already (hint: urn participants correct-dispensation, urn codes replace)',
  }),
  'participants correct-dispensation': ({ atVisit }) => ({
    needs: { id: '001', code: atVisit, cause: 'entry', note: 'a slip' },
    more: ['--to', 'v3'],
    question: `Move the pack ${atVisit} of 001 to v3`,
    dry: ['participant 001', `code ${atVisit}`, 'to v3', 'cause entry', 'note a slip'],
    said: `Sleep: pack ${atVisit} of 001: for V3, not V2 (entry) (revision #)`,
    event: 'DispensationCorrected',
    again: '0 Sleep: the pack is for V3 already; nothing was recorded',
  }),
  'codes withdraw': ({ free }) => ({
    needs: { reason: 'the cold chain was broken' },
    more: ['--code', free],
    question: 'Withdraw 1 pack',
    dry: [`code ${free}`, 'reason the cold chain was broken'],
    said: 'Sleep: packs withdrawn that nobody had: 1 (revision #)',
    event: 'CodesWithdrawn',
    sealed: { withdrawn: { codes: [free], reason: 'the cold chain was broken' } },
    again: `2 urn: --code: no free pack has the code ${free}`,
  }),
  'unblindings add': () => ({
    needs: { id: '001', reason: 'torn in the post', how: 'envelope', 'occurred-at': '2026-03-02T21:40Z' },
    more: ['--requested-by', 'Dr. K.', '--inadvertent'],
    dry: [
      'participant 001',
      'occurred-at 2026-03-02T21:40:00.000Z',
      'how envelope',
      'inadvertent true',
      'reason torn in the post',
      'requested-by Dr. K.',
    ],
    said: 'Sleep: reported: 001 was unblinded outside the service at 2026-03-02 21:40:00 UTC (envelope); inadvertent (revision #)',
    event: 'UnblindingReported',
    sealed: { grounds: { reason: 'torn in the post', requestedBy: 'Dr. K.' } },
    again:
      '0 Sleep: reported: 001 was unblinded outside the service at 2026-03-02 21:40:00 UTC (envelope); inadvertent (revision ##)',
  }),
  'studies pause': () => ({
    needs: { reason: 'a question' },
    question: 'Pause',
    said: 'Sleep: paused: a question (revision #)',
    effect: 'no new participants until it is resumed',
    event: 'StudyPaused',
    again: '0 Sleep: the study is paused already; nothing was recorded',
  }),
  'studies resume': () => ({
    needs: { reason: 'answered' },
    question: 'Resume',
    said: 'Sleep: resumed: answered (revision #)',
    effect: 'it takes participants again',
    event: 'StudyResumed',
    again: '0 Sleep: the study is not paused; nothing was recorded',
  }),
  'studies close': () => ({
    needs: { reason: '300 randomized', cause: 'target' },
    more: [...RUIZ, '--approved-by', 'Ana, DSMB, 2026-09-21'],
    question: 'Close',
    dry: [
      'reason 300 randomized',
      'cause target',
      'approved-by Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3; Ana, DSMB, 2026-09-21',
    ],
    said: 'Sleep: closed (target): 300 randomized; approved by Dr. A. Ruiz (sponsor, 2026-09-20, Amendment 3); approved by Ana (DSMB, 2026-09-21) (revision #)',
    effect: 'no new participants; codes can still be broken',
    event: 'StudyClosed',
    again: '0 Sleep: the study is closed already; nothing was recorded',
  }),
  'studies reopen': () => ({
    needs: { reason: 'target\n raised' },
    more: [...RUIZ, '--protocol', '3.0,2027-02-20'],
    question: 'Reopen',
    dry: [
      'reason target raised',
      'approved-by Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3',
      'protocol 3.0, 2027-02-20',
    ],
    said: 'Sleep: reopened: target  raised; approved by Dr. A. Ruiz (sponsor, 2026-09-20, Amendment 3); protocol 3.0 of 2027-02-20 from here on (revision #)',
    effect: 'it takes participants again, and allocates as before',
    event: 'StudyReopened',
    again: '0 Sleep: the study is not closed; nothing was recorded',
  }),
  'participants force': ({ now }) => ({
    needs: {
      ...{ id: '005', level: 'sex=Female', treatment: 'ZZARM-B', 'occurred-at': now },
      ...{ cause: 'outage', note: 'envelope 12' },
    },
    more: ['--level', 'sex=2=South', '--no-code'],
    question: 'Enter 005',
    dry: [
      'participant 005',
      'levels Female, South',
      'treatment ZZARM-B',
      'cause outage',
      `occurred at ${now}`,
      'pack none',
      'note envelope 12',
    ],
    said: '005 is entered (revision #)',
    effect: 'later allocations count 005',
    event: 'AllocationForced',
    again: '2 urn: --id: a participant has, or had, this id',
  }),
};

const CASES = Object.entries(ROWS);
const isOfStudy = (name: string) => name.startsWith('studies ');
const studyOf = (name: string) => (isOfStudy(name) ? {} : { study: 'Sleep' });

function lineOf(name: string, { needs, more = [] }: Row): string[] {
  const words = [...name.split(' '), ...(isOfStudy(name) ? ['Sleep'] : [])];
  const options = Object.entries({ ...studyOf(name), ...needs });
  return [...words, ...options.flatMap(([option, value]) => [`--${option}`, value]), ...more];
}

it('each of these commands has a row, with the options without which it is not tried', async () => {
  const groups = ['participants', 'codes', 'unblindings', 'studies'] as const;
  const acts = groups.flatMap((group) => actCommands(group).map((one) => ({ group, one })));
  const needed = [...acts, { group: 'participants', one: forceCommand() }].map(({ group, one }) => [
    `${group} ${one.name()}`,
    one.options.flatMap(({ mandatory, long }) => (mandatory ? [long?.slice(2)] : [])).toSorted(),
  ]);
  const rows = CASES.map(([name, of]) => {
    const row = of(NONE);
    return [name, Object.keys({ ...studyOf(name), ...row.needs }).toSorted()];
  });
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(needed));
  expect(await refusal(command(['studies', 'pause', 'Sleep']))).toBe(
    "error: required option '--reason <text>' not specified\n(hint: add --help)\n",
  );
});

/** A log with the study alone. */
const empty = registered(newFolder(), [STUDY]);

/** A log with the study, 24 packs and the participants 001 to 004. */
async function begun(policies?: StudyConfiguration['policies']): Promise<string> {
  const data = await registered(newFolder(), [{ ...STUDY, ...(policies && { policies }) }], SEED);
  const rows = Array.from({ length: 24 }, (_, i) => `P${10 + ((i * 7) % 24)},${ARMS[i % 2]}`);
  const file = fileOf(['code,treatment', ...rows].join('\n'));
  await commandsOn(data).ok`codes add --study Sleep --from ${file} --yes`;
  await enrol(data, 'Sleep', FOUR);
  return data;
}

describe('in a live study', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
  });

  // Every act asks in the same place (terminal.test.ts), and an entry in its own.
  it('urn participants force records nothing if somebody says no', async () => {
    const before = studyRecords(data);
    const line = typed`participants force --study Sleep ${entry({ 'occurred-at': new Date().toISOString() })}`;
    expect(saidIn(await command([...line, '--data', data], { answer: 'n\n' }))).toMatch(
      /^1 .*\? \[y\/N\] nothing was recorded$/,
    );
    expect(studyRecords(data)).toEqual(before);
  });

  async function present(): Promise<Given> {
    const { json } = commandsOn(data, '--study', 'Sleep', '--json');
    const [first] = await json`participants list`;
    const { packs } = await json`codes list`;
    const free = packs.find(({ state }: { state: string }) => state === 'free').code;
    return { ofFirst: first.pack, atVisit: first.packs?.[0].code ?? '', free, now: new Date().toISOString() };
  }

  it.each(CASES)('urn %s asks, does it once, and says what it did', async (name, of) => {
    const row = of(of.length === 0 ? NONE : await present());
    const line = lineOf(name, row);
    const where = 'Sleep (live, 4 participants)';
    const before = studyRecords(data).length;
    const run = async (more: readonly string[] = [], answer?: string) => {
      const typed = answer === undefined ? {} : { answer };
      const { code, stdout, stderr } = await command([...line, ...more, '--data', data], typed);
      const [, asked] = /^(.*\?) \[y\/N\] /.exec(stderr) ?? [];
      const said = saidIn({ code, stdout, stderr: stderr.replace(/^.*\? \[y\/N\] /, '') });
      if (!line.includes('--treatment')) for (const arm of ARMS) expect(said).not.toContain(arm);
      // A pack that the program has chosen is any of them.
      const packs = said.replaceAll(/\bP\d\d\b/g, (pack) => (line.includes(pack) ? pack : 'P??'));
      return {
        asked,
        said: packs
          .replace(`revision ${before})`, 'revision #)')
          .replace(`revision ${before + 1})`, 'revision ##)'),
      };
    };

    const dry = (await run(['--dry-run'])).said.replaceAll(/ {2,}/g, ' ').split('\n');
    const options = Object.entries(row.needs).map(([name, value]) => `${name} ${value}`);
    const { dry: expected = options.map((one) => one.replace(/^id /, 'participant ')), effect } = row;
    expect(dry).toEqual([
      '0 dry run: nothing was recorded; the record would be',
      ...[`event ${row.event}`, `study ${where}`, ...expected, ...(effect ? [`effect ${effect}`] : [])],
    ]);
    const question = row.question && `${row.question}${isOfStudy(name) ? '' : ' in'} ${where}?`;
    expect(studyRecords(data)).toHaveLength(before);

    expect(await run([], 'y\n')).toEqual({
      asked: question,
      said: `0 ${[row.said, effect ?? []].flat().join('; ')}`,
    });
    const [{ record, sealed } = { record: {}, sealed: '' }, ...others] = studyRecords(data).slice(before);
    expect(others).toEqual([]);
    expect(record).toMatchObject({ type: row.event, revision: before, actor: { cli: true } });
    const { id, note, ...given } = row.needs;
    const inClear = Object.entries(given).filter(([name]) => name in record.data);
    const about = id === undefined ? {} : { participantId: id };
    expect(record.data).toMatchObject({ ...about, ...Object.fromEntries(inClear) });
    expect(JSON.parse(sealed || '{}')).toMatchObject({
      ...row.sealed,
      ...(note && { note: { text: note } }),
    });
    expect(await run(question ? ['--yes'] : [])).toEqual({ asked: undefined, said: row.again });
    expect(studyRecords(data).slice(before + 1)).toHaveLength(row.again.includes('##') ? 1 : 0);
  });
});

const ABOUT_SOMEBODY = CASES.filter(
  ([, of]) => of(NONE).needs['id'] !== undefined && of(NONE).event !== 'AllocationForced',
);
it.each(ABOUT_SOMEBODY)('urn %s is refused about nobody', async (name, of) => {
  const row = of(NONE);
  expect(await refusal(command([...lineOf(name, row), '--data', await empty]))).toBe(
    `urn: study "Sleep" has no participant "${row.needs['id']}" (hint: urn participants list)\n`,
  );
});

it('what follows for later allocations depends on the policies', async () => {
  const policies = {
    levelCounts: 'as-corrected',
    voidCounts: 'removed',
    forcedCounts: 'not-counted',
  } as const;
  const { said } = commandsOn(await begun(policies), '--study', 'Sleep');
  const man = typed`participants correct --id 002 --level sex=Male --cause entry --note x`;
  const duplicate = typed`--cause duplicate --duplicate-of 001 --analysis exclude --note x`;
  const rows: readonly (readonly [line: string[], effect: string])[] = [
    [man, 'later allocations count the participant at the new levels'],
    [typed`participants void --id 002 ${duplicate}`, 'later allocations no longer count the participant'],
    [typed`participants correct --id 002 --level sex=Female --cause entry --note x`, AS_BEFORE],
    [typed`participants reinstate --id 002 --note x`, 'later allocations count the participant again'],
    [typed`participants force ${entry({ id: '005' })}`, 'later allocations do not count 005'],
    [typed`participants void --id 005 --cause entry --analysis exclude --note x`, AS_BEFORE],
  ];
  for (const [line, effect] of rows) expect(/ (later .*)$/.exec(await said`${line}`)?.[1]).toBe(effect);
});

/** The options of an entry that is possible, with others in place of these. */
function entry(more: Readonly<Record<string, string | readonly string[]>> = {}): string[] {
  const options = {
    ...{ id: '006', level: ['sex=Male', 'sex=2=North'], treatment: 'ZZARM-B', cause: 'outage', note: 'x' },
    ...{ 'occurred-at': 'NOW', ...more },
  };
  const given = Object.entries(options).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => [`--${name}`, value]),
  );
  return more['code'] === undefined ? [...given, '--no-code'] : given;
}

/** What the command line itself finds wrong, and how it names what the rules do (test/unit/study, test/unit/acts). */
const REFUSED: readonly (readonly [line: string[], why: string])[] = [
  [
    typed`participants correct --id 002 --cause slip --note ' ' --level sex=North --level age=9 --level sex --level sex=Male`,
    `--level "sex=North": sex has no level "North" (allowed: "Male", "Female"); it is a level of sex=2
     --level "age=9": the study has no factor "age" (factors: "sex", "sex=2")
     --level "sex": it is not FACTOR=LEVEL (factors: "sex", "sex=2")
     --level "sex=Male": sex is given more than once
     --cause: must be one of entry, source, definition, transfer, other
     --note: must be 1 to 2000 characters`,
  ],
  [
    typed`participants void --id 001 --cause entry --duplicate-of 001 --analysis keep --note x`,
    '--duplicate-of: is only for the cause duplicate',
  ],
  [
    typed`participants correct-dispensation --id 001 --code P10 --cause entry --note x`,
    '--to <visit>, or --not-theirs, is missing',
  ],
  [
    typed`unblindings add --id 001 --how label --reason read --occurred-at yesterday --revealed-at -1`,
    `--occurred-at "yesterday" is not an instant in UTC, such as 2026-03-02T21:40Z
     --revealed-at "-1" is not a revision`,
  ],
  [typed`codes withdraw --reason 'a recall'`, 'say which packs: --code, or --from with a file'],
  [
    typed`codes withdraw --reason 'a recall' --code 'a b'`,
    '--code "a b" is not a code: 1 to 64 of A–Z a–z 0–9 - _ . /',
  ],
  [
    typed`participants force ${entry({
      ...{ id: '4 ', treatment: 'Placebo', cause: 'whim', note: ' ', replaces: '-1', code: 'a b' },
      ...{ level: 'sex=Male', 'occurred-at': 'yesterday' },
    })}`,
    `--id "4 " begins or ends with white space
     --level is missing for sex=2
     --treatment: the study has no treatment "Placebo" (allowed: "ZZARM-A", "ZZARM-B")
     --cause "whim" is not one of outage, elsewhere, protocol, other
     --occurred-at "yesterday" is not an instant in UTC, such as 2026-03-02T21:40Z
     --replaces "-1" is not a revision
     --code "a b" is not a code: 1 to 64 of A–Z a–z 0–9 - _ . /
     --note must be 1 to 2000 characters`,
  ],
  [
    typed`participants force ${entry({ 'occurred-at': '2020-01-01T00:00Z' })}`,
    '--occurred-at is before the study was registered (then)',
  ],
  [
    typed`studies reopen Live --reason x`,
    "--approved-by: a live study can be reopened only with an approval (hint: --approved-by 'Dr. A. Ruiz, sponsor, 2026-09-01', for each person who decided it)",
  ],
  [
    typed`studies reopen Live --reason a\u0007b --protocol 3.0,soon --approved-by 'Dr. A. Ruiz, 2026-09-30' ${RUIZ}`,
    `--approved-by "Dr. A. Ruiz, 2026-09-30": the role is missing (write 'NAME, ROLE, DATE[, REFERENCE]', such as 'Dr. A. Ruiz, sponsor, 2026-09-01')
     --protocol "3.0,soon": "soon" is not a date of the form YYYY-MM-DD (write 'VERSION[,DATE]', such as '3.0,2027-02-20')
     --reason: contains a control character`,
  ],
  [
    typed`studies pause Live --reason x`,
    'nothing was recorded: the study is closed (hint: urn studies reopen)',
  ],
];

describe('what is not possible', () => {
  let data: string;
  beforeAll(async () => {
    data = await begun();
    const { ok } = commandsOn(data);
    await registered(data, [{ ...STUDY, name: 'Live' }]);
    await ok`studies close Live --cause end --reason x`;
  });

  it.each(REFUSED)('is refused with all that is wrong, and writes nothing: %j', async (line, why) => {
    const before = storedLog(data).length;
    const { said } = commandsOn(data, ...(line[0] === 'studies' ? [] : ['--study', 'Sleep']));
    const then = /\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z/g;
    const text = (await said`${line}`).replaceAll(then, (at) => (line.includes(at) ? at : 'then'));
    expect(text).toBe(`2 urn: ${why}`);
    expect(storedLog(data)).toHaveLength(before);
  });
});
