/** What is read from files: the generator's state as the reference writes it, never evaluated, and the order of packs. */
import { describe, expect, it } from 'vitest';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { orderWarnings } from '../../../src/evidence/import/order-of-arms.ts';
import { readBgState } from '../../../src/evidence/import/read-history.ts';

const STATE = Pcg64.fromSeed(7n).snapshot();
const { state, inc } = STATE.state;
const PYTHON = `{'bit_generator': 'PCG64', 'state': {'state': ${state}, 'inc': ${inc}}, 'has_uint32': 0, 'uinteger': 0}`;
const JSON_TEXT = PYTHON.replaceAll("'", '"');

describe('a state of the generator', () => {
  it.each([
    ['Python', PYTHON],
    ['JSON', JSON_TEXT],
    ['JSON in lines', JSON_TEXT.replaceAll(' ', '\n  ')],
    [
      'another order',
      `{'uinteger': 0, 'has_uint32': 0, 'state': {'inc': ${inc}, 'state': ${state}}, 'bit_generator': 'PCG64'}`,
    ],
  ])('is read from %s', (_, text) => {
    expect(readBgState(text)).toEqual(STATE);
  });

  it.each([
    ['nothing', ''],
    ['another generator', PYTHON.replace('PCG64', 'MT19937')],
    ['code within', PYTHON.replace(`${state}`, '(lambda: 1)()')],
    ['a float', PYTHON.replace(`'uinteger': 0`, `'uinteger': 0.0`)],
    ['a number as a text', PYTHON.replace(`${state}`, `'${state}'`)],
    ['a number with a sign of ours', PYTHON.replace(`${state}`, `'#${state}'`)],
    ['a number of 129 bits', PYTHON.replace(`${state}`, String(2n ** 128n))],
    ['a leading zero', PYTHON.replace(`${state}`, `0${state}`)],
    ['a member too many', PYTHON.replace(`'uinteger': 0`, `'uinteger': 0, 'x': 0`)],
    ['a member too few', PYTHON.replace(`, 'uinteger': 0`, '')],
    ['a nesting without end', '['.repeat(500)],
    ['a text without end', `${' '.repeat(100_000)}${PYTHON}`],
    ['a member twice', PYTHON.replace(`{'state':`, `{'state': 1, 'state':`)],
  ])('is not read from %s', (_, text) => {
    expect(readBgState(text)).toBeUndefined();
  });
});

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
