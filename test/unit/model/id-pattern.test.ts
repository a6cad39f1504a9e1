/** Patterns of ids: one is accepted only if it means the same in ECMAScript and in RE2; how both match ids; and examples of ids. */
import { createContext, Script } from 'node:vm';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { IdPattern } from '../../../src/core/model/id-pattern.ts';
import { exampleId, linearPatternProblem, textOfForm } from '../../../src/core/model/participant-id.ts';
import { check } from '../../support/property.ts';

/** Characters that are special in patterns or as line ends, spaces, case pairs or Unicode. */
const CHARACTERS = [
  ...'abzABZ019_-^$\\.*+?()[]{}|/:,&~=!<> ',
  ...'\n\r\t\v\u00a0\u2028\u2029\u3000\ufeff\u200b',
  ...'éßſK\u0301\ufffd\uffff٣字😀𝒳\u{10ffff}',
];
const character = fc.constantFrom(...CHARACTERS);
const literal = fc.constantFrom(...CHARACTERS.filter((one) => !'^$\\.*+?()[]{}|'.includes(one)));
const escaped = fc.constantFrom(...'^$\\.*+?()[]{}|/');

/** A pattern, and an id made to match it. Because of anchors and negations it may not. */
interface Example {
  readonly pattern: string;
  readonly id: string;
}

const codePoint = (text: string) => text.codePointAt(0) ?? 0;
const inClass = (one: string) => ('[]\\-'.includes(one) ? `\\${one}` : one);
const range = fc.tuple(character, character).map(([one, other]) => {
  const [from, to] = codePoint(one) <= codePoint(other) ? [one, other] : [other, one];
  return { pattern: `${inClass(from)}-${inClass(to)}`, id: to };
});
const shorthand = fc.constantFrom(
  { pattern: '\\d', id: '7' },
  { pattern: '\\D', id: 'ſ' },
  { pattern: '\\w', id: '_' },
  { pattern: '\\W', id: '😀' },
);
const characterClass = fc
  .record({
    negated: fc.boolean(),
    first: fc.constantFrom('', '-'),
    members: fc.array(
      fc.oneof(
        literal.filter((one) => one !== '-').map((id) => ({ pattern: id, id })),
        escaped.map((id) => ({ pattern: `\\${id}`, id })),
        range,
        shorthand,
      ),
      { minLength: 1, maxLength: 4 },
    ),
    last: fc.constantFrom('', '-'),
    other: character,
  })
  .map(({ negated, first, members, last, other }): Example => {
    const inside = members.map(({ pattern }) => pattern).join('');
    return {
      pattern: `[${negated ? '^' : ''}${first}${inside}${last}]`,
      id: negated ? other : (members[0]?.id ?? ''),
    };
  });
const quantifier = fc.oneof(
  fc.constantFrom({ text: '*', times: 2 }, { text: '+', times: 1 }, { text: '?', times: 0 }),
  fc
    .tuple(fc.nat({ max: 3 }), fc.nat({ max: 2 }), fc.constantFrom('n', 'n,', 'n,m'))
    .map(([n, more, form]) => ({
      text: { n: `{${n}}`, 'n,': `{${n},}`, 'n,m': `{${n},${n + more}}` }[form] ?? '',
      times: n,
    })),
);
const { pattern: generated } = fc.letrec<{ pattern: Example; branch: Example; term: Example; atom: Example }>(
  (tie) => ({
    atom: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      literal.map((id) => ({ pattern: id, id })),
      escaped.map((id) => ({ pattern: `\\${id}`, id })),
      shorthand,
      characterClass,
      fc
        .tuple(fc.constantFrom('(', '(?:'), tie('pattern'))
        .map(([open, { pattern, id }]) => ({ pattern: `${open}${pattern})`, id })),
    ),
    term: fc.oneof(
      { weight: 4, arbitrary: tie('atom') },
      {
        weight: 2,
        arbitrary: fc
          .tuple(tie('atom'), quantifier, fc.constantFrom('', '?'))
          .map(([{ pattern, id }, { text, times }, lazy]) => ({
            pattern: `${pattern}${text}${lazy}`,
            id: id.repeat(times),
          })),
      },
      { weight: 1, arbitrary: fc.constantFrom({ pattern: '^', id: '' }, { pattern: '$', id: '' }) },
    ),
    branch: fc.array(tie('term'), { maxLength: 4 }).map((terms) => ({
      pattern: terms.map(({ pattern }) => pattern).join(''),
      id: terms.map(({ id }) => id).join(''),
    })),
    pattern: fc
      .tuple(fc.array(tie('branch'), { minLength: 1, maxLength: 3 }), fc.nat())
      .map(([branches, pick]) => ({
        pattern: branches.map(({ pattern }) => pattern).join('|'),
        id: branches[pick % branches.length]?.id ?? '',
      })),
  }),
);

/** Ids short enough for the backtracking engine to finish in most cases. */
const LONGEST = 8;
const shortened = (id: string) => [...id].slice(0, LONGEST).join('');
const idsLike = (id: string) =>
  fc.oneof(
    fc.constant(shortened(id)),
    fc.constant(shortened(`${id}\n`)),
    fc.tuple(fc.nat({ max: LONGEST }), character).map(([at, other]) => {
      const characters = [...shortened(id)];
      characters.splice(at, 1, other);
      return shortened(characters.join(''));
    }),
    fc.string({ unit: character, maxLength: LONGEST }),
  );

const matching = new Script('ids.filter((id) => ecmaScript.test(id))');
const context = createContext({});
/** The ids that match in ECMAScript. There is no comparison if it takes too long: with `((a?){9}){9}`, 8 characters may. */
function matchesInEcmaScript(pattern: string, ids: readonly string[]): string[] {
  Object.assign(context, { ecmaScript: new RegExp(`^(?:${pattern})$`, 'u'), ids });
  try {
    return matching.runInContext(context, { timeout: 2000 }) as string[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return fc.pre(false) as never;
  }
}

/** Returns the ids that match, in both engines. */
function expectAgreement(pattern: string, ids: readonly string[]): string[] {
  const matched = matchesInEcmaScript(pattern, ids);
  // On its own it must be a valid pattern too, in both engines.
  new RegExp(pattern, 'u');
  const re2 = RE2JS.compile(pattern);
  expect(
    ids.filter((id) => re2.matches(id)),
    pattern,
  ).toEqual(matched);
  return matched;
}

it('a pattern of the grammar is accepted, and means the same in ECMAScript and in RE2', () => {
  const withIds = generated.chain(({ pattern, id }) =>
    fc.tuple(fc.constant(pattern), fc.array(idsLike(id), { minLength: 1, maxLength: 6 })),
  );
  let matched = 0;
  check(
    fc.property(withIds, ([pattern, ids]) => {
      fc.pre(pattern.length <= 300);
      const problem = linearPatternProblem(pattern);
      fc.pre(problem?.reason !== 'is too large when its repetitions are written out');
      expect(problem, pattern).toBeUndefined();
      // What has the form of a pattern without anchors matches it, in both engines.
      const text = textOfForm(pattern) ?? '';
      expectAgreement(pattern, [text]);
      if (!/[$^]/.test(pattern)) expect(RE2JS.compile(pattern).matches(text), pattern).toBe(true);
      if (expectAgreement(pattern, ids).length > 0) matched++;
    }),
    { numRuns: 2000 },
  );
  // Otherwise only refusals would have been compared.
  expect(matched).toBeGreaterThan(200);
});

const TOKENS = [
  ...CHARACTERS,
  ...'(?: (? (?= (?<a> (?i) (?P<a> [^ [[:alpha:]] [] [^] {2} {1, {,2} {01}'.split(' '),
  ...String.raw`\d \D \w \W \s \b \p{L} \pL \x41 \u0041 \1 \Q \E \A \z`.split(' '),
  ...['\\-', '\\/', '\\n', '\\.', '\\_', '\\ ', '&&', '--', '*?', '+?', '??', '**', 'a-z', '0-9', 'z-a'],
];
it('any text is refused, or means the same in ECMAScript and in RE2', () => {
  const anything = fc.array(fc.constantFrom(...TOKENS), { maxLength: 7 }).map((tokens) => tokens.join(''));
  let accepted = 0;
  check(
    fc.property(
      anything,
      fc.array(fc.string({ unit: character, maxLength: 4 }), { maxLength: 8 }),
      (pattern, ids) => {
        if (linearPatternProblem(pattern)) return;
        accepted++;
        expectAgreement(pattern, ['', ...ids, ...CHARACTERS]);
      },
    ),
    { numRuns: 5000 },
  );
  expect(accepted).toBeGreaterThan(200);
});

it.each([
  ['.+', 'has a . for any character'],
  ['\\s', 'has a \\s'],
  ['(a)\\1', 'has a \\1'],
  ['\\-', 'has a \\-'],
  ['a\\', 'has a \\'],
  ['(?=a)a', 'has (? before something other than a colon'],
  ['[[:alpha:]]', 'has a [ in brackets'],
  ['[a-c-e]', 'has a - in brackets'],
  ['[\\d-z]', 'has an invalid range in brackets'],
  ['[z-a]', 'has an invalid range in brackets'],
  ['[]', 'has brackets with nothing in them'],
  ['[a', 'has brackets that are not closed'],
  ['a]', 'has a ] that cannot be there'],
  ['a}', 'has a } that cannot be there'],
  ['*a', 'has a * that cannot be there'],
  ['^*', 'has a * that cannot be there'],
  ['a{,3}', 'has a { that begins no number of times'],
  ['a{03}', 'has a { that begins no number of times'],
  ['a{3,2}', 'has a { that begins no number of times'],
  ['(a', 'has a group that is not closed'],
  ['a)', 'closes a group that was not opened'],
  ['a{501}', 'is too large when its repetitions are written out'],
  ['((a{9}){9}){9}', 'is too large when its repetitions are written out'],
  ['a{250}|b{249}', 'is too large when its repetitions are written out'],
  ['(){501}', 'is too large when its repetitions are written out'],
  ['\ud800', 'is not well-formed Unicode'],
  ['a'.repeat(1001), 'is longer than 1000 characters'],
])('%s is refused', (pattern, reason) => {
  expect(linearPatternProblem(pattern)).toMatchObject({ reason, hint: expect.stringMatching(/\S/) });
});

it('a pattern may be 500 characters large, written out or repeated', () => {
  for (const pattern of ['a'.repeat(500), 'a{500}', 'a{249}|b{249}'])
    expect(linearPatternProblem(pattern)).toBeUndefined();
});

describe('a pattern that RE2 can run', () => {
  // ECMAScript's own engine backtracks through these, twice as long or more for each further character.
  it.each(['(a+)+b', '(a|a|a)*b', '(?:a*)*b', '([ab]*a)*[ab]{60}c', '^(a?){100}a{100}$'])(
    '%s is finished quickly with the longest possible id',
    (text) => {
      expect(linearPatternProblem(text)).toBeUndefined();
      expect(new IdPattern(text).matches('a'.repeat(128))).toBe(text.endsWith('$'));
    },
  );

  it('matches whole ids only', () => {
    const pattern = new IdPattern('[0-9]{3}|X');
    expect(['123', 'X', '1234', 'aX', 'X\n', ''].filter(pattern.matches)).toEqual(['123', 'X']);
  });
});

describe('an example of an id', () => {
  const example = (pattern: string) => exampleId(pattern, new IdPattern(pattern).matches);

  it.each([
    ['[0-9]{3}-[0-9]{4}', '111-1111'],
    ['(?:AB|C)\\d{2,4}[A-Z]?', 'AB11'],
    ['^S[^0-9]+$', 'SA'],
    ['[é-ü]x*', 'é'],
    ['\\+?\\w', '1'],
    ['[\\.-9]x', '1x'],
  ])('of %s is %s', (pattern, id) => {
    expect(example(pattern)).toBe(id);
  });

  it.each([
    ['nothing can match', 'a^b'],
    ['only the empty text would be simple', '[0-9]*'],
    ['a spreadsheet would compute it', '[+][0-9]+'],
    ['it would begin with a blank', ' [0-9]'],
  ])('there is none if %s', (_, pattern) => {
    expect(example(pattern)).toBeUndefined();
  });
});
