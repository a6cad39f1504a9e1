/** A study that starts out paused, and limits that stop enrolment. */
import { expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const STUDIES = `
Full:
  mode: live
  blinding: blinded
  start: paused
  treatments: [A, B]
  factors: {sex: [Male, Female], site: [x, y]}
  limits: {total: 4, levels: {site: {x: 2}}}
  policies: {stop_at_limit: true}
  protocol: {version: "1.0"}
`;
const X = { sex: 'Male', site: 'x' };
const Y = { sex: 'Male', site: 'y' };
const http = served(
  STUDIES,
  {
    edc: ['edc', '--scope', 'randomize,blinded'],
    site: ['site', '--scope', 'blinded', '--where', 'site=x', '--force'],
    manager: ['data-manager', '--scope', 'manage'],
  },
  { data },
);
const randomize = (id: string, levels: typeof X, more = {}) =>
  http.as('edc').randomize('Full', id, { ...levels, ...more });
const run = (...args: string[]) => commandOk([...args, '--data', data]);

it('a study may start out paused, so that nobody is enrolled before it is opened', async () => {
  expect(await randomize('0', X)).toMatchObject({ status: 409, message: expect.stringContaining('paused') });
  expect(await run('studies', 'list')).toContain('registered as paused');
  const open = { study: 'Full', action: 'resume', reason: 'first site is ready' };
  expect((await http.post('manager', '/study_state', open)).results).toEqual({ state: 'open' });
});

it('a full level takes no more participants, but other levels do until the study is full', async () => {
  const dry = { 'urn.dry_run': 'true' };
  for (const id of ['1', '2']) expect((await randomize(id, X)).status).toBe(200);
  const message = 'The study takes no more participants with site = x: the limit of 2 is reached';
  expect(await randomize('3', X)).toMatchObject({ status: 409, message, results: [] });
  const tried = await randomize('3', X, dry);
  expect(tried).toMatchObject({ status: 409, results: [] });
  expect(tried.headers.get('urn-refused')).toBe('full');
  // A duplicate is still reported as one, whatever the limits.
  expect((await randomize('1', X)).status).toBe(400);
  expect((await randomize('3', Y)).status).toBe(200);
  expect((await randomize('4', Y, dry)).results).toEqual({ effect: { counts: 'moves' } });
  expect((await randomize('4', Y)).status).toBe(200);
  const full = 'The study takes no more participants: the limit of 4 is reached';
  expect((await randomize('5', Y)).message).toBe(full);
});

it('the design shows how far the limits are reached, but not to a key of one site', async () => {
  const show = (name: keyof typeof http.keys) => http.get(name, '/study_design', { study: 'Full' });
  const { status, results, text } = await show('edc');
  expect(status).toBe(200);
  const limits = [
    { max: 4, enrolled: 4 },
    { factor: 'site', level: 'x', max: 2, enrolled: 2 },
  ];
  const policies = { stop_at_limit: true, level_counts: 'as-corrected', void_counts: 'kept' };
  const design = { treatments: ['A', 'B'], blinding: 'blinded', policies, protocol: { version: '1.0' } };
  const counts = { enrolled: 4, voided: 0, filled: 4 };
  expect(results).toMatchObject({ mode: 'live', state: 'open', ...counts, limits, design });
  expect(text).not.toContain('seed');
  const shown = JSON.parse(await run('studies', 'show', 'Full', '--json'));
  expect([shown.limits, shown.design]).toEqual([results.limits, results.design]);
  const { results: atSite } = await show('site');
  expect(atSite.limits).toEqual([{ max: 4 }, { factor: 'site', level: 'x', max: 2 }]);
  for (const name of Object.keys(counts)) expect(atSite).not.toHaveProperty(name);
  expect((await show('manager')).status).toBe(403);
});

it('refusals are recorded, the log verifies, and the limits hold after a restart', async () => {
  await http.service.stop();
  expect(await run('operations')).toContain('the study has reached a limit');
  await run('verify');
  http.service = await serveHere(data, STUDIES);
  expect((await clientOf(http.url, http.keys.edc).randomize('Full', '5', Y)).status).toBe(409);
});
