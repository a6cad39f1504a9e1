/** What the order of packs in a file gives away. */
import { describe, expect, it } from 'vitest';
import { orderWarnings } from '../../../src/evidence/import/order-of-arms.ts';

/** Arms in the order of the file. Codes have no order of their own unless `isByCode`. */
function rows(arms: string, level?: string, isByCode = false) {
  return [...arms].map((treatment, i) => ({
    code: `${level ?? ''}${isByCode ? i + 10 : ((i * 7) % 11) + 10}`,
    treatment,
    where: level === undefined ? undefined : { factor: 'site', level },
  }));
}

describe('a list that is sorted by arm', () => {
  it.each(['AAABBB', 'AABBCC', 'AAAABBBB', 'BBBAAACCC', 'AAAAAAABBBBBBB'])('is named: %s', (arms) => {
    expect(orderWarnings(rows(arms))).toEqual([
      expect.stringMatching(/^the list for all levels is sorted by arm: /),
    ]);
  });

  it.each(['AABB', 'AB', 'AAABB', 'AAAAAA', 'AABAB', 'ABABABAB', 'AAABBBA', ''])(
    'could be so by chance, or is not: %s',
    (arms) => {
      expect(orderWarnings(rows(arms))).toEqual([]);
    },
  );

  it('is told among the lists of a file, several of which chance would not sort', () => {
    const sites = ['Cook', 'Kane', 'Lake', 'Will'];
    const of = (arms: readonly string[]) => arms.flatMap((own, i) => rows(own, sites[i]));
    expect(orderWarnings(of(['AABB', 'ABAB', 'BABA', 'ABBA']))).toEqual([]);
    expect(orderWarnings(of(['AABB', 'BBAA', 'AABB', 'ABBA']))).toEqual([
      expect.stringContaining('the lists for site = Cook, site = Kane, site = Lake are sorted by arm'),
    ]);
    expect(orderWarnings(of(['AABB', 'BBAA', 'AABB', 'AABB']))).toEqual([
      expect.stringContaining('site = Lake and 1 more are sorted by arm'),
    ]);
    expect(orderWarnings(of(['ABBA', 'AAAABBBB']))).toEqual([
      expect.stringContaining('the list for site = Kane is sorted by arm'),
    ]);
  });

  it('is also found by its codes', () => {
    const sorted = rows('AAAABBBB', 'Cook', true);
    const turned = sorted.map((_, i) => sorted[(i * 3) % 8] ?? sorted[0]) as typeof sorted;
    expect(orderWarnings(turned)).toEqual([
      expect.stringMatching(/^sorted by code, the list for site = Cook is in blocks, one for each arm: /),
    ]);
  });
});
