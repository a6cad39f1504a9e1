/** What each scope and each limit of a key permits. */
import { describe, expect, it } from 'vitest';
import { type Answer, ask } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

/** What a key with these scopes may do, and what its records and configuration show: [scopes, reads, writes, trt, seed]. */
const SCOPES: readonly [string, boolean, boolean, boolean, boolean][] = [
  ['read', true, false, true, false],
  ['blinded', true, false, false, false],
  ['randomize', false, true, false, false],
  ['audit', false, false, false, true],
  ['read,blinded', true, false, true, false],
  ['read,randomize,audit', true, true, true, true],
];

const at = ({ local_site }: { readonly local_site: string }) => ['--where', `local_site=${local_site}`];
const LIMITED = {
  admin: ['admin'],
  wardOnly: ['admin', '--study', 'Ward'],
  cook: ['cook', ...at(COOK)],
  cookOrKane: ['both', ...at(COOK), ...at(KANE)],
  dupageMen: ['men', ...at(DUPAGE), '--where', 'sex=Male'],
  nobody: ['nobody', '--where', 'local_site=No such site'],
};
const SCOPED = SCOPES.map(([scope, , writes, , seed]): [string, string[]] => {
  return [scope, ['user', '--scope', scope, ...(writes && seed ? ['--allow-prediction'] : [])]];
});

const http = served<string>(
  TRIALS,
  { ...LIMITED, ...Object.fromEntries(SCOPED) },
  {
    filled: async (one) => {
      const { randomize } = one.as('admin');
      await randomize('Sleep', 'in-cook', COOK);
      await randomize('Sleep', 'in-dupage', DUPAGE);
      await randomize('Sleep', 'man-in-dupage', { ...DUPAGE, sex: 'Male' });
      await randomize('Sleep', 'in-kane', KANE);
      await randomize('Ward', 'in-a', { ward: 'a' });
    },
  },
);
const as = (name: keyof typeof LIMITED) => http.as(name);
const idsOf = ({ results }: Answer): string[] => results.map(({ id }: { id: string }) => id);
const statusOf = async (answer: Promise<Answer>) => (await answer).status;

it.each(SCOPES)(
  'a key with the scopes %s reads: %s, writes: %s, sees arms: %s, and the seed: %s',
  async (...row) => {
    const [scope, reads, writes, trt, seed] = row;
    const { config, list, randomize } = http.as(scope);
    const members = ['id', 'f_sex', 'f_local_site', ...(trt ? ['trt'] : []), 'datetime', 'user'];
    const shown = seed ? [...members, 'bg_state'] : members;
    const configuration = await config('Sleep');
    expect(configuration.status).toBe(reads ? 200 : 403);
    expect('starting_seed' in configuration.results).toBe(reads && seed);
    const listed = await list('Sleep', { id: 'in-cook' });
    expect(listed.status).toBe(reads ? 200 : 403);
    if (reads) expect(Object.keys(listed.results[0])).toEqual(shown);
    const posted = await randomize('Sleep', `by ${scope}`, COOK);
    expect(posted.status).toBe(writes ? 200 : 403);
    if (writes) expect(Object.keys(posted.results[0])).toEqual(shown);
    else expect((await as('admin').list('Sleep', { id: `by ${scope}` })).results).toEqual([]);
  },
);

it('a key limited to studies, or to a factor, cannot tell others from ones that do not exist', async () => {
  expect(await statusOf(as('wardOnly').config('Ward'))).toBe(200);
  /** An answer, all but the time and the name of the study. */
  const faceOf = async (asked: Promise<Answer>, study: string) => {
    const { headers, status, text } = await asked;
    const others = [...headers].filter(([name]) => name !== 'date' && name !== 'content-length');
    return { headers: others, status, text: text.replaceAll(study, 'NAME') };
  };
  for (const [name, hidden] of [
    ['wardOnly', 'Sleep'],
    ['cook', 'Ward'],
  ] as const) {
    const { config, list, randomize } = as(name);
    for (const ask of [config, list, (study: string) => randomize(study, 'x', COOK)]) {
      const face = await faceOf(ask(hidden), hidden);
      expect(face.status).toBe(404);
      expect(face).toEqual(await faceOf(ask('Dream'), 'Dream'));
    }
  }
});

it('a key limited to levels lists and enrols participants with one of its levels in each factor, and gets the whole configuration', async () => {
  for (const [name, expected] of [
    ['cookOrKane', ['in-cook', 'in-kane']],
    ['dupageMen', ['man-in-dupage']],
    ['nobody', []],
  ] as const) {
    const ids = idsOf(await as(name).list('Sleep')).filter((id) => !id.startsWith('by '));
    expect(ids, name).toEqual(expected);
  }
  expect((await as('nobody').config('Sleep')).results.factors.local_site).toHaveLength(3);
  // A POST outside of them writes nothing.
  expect(await statusOf(as('cookOrKane').randomize('Sleep', 'cook-3', KANE))).toBe(200);
  const message = `Nothing was recorded: this API key is limited to local_site = "${COOK.local_site}" or "${KANE.local_site}"`;
  const outside = await as('cookOrKane').randomize('Sleep', 'cook-2', DUPAGE);
  expect(outside).toMatchObject({ status: 403, message, results: [] });
  expect(await statusOf(as('dupageMen').randomize('Sleep', 'cook-2', DUPAGE))).toBe(403);
  expect((await as('admin').list('Sleep', { id: 'cook-2' })).results).toEqual([]);
});

describe('failed attempts', () => {
  const guarded = served(TRIALS, { admin: ['admin'] }, { settings: { trustProxy: 1 } });

  it('are limited per address, but a valid key from there is never refused', async () => {
    const from = (address: string, key: string) => {
      const headers = { 'X-Forwarded-For': address };
      return ask(guarded.url, '/study_config', { parameters: { study: 'Ward' }, key, headers });
    };
    const statuses = [];
    for (let i = 0; i < 32; i++) {
      statuses.push((await from('192.0.2.1', `guess ${i}`)).status);
      if (i % 8 === 7) expect((await from('192.0.2.1', guarded.keys.admin)).status).toBe(200);
    }
    expect(statuses).toEqual([...Array(30).fill(401), 429, 429]);
    const { message, results, headers } = await from('192.0.2.1', 'guess');
    expect(message).toMatch(/^Too many failed attempts from this address; wait \d+ s$/);
    expect(results).toEqual({});
    const seconds = Number(headers.get('retry-after'));
    expect([seconds > 0, seconds <= 60]).toEqual([true, true]);
    expect((await from('192.0.2.2', 'guess')).status).toBe(401);
  });
});
