/** Members that are given twice and depth, compared with what is known of the text from how it was made. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonProblem } from '../../../src/base/json.ts';
import { check } from '../../support/property.ts';

/** A value as a list of members, which, unlike an object, may hold a name twice. */
type Value = string | { readonly array: readonly Value[] } | { readonly members: readonly Member[] };
type Member = readonly [name: string, isEscaped: boolean, value: Value];

const letters = fc.constantFrom('a', 'b', '"', '\\', '{', ':', ']', ',', '\n', 'é', '😀', '__proto__', '');
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('1', 'null', 'true', '-1.5e3', '""', '"a\\"b"', '"{\\"a\\":1,\\"a\\":2}"', '"\\\\"'),
    fc.record({ array: fc.array(tie('value'), { maxLength: 4 }) }),
    fc.record({ members: fc.array(fc.tuple(letters, fc.boolean(), tie('value')), { maxLength: 4 }) }),
  ),
}));

const escaped = (text: string) =>
  `"${text.replaceAll(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`;

function written(one: Value, space: string): string {
  if (typeof one === 'string') return one;
  if ('array' in one) return `[${one.array.map((item) => written(item, space)).join(`${space},`)}]`;
  const members = one.members.map(([name, isEscaped, held]) => {
    const shown = isEscaped ? escaped(name) : JSON.stringify(name);
    return `${space}${shown}${space}:${space}${written(held, space)}`;
  });
  return `{${members.join(`,${space}`)}}`;
}

const inside = (one: Value): readonly Value[] => {
  if (typeof one === 'string') return [];
  return 'array' in one ? one.array : one.members.map(([, , held]) => held);
};
const hasTwice = (one: Value): boolean =>
  (typeof one !== 'string' &&
    'members' in one &&
    new Set(one.members.map(([name]) => name)).size < one.members.length) ||
  inside(one).some(hasTwice);
const depthOf = (one: Value): number =>
  typeof one === 'string' ? 0 : 1 + Math.max(0, ...inside(one).map(depthOf));

describe('jsonProblem', () => {
  it('finds a member that is given twice, however it is spelled and wherever it is, and nothing else', () => {
    check(
      fc.property(value, fc.constantFrom('', ' ', '\n\t'), (one, space) => {
        const text = written(one, space);
        JSON.parse(text);
        expect(jsonProblem(text, 100)).toBe(hasTwice(one) ? 'contains a duplicate member' : undefined);
      }),
      { numRuns: 1000 },
    );
  });

  it('finds that a text is deeper than allowed, and only then', () => {
    check(
      fc.property(
        value.filter((one) => !hasTwice(one)),
        fc.nat(6),
        (one, allowed) => {
          const problem = jsonProblem(written(one, ''), allowed);
          expect(problem).toBe(
            depthOf(one) > allowed ? `is nested more than ${allowed} levels deep` : undefined,
          );
        },
      ),
      { numRuns: 1000 },
    );
  });
});
