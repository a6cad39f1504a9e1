/** urn studies amend: the studies file says the new design, and everything follows from how it differs from the one in force. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commandsOn, enrol, recordsOf, typed, withOpenLog } from '../../support/cli-log.ts';
import { clientOf } from '../../support/client.ts';
import { OPERATOR } from '../../support/facts.ts';
import { beginImport, drawnRows } from '../../support/import-facts.ts';
import { registerIn } from '../../support/importing.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
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
const APPROVED = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01', reference: 'Amendment 3' };
const WHY = typed`--reason 'new site, Cook closed'`;

let data: string;
let written = 0;

function file(text: string): string {
  const path = join(data, `studies-${written++}.yaml`);
  writeFileSync(path, text);
  return path;
}

const amend = (text: string, ...args: string[]) =>
  run`studies amend Sleep --studies ${file(text)} ${WHY} ${args}`;
const amendments = () => recordsOf(data, 'StudyAmended').map((one) => one.data);

/** The log from which each test begins: with one participant. */
const begun = newFolder();
beforeAll(async () => {
  await registerIn(begun, LIVE);
  await enrol(begun, 'Sleep', { '1': ['Male', COOK] });
});
beforeEach(() => {
  data = newFolder();
  cpSync(begun, data, { recursive: true });
});
const { ok, run, json } = {
  ok: (...line: Parameters<typeof typed>) => commandsOn(data).ok(...line),
  run: (...line: Parameters<typeof typed>) => commandsOn(data).run(...line),
  json: (...line: Parameters<typeof typed>) => commandsOn(data).json(...line),
};

describe('urn studies amend', () => {
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
    expect(amendments()).toEqual([
      {
        ...{ amendment: 1, approvals: [APPROVED], history: 'keep', protocol: { version: '3.0' } },
        changes: [
          { kind: 'level-added', factor: 'site', level: MCLEAN },
          { kind: 'level-closed', factor: 'site', level: COOK },
        ],
        reason: 'new site, Cook closed',
      },
    ]);
    expect(await run`studies check --studies ${file(wished)}`).toMatchObject({
      code: 0,
      stdout: 'Sleep: as amended, amendment 1\n',
    });
    const shown = await json`studies show Sleep --json`;
    expect(shown.configuration).toEqual(before.configuration);
    expect(shown.design).toMatchObject({ amendment: 1, protocol: { version: '3.0' } });
    expect(shown.balance.totals).toEqual(before.balance.totals);
    expect(await amend(wished)).toEqual({
      ...{ code: 0, stdout: '', stderr: 'nothing to amend: Sleep is as the file says\n' },
    });
    expect(await ok`verify`).toContain('no fault was found');
  });

  it('says that a closed level keeps its participants, in lists and in urn studies show', async () => {
    await amend(withSites(DUPAGE), ...RUIZ);
    const shown = await ok`studies show Sleep`;
    expect(shown).toMatch(/^amendments +1$/m);
    expect(shown).toMatch(/^limit +40 with site = 30-Dupage \(nobody is taken beyond it\)$/m);
    expect(shown).toMatch(/^site = 11-Cook County – Chicago \(closed\) +(0 +1|1 +0)$/m);
    const past = await ok`studies show Sleep --revision 1`;
    expect(past).not.toMatch(/amendments|closed/);
  });

  it('distinguishes a file of an earlier design from one that was never in force', async () => {
    await amend(withSites(COOK, DUPAGE, MCLEAN), ...RUIZ);
    const check = (text: string) => run`studies check --studies ${file(text)}`;
    const behind = await check(LIVE);
    expect(behind.code).toBe(0);
    expect(behind.stdout).toMatch(
      /^Sleep: behind, amendment 1\n {2}\S+:10: factors\.site differs \(in force: .*\n/,
    );
    expect(behind.stdout).toContain('The file describes an earlier design');
    const other = await check(withSites(COOK, DUPAGE, 'Elsewhere'));
    expect(other.code).toBe(1);
    expect(other.stdout).toMatch(/^Sleep: differs, amendment 1\n/);
    const back = await amend(LIVE, '--dry-run');
    expect(back.stderr).toContain('warning: the file describes an earlier design, so this reverts');
    expect(back.stdout).toContain(`"${MCLEAN}" takes no new participants (nobody has it)`);
  });

  it('keeps the limits of a level that is closed, for the day on which it is reopened', async () => {
    await amend(withSites(COOK).replace(/limits:\n.*\n/, 'limits: {total: 300}\n'), ...RUIZ);
    await amend(LIVE.replace('levels:', 'total: 300\n    levels:'), ...RUIZ);
    expect(amendments().map(({ changes }) => changes)).toEqual([
      [
        { kind: 'level-closed', factor: 'site', level: DUPAGE },
        { kind: 'limits', value: { total: 300, levels: [{ factor: 'site', level: DUPAGE, max: 40 }] } },
      ],
      [{ kind: 'level-reopened', factor: 'site', level: DUPAGE }],
    ]);
  });

  it('names everything that no amendment can change, with its line, and writes nothing', async () => {
    const wrong = withSites('x\u200b', DUPAGE, COOK)
      .replace('mode: live', 'mode: test\n  protocol: {version: "2.0"}')
      .replace('[A, B]', '[B, A]')
      .replace('[Male, Female]', '[Male, Female]\n    age: [young, old]');
    const { code, stdout, stderr } = await amend(wrong, '--rename', 'site:x', '--protocol', '3.0');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const lines = stderr
      .trimEnd()
      .split('\n     ')
      .map((line) => line.replace(/^.*(?=studies-\d+\.yaml)/, ''));
    expect(lines.map((line) => line.replace(/studies-\d+\.yaml/, 'FILE').replace(/ \(hint: .*/, ''))).toEqual(
      [
        expect.stringMatching(/^urn: --rename "site:x": "site" has no such level/),
        'FILE:4: the file names a different protocol from --protocol',
        'FILE:3: mode differs (in force: live; file: test), which no amendment can change',
        'FILE:8: treatments differs (in force: ["A", "B"]; file: ["B", "A"]), which no amendment can change',
        expect.stringMatching(
          /^FILE:12: factors\.site differs \(in force: .*, which no amendment can change$/,
        ),
        'FILE:11: the factor "age" is new: nobody has a level of it yet, so its urns would have no counts',
        expect.stringMatching(/^FILE:12: factors\.site: new level "x\\u200b": the name contains U\+200B/),
        'a live study can be amended only with an approval',
      ],
    );
    expect(amendments()).toEqual([]);
  });

  it('records just a new version of the protocol, from the file or from --protocol', async () => {
    expect((await amend(LIVE, ...RUIZ, '--protocol', '2.0')).code).toBe(0);
    const stated = (version: string) =>
      LIVE.replace('mode: live', `mode: live\n  protocol: {version: "${version}"}`);
    expect((await amend(stated('3.0'), ...RUIZ)).code).toBe(0);
    for (const [text, ...args] of [[stated('3.0')], [stated('3.0'), '--protocol', '3.0'], [LIVE]] as const)
      expect((await amend(text, ...RUIZ, ...args)).stderr).toMatch(/^nothing to amend/);
    expect(amendments()).toMatchObject([
      { changes: [], protocol: { version: '2.0' } },
      { changes: [], protocol: { version: '3.0' } },
    ]);
  });

  it('refuses a live study without an approval, but says what would change', async () => {
    const refused = await amend(withSites(COOK, DUPAGE, MCLEAN));
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^urn: a live study can be amended only with an approval \(hint: --approved/,
    );
    const tried = await amend(withSites(COOK, DUPAGE, MCLEAN), '--dry-run');
    expect(tried.code).toBe(0);
    expect(tried.stderr).toMatch(/^the study is live: the amendment needs --approved-by/);
    expect(amendments()).toEqual([]);
  });

  it('names a level that had the name of a new one', async () => {
    await amend(
      withSites(COOK, 'DuPage').replace(`{"${DUPAGE}": 40}`, '{DuPage: 40}'),
      ...RUIZ,
      '--rename',
      `site:${DUPAGE}=DuPage`,
    );
    const { code, stderr } = await amend(withSites(COOK, 'DuPage', DUPAGE), ...RUIZ);
    expect(code).toBe(2);
    expect(stderr).toMatch(/factors\.site: new level "30-Dupage": a level had this name/);
  });

  it('prints as JSON what was recorded, and whether it was', async () => {
    const wished = withSites(COOK, DUPAGE, MCLEAN);
    const changes = [{ kind: 'level-added', factor: 'site', level: MCLEAN }];
    const json = async (...args: string[]) => JSON.parse((await amend(wished, '--json', ...args)).stdout);
    expect(await json('--dry-run')).toEqual({ study: 'Sleep', recorded: false, amendment: 1, changes });
    expect(await json(...RUIZ)).toEqual({
      ...{ study: 'Sleep', recorded: true, amendment: 1, revision: 2, changes },
    });
    expect(await json()).toEqual({ study: 'Sleep', recorded: false, amendment: 1, changes: [] });
  });

  it.each([
    ['a study that the file does not name', LIVE.replace('Sleep', 'Wake'), [], /has no study "Sleep"/],
    ['an approval that is not one', LIVE, ['--approved-by', 'me'], /the role is missing/],
    ['a file with mistakes', LIVE.replace('live', 'alive'), [], /the studies file is refused/],
    ['--alias alone', LIVE, ['--alias'], /--alias belongs to --rename/],
  ] as const)('refuses %s with exit code 2', async (_, text, args, message) => {
    expect(await amend(text, ...args)).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringMatching(message) },
    });
  });

  it('is not possible while a history is imported', async () => {
    data = await registerIn(newFolder(), LIVE);
    await withOpenLog(data, async ({ studies }) => {
      const begin = beginImport(drawnRows([{}]));
      const { outcome } = await studies.submit(studies.streamOf('Sleep'), begin, OPERATOR);
      expect(outcome).toEqual({ type: 'import-begun' });
    });
    expect(await amend(withSites(COOK, DUPAGE, MCLEAN), ...RUIZ)).toMatchObject({
      ...{ code: 2, stderr: 'urn: Sleep cannot be amended while a history is being imported\n' },
    });
  });

  it('issues keys for the present levels, and says what a renamed one is called', async () => {
    const wished = withSites(COOK, 'DuPage', MCLEAN).replace(`{"${DUPAGE}": 40}`, '{DuPage: 40}');
    await amend(wished, ...RUIZ, '--rename', `site:${DUPAGE}=DuPage`);
    const add = (level: string) => run`keys add site --where site=${level}`;
    expect((await add(MCLEAN)).code).toBe(0);
    expect(await add(DUPAGE)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no level "30-Dupage" (hint: it is called "DuPage" now)'),
    });
  });

  it('lets a participant be corrected to a level that was added', async () => {
    await amend(withSites(COOK, DUPAGE, MCLEAN), ...RUIZ);
    const level = ['--level', `site=${MCLEAN}`];
    const { code, stderr } =
      await run`participants correct --study Sleep --id 1 ${level} --cause entry --note x`;
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`to ${MCLEAN}`) });
  });
});

describe('a service whose studies file was brought up to date first', () => {
  it('takes participants once the amendment is recorded; one that is behind goes on, and says so', async () => {
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
