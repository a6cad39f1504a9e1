/** Messages that say what to do, in the right number. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { command, commandOk } from '../../support/command.ts';
import { served } from '../../support/served.ts';
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
const WHERE = ['--where', 'ward=North', '--where', 'ward=South', '--force'];
const http = served(
  STUDIES,
  {
    edc: ['edc'],
    site: ['site', '--scope', 'randomize,correct', ...WHERE],
    manager: ['manager', '--scope', 'correct,read'],
  },
  { data, filled: (one) => one.as('edc').randomize('One', '001-0001', IN_NORTH) },
);
const post = (name: keyof typeof http.keys, path: string, body: object) =>
  http.post(name, path, { study: 'One', id: '001-0001', ...body });

it('a key that is limited to levels is told which', async () => {
  const message = 'This API key is limited to ward = "North" or "South"';
  const enrolling = await http.as('site').randomize('One', '001-0002', { ward: 'West', sex: 'F' });
  expect(enrolling).toMatchObject({ status: 403, message });
  const changes = [{ factor: 'ward', from: 'North', to: 'West' }];
  const moving = await post('site', '/level_corrections', {
    changes,
    cause: 'entry',
    note: 'x',
    dry_run: true,
  });
  const hint = '(hint: the cause of a move to another site is transfer)';
  expect(moving).toMatchObject({ status: 403, message: `${message} ${hint}` });
});

it('a dry run says in a sentence that nothing was recorded, and what the urns would do', async () => {
  const body = { cause: 'ineligible', analysis: 'exclude', note: 'too young', dry_run: true };
  expect(await post('manager', '/voids', body)).toMatchObject({
    status: 200,
    message:
      'Nothing was recorded: this is a dry run. The request would be accepted, and the urns would go on counting as they do',
    results: { effect: { counts: 'stays' } },
  });
  const dry = { ...IN_NORTH, 'urn.dry_run': 'true' };
  const { status, message } = await http.as('edc').randomize('One', '001-0009', dry);
  expect(status).toBe(200);
  expect(message).toMatch(/^Nothing was recorded: .* the urns would count differently from then on$/);
});

it('an id that does not match the pattern is refused with one that does', async () => {
  const said = "does not match this study's pattern [0-9]{3}-[0-9]{4} (an id of this form: 111-1111)";
  expect((await http.as('edc').randomize('One', 'x', IN_NORTH)).message).toBe(`id ${said}`);
  expect((await post('manager', '/id_corrections', { to: 'x', cause: 'entry' })).message).toBe(`to: ${said}`);
  const renamed = ['participants', 'rename', '--study', 'One', '--id', '001-0001', '--to', 'x'];
  const stderr = expect.stringContaining(said);
  expect(await command([...renamed, '--cause', 'entry', '--data', data])).toMatchObject({ code: 2, stderr });
});

describe('a study with one of everything', () => {
  const PLURAL_OF_ONE =
    /\b1 (?:participants|records|studies|rows|packs|arms|levels|slots|lists|streams|checkpoints|trials|fields|times|events)\b/;
  const out = (name: string) => join(newFolder(), name);

  it('is never "1 participants"', async () => {
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
    expect(text).toContain('1 of 1 participant');
    expect(text.match(PLURAL_OF_ONE)).toBeNull();
  });

  it('has a report and a check that say so, too', async () => {
    const report = out('one.html');
    await commandOk(['report', '--study', 'One', '--out', report, '--data', data]);
    const html = readFileSync(report, 'utf8').replaceAll(/<[^>]*>/g, '');
    expect(html).toContain('1 participant');
    expect(html.match(PLURAL_OF_ONE)).toBeNull();
    const file = out('studies.yaml');
    writeFileSync(file, STUDIES.replace('One', 'Another'));
    const checked = await commandOk(['studies', 'check', '--studies', file, '--data', data]);
    expect(checked).toContain('1 participant (information only');
  });
});

it('the time that a verification took is in milliseconds, not in 17 digits', async () => {
  const { seconds } = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
  expect(String(seconds)).toMatch(/^\d+(?:\.\d{1,3})?$/);
});
