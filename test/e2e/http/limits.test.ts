/** A study that starts out paused, and limits that stop enrolment. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
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
let service: ServiceHere;
let keys: Record<'edc' | 'site' | 'manager', string>;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,blinded'],
    site: ['site', '--scope', 'blinded', '--where', 'site=x', '--force'],
    manager: ['data-manager', '--scope', 'manage'],
  });
  service = await serveHere(data, STUDIES);
});
afterAll(() => service.stop());

it('a study may start out paused, so that nobody is enrolled before it is opened', async () => {
  const { randomize } = clientOf(service.url, keys.edc);
  expect(await randomize('Full', '0', X)).toMatchObject({ status: 409, message: /paused/ });
  expect(await commandOk(['studies', 'list', '--data', data])).toContain('registered as paused');
  const open = { study: 'Full', action: 'resume', reason: 'first site is ready' };
  expect((await postJson(service.url, '/study_state', keys.manager, open)).results).toEqual({
    state: 'open',
  });
});

it('a full level takes no more participants, but other levels do until the study is full', async () => {
  const { randomize } = clientOf(service.url, keys.edc);
  expect((await randomize('Full', '1', X)).status).toBe(200);
  expect((await randomize('Full', '2', X)).status).toBe(200);
  expect(await randomize('Full', '3', X)).toMatchObject({
    status: 409,
    results: [],
    message: 'The study takes no more participants with site = x: the limit of 2 is reached',
  });
  const dry = await randomize('Full', '3', { ...X, 'urn.dry_run': 'true' });
  expect(dry).toMatchObject({ status: 409, results: [] });
  expect(dry.headers.get('urn-refused')).toBe('full');
  // A duplicate is still reported as one, whatever the limits.
  expect((await randomize('Full', '1', X)).status).toBe(400);
  expect((await randomize('Full', '3', Y)).status).toBe(200);
  expect((await randomize('Full', '4', { ...Y, 'urn.dry_run': 'true' })).results).toEqual({
    effect: { counts: 'moves' },
  });
  expect((await randomize('Full', '4', Y)).status).toBe(200);
  expect((await randomize('Full', '5', Y)).message).toBe(
    'The study takes no more participants: the limit of 4 is reached',
  );
});

it('the design shows how far the limits are reached, but not to a key of one site', async () => {
  const show = (key: string) => ask(service.url, '/study_design', { key, parameters: { study: 'Full' } });
  const { status, results, text } = await show(keys.edc);
  expect(status).toBe(200);
  expect(results).toMatchObject({
    mode: 'live',
    state: 'open',
    ...{ enrolled: 4, voided: 0, filled: 4 },
    limits: [
      { max: 4, enrolled: 4 },
      { factor: 'site', level: 'x', max: 2, enrolled: 2 },
    ],
    design: {
      treatments: ['A', 'B'],
      blinding: 'blinded',
      policies: { stop_at_limit: true, level_counts: 'as-corrected', void_counts: 'kept' },
      protocol: { version: '1.0' },
    },
  });
  expect(text).not.toContain('seed');
  const shown = JSON.parse(await commandOk(['studies', 'show', 'Full', '--json', '--data', data]));
  expect([shown.limits, shown.design]).toEqual([results.limits, results.design]);
  const { results: atSite } = await show(keys.site);
  expect(atSite.limits).toEqual([{ max: 4 }, { factor: 'site', level: 'x', max: 2 }]);
  for (const name of ['enrolled', 'voided', 'filled']) expect(atSite).not.toHaveProperty(name);
  expect((await show(keys.manager)).status).toBe(403);
});

it('refusals are recorded, and the log verifies', async () => {
  await service.stop();
  expect(await commandOk(['operations', '--data', data])).toContain('the study has reached a limit');
  const { code, stdout } = await command(['verify', '--data', data]);
  expect({ code, stdout }).toMatchObject({ code: 0 });
  service = await serveHere(data, STUDIES);
  expect((await clientOf(service.url, keys.edc).randomize('Full', '5', Y)).status).toBe(409);
});
