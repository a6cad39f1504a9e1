/** Messages that say what to do, in the right number. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const STUDIES = `
One:
  mode: test
  treatments: [a, b]
  id_pattern: "[0-9]{3}-[0-9]{4}"
  target_enrollment: 1
  limits: {total: 1}
  factors: {ward: [North, South, West], sex: [F, M]}
`;
const IN_NORTH = { ward: 'North', sex: 'F' };
let service: ServiceHere;
let keys: Record<'edc' | 'site' | 'manager', string>;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc'],
    site: [
      'site',
      '--scope',
      'randomize,correct',
      '--where',
      'ward=North',
      '--where',
      'ward=South',
      '--force',
    ],
    manager: ['manager', '--scope', 'correct,read'],
  });
  service = await serveHere(data, STUDIES);
  expect(await clientOf(service.url, keys.edc).randomize('One', '001-0001', IN_NORTH)).toMatchObject({
    status: 200,
  });
});
afterAll(() => service.stop());

const post = (key: string, path: string, body: object) =>
  postJson(service.url, path, key, { study: 'One', ...body });

describe('a key that is limited to levels', () => {
  it('is told which, when it enrols somebody with another', async () => {
    const at = clientOf(service.url, keys.site);
    expect(await at.randomize('One', '001-0002', { ward: 'West', sex: 'F' })).toMatchObject({
      status: 403,
      message: 'This API key is limited to ward = "North" or "South"',
    });
  });

  it('is told which, when it moves somebody out of them', async () => {
    const changes = [{ factor: 'ward', from: 'North', to: 'West' }];
    const body = { id: '001-0001', changes, cause: 'entry', note: 'slip', dry_run: true };
    expect(await post(keys.site, '/level_corrections', body)).toMatchObject({
      status: 403,
      message:
        'This API key is limited to ward = "North" or "South" (hint: the cause of a move to another site is transfer)',
    });
  });
});

it('a dry run says in a sentence that nothing was recorded, and what the urns would do', async () => {
  const body = { id: '001-0001', cause: 'ineligible', analysis: 'exclude', note: 'too young', dry_run: true };
  expect(await post(keys.manager, '/voids', body)).toMatchObject({
    status: 200,
    message:
      'Nothing was recorded: this is a dry run. The request would be accepted, and the urns would go on counting as they do',
    results: { effect: { counts: 'stays' } },
  });
});

it('a dry run of a randomization says that the urns would count differently', async () => {
  const tried = await clientOf(service.url, keys.edc).randomize('One', '001-0009', {
    ...{ ...IN_NORTH, 'urn.dry_run': 'true' },
  });
  expect(tried).toMatchObject({
    status: 200,
    message: expect.stringMatching(
      /^Nothing was recorded: .* the urns would count differently from then on$/,
    ),
  });
});

it('an id that does not match the pattern is refused with one that does', async () => {
  const said = "does not match this study's pattern [0-9]{3}-[0-9]{4} (an id of this form: 111-1111)";
  const { message } = await clientOf(service.url, keys.edc).randomize('One', 'x', IN_NORTH);
  expect(message).toBe(`id ${said}`);
  const rename = { id: '001-0001', to: 'x', cause: 'entry' };
  expect((await post(keys.manager, '/id_corrections', rename)).message).toBe(`to: ${said}`);
  const renamed = [
    'participants',
    'rename',
    '--study',
    'One',
    '--id',
    '001-0001',
    '--to',
    'x',
    '--cause',
    'entry',
  ];
  expect(await command([...renamed, '--data', data])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(said),
  });
});

describe('a study with one of everything', () => {
  const PLURAL_OF_ONE =
    /\b1 (?:participants|records|studies|rows|packs|arms|levels|slots|lists|streams|checkpoints|trials|fields|times|events)\b/;

  it('is never "1 participants"', async () => {
    const out = (name: string) => join(newFolder(), name);
    const said: string[] = [];
    for (const args of [
      ['studies', 'list'],
      ['studies', 'show', 'One'],
      ['studies', 'pause', 'One', '--reason', 'x', '--dry-run'],
      ['export', '--study', 'One', '--format', 'csv', '--out', out('one.csv')],
      ['export', '--study', 'One', '--format', 'reference-csv', '--out', out('reference.csv')],
      ['bundle', '--study', 'One', '--out', out('one.zip')],
      ['explain', '--study', 'One', '--id', '001-0001'],
      ['verify'],
      ['copy', '--to', `sqlite:${out('urn.sqlite')}`, '--dry-run'],
    ]) {
      const { code, stdout, stderr } = await command([...args, '--data', data]);
      expect(code, stderr).toBe(0);
      said.push(stdout, stderr);
    }
    const text = said.join('');
    expect(text).toContain('1 participant');
    expect(text).toContain('1 of 1 participant');
    expect(text.match(PLURAL_OF_ONE)).toBeNull();
  });

  it('has a report and a check that say so, too', async () => {
    const report = join(newFolder(), 'one.html');
    await commandOk(['report', '--study', 'One', '--out', report, '--data', data]);
    const html = readFileSync(report, 'utf8').replaceAll(/<[^>]*>/g, '');
    expect(html).toContain('1 participant');
    expect(html.match(PLURAL_OF_ONE)).toBeNull();
    const file = join(newFolder(), 'studies.yaml');
    writeFileSync(file, STUDIES.replace('One', 'Another'));
    const checked = await commandOk(['studies', 'check', '--studies', file, '--data', data]);
    expect(checked).toContain('1 participant (information only');
  });
});

it('the time that a verification took is in milliseconds, not in 17 digits', async () => {
  const { seconds } = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
  expect(String(seconds)).toMatch(/^\d+(?:\.\d{1,3})?$/);
});
