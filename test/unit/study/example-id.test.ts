import { expect, it } from 'vitest';
import { exampleId } from '../../../src/core/model/example-id.ts';
import { IdPattern } from '../../../src/core/model/id-pattern.ts';

const example = (pattern: string) => exampleId(pattern, new IdPattern(pattern).matches);

it.each([
  ['[0-9]{3}-[0-9]{4}', '111-1111'],
  ['(?:AB|C)\\d{2,4}[A-Z]?', 'AB11'],
  ['^S[^0-9]+$', 'SA'],
  ['[é-ü]x*', 'é'],
  ['\\+?\\w', '1'],
])('of %s is %s', (pattern, id) => {
  expect(example(pattern)).toBe(id);
});

it.each([
  ['nothing can match', 'a^b'],
  ['only the empty text would be simple', '[0-9]*'],
  ['a spreadsheet would compute it', '[+][0-9]+'],
  ['it would begin with a blank', ' [0-9]'],
  ['an earlier version registered it, and it runs as ECMAScript', '(?=1)[0-9]+'],
])('there is none if %s', (_, pattern) => {
  expect(example(pattern)).toBeUndefined();
});
