/**
 * urn studies amend: the studies file says the new design, and everything follows from how it differs from the one in force
 * (test/unit/configuration/amendment.test.ts). And what commands show of it.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { force as forceIn } from '../../support/arbitrary-life.ts';
import { commandsOn, enrol, recordsOf, saidIn, typed, withOpenLog } from '../../support/cli-log.ts';
import { clientOf } from '../../support/client.ts';
import { refusal } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { beginImport, drawnRows } from '../../support/import-facts.ts';
import { registerIn } from '../../support/importing.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const file = temporaryFiles('studies.yaml');
let data: string;
const { ok, run, json, said } = commandsOn(() => data);
const WHY = typed`--reason 'new site, Cook closed'`;
const amend = (text: string, ...args: readonly string[]) =>
  run`studies amend Sleep --studies ${file(text)} ${WHY} ${args}`;
const dryRun = async (text: string, ...args: readonly string[]) => {
  const { code, stdout, stderr } = await amend(text, '--dry-run', ...args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
};
const amendments = () => recordsOf(data, 'StudyAmended').map((one) => one.data);
const disclosed = () => recordsOf(data, 'EvidenceDisclosed').map((one) => one.data);
const check = (text: string) => run`studies check --studies ${file(text)}`;

/** Each test begins from a copy of a log that is made once. */
function eachFrom(begin: (folder: string) => Promise<unknown>): void {
  const begun = newFolder();
  beforeAll(() => begin(begun));
  beforeEach(() => {
    data = newFolder(begun);
  });
}

describe('urn studies amend, of a live study with one participant,', () => {
  const [COOK, DUPAGE, MCLEAN] = ['11-Cook County – Chicago', '30-Dupage', '50-Mclean County'];
  const LIVE = `
Sleep:
  mode: live
  limits:
    levels: {site: {"${DUPAGE}": 40}}
  policies: {stop_at_limit: true}
  treatments: [A, B]
  factors:
    sex: [Male, Female]
    site: ["${COOK}", "${DUPAGE}"]
`;
  const sites = (...levels: string[]) => `site: [${levels.map((level) => `"${level}"`).join(', ')}]`;
  /** A file with other levels of the factor `site`. */
  const withSites = (...levels: string[]) => LIVE.replace(/site: \[.*\]/, sites(...levels));
  const RUIZ = typed`--approved-by 'Dr. A. Ruiz, sponsor, 2026-03-01, Amendment 3'`;
  eachFrom(async (folder) => {
    await registerIn(folder, LIVE);
    await enrol(folder, 'Sleep', { '1': ['Male', COOK] });
  });

  it('shows in sentences what --dry-run would record, and writes nothing', async () => {
    const wished = withSites('30-Dupage County', MCLEAN)
      .replace(`{"${DUPAGE}": 40}`, '{"30-Dupage County": 50}')
      .replace('mode: live', 'mode: live\n  target_enrollment: 400\n  id_pattern: "[0-9]+"');
    const rename = ['--rename', `site:${DUPAGE}=30-Dupage County`, '--alias'];
    const protocol = ['--protocol', '3.0,2027-02-20'];
    const { code, stdout, stderr } = await amend(wished, ...rename, '--dry-run', ...RUIZ, ...protocol);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `dry run: nothing was recorded; the record would be
event              StudyAmended
study              Sleep (live, 1 participant)
amendment          1
factors.site       "${DUPAGE}" is called "30-Dupage County"; requests may still say "${DUPAGE}"
factors.site       new level "${MCLEAN}"
factors.site       "${COOK}" takes no new participants (1 participant keeps it)
limits             50 with site = 30-Dupage County
id_pattern         [0-9]+
target_enrollment  400 participants
reason             new site, Cook closed
approved by        Dr. A. Ruiz, sponsor, 2026-03-01, Amendment 3
protocol           3.0, 2027-02-20
effect             No count in any urn changes. A new level begins with the same odds for every arm. Keys that are limited to a renamed level keep it.
`,
    });
    expect(stderr).toMatch(/^hint: site loses one level and gains another; .* --rename "site:/);
    expect(amendments()).toEqual([]);
  });

  it('records the difference of the file to the design in force, and the file agrees afterwards', async () => {
    const wished = withSites(MCLEAN, DUPAGE);
    const before = await json`studies show Sleep --json`;
    const { code, stdout, stderr } = await amend(wished, ...RUIZ, '--protocol', '3.0');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^Sleep is amended \(amendment 1, revision 2\)$/m);
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01', reference: 'Amendment 3' }];
    expect(amendments()).toMatchObject([
      {
        ...{ amendment: 1, approvals, history: 'keep', protocol: { version: '3.0' } },
        reason: 'new site, Cook closed',
      },
    ]);
    expect(await check(wished)).toMatchObject({ code: 0, stdout: 'Sleep: as amended, amendment 1\n' });
    const shown = await json`studies show Sleep --json`;
    expect(shown.configuration).toEqual(before.configuration);
    expect(shown.design).toMatchObject({ amendment: 1, protocol: { version: '3.0' } });
    expect(shown.balance.totals).toEqual(before.balance.totals);
    expect(await amend(wished)).toEqual({
      ...{ code: 0, stdout: '', stderr: 'nothing to amend: Sleep is as the file says\n' },
    });
    const said = await ok`studies show Sleep`;
    expect(said).toMatch(/^amendments +1$/m);
    expect(said).toMatch(/^limit +40 with site = 30-Dupage \(nobody is taken beyond it\)$/m);
    expect(said).toMatch(/^site = 11-Cook County – Chicago \(closed\) +(0 +1|1 +0)$/m);
    expect(await ok`studies show Sleep --revision 1`).not.toMatch(/amendments|closed/);
    expect(await ok`verify`).toContain('no fault was found');
  });

  it('prints as JSON what was recorded, and says of a file of an earlier design that it would revert the amendment', async () => {
    const printed = async () =>
      JSON.parse((await amend(withSites(COOK, DUPAGE, MCLEAN), '--json', ...RUIZ)).stdout);
    const changes = [{ kind: 'level-added', factor: 'site', level: MCLEAN }];
    const common = { study: 'Sleep', amendment: 1 };
    expect(await printed()).toEqual({ ...common, recorded: true, revision: 2, changes });
    expect(await printed()).toEqual({ ...common, recorded: false, changes: [] });
    expect(saidIn(await check(LIVE))).toMatch(
      /^0 Sleep: behind, amendment 1\n {2}\S+:10: factors\.site differs \(in force: .*\n.*The file describes an earlier design/,
    );
    const back = await amend(LIVE, '--dry-run');
    expect(back.stderr).toMatch(/^the study is live: the amendment needs --approved-by/m);
    expect(back.stderr).toContain('warning: the file describes an earlier design, so this reverts');
    expect(back.stdout).toContain(`"${MCLEAN}" takes no new participants (nobody has it)`);
  });

  it('names everything that no amendment can change, with its line, and writes nothing', async () => {
    const wrong = withSites('x\u200b', DUPAGE, COOK)
      .replace('mode: live', 'mode: test\n  protocol: {version: "2.0"}')
      .replace('[A, B]', '[B, A]')
      .replace('[Male, Female]', '[Male, Female]\n    age: [young, old]');
    const stderr = await refusal(amend(wrong, '--rename', 'site:x', '--protocol', '3.0'));
    expect(stderr).toContain('only with an approval (hint: --approved-by ');
    const text = stderr.replaceAll(/\S*studies\.yaml/g, 'FILE').replaceAll(/ \(hint: .*/g, '');
    expect(text.trimEnd().split('\n     ')).toEqual([
      expect.stringMatching(/^urn: --rename "site:x": "site" has no such level/),
      'FILE:4: the file names a different protocol from --protocol',
      'FILE:3: mode differs (in force: live; file: test), which no amendment can change',
      'FILE:8: treatments differs (in force: ["A", "B"]; file: ["B", "A"]), which no amendment can change',
      expect.stringMatching(/^FILE:12: factors\.site differs \(in force: .*, which no amendment can change$/),
      'FILE:11: the factor "age" is new: nobody has a level of it yet, so its urns would have no counts',
      expect.stringMatching(/^FILE:12: factors\.site: new level "x\\u200b": the name contains U\+200B/),
      'a live study can be amended only with an approval',
    ]);
    expect(await refusal(amend(LIVE.replace('Sleep', 'Wake')))).toMatch(/has no study "Sleep"$/m);
    expect(amendments()).toEqual([]);
  });

  it('records just a new version of the protocol, from the file or from --protocol', async () => {
    const stated = LIVE.replace('mode: live', 'mode: live\n  protocol: {version: "3.0"}');
    for (const version of ['2.0', '2.0,2027-02-20'])
      expect((await amend(LIVE, ...RUIZ, '--protocol', version)).code).toBe(0);
    expect((await amend(stated, ...RUIZ)).code).toBe(0);
    for (const text of [stated, LIVE])
      expect((await amend(text, ...RUIZ)).stderr).toMatch(/^nothing to amend/);
    expect(amendments()).toMatchObject([
      { changes: [], protocol: { version: '2.0' } },
      { changes: [], protocol: { version: '2.0', date: '2027-02-20' } },
      { changes: [], protocol: { version: '3.0' } },
    ]);
  });

  it('is not possible while a history is imported', async () => {
    data = await registerIn(newFolder(), LIVE);
    await withOpenLog(data, async ({ studies }) => {
      const begin = beginImport(drawnRows([{}]));
      const { outcome } = await studies.submit(studies.streamOf('Sleep'), begin, OPERATOR);
      expect(outcome).toEqual({ type: 'import-begun' });
    });
    expect(await refusal(amend(withSites(COOK, DUPAGE, MCLEAN), ...RUIZ))).toBe(
      'urn: nothing was recorded: a history is being imported into the study (hint: wait until it is in)\n',
    );
  });

  it('lets a service take participants whose file was changed before; one that is behind goes on, and says so', async () => {
    const key = await issueKey(data, 'edc');
    const wished = withSites(COOK, DUPAGE, MCLEAN);
    const post = (service: ServiceHere, id: string, site: string) =>
      clientOf(service.url, key).randomize('Sleep', id, { sex: 'Male', site });
    const first = await serveHere(data, wished);
    expect((await post(first, '2', COOK)).status).toBe(503);
    expect((await amend(wished, ...RUIZ)).code).toBe(0);
    await expect.poll(async () => (await post(first, '3', MCLEAN)).status).toBe(200);
    await first.stop();
    const second = await serveHere(data, LIVE);
    expect(second.output.stderr).toMatch(/"msg":"the studies file describes an earlier design of this study/);
    expect((await post(second, '4', MCLEAN)).status).toBe(200);
    expect((await amend(withSites(DUPAGE, MCLEAN), ...RUIZ)).code).toBe(0);
    await expect.poll(() => second.output.stderr).toContain('"msg":"study amended"');
    expect((await post(second, '5', COOK)).status).toBe(409);
    expect((await post(second, '6', MCLEAN)).status).toBe(200);
    await second.stop();
  });
});

describe('urn studies amend, of arms, ratio, urns and factors,', () => {
  const STUDY = `
Sleep:
  mode: test
  blinding: blinded
  treatments: [A, B, C]
  factors:
    sex: [Male, Female]
    site: [Cook, Dupage]
`;
  const WITHOUT_SITES = STUDY.replace('    site: [Cook, Dupage]\n', '');
  eachFrom((folder) => registerIn(folder, STUDY));

  /** @param numbers of men in Cook with each arm */
  async function enter(numbers: Readonly<Record<string, number>>): Promise<void> {
    await withOpenLog(data, async ({ studies }) => {
      const occurredAt = studies.find('Sleep')?.registered.registeredAt ?? '';
      const arms = Object.entries(numbers).flatMap(([arm, n]) => Array<string>(n).fill(arm));
      const outside = { levels: ['Male', 'Cook'], occurredAt };
      const entered = arms.map((treatment, i) =>
        studies.submit(studies.streamOf('Sleep'), forceIn(`${i + 1}`, { ...outside, treatment }), OPERATOR),
      );
      for (const { outcome } of await Promise.all(entered)) expect(outcome.type).toBe('recorded');
    });
  }
  const arms = (list: string, ...lines: string[]) =>
    STUDY.replace('[A, B, C]', [list, ...lines.map((line) => `  ${line}`)].join('\n'));

  it('shows the odds of every open level before and after an arm is closed, and records that it did', async () => {
    await enter({ A: 20, B: 18, C: 25 });
    expect(await dryRun(arms('[A, B]'))).toBe(`dry run: nothing was recorded; the record would be
event       StudyAmended
study       Sleep (test, 63 participants)
amendment   1
treatments  "C" takes no new participants (25 participants keep it)
history     keep (by default; --history says otherwise)
reason      new site, Cook closed
effect      No count in any urn changes. The counts of a closed arm are set aside, and count again if it is reopened.

probability of each arm at the next draw, if the urn of the level is the one that is drawn from
(not for blinded readers)
               A before  B before  C before  A after  B after
sex = Male     0.3411    0.3566    0.3023    0.4750   0.5250
sex = Female   0.3333    0.3333    0.3333    0.5000   0.5000
site = Cook    0.3411    0.3566    0.3023    0.4750   0.5250
site = Dupage  0.3333    0.3333    0.3333    0.5000   0.5000
`);
    expect(amendments()).toEqual([]);
    expect(disclosed()).toMatchObject([{ what: 'balance', study: 'Sleep', toRevision: 63 }]);
    const printed = JSON.parse(await dryRun(arms('[A, B]'), '--json'));
    const odds = [0.475, 0.525].map((probability, arm) => ({ treatment: 'AB'[arm], probability }));
    expect(printed).toMatchObject({
      recorded: false,
      history: 'keep',
      nextDraw: { before: {}, after: [{}] },
    });
    expect(printed.nextDraw.after[0].levels[0]).toEqual({ factor: 'sex', level: 'Male', odds });
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
    const wished = WITHOUT_SITES.replace('[A, B, C]', '[A, D, B]\n  ratio: {A: 2, B: 1, D: 3}\n  w: 2');
    expect((await amend(wished)).code).toBe(0);
    const [, ...changes] = ['factor-retired', 'urn', 'arm-added', 'ratio', 'arm-closed'].map((kind) => ({
      kind,
    }));
    expect(amendments()).toMatchObject([{ history: 'restart', changes: [{ factor: 'site' }, ...changes] }]);
    const again = await check(wished.replace('[A, D, B]', '[D, A, B]'));
    expect(again.stdout).toBe('Sleep: as amended, amendment 1\n');
    expect((await check(STUDY)).stdout).toMatch(/^Sleep: behind, amendment 1$/m);
    expect(await ok`verify`).toContain('no fault was found');
  });

  it('takes visits from the file and stops arms, both shown', async () => {
    const shown = (...args: string[]) => ok`studies show Sleep ${args}`;
    const closed = arms('[A, B]');
    expect((await amend(closed)).code).toBe(0);
    const records = () =>
      storedLog(data).flatMap(({ record }) => (record.type === 'StudyAmended' ? [record] : []));
    for (const format of [[], ['--json']]) expect(await shown(...format)).not.toMatch(/visits|stopped/);
    const next = `${closed}  visits: [V2, Week 12]\n`;
    const [asked, stopped] = [/^visits +V2, Week 12$/m, /^stopped arm +C$/m];
    const tried = await dryRun(next, '--stop', 'C');
    expect(tried).toMatch(asked);
    expect(tried).toMatch(
      /^treatments +nobody on "C" gets packs any more, until it is reopened \(nobody has it\)$/m,
    );
    expect((await amend(next, '--stop', 'C')).code).toBe(0);
    const of = { changes: [{ kind: 'visits' }, { kind: 'arm-stopped', treatment: 'C' }] };
    expect(records()).toMatchObject([{}, { data: of }]);
    for (const row of [asked, stopped]) expect(await shown()).toMatch(row);
    expect(JSON.parse(await shown('--json')).design).toMatchObject({
      ...{ visits: ['V2', 'Week 12'], stopped_treatments: ['C'] },
    });
    expect(await refusal(amend(next, '--stop', 'C', '--stop', 'A'))).toMatch(
      /--stop "C": it is stopped already\n {5}--stop "A": it is not closed/,
    );
  });

  it('leaves the odds out where no urn of another level changes', async () => {
    const wished = STUDY.replace('[Cook, Dupage]', '[Cook, Dupage, Elsewhere]');
    expect(await dryRun(wished)).not.toMatch(/probability|history/);
    expect(disclosed()).toEqual([]);
    expect(await dryRun(wished, '--history', 'restart')).toContain(
      'The urns begin anew: everybody now in the study stays in it, but is no longer counted.',
    );
  });

  it('names the keys that can no longer enter anybody', async () => {
    const sites = (...names: string[]) => names.flatMap((name) => ['--where', `site=${name}`]);
    await ok`keys add cook --scope randomize ${sites('Cook')}`;
    await ok`keys add both --scope randomize,blinded ${sites('Cook', 'Dupage')}`;
    await ok`keys add reader --scope blinded ${sites('Cook')}`;
    await ok`keys add other --scope randomize ${sites('Dupage')}`;
    const [{ keyId }, , , { keyId: last }] = await json`keys list --json`;
    await ok`keys revoke ${last}`;
    const closed = STUDY.replace('[Cook, Dupage]', '[Dupage]');
    expect((await dryRun(closed)).match(/^key .*$/gm)).toEqual([
      `key           ${keyId} of cook is limited to site = "Cook": it keeps its participants, and cannot enrol anybody new`,
    ]);
    const retired = await dryRun(WITHOUT_SITES);
    expect(retired.match(/ of \w+ is limited/g)).toEqual([' of cook is limited', ' of both is limited']);
    expect(JSON.parse(await dryRun(closed, '--json')).keysLeftBehind).toEqual([
      { keyId, user: 'cook', limit: { factor: 'site', levels: ['Cook'] } },
    ]);
  });

  it('refuses what a ratio, a retired factor, a closed arm or the last factor would need', async () => {
    const ratio = (numbers: string) => arms('[A, B, C]', `ratio: [${numbers}]`);
    expect(await refusal(amend(ratio('2, 1, 1'), '--history', 'keep'))).toMatch(
      /^urn: --history: a new ratio/,
    );
    expect(await refusal(amend(ratio('4, 2, 2')))).toMatch(
      /yaml:6: ratio: 4:2:2: all its numbers can be divided by 2$/m,
    );
    expect(amendments()).toEqual([]);
    expect((await amend(WITHOUT_SITES)).code).toBe(0);
    expect((await amend(STUDY)).stderr).toMatch(
      /yaml:8: the factor "site" is retired, and a retired factor never/,
    );
    expect((await amend(WITHOUT_SITES.replace('sex: [Male, Female]', 'age: [young]'))).stderr).toMatch(
      /the factor "age" is new[\s\S]*yaml:6: factors: "sex" is retired.*: it is the last factor/,
    );
    expect((await amend(WITHOUT_SITES.replace('[A, B, C]', '[A, B]'))).code).toBe(0);
    expect((await amend(WITHOUT_SITES.replace('[A, B, C]', '[X, A]'))).stderr).toMatch(
      /^hint: one arm is closed and another is added/,
    );
  });
});

describe('after amendments, a study with a ratio, a closed arm, a retired factor and urns that began anew', () => {
  const STUDY = `
Sleep:
  mode: test
  starting_seed: 79228162514264337593543950337
  ratio: {B: 1, A: 2, C: 1}
  treatments: [A, B, C]
  factors:
    sex: [Male, Female]
    site: [Cook, Dupage]
`;

  let opened: string;

  async function randomizeAll(from: number, to: number, levels: readonly string[]): Promise<void> {
    const ids = Array.from({ length: to - from + 1 }, (_, i) => `${from + i}`);
    const outcomes = await enrol(data, 'Sleep', Object.fromEntries(ids.map((id) => [id, levels])));
    expect(new Set(outcomes)).toEqual(new Set(['randomized']));
  }

  const amended = async (text: string) => expect((await amend(text)).code).toBe(0);
  beforeAll(async () => {
    data = await registerIn(newFolder(), STUDY);
    await randomizeAll(1, 8, ['Male', 'Cook']);
    opened = new Date().toISOString();
    await amended(STUDY.replace('[A, B, C]', '[A, B]').replace('{B: 1, A: 2, C: 1}', '[2, 1]'));
    await amended(
      STUDY.replace('[A, B, C]', '[A, B, D]')
        .replace('{B: 1, A: 2, C: 1}', '[2, 1, 3]')
        .replace('    sex: [Male, Female]\n', ''),
    );
    await randomizeAll(9, 12, ['', 'Cook']);
  });

  it('is shown with ratio, closed arms, retired factors and when the urns began anew, divided by the ratio', async () => {
    const text = await ok`studies show Sleep`;
    expect(text).toContain(`
ratio           2:1:1:3 ("A" 2, "B" 1, "C" 1, "D" 3)
policies        level_counts as-randomized, void_counts kept, forced_counts counted
closed arm      C
retired factor  sex
urns            began anew at amendment 2 (revision 10)

participants by treatment (in brackets: divided by its number in the ratio)
                        A        B        C (closed)  D
all                     4 (2.0)  3 (3.0)  3 (3.0)     2 (0.7)
sex = Male (retired)    3 (1.5)  2 (2.0)  3 (3.0)     0 (0.0)
sex = Female (retired)  0 (0.0)  0 (0.0)  0 (0.0)     0 (0.0)
site = Cook             4 (2.0)  3 (3.0)  3 (3.0)     2 (0.7)
site = Dupage           0 (0.0)  0 (0.0)  0 (0.0)     0 (0.0)

as the urns count them, since they began anew (in brackets: divided by its number in the ratio)
                        A        B        C (closed)  D
all                     1 (0.5)  1 (1.0)  0 (0.0)     2 (0.7)
`);
    expect(await ok`verify`).toContain('no fault was found');
  });

  const force = (treatment: string, when: string, ...levels: readonly string[]) =>
    typed`participants force --study Sleep --id 20 --dry-run --cause outage --note envelope
      --treatment ${treatment} --occurred-at ${when} ${levels.flatMap((level) => ['--level', level])}`;
  const EXPORT = typed`export --study Sleep --format reference-csv`;
  it.each<[line: string[], not: RegExp | undefined, ...said: RegExp[]]>([
    [
      typed`studies show Sleep --revision 8`,
      /closed|retired|anew/,
      ...[/^ratio +2:1:1 \("A" 2, "B" 1, "C" 1\)$/m, /^ +A +B +C$/m],
    ],
    [typed`studies show Sleep --revision 9`, /anew/, /^closed arm +C$/m],
    [
      EXPORT,
      // Nobody who is counted since then has it.
      /is closed/,
      /^2 .*the study has a ratio, which the reference does not know/s,
      /the factor "sex" is retired, and the reference draws by every factor/,
      /an amendment made the urns begin anew, and the reference counts everybody/,
    ],
    [
      [...EXPORT, '--revision', '9'],
      undefined,
      /the arm "C" is closed and has participants, and the reference/,
    ],
    [
      typed`explain --study Sleep --id 12`,
      undefined,
      /3 participants counted before, since the urns began anew at revision 10\./,
      /Closed arms are left out, with their participants: C\./,
      /^ +A \(slot 1\) +A \(slot 2\) +B +D \(slot 1\) +D \(slot 2\) +D \(slot 3\) +all$/m,
      /With a ratio \(version 2 of the algorithm\), d is worked out from the balls in ascending/,
      /^(?!.*falls here.*falls here).*\n +B +4 [^\n]*<- u falls here\n/s,
      /Treatment: B \(draw.slot 2, counted from 0 over all slots\)/,
      /The record says the same/,
    ],
    [typed`explain --study Sleep --id 1`, /Closed arms|anew/],
    [force('C', 'THEN', 'site=Cook'), undefined, /^treatment +C \(closed now, open then\)$/m],
    [force('D', 'NOW', 'site=Cook'), undefined, /^treatment +D$/m, /^levels +Cook$/m],
    [
      force('C', 'NOW', 'site=Cook'),
      undefined,
      /^2 urn: --treatment: this arm was closed at .*: since \d{4}-.*, and it still is$/,
    ],
    [
      force('D', 'THEN', 'site=Cook'),
      undefined,
      /^2 urn: --treatment: this arm did not exist at .*: it was added at \d{4}-/,
    ],
    [force('X', 'NOW', 'site=Cook'), undefined, /\(allowed: "A", "B", "C" \(closed now\), "D"\)/],
    [force('A', 'NOW', 'site=Cook', 'sex=Male'), undefined, /"sex=Male": the factor "sex" is retired/],
  ])('%j says what it is about', async (line, not, ...expected) => {
    const text = await said`${line.map((word) => (word === 'THEN' ? opened : word))}`;
    for (const one of expected) expect(text).toMatch(one);
    if (not) expect(text).not.toMatch(not);
  });
});
