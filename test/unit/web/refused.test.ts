/** What the pages say of refusals. */
import { expect, it } from 'vitest';
import { type RefusalWord, refusalRow } from '../../../src/base/refusals.ts';
import { refused } from '../../../src/web/words/en/refused.ts';

it('explains only refusals after which nothing was recorded for certain', () => {
  const explained = Object.entries(refused).filter(([, words]) => 'what' in words);
  expect(explained.length).toBeGreaterThan(5);
  for (const [word] of explained) expect(refusalRow(word as RefusalWord).isUnclear, word).toBeUndefined();
});
