/** A study's enrolment over time, as its charts request it. What is counted: test/unit/http/enrolment-tally.test.ts. */
import { describe, expect, it } from 'vitest';
import { served } from '../../support/served.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const http = served(
  TRIALS.replace('Sleep:\n', 'Sleep:\n  target_enrollment: 300\n'),
  {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct'],
    blinded: ['monitor', '--scope', 'blinded'],
    both: ['both', '--scope', 'read,blinded'],
    cook: ['cook', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`, '--force'],
  },
  {
    filled: async (one) => {
      const { randomize } = one.as('edc');
      for (const [i, levels] of [COOK, COOK, DUPAGE, COOK].entries())
        expect((await randomize('Sleep', `${i + 1}`, levels)).status).toBe(200);
      const post = async (path: string, body: object) =>
        expect((await one.post('manager', path, { study: 'Sleep', ...body })).status).toBe(200);
      await post('/voids', { id: '2', cause: 'never-enrolled', analysis: 'exclude', note: 'left' });
      const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
      await post('/level_corrections', { id: '1', changes, cause: 'entry', note: 'typo' });
    },
  },
);
type Name = keyof typeof http.keys;
const enrolment = (name: Name, study = 'Sleep', parameters = {}) =>
  http.get(name, '/enrolment', { study, ...parameters });
interface Counted {
  readonly level?: string;
  readonly treatments?: unknown;
}

describe('the enrolment of a study', () => {
  it('counts the participants over time and at their current levels, beside the target', async () => {
    const { results, headers } = await enrolment('edc');
    const list: { trt: string; f_sex: string }[] = (await http.as('edc').list('Sleep')).results;
    const on = (among: typeof list) =>
      Object.fromEntries(
        ['ZZTREATA', 'ZZTREATB'].map((arm) => [arm, among.filter(({ trt }) => trt === arm).length]),
      );
    expect(results).toMatchObject({
      ...{ target: 300, goal: { kind: 'target', places: 300 }, enrolled: 4, voided: 1, filled: 3 },
      treatments: on(list),
    });
    expect(results.points).toEqual(
      list.map((_, i) => ({
        ...{ sequence: i + 1, at: expect.any(String), enrolled: i + 1 },
        ...{ voided: i < 1 ? 0 : 1, filled: Math.max(i, 1), treatments: on(list.slice(0, i + 1)) },
      })),
    );
    expect(results.levels.find(({ level }: Counted) => level === 'Female')).toEqual({
      ...{ factor: 'sex', level: 'Female', enrolled: 2, voided: 0, filled: 2 },
      treatments: on(list.filter(({ f_sex }) => f_sex === 'Female')),
    });
    expect(headers.get('urn-revision')).toBe('6');
  });

  it('keeps the names and the order of arms and levels, whatever they are, also before there is anybody', async () => {
    const { text, results } = await enrolment('edc', 'Ordered');
    expect(results).toMatchObject({ enrolled: 0, voided: 0, filled: 0, points: [] });
    expect(text).toContain('"treatments":{"10":0,"9":0,"__proto__":0}');
    const levels = [...text.matchAll(/"factor":"([^"]*)","level":"([^"]*)"/g)].map(([, ...names]) => names);
    expect(levels).toContainEqual(['__proto__', '__proto__']);
    expect(levels.slice(0, 3)).toEqual(['2', '1', '10'].map((one) => ['10', one]));
  });

  it.each(['blinded', 'both'] as const)('has no arms for a key with the scope blinded (%s)', async (name) => {
    const unblinded = (await enrolment('edc')).results;
    const { results, text } = await enrolment(name);
    const withoutArms = ({ treatments: _, ...rest }: Counted) => rest;
    expect(results).toEqual({
      ...withoutArms(unblinded),
      points: unblinded.points.map(withoutArms),
      levels: unblinded.levels.map(withoutArms),
    });
    expect(text).not.toMatch(/ZZTREAT|treat|trt/);
  });

  it('counts only the participants that a limited key can see', async () => {
    const { results } = await enrolment('cook');
    expect(results).toMatchObject({ enrolled: 3, voided: 1, filled: 2 });
    // Nobody has said how many are wanted at this site.
    expect(results).not.toHaveProperty('goal');
    expect(results.points.map(({ sequence }: { sequence: number }) => sequence)).toEqual([1, 2, 4]);
    const ofDupage = { factor: 'local_site', level: DUPAGE.local_site, enrolled: 0 };
    expect(results.levels).toContainEqual(ofDupage);
    // A request with another key in between gets different counts.
    expect((await enrolment('blinded')).results.enrolled).toBe(4);
    expect((await enrolment('cook')).results.enrolled).toBe(3);
  });
});
