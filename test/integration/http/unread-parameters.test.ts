/** POST /study_participants with names that it does not know (all spellings: test/unit/http), or while the log is down. */
import { afterEach, expect, it, vi } from 'vitest';
import { StoreError } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { type Answer, ask } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const DESIGN = `
  mode: test
  treatments: [A, B]
  id_pattern: "[0-9a-z]{2,3}"
  factors: {sex: [Male, Female]}
`;
const ODD = `
Odd:
  mode: test
  treatments: [A, B]
  factors: {dry_run: [yes, "true"], URN.site: [x, y]}
`;
const http = served(
  `Plain:${DESIGN}Amended:${DESIGN}${ODD}`,
  { edc: ['edc'], manager: ['manager', '--scope', 'manage'] },
  { data: temporaryFolders()() },
);
const randomize = (id: string, more: Record<string, string>, study = 'Plain') =>
  http.as('edc').randomize(study, id, { sex: 'Male', ...more });
const amended = async (study: string, change: object) => {
  const body = { study, amendment: 1, reason: 'protocol 2', changes: [change] };
  expect((await http.post('manager', '/amendments', body)).message).toBe('Success');
};
const ignored = ({ headers }: Answer) => headers.get('urn-ignored');
const DRY = 'is not a parameter (hint: did you mean urn.dry_run?)';

it('a parameter that looks like ours randomizes nobody, and every problem is named, but only behind the study', async () => {
  const answer = await randomize('p0', { 'urn.dryrun': 'true' });
  expect(answer).toMatchObject({ status: 400, message: `urn.dryrun ${DRY}`, results: [] });
  expect((await http.as('edc').list('Plain')).results).toEqual([]);
  const { message } = await randomize('p0', { dry_run: 'true', sex: 'male', f_sex: 'Male', 'urn.x': '' });
  expect(message).toMatch(/dry_run is not.*urn\.x is not.*f_sex: the prefix.*sex/);
  expect((await randomize('p0', { dry_run: 'true' }, 'Nowhere')).status).toBe(404);
  // What means nothing is named if something that is needed is missing.
  const misspelt = { Sex: 'Male', phase: '2' };
  const both = 'Sex is not a parameter (hint: did you mean sex?); sex is missing (allowed: "Male", "Female")';
  expect((await http.as('edc').randomize('Plain', 'p0', misspelt)).message).toBe(both);
  const request = { method: 'POST', key: http.keys.edc, parameters: { Study: 'Plain' } };
  const nowhere = await ask(http.url, '/study_participants', request);
  expect(nowhere.message).toBe('study is missing (hint: Study is given; did you mean study?)');
});

it('a factor may have such a name, also when it is retired', async () => {
  const levels = { dry_run: 'true', 'URN.site': 'x' };
  const { randomize: enrol } = http.as('edc');
  expect((await enrol('Odd', '1', levels)).status).toBe(200);
  expect((await enrol('Odd', '2', { ...levels, 'dry-run': 'true' })).message).toBe(`dry-run ${DRY}`);
  await amended('Odd', { kind: 'factor-retired', factor: 'dry_run' });
  expect((await enrol('Odd', '3', levels)).message).toBe('dry_run is retired (hint: leave it out)');
  expect((await enrol('Odd', '3', { 'URN.site': 'y' })).status).toBe(200);
});

it('a parameter that means nothing to the service is named in the answer, whether somebody is randomized or not, even with a line break in it', async () => {
  const more = { phase: '2', 'a\r\nSet-Cookie: b': 'x', '': '' };
  const dry = await randomize('n1', { ...more, 'urn.dry_run': 'true' });
  const answers = [dry, await randomize('n1', more), await randomize('n1', more)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400]);
  expect(answers.map(ignored)).toEqual(Array(3).fill('phase, a%0D%0ASet-Cookie%3A%20b'));
  expect(ignored(await randomize('n2', {}))).toBeNull();
});

afterEach(() => vi.restoreAllMocks());

it('while the log cannot be read, what is known to be wrong is refused with 400, as otherwise', async () => {
  await amended('Amended', { kind: 'level-added', factor: 'sex', level: 'Other' });
  for (const [id, sex, why] of [
    ['X1', 'Male', /^id does not match/],
    ['002', 'male', /^sex has no level/],
  ] as const) {
    const message = expect.stringMatching(why);
    const read = vi.spyOn(SqliteStore.prototype, 'readStream').mockImplementation(() => {
      throw new StoreError('unavailable', 'not-written', 'it is down');
    });
    expect(await randomize(id, { sex }, 'Amended')).toMatchObject({ status: 400, message });
    expect(read).toHaveBeenCalled();
    vi.restoreAllMocks();
    expect(await randomize(id, { sex }, 'Amended')).toMatchObject({ status: 400, message });
  }
});
