/** urn studies: check, register, list and show, beside a running service. Their acts are in acts.test.ts. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cliActor } from '../../../src/cli/options.ts';
import { commandsOn, typed } from '../../support/cli-log.ts';
import { within } from '../../support/client.ts';
import { command, refusal } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const file = temporaryFiles('studies.yaml');
const data = newFolder();
const { run, said, ok, json } = commandsOn(data);
const http = served(TRIALS, { edc: ['edc'] }, { data });
beforeAll(async () => {
  await http.as('edc').randomize('Sleep', '1', COOK);
  await http.as('edc').randomize('Sleep', '2', DUPAGE);
});

const check = (text: string, ...args: string[]) => run`studies check --studies ${file(text)} ${args}`;
const registrations = () =>
  storedLog(data)
    .map(({ record }) => record)
    .filter(({ type }) => type === 'StudyRegistered');

const WARD = 'Ward: {mode: test, treatments: [Left, Right], factors: {ward: [a, b]}}\n';
/** A small study by this name. */
const small = (name: string, settings = 'mode: test') =>
  `${name}:\n  ${settings}\n  treatments: [a, b]\n  factors: {x: [y, z]}\n`;

describe('urn studies check', () => {
  it('says if a study is as registered or new, and how it differs, with exit code 1', async () => {
    const same = await check(`${TRIALS}\n${small('More')}`);
    expect(same.code).toBe(0);
    expect(same.stdout).toContain('Sleep: as registered\n');
    expect(same.stdout).toContain('More: new\n');
    const path = file(TRIALS.replace('[Left, Right]', '[Right, Left]'));
    const { code, stdout } = await run`studies check --studies ${path}`;
    expect(code).toBe(1);
    expect(stdout).toContain(
      `Ward: differs\n  ${path}:12: treatments differs (in force: ["Left", "Right"]; file: ["Right", "Left"])`,
    );
    expect(stdout).toContain('Exact: as registered');
  });

  it('prints what would be registered, and says that a missing mode means live', async () => {
    const text = `Left out:
  alpha: 1
  treatments: [MART, "RMC, Q"]
  factors: {sex: [Male, Female], site: ["11–Cook", "30"]}
  limits: {levels: {sex: {Male: 200}}}
Rehearsal:
  mode: test
  D: range
  w: 3
  starting_seed: 340282366920938463463374607431768211457
  id_pattern: "[0-9]+"
  target_enrollment: 30
  blinding: blinded
  limits: {total: 60}
  policies: {stop_at_limit: true, forced_counts: not-counted}
  treatments: [a, b]
  factors: {x: [y, z]}
  ratio: {b: 3, a: 1}
`;
    const { code, stdout } = await check(text);
    expect(code).toBe(0);
    expect(stdout).toBe(`Left out: new
  would be registered as
  mode           live (the file leaves mode out, so it registers as live; write "mode: test" for a rehearsal)
  blinding       open (the sites know the arms)
  arms           "MART", "RMC, Q"
  factor "sex"   "Male", "Female"
  factor "site"  "11–Cook", "30"
  urn            D=chisquare w=1 alpha=1 beta=1 urn_selection=method1
  seed           drawn from the operating system
  limit          200 with sex = Male (information only: nobody is stopped)
  policies       level_counts as-randomized, void_counts kept, forced_counts counted
Rehearsal: new
  would be registered as
  mode        test
  blinding    blinded
  arms        "a", "b"
  ratio       1:3 ("a" 1, "b" 3)
  factor "x"  "y", "z"
  urn         D=range w=3 alpha=0 beta=1 urn_selection=method1
  seed        given in the file
  id pattern  [0-9]+
  target      30 participants
  limit       60 participants (nobody is taken beyond it)
  policies    stop_at_limit true, level_counts as-corrected, void_counts kept, forced_counts not-counted
`);
    expect(JSON.parse((await check(text, '--json')).stdout).studies).toMatchObject([
      { liveByDefault: true, seedSource: 'drawn', configuration: { mode: 'live', alpha: 1 } },
      { liveByDefault: false, seedSource: 'configured', configuration: { mode: 'test', D: 'range' } },
    ]);
  });

  it('refuses to register a name that looks like another, as urn serve does', async () => {
    const alike = file(small('"Sleep\u200b"'));
    for (const said of [
      await refusal(run`studies check --studies ${alike}`),
      await refusal(command(typed`serve --port 0 --data ${newFolder()} --studies ${alike}`)),
    ])
      expect(said).toMatch(
        /the studies file is refused:[\s\S]*study "Sleep\\u200b": its name contains U\+200B, which nobody sees/,
      );
  });

  it('refuses an invalid file with every reason, with file and line, and how a registered study differs', async () => {
    const wrong = file(`${WARD.replace('[a, b]', '[a, c]')}
Unsound: {w: 0, id_pattern: "(?=a)a", treatments: [a, b], factors: {x: [y, z]}}
Sound: {treatments: [a, ${'b'.repeat(201)}], factors: {x: [y, z]}, limits: {total: 3}}`);
    const stderr = await refusal(run`studies check --studies ${wrong}`);
    const found = [...stderr.matchAll(/:(\d+): study "(\w+)": (\w+ \w+)/g)].map(([, ...words]) =>
      words.join(' '),
    );
    expect(found.toSorted()).toEqual([
      ...['3 Unsound id_pattern has', '3 Unsound w is', '4 Sound the limits', '4 Sound treatment 2'],
    ]);
    // Of the names of a new study, none is shown.
    expect(stderr).not.toContain('bbb');
    expect(stderr).toContain(`Ward: differs\n  ${wrong}:1: factors.ward differs`);
  });

  it('advises an id_pattern, and asks who hands out the treatment of a blinded study without packs', async () => {
    const path = file(small('Open') + small('Blinded', 'blinding: blinded\n  id_pattern: "[0-9]+"'));
    const { code, stderr } = await run`studies check --studies ${path}`;
    expect(code).toBe(0);
    expect(stderr.match(/^advice: .*$/gm)).toEqual([
      expect.stringContaining(`${path}:1: study "Open": it has no id_pattern`),
      expect.stringContaining(`${path}:6: study "Blinded": it is blinded and has no packs: who hands out`),
    ]);
    const own = commandsOn(newFolder());
    await own.ok`init`;
    expect(await own.said`studies list`).toMatch(/^0 .*no study/);
    expect(await own.run`studies list --json`).toMatchObject({ code: 0, stdout: '[]\n' });
    await own.ok`studies register --studies ${path} --yes`;
    await own.ok`codes add --study Blinded --from ${file('code,treatment\nP-1,a\nP-2,b\n')} --yes`;
    expect((await own.run`studies check --studies ${path}`).stderr).not.toContain('hands out');
  });

  it('reads studies.yaml in the current directory, or URN_STUDIES, and refuses if there is none', async () => {
    const folder = newFolder();
    const here = (env = {}) => command(['studies', 'check'], { cwd: folder, env });
    expect(await refusal(here())).toContain('--studies');
    const checked = { code: 0, stdout: expect.stringContaining('Sleep: new') };
    expect(await here({ URN_STUDIES: file(TRIALS) })).toMatchObject(checked);
    writeFileSync(join(folder, 'studies.yaml'), TRIALS);
    expect(await here()).toMatchObject(checked);
    expect(readdirSync(folder)).toEqual(['studies.yaml']);
  });
});

describe('urn studies register', () => {
  it('tells what it would do, and registers what is new, in a running service that takes participants for it within a second', async () => {
    const path = file(WARD + small('New'));
    expect(await said`studies register --studies ${path} --dry-run`).toMatch(
      /\nNew: new\n {2}would be registered as\n {2}mode +test\n[\s\S]*\ndry run: nothing was registered$/,
    );
    expect(await said`studies register --studies ${path}`).toMatch(
      /^0 Ward: as registered\nNew: registered; services of this log serve it within a second\nfirst checkpoint \(archive .*\)\nurn\/study-[^\n]+\n1\n/,
    );
    const taken = async () => (await http.as('edc').randomize('New', '1', { x: 'y' })).status;
    await within(1000, async () => (await taken()) === 200);
    expect(registrations().at(-1)).toMatchObject({
      actor: cliActor(),
      data: { configuration: { name: 'New' } },
    });
  });

  it('leaves a study that differs as it is, and registers the others all the same', async () => {
    const path = file(WARD.replace('[a, b]', '[a, c]') + small('Other'));
    const before = registrations().length;
    const { code, stdout } = await run`studies register --studies ${path} --json`;
    expect(code).toBe(1);
    expect(JSON.parse(stdout).studies).toMatchObject([
      {
        ...{ study: 'Ward', outcome: 'differs' },
        differences: [expect.stringContaining(`${path}:1: factors.ward differs`), expect.any(String)],
      },
      { study: 'Other', outcome: 'registered', seedSource: 'drawn', firstCheckpoint: expect.any(String) },
    ]);
    expect((await http.as('edc').randomize('Ward', '1', { ward: 'b' })).status).toBe(200);
    expect(await said`studies register --studies ${path}`).toMatch(/^1 [\s\S]*^Other: as registered/m);
    expect(registrations()).toHaveLength(before + 1);
  });

  it('registers nothing from a file that is refused, and begins no log', async () => {
    const wrong = file(`${small('Right')}Wrong:\n  treatments: [a]\n`);
    const tooNew = file(small('Right', 'id_pattern: "."'));
    const empty = newFolder();
    for (const folder of [data, empty])
      expect(await refusal(commandsOn(folder).run`studies register --studies ${wrong}`)).toContain('"Wrong"');
    expect(readdirSync(empty)).toEqual([]);
    expect(await said`studies register --studies ${tooNew}`).toContain(
      `${tooNew}:2: study "Right": id_pattern`,
    );
    expect(JSON.stringify(registrations())).not.toContain('"name":"Right"');
  });
});

it('urn studies list prints the studies in the log, one per line, and the same for machines', async () => {
  const { code, stdout, stderr } = await run`studies list`;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')[0]).toMatch(/^Sleep +test +open +2 participants$/);
  expect(stdout.trimEnd().split('\n')).toHaveLength(registrations().length);
  expect((await json`studies list --json`)[0]).toEqual({
    ...{ name: 'Sleep', mode: 'test', state: 'open' },
    ...{ participants: 2, filled: 2, revision: 2 },
  });
});

describe('urn studies show', () => {
  it('prints configuration, state and balance, but neither seed nor individual assignments', async () => {
    const text = await ok`studies show Sleep`;
    for (const line of [
      /^participants +2 participants$/m,
      /^blinding +open \(the sites know the arms\)$/m,
      /^seed +configured$/m,
      /^urn +D=chisquare w=1 alpha=0 beta=1 urn_selection=method1$/m,
      /^ +ZZTREATA +ZZTREATB$/m,
      /^sex = Female +(0 +1|1 +0)$/m,
    ])
      expect(text).toMatch(line);
    expect(text).not.toContain('340282366920938463463374607431768211457');
    const shown = await json`studies show Patterned --json`;
    expect(shown).toMatchObject({
      ...{ name: 'Patterned', seedSource: 'drawn', seedWeak: false },
      ...{ configuration: { treatments: ['Left', 'Right'] }, balance: { totals: [0, 0] } },
    });
    expect(shown).not.toHaveProperty('seed');
  });

  it('says, like the list, that a study is closed, why, and since when', async () => {
    await ok`studies close Exact --cause target --reason '300 randomized'`;
    const closed = 'closed since [-:.TZ0-9]+: target: 300 randomized';
    expect(await ok`studies list`).toMatch(
      new RegExp(`^Exact +test +closed +0 participants +${closed}$`, 'm'),
    );
    const shown = await ok`studies show Exact`;
    expect(shown).toMatch(new RegExp(`^state +${closed}$`, 'm'));
    expect(shown).not.toContain('code-breaks');
  });
});
