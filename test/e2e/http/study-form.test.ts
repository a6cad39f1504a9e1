/** What a form needs to ask about a new participant, from the real service. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

let service: ServiceHere;
let keys: Record<'writer' | 'dupage' | 'reader' | 'manager', string>;

beforeAll(async () => {
  ({ service, keys } = await serveInMemory(TRIALS, {
    writer: ['writer', '--scope', 'randomize'],
    dupage: ['dupage', '--scope', 'randomize', '--where', `local_site=${DUPAGE.local_site}`, '--force'],
    reader: ['reader', '--scope', 'read'],
    manager: ['manager', '--scope', 'manage'],
  }));
});
afterAll(() => service.stop());

const form = (key: keyof typeof keys, study = 'Sleep') =>
  ask(service.url, '/study_form', { key: keys[key], parameters: { study } });
const amended = (amendment: number, ...changes: object[]) =>
  postJson(service.url, '/amendments', keys.manager, {
    ...{ study: 'Sleep', amendment, reason: 'protocol 2', changes },
  });

it('the form has the factors and the id pattern, but no arm', async () => {
  const { status, results, text } = await form('writer');
  expect(status).toBe(200);
  const sites = [COOK.local_site, DUPAGE.local_site, KANE.local_site];
  expect(results).toEqual({
    factors: [
      { name: 'sex', levels: ['Male', 'Female'] },
      { name: 'local_site', levels: sites },
    ],
  });
  expect(text).not.toContain('ZZTREAT');
  expect((await form('writer', 'Patterned')).results.id_pattern).toBe('[0-9]{3}-[0-9]{4}|X');
  expect((await form('reader')).status).toBe(403);
});

it('the form has only open levels within the limits of the key, under their current names, no retired factors, and the visits', async () => {
  const ofSite = { factor: 'local_site' };
  const { status, message } = await amended(
    1,
    { kind: 'level-renamed', ...ofSite, level: DUPAGE.local_site, to: 'DuPage' },
    { kind: 'level-closed', ...ofSite, level: KANE.local_site },
  );
  expect([status, message]).toEqual([200, 'Success']);
  const sitesFor = async (key: keyof typeof keys) => (await form(key)).results.factors[1].levels;
  expect(await sitesFor('writer')).toEqual([COOK.local_site, 'DuPage']);
  expect(await sitesFor('dupage')).toEqual(['DuPage']);

  await amended(2, { kind: 'factor-retired', ...ofSite });
  expect((await form('writer')).results).toEqual({ factors: [{ name: 'sex', levels: ['Male', 'Female'] }] });
  expect(await form('dupage')).toMatchObject({ status: 403, message: /retired/ });

  await amended(3, { kind: 'visits', value: ['V2', 'Week 12'] });
  expect((await form('writer')).results.visits).toEqual(['V2', 'Week 12']);
});
