import { describe, expect, it } from 'vitest';
import { compareLimits, unblindedBy } from '../../../src/core/access/limited-keys.ts';
import type { Design, Factor } from '../../../src/core/model/design.ts';

type Earlier = Factor['earlierNames'];
const study = (
  name: string,
  levels: Readonly<Record<string, readonly string[]>>,
  earlierNames: Earlier = [],
  blinding: Design['blinding'] = 'open',
) => ({
  ...{ name, blinding },
  factors: Object.entries(levels).map(([factor, names]): Factor => {
    return { name: factor, levels: names, closed: [], isRetired: false, earlierNames };
  }),
});

const SLEEP = study('Sleep', {
  sex: ['Male', 'Female'],
  local_site: ['11-Cook County', '30-Dupage County'],
});
const WARD = study('Ward', { ward: ['a', 'b'] });

type Where = Readonly<Record<string, readonly string[]>>;
const compare = (where?: Where, studies?: readonly string[], registered = [SLEEP, WARD]) => {
  const limits = where && Object.entries(where).map(([factor, levels]) => ({ factor, levels: [...levels] }));
  return compareLimits({ studies, where: limits }, registered);
};
const FINE = { problems: [], warnings: [] };
const SITES = '"11-Cook County", "30-Dupage County"';

describe('the check of a key’s limits', () => {
  it.each<[Where | undefined, string[] | undefined]>([
    [undefined, undefined],
    [{ sex: ['Male'] }, undefined],
    [{ local_site: ['11-Cook County', '30-Dupage County'] }, undefined],
    [{ sex: ['Male'], local_site: ['11-Cook County'] }, ['Sleep']],
  ])('accepts %j for studies %j', (where, studies) => {
    expect(compare(where, studies)).toEqual(FINE);
  });

  it.each<[string, Where, string]>([
    [
      'a level in another case',
      { sex: ['male'] },
      'factor "sex" has no level "male" (hint: did you mean "Male"?)',
    ],
    ['an invisible character', { sex: ['Male\u200b'] }, 'did you mean "Male"?'],
    ['a part of a level', { local_site: ['30'] }, `hint: choose from ${SITES})`],
    ['one level of two', { sex: ['Male', 'Other'] }, 'factor "sex" has no level "Other"'],
    [
      'another factor',
      { site: ['a'] },
      'has a factor "site" (hint: choose from "sex", "local_site", "ward")',
    ],
    ['factors of two studies', { sex: ['Male'], ward: ['a'] }, 'no single study has "sex" and "ward" with'],
  ])('refuses %s', (_, where, problem) => {
    expect(compare(where)).toEqual({ problems: [expect.stringContaining(problem)], warnings: [] });
  });

  it('compares them with the studies that the key is limited to', () => {
    expect(compare({ ward: ['a'] }, ['Sleep']).problems).toEqual([
      expect.stringContaining('no study has a factor "ward"'),
    ]);
    expect(compare({ ward: ['a'] }, ['Ward', 'Sleep'])).toEqual({
      problems: [],
      warnings: ['study "Sleep" has no factor "ward", so the key does not reach it'],
    });
  });

  it('reports every problem at once, with twenty choices at most', () => {
    expect(compare({ sex: ['male', 'X'], sight: ['a'] }).problems).toHaveLength(3);
    const levels = Array.from({ length: 300 }, (_, i) => `site ${i}`);
    const [problem] = compare({ site: ['elsewhere'] }, undefined, [study('S', { site: levels })]).problems;
    expect(problem).toContain('"site 19" and 280 more)');
  });

  it('cannot cover a study that is not registered yet, and says so in a warning', () => {
    const [study, unchecked] = compare({ sex: ['male'] }, ['Slepp']).warnings;
    expect(study).toBe(
      'no study "Slepp" is registered yet (hint: did you mean "Sleep"?); the key is limited to that name anyway',
    );
    expect(unchecked).toContain('--where was not checked');
    expect(compare({ sex: ['male'] }, undefined, [])).toMatchObject({ problems: [], warnings: [unchecked] });
  });
});

it('the check of a key’s limits in an amended study accepts present names, and names them for earlier ones', () => {
  const amended = study('Sleep', { site: ['One', '2', '3'] }, [{ name: '1', now: 'One', isAlias: true }]);
  expect(compare({ site: ['One', '3'] }, undefined, [amended])).toEqual(FINE);
  expect(compare({ site: ['1'] }, undefined, [amended]).problems).toEqual([
    'factor "site" has no level "1" (hint: it is called "One" now)',
  ]);
});

it('a key that can both randomize and see arms is reported for the blinded studies that it covers', () => {
  const blinded = study('Blinded', {}, [], 'blinded');
  const open = study('Open', {});
  const both = ['read', 'randomize'] as const;
  expect(unblindedBy({ scopes: both }, [blinded, open])).toEqual(['Blinded']);
  expect(unblindedBy({ scopes: both, studies: ['Open'] }, [blinded, open])).toEqual([]);
  expect(unblindedBy({ scopes: ['blinded', 'randomize'] }, [blinded, open])).toEqual([]);
  expect(unblindedBy({ scopes: ['read'] }, [blinded, open])).toEqual([]);
});
