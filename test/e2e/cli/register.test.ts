/** urn studies register and check: studies begin without a restart of the service, and a file's problems are all named. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cliActor } from '../../../src/cli/options.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { issueKey, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const files = newFolder();
const data = newFolder();
const SERVED = 'Served:\n  mode: test\n  treatments: [a, b]\n  factors: {ward: [x, y]}\n';
const NEW = SERVED.replace('Served', 'New');
const DIFFERENT = SERVED.replace('[x, y]', '[x, z]');
let service: ServiceHere;
let key: string;

beforeAll(async () => {
  key = await issueKey(data, 'edc');
  service = await serveHere(data, SERVED);
});
afterAll(() => service.stop());

function file(text: string, name: string): string {
  const path = join(files, name);
  writeFileSync(path, text);
  return path;
}
const studies = (verb: string, path: string, ...args: string[]) =>
  command(['studies', verb, '--studies', path, '--data', data, ...args]);
const registrations = () =>
  storedLog(data)
    .map(({ record }) => record)
    .filter(({ type }) => type === 'StudyRegistered');

describe('urn studies register', () => {
  it('can be tried: nothing is written', async () => {
    const path = file(NEW, 'try.yaml');
    const ended = await urn(['studies', 'register', '--studies', path, '--data', data, '--dry-run']);
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^New: new\n {2}would be registered as\n {2}mode +test\n/),
      stderr: 'dry run: nothing was registered\n',
    });
    expect(registrations()).toHaveLength(1);
  });

  it('registers what is new, in a running service that takes participants for it within a second', async () => {
    const { code, stdout } = await studies('register', file(SERVED + NEW, 'new.yaml'));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Served: as registered\nNew: registered; services of this log serve it within a second\nfirst checkpoint \(archive .*\)\nurn\/study-[^\n]+\n1\n/,
    );
    const taken = async () => (await clientOf(service.url, key).randomize('New', '1', { ward: 'x' })).status;
    await within(1000, async () => (await taken()) === 200);
    expect(registrations().at(-1)).toMatchObject({
      actor: cliActor(),
      data: { configuration: { name: 'New' } },
    });
  });

  it('leaves a study that differs as it is, and registers the others all the same', async () => {
    const other = NEW.replace('New', 'Other');
    const path = file(DIFFERENT + other, 'differs.yaml');
    const { code, stdout } = await studies('register', path, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout).studies).toMatchObject([
      {
        study: 'Served',
        outcome: 'differs',
        differences: [expect.stringContaining(`${path}:4: factors.ward differs`), expect.any(String)],
      },
      { study: 'Other', outcome: 'registered', seedSource: 'drawn', firstCheckpoint: expect.any(String) },
    ]);
    expect(await clientOf(service.url, key).randomize('Served', '1', { ward: 'y' })).toMatchObject({
      status: 200,
    });
    const again = await studies('register', path);
    expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('Other: as registered') });
    expect(registrations()).toHaveLength(3);
  });

  it('registers nothing from a file that is refused, and begins no log', async () => {
    const wrong = file(`${NEW.replace('New', 'Right')}Wrong:\n  treatments: [a]\n`, 'wrong.yaml');
    expect(await studies('register', wrong)).toMatchObject({ code: 2, stdout: '' });
    const tooNew = file(NEW.replace('New', 'Right').replace('mode: test', 'id_pattern: "."'), 'dot.yaml');
    expect(await studies('register', tooNew)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${tooNew}:2: study "Right": id_pattern`),
    });
    expect(registrations()).toHaveLength(3);
    const empty = newFolder();
    const elsewhere = await command(['studies', 'register', '--studies', wrong, '--data', empty]);
    expect(elsewhere).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('urn studies check', () => {
  it('names every problem of a file at once, each with its line, those of new studies among them', async () => {
    const path = file(
      [
        DIFFERENT.trimEnd(),
        'Unsound:',
        '  w: 0',
        '  mood: test',
        '  id_pattern: "(?=a)a"',
        '  treatments: [a, a]',
        '  factors: {x: [y, z]}',
        'Sound:',
        `  treatments: [a, ${'b'.repeat(201)}]`,
        '  factors: {x: [y, z]}',
        '  limits: {total: 3}',
      ].join('\n'),
      'five.yaml',
    );
    const { code, stdout, stderr } = await studies('check', path);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const found = [...stderr.matchAll(/:(\d+): study "(\w+)": (\w+)/g)].map((match) =>
      match.slice(1).join(' '),
    );
    expect(found.toSorted()).toEqual(
      ['6 Unsound w', '7 Unsound unknown', '8 Unsound id_pattern', '9 Unsound treatment']
        .concat([...['11 Sound treatment', '14 Sound the']])
        .toSorted(),
    );
    expect(stderr).toContain(`Served: differs\n  ${path}:4: factors.ward differs`);
  });

  it('advises an id_pattern, and asks who hands out the treatment of a blinded study without packs', async () => {
    const path = file(
      `${SERVED}Blinded:\n  blinding: blinded\n  id_pattern: "[0-9]+"\n  treatments: [a, b]\n  factors: {x: [y, z]}\n`,
      'blinded.yaml',
    );
    const { code, stderr } = await studies('check', path);
    expect(code).toBe(0);
    expect(stderr.match(/^advice: .*$/gm)).toEqual([
      expect.stringContaining(`${path}:1: study "Served": it has no id_pattern`),
      expect.stringContaining(`${path}:6: study "Blinded": it is blinded and has no packs: who hands out`),
    ]);
    await commandOk(['studies', 'register', '--studies', path, '--data', data, '--yes']);
    const packs = file('code,treatment\nP-1,a\nP-2,b\n', 'packs.csv');
    await commandOk(['codes', 'add', '--study', 'Blinded', '--from', packs, '--data', data, '--yes']);
    expect((await studies('check', path)).stderr).not.toContain('hands out');
  });
});

describe('urn studies show', () => {
  const settings =
    'blinding: blinded\n  limits: {total: 3, levels: {x: {y: 2}}}\n  treatments: [a, b]\n  factors: {x: [y, z]}\n';

  it.each([
    ['', 'information only: nobody is stopped', ''],
    ['  policies: {stop_at_limit: true}\n', 'nobody is taken beyond it', 'stop_at_limit true, '],
  ])('says blinding, policies and limits, and whether they stop anybody: %j', async (more, stops, policy) => {
    const folder = newFolder();
    const log = await openLog({ data: folder }, OPERATOR);
    await log.close();
    const path = file(`S:\n  mode: test\n  ${settings}${more}`, 'shown.yaml');
    await commandOk(['studies', 'register', '--studies', path, '--data', folder]);
    const shown = await commandOk(['studies', 'show', 'S', '--studies', path, '--data', folder]);
    expect(shown).toMatch(/^blinding +blinded$/m);
    expect(shown.match(/^limit .*$/gm)?.map((line) => line.replace(/ +/g, ' '))).toEqual([
      `limit 3 participants (${stops})`,
      `limit 2 with x = y (${stops})`,
    ]);
    expect(shown).toMatch(
      new RegExp(
        `^policies +${policy}level_counts as-corrected, void_counts kept, forced_counts counted$`,
        'm',
      ),
    );
  });
});
