/** Limits that stop enrolment, as a key is told of them. The rules: test/unit/study/{corrections,forced}.test.ts. */
import { expect, it } from 'vitest';
import { served } from '../../support/served.ts';

const http = served(
  `
Full:
  mode: live
  blinding: blinded
  start: paused
  treatments: [A, B]
  factors: {sex: [Male, Female], site: [x, y]}
  limits: {total: 3, levels: {site: {x: 2}}}
  policies: {stop_at_limit: true}
  protocol: {version: "1.0"}
`,
  {
    edc: ['edc', '--scope', 'randomize,blinded'],
    site: ['site', '--scope', 'blinded', '--where', 'site=x', '--force'],
    manager: ['data-manager', '--scope', 'manage'],
  },
);
const randomize = (id: string, site: string, more = {}) =>
  http.as('edc').randomize('Full', id, { sex: 'Male', site, ...more });

it('a full level takes no more participants, but other levels do until the study is full', async () => {
  const open = { study: 'Full', action: 'resume', reason: 'first site is ready' };
  expect((await randomize('1', 'x')).message).toContain('paused');
  expect((await http.post('manager', '/study_state', open)).results).toEqual({ state: 'open' });
  const dry = { 'urn.dry_run': 'true' };
  for (const id of ['1', '2']) expect((await randomize(id, 'x')).status).toBe(200);
  const message = 'The study takes no more participants with site = x: the limit of 2 is reached';
  expect(await randomize('3', 'x')).toMatchObject({ status: 409, message, results: [] });
  const tried = await randomize('3', 'x', dry);
  expect([tried.status, tried.headers.get('urn-refused')]).toEqual([409, 'full']);
  // A duplicate is still reported as one, whatever the limits.
  expect((await randomize('1', 'x')).status).toBe(400);
  expect((await randomize('3', 'y', dry)).results).toEqual({ effect: { counts: 'moves' } });
  expect((await randomize('3', 'y')).status).toBe(200);
  const full = 'The study takes no more participants: the limit of 3 is reached';
  expect((await randomize('4', 'y')).message).toBe(full);

  const show = (name: keyof typeof http.keys) => http.get(name, '/study_design', { study: 'Full' });
  // The design shows how far the limits are reached, but not to a key of one site.
  const { results } = await show('edc');
  const limits = [
    { max: 3, enrolled: 3 },
    { factor: 'site', level: 'x', max: 2, enrolled: 2 },
  ];
  const policies = { stop_at_limit: true, level_counts: 'as-corrected', void_counts: 'kept' };
  const design = { treatments: ['A', 'B'], blinding: 'blinded', policies, protocol: { version: '1.0' } };
  const counts = { enrolled: 3, voided: 0, filled: 3 };
  expect(results).toMatchObject({ mode: 'live', state: 'open', ...counts, limits, design });
  const { results: atSite } = await show('site');
  expect(atSite.limits).toEqual([{ max: 3 }, { factor: 'site', level: 'x', max: 2 }]);
  for (const name of Object.keys(counts)) expect(atSite).not.toHaveProperty(name);
});
