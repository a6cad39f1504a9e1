import { expect, it } from 'vitest';
import { counted, plural } from '../../../src/base/counted.ts';

it.each([
  [0, '0 participants'],
  [1, '1 participant'],
  [2, '2 participants'],
])('%i has the noun in the right number', (count, text) => {
  expect(counted(count, 'participant')).toBe(text);
});

it('takes irregular nouns, and whole phrases', () => {
  expect([counted(1, 'study', 'studies'), counted(3, 'study', 'studies')]).toEqual(['1 study', '3 studies']);
  expect([plural(1, 'was', 'were'), plural(0, 'was', 'were')]).toEqual(['was', 'were']);
});
