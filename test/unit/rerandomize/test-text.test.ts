import { describe, expect, it } from 'vitest';
import { MAX_REPS } from '../../../src/statistics/rerandomize/run-test.ts';
import { resultRows } from '../../../src/statistics/rerandomize/test-text.ts';

describe('the result in words', () => {
  it('says if a half-width would have needed more replicates than were drawn', () => {
    const words = (reps: number, from: number) =>
      resultRows({
        ...{ method: 'monte-carlo', p: 0.5, interval: { low: 0.4, high: 0.6 } },
        ...{ b: reps / 2, reps, from, empty: 0 },
      }).flat();
    const said = 'the maximum number: the half-width may be larger';
    expect(words(MAX_REPS, 9999)).toContain(said);
    expect(words(20_000, 9999)).not.toContain(said);
    expect(words(MAX_REPS, 0)).not.toContain(said);
  });
});
