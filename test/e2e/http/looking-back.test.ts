/** What keys with the scope `audit` get beyond the contract: explanations, balances, and the past of a study. */
import { describe, expect, it } from 'vitest';
import { keySha256, newApiKey } from '../../../src/core/access/keys.ts';
import { commandsOn } from '../../support/cli-log.ts';
import { type Answer, clientOf, exactResults, within } from '../../support/client.ts';
import { refusal } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';
import { appendFact } from '../audit/database.ts';

const data = temporaryFolders()();
const { run, ok, json } = commandsOn(data);
const LEVELS = [COOK, DUPAGE, KANE, COOK, DUPAGE];
/** An audit key for one site: `urn keys add` refuses to issue one, but a log may hold one. */
const cookAudit = newApiKey();
/** The list of participants, first empty, then after each randomization. */
const lists: unknown[] = [];
let times: string[];

const revisionOf = ({ headers }: Answer) => headers.get('urn-revision');
const idsOf = ({ results }: Answer): string[] => results.map(({ id }: { id: string }) => id);

const http = served(
  TRIALS,
  {
    edc: ['edc'],
    auditor: ['auditor', '--scope', 'read,audit'],
    auditOnly: ['inspector', '--scope', 'audit'],
  },
  {
    data,
    filled: async (one) => {
      const { list } = one.as('auditor');
      lists.push(exactResults(await list('Sleep')));
      for (const [i, levels] of LEVELS.entries()) {
        await one.as('edc').randomize('Sleep', `p${i}`, levels);
        lists.push(exactResults(await list('Sleep')));
        // An instant cannot distinguish events within one millisecond.
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      await ok`studies pause Sleep --reason 'a question'`;
      times = storedLog(data).flatMap(({ record }) =>
        record.data.participantId || record.data.configuration?.name === 'Sleep' ? [record.at] : [],
      );
      const where = [{ factor: 'local_site', levels: [COOK.local_site] }];
      appendFact(data, 'access', {
        type: 'ApiKeyIssued',
        data: { keyId: 'k00000000cook', user: 'site auditor', scopes: ['read', 'audit'], where },
        sections: { credential: { sha256: keySha256(cookAudit) } },
      });
      await within(2_000, async () => (await clientOf(one.url, cookAudit).list('Sleep')).status === 200);
      await within(2_000, async () => revisionOf(await list('Sleep')) === '6');
    },
  },
);
type Name = keyof typeof http.keys;
type Parameters = Readonly<Record<string, string>>;
const auditor = () => http.as('auditor');
const cook = () => clientOf(http.url, cookAudit);

describe('GET /explanation', () => {
  it('explains why a participant got this arm, and shows the revision of its record', async () => {
    for (const [i, id] of ['p0', 'p4'].entries()) {
      const answer = await auditor().explain('Sleep', id);
      const listed = await auditor().list('Sleep', { id });
      expect(answer).toMatchObject({
        status: 200,
        results: {
          ...{ id, study: 'Sleep', revision: 4 * i + 1, trt: listed.results[0].trt, user: 'edc' },
          ...{ agrees: true, differences: [], earlier_participants: 4 * i },
        },
      });
      expect(revisionOf(answer)).toBe(String(4 * i + 1));
      const exact = exactResults(answer) as { bg_state_after: unknown };
      const [shown] = exactResults(listed) as { bg_state: unknown }[];
      expect(exact.bg_state_after).toEqual(shown?.bg_state);
      // 128-bit integers are bare numbers, as they are in bg_state.
      expect(answer.text).toMatch(/"bg_state_before":\{[^}]*"state":\{"inc":\d{20,39},"state":\d{20,39}\}/);
    }
  });

  it.each<[Name, Parameters, number, string]>([
    ['auditOnly', { study: 'Sleep', id: 'p0' }, 200, 'Success'],
    ['edc', { study: 'Sleep', x: 'y' }, 403, 'This API key lacks the scope audit'],
    ['auditor', { study: 'Sleep', x: 'y' }, 400, 'x is not a parameter of explanation; id is missing'],
    ['auditor', { study: 'Sleep', id: 'p9' }, 404, 'This study has no participant "p9"'],
  ])('for %s, with %j: %i', async (name, parameters, status, message) => {
    const answer = await http.get(name, '/explanation', parameters);
    expect(answer).toMatchObject({ status, message, ...(status !== 200 && { results: [] }) });
  });

  it('reveals nothing about other levels to a key that is limited to levels, nor does the balance', async () => {
    expect((await cook().explain('Sleep', 'p0')).status).toBe(200);
    const outside = await cook().explain('Sleep', 'p1');
    const nobody = await cook().explain('Sleep', 'p9');
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.message).toBe(nobody.message.replace('p9', 'p1'));
    expect(revisionOf(outside)).toBe(revisionOf(nobody));
    const message = expect.stringContaining('limited to some levels');
    expect(await cook().balance('Sleep')).toMatchObject({ status: 403, message });
    expect((await http.as('edc').balance('Sleep')).status).toBe(403);
  });
});

describe('urn.revision and urn.at', () => {
  it('list the participants as they were listed at the time', async () => {
    for (const [revision, shown] of lists.entries())
      for (const moment of [{ 'urn.revision': `${revision}` }, { 'urn.at': times[revision] ?? '' }]) {
        const then = await auditor().list('Sleep', moment);
        expect(revisionOf(then)).toBe(String(revision));
        expect(exactResults(then)).toEqual(shown);
      }
  });

  it('can be combined with filters, and with the limits of a key', async () => {
    const then = { 'urn.revision': '3' };
    expect(idsOf(await auditor().list('Sleep', { ...then, sex: 'Male' }))).toEqual(['p0', 'p2']);
    expect(idsOf(await cook().list('Sleep', then))).toEqual(['p0']);
  });

  it('apply to the configuration and the balance, too', async () => {
    const config = await auditor().config('Sleep', { 'urn.revision': '0' });
    expect(config.results).toEqual((await auditor().config('Sleep')).results);
    expect(revisionOf(config)).toBe('0');
    const then = await auditor().balance('Sleep', { 'urn.revision': '3' });
    expect(revisionOf(then)).toBe('3');
    expect(then.results.totals.reduce((sum: number, n: number) => sum + n, 0)).toBe(3);
    const future = await auditor().balance('Sleep', { 'urn.at': '2999-01-01T00:00Z' });
    expect([future.status, revisionOf(future)]).toEqual([200, '6']);
  });

  const WHOLE = 'is not a whole number from 0 on';
  const NEED = 'This API key lacks the scope audit, which urn.revision and urn.at need';
  const REFUSED: readonly [Name, Parameters, number, RegExp | string][] = [
    ['auditor', { 'urn.revision': '7' }, 400, 'urn.revision is beyond the study, which is at revision 6'],
    ['auditor', { 'urn.at': 'yesterday' }, 400, /^urn\.at is not an instant in UTC, such as/],
    ['auditor', { 'urn.at': '2001-01-01T00:00Z' }, 400, /^urn\.at is before .* which was registered at 20/],
    ['auditor', { 'urn.at': '2999-01-01T00:00Z', 'urn.revision': '1' }, 400, /cannot be combined/],
    ['auditor', { 'urn.min_revision': 'x' }, 400, `urn.min_revision ${WHOLE}`],
    ['edc', { 'urn.at': 'x', y: 'z' }, 403, NEED],
    ['auditOnly', { 'urn.revision': '1' }, 403, 'This API key lacks the scope read or blinded'],
  ];
  it.each(REFUSED)('for %s, with %j, are refused by all routes that have them: %i', async (...row) => {
    const [name, parameters, status, message] = row;
    for (const path of ['/study_participants', '/study_config', '/balance']) {
      // Only audit keys see a balance.
      if (path === '/balance' && name !== 'auditor') continue;
      const results = path === '/study_config' ? {} : [];
      const answer = await http.get(name, path, { study: 'Sleep', ...parameters });
      expect(answer, path).toMatchObject({ status, message: expect.stringMatching(message), results });
    }
  });
});

describe('urn.min_revision', () => {
  const get = (name: Name, path: string, revision: string, study = 'Sleep') =>
    http.get(name, path, {
      ...{ study, 'urn.min_revision': revision, ...(path === '/explanation' && { id: 'p0' }) },
    });

  it('is answered at once if it is already shown', async () => {
    const paths = ['/study_participants', '/study_config', '/balance', '/explanation', '/records'];
    for (const path of [...paths, '/checkpoint'])
      expect((await get('auditor', path, '6')).status, path).toBe(200);
  });

  it('is waited for, but not forever: the 503 says which revision is shown', async () => {
    const answer = await get('auditor', '/study_participants', '7');
    const message = /^This instance shows revision 6 of the study, and 7 did not arrive within 5 s/;
    expect(answer).toMatchObject({ status: 503, message: expect.stringMatching(message), results: [] });
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('is answered as soon as the revision is there', async () => {
    const waiting = get('auditor', '/study_participants', '1', 'Ward');
    await new Promise((resolve) => setTimeout(resolve, 200));
    const written = await http.as('edc').randomize('Ward', 'waited', { ward: 'a' });
    expect(revisionOf(written)).toBe('1');
    const answer = await waiting;
    // After 5 s it would have been 503.
    expect(answer.status).toBe(200);
    expect(idsOf(answer)).toContain('waited');
  });
});

describe('urn studies show', () => {
  it('shows a study as of a revision or an instant, as HTTP does, and says when the next event was', async () => {
    const show = (...args: string[]) => json`studies show Sleep --json ${args}`;
    const now = await show();
    expect(now).toMatchObject({ state: 'paused', participants: 5, revision: 6 });
    expect(now).not.toHaveProperty('asOf');
    const asOf = { revision: 3, at: times[3], nextAt: times[4], lastRevision: 6 };
    const { results: balance } = await auditor().balance('Sleep', { 'urn.revision': '3' });
    const then = { state: 'open', participants: 3, revision: 3, balance, asOf };
    expect(await show('--revision', '3')).toMatchObject(then);
    expect(await show('--at', times[3] ?? '')).toMatchObject(then);
    // A day includes all of it.
    const today = (times.at(-1) ?? '').slice(0, 10);
    expect(await show('--at', today)).toMatchObject({ participants: 5, asOf: { revision: 6 } });
    const said = await ok`studies show Sleep --revision 3`;
    expect(said).toMatch(/^as of +revision 3, of 20\S+Z$/m);
    expect(said).toMatch(/^not shown +3 later events, the first of 20\S+Z$/m);
    expect(said).toMatch(/^participants +3 participants$/m);
  });

  it.each([
    [['--at', '2001-01-01'], /is before the study/],
    [['--revision', '1', '--at', '2999-01-01T00:00Z'], /cannot be used with/],
  ])('refuses %j with exit code 2', async (args, why) => {
    expect(await refusal(run`studies show Sleep ${args}`)).toMatch(why);
  });
});
