/** urn studies amend, where arms, ratio, urns or factors change: what it shows, and what happens to the urns. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withOpenLog } from '../../support/cli-log.ts';
import { command, commandOk } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { registerIn } from '../../support/importing.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

const STUDY = `
Sleep:
  mode: test
  blinding: blinded
  treatments: [A, B, C]
  factors:
    sex: [Male, Female]
    site: [Cook, Dupage]
`;
const WHY = ['--reason', 'the board decided it'];

let data: string;
let written = 0;

function file(text: string): string {
  const path = join(data, `studies-${written++}.yaml`);
  writeFileSync(path, text);
  return path;
}

const amend = (text: string, ...args: string[]) =>
  command(['studies', 'amend', 'Sleep', '--data', data, '--studies', file(text), ...WHY, ...args]);
const dryRun = async (text: string, ...args: string[]) => {
  const { code, stdout, stderr } = await amend(text, '--dry-run', ...args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
};
const ofType = (type: string) => storedLog(data).filter(({ record }) => record.type === type);

/** @param numbers of men in Cook with each arm */
async function enter(numbers: Readonly<Record<string, number>>): Promise<void> {
  await withOpenLog(data, async ({ studies }) => {
    const occurredAt = studies.find('Sleep')?.registered.registeredAt ?? '';
    const arms = Object.entries(numbers).flatMap(([arm, n]) => Array<string>(n).fill(arm));
    const outside = { type: 'force', user: 'operator', levels: ['Male', 'Cook'], note: 'envelope' } as const;
    const entered = arms.map((treatment, i) => {
      const entry = { ...outside, participantId: `${i + 1}`, treatment, occurredAt };
      return studies.submit(studies.streamOf('Sleep'), { ...entry, cause: 'elsewhere' }, OPERATOR);
    });
    for (const { outcome } of await Promise.all(entered)) expect(outcome.type).toBe('recorded');
  });
}

/** The log from which each test begins. */
const begun = newFolder();
beforeAll(() => registerIn(begun, STUDY));
beforeEach(() => {
  data = newFolder();
  cpSync(begun, data, { recursive: true });
});

const arms = (list: string, ...lines: string[]) =>
  STUDY.replace('[A, B, C]', [list, ...lines.map((line) => `  ${line}`)].join('\n'));
const check = async (text: string) =>
  (await command(['studies', 'check', '--data', data, '--studies', file(text)])).stdout.split('\n')[0];

describe('urn studies amend, of arms, ratio, urns and factors', () => {
  it('shows the odds of every open level before and after an arm is closed, and records that it did', async () => {
    await enter({ A: 20, B: 18, C: 25 });
    expect(await dryRun(arms('[A, B]'))).toBe(`dry run: nothing was recorded; the record would be
event       StudyAmended
study       Sleep (test, 63 participants)
amendment   1
treatments  "C" takes no new participants (25 participants keep it)
history     keep (by default; --history says otherwise)
reason      the board decided it
effect      No count in any urn changes. The counts of a closed arm are set aside, and count again if it is reopened.

probability of each arm at the next draw, if the urn of the level is the one that is drawn from
(not for blinded readers)
               A before  B before  C before  A after  B after
sex = Male     0.3411    0.3566    0.3023    0.4750   0.5250
sex = Female   0.3333    0.3333    0.3333    0.5000   0.5000
site = Cook    0.3411    0.3566    0.3023    0.4750   0.5250
site = Dupage  0.3333    0.3333    0.3333    0.5000   0.5000
`);
    expect(ofType('StudyAmended')).toEqual([]);
    expect(ofType('EvidenceDisclosed').map(({ record }) => record.data)).toMatchObject([
      { what: 'balance', study: 'Sleep', toRevision: 63 },
    ]);
  });

  it('shows what a new arm may expect under both histories, unless one is asked for', async () => {
    data = await registerIn(newFolder(), arms('[A, B]'));
    await enter({ A: 50, B: 50 });
    const table = (await dryRun(STUDY)).split('\n').slice(-6);
    expect(table).toEqual([
      '               A before  B before  A restart  B restart  C restart  A keep  B keep  C keep',
      'sex = Male     0.5000    0.5000    0.3333     0.3333     0.3333     0.2512  0.2512  0.4975',
      'sex = Female   0.5000    0.5000    0.3333     0.3333     0.3333     0.3333  0.3333  0.3333',
      'site = Cook    0.5000    0.5000    0.3333     0.3333     0.3333     0.2512  0.2512  0.4975',
      'site = Dupage  0.5000    0.5000    0.3333     0.3333     0.3333     0.3333  0.3333  0.3333',
      '',
    ]);
    const kept = await dryRun(STUDY, '--history', 'keep');
    expect(kept).toMatch(/^history +keep\neffect|^history +keep\nreason/m);
    expect(kept).toContain('A before  B before  A after  B after  C after');
    expect(kept).toContain('A new arm is drawn more often until it has caught up with the others.');
  });

  it('records what it showed, and the file agrees afterwards', async () => {
    await enter({ A: 3, B: 2, C: 2 });
    const wished = STUDY.replace('[A, B, C]', '[B, D, A]\n  ratio: {A: 2, B: 1, D: 3}\n  w: 2').replace(
      '    site: [Cook, Dupage]\n',
      '',
    );
    expect(await check(wished)).toBe('Sleep: differs');
    expect((await amend(wished.replace('[B, D, A]', '[A, D, B]'))).code).toBe(0);
    expect(ofType('StudyAmended').map(({ record }) => record.data)).toMatchObject([
      {
        history: 'restart',
        changes: [
          { kind: 'factor-retired', factor: 'site' },
          { kind: 'urn', w: 2 },
          { kind: 'arm-added', treatment: 'D' },
          { kind: 'ratio', value: [2, 1, 1, 3] },
          { kind: 'arm-closed', treatment: 'C' },
        ],
      },
    ]);
    expect(await check(wished.replace('[B, D, A]', '[D, A, B]'))).toBe('Sleep: as amended, amendment 1');
    expect(await check(STUDY)).toBe('Sleep: behind, amendment 1');
    expect(await commandOk(['verify', '--data', data])).toContain('no fault was found');
  });

  it('leaves the odds out where no urn of another level changes', async () => {
    const wished = STUDY.replace('[Cook, Dupage]', '[Cook, Dupage, Elsewhere]');
    expect(await dryRun(wished)).not.toMatch(/probability|history/);
    expect(ofType('EvidenceDisclosed')).toEqual([]);
    expect(await dryRun(wished, '--history', 'restart')).toContain(
      'The urns begin anew: everybody now in the study stays in it, but is no longer counted.',
    );
  });

  it('names the keys that can no longer enter anybody', async () => {
    const ids = await withOpenLog(data, async ({ keys }) => {
      const issued: string[] = [];
      for (const [user, levels, scopes] of [
        ['cook', ['Cook'], ['randomize']],
        ['both', ['Cook', 'Dupage'], ['randomize', 'blinded']],
        ['reader', ['Cook'], ['blinded']],
        ['other', ['Dupage'], ['randomize']],
      ] as const) {
        const where = [{ factor: 'site', levels: [...levels] }];
        const key = await keys.issue({ user, scopes: [...scopes], where }, OPERATOR);
        if ('refused' in key) throw new Error(key.refused);
        issued.push(key.keyId);
      }
      await keys.revoke(issued[3] ?? '', undefined, OPERATOR);
      return issued;
    });
    const closed = await dryRun(STUDY.replace('[Cook, Dupage]', '[Dupage]'));
    expect(closed.match(/^key .*$/gm)).toEqual([
      `key           ${ids[0]} of cook is limited to site = "Cook": it keeps its participants, and cannot enrol anybody new`,
    ]);
    const retired = await dryRun(STUDY.replace('    site: [Cook, Dupage]\n', ''));
    expect(retired.match(/ of \w+ is limited/g)).toEqual([' of cook is limited', ' of both is limited']);
    const json = JSON.parse(await dryRun(STUDY.replace('[Cook, Dupage]', '[Dupage]'), '--json'));
    expect(json.keysLeftBehind).toEqual([
      { keyId: ids[0], user: 'cook', limit: { factor: 'site', levels: ['Cook'] } },
    ]);
  });

  it('gives machines the same', async () => {
    await enter({ A: 20, B: 18, C: 25 });
    const json = JSON.parse(await dryRun(arms('[A, B]'), '--json'));
    expect(json).toMatchObject({ recorded: false, history: 'keep', nextDraw: { before: {}, after: [{}] } });
    expect(json.nextDraw.after).toEqual([
      {
        history: 'keep',
        levels: [
          ['sex', 'Male', 0.475, 0.525],
          ['sex', 'Female', 0.5, 0.5],
          ['site', 'Cook', 0.475, 0.525],
          ['site', 'Dupage', 0.5, 0.5],
        ].map(([factor, level, a, b]) => ({
          ...{ factor, level },
          odds: [
            { treatment: 'A', probability: a },
            { treatment: 'B', probability: b },
          ],
        })),
      },
    ]);
  });

  it.each([
    [
      'a new ratio that keeps',
      arms('[A, B, C]', 'ratio: [2, 1, 1]'),
      ['--history', 'keep'],
      /^urn: --history: a new ratio/,
    ],
    [
      'a ratio in other than its lowest terms',
      arms('[A, B, C]', 'ratio: [4, 2, 2]'),
      [],
      /yaml:6: ratio: 4:2:2: all its numbers can be divided by 2$/m,
    ],
    [
      'too many slots',
      arms('[A, B, C]', 'ratio: [20, 20, 1]'),
      [],
      /yaml:6: ratio: 20:20:1: there would be 41 slots/,
    ],
    [
      '--history where no change touches the urns',
      STUDY.replace('blinded', 'open'),
      ['--history', 'restart'],
      /^urn: --history: no change touches the urns/,
    ],
    [
      'a new factor',
      `${STUDY}    age: [young, old]\n`,
      [],
      /yaml:9: the factor "age" is new: .*\(hint: register a successor study/,
    ],
    [
      'arms in another order',
      arms('[B, A, C]'),
      [],
      /yaml:5: treatments differs .*, which no amendment can change/,
    ],
  ] as const)('refuses %s, and says why', async (_, text, args, message) => {
    expect(await amend(text, ...args)).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringMatching(message) },
    });
    expect(ofType('StudyAmended')).toEqual([]);
  });

  it('refuses what a retired factor, a closed arm or the last factor would need', async () => {
    const without = STUDY.replace('    site: [Cook, Dupage]\n', '');
    expect((await amend(without)).code).toBe(0);
    expect((await amend(STUDY)).stderr).toMatch(
      /yaml:8: the factor "site" is retired, and a retired factor never/,
    );
    expect((await amend(without.replace('sex: [Male, Female]', 'age: [young]'))).stderr).toMatch(
      /the factor "age" is new[\s\S]*yaml:6: factors: "sex" is retired.*: it is the last factor/,
    );
    expect((await amend(without.replace('[A, B, C]', '[A, B]'))).code).toBe(0);
    expect((await amend(without.replace('[A, B, C]', '[X, A]'))).stderr).toMatch(
      /^hint: one arm is closed and another is added/,
    );
  });
});
