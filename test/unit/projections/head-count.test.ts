import { describe, expect, it } from 'vitest';
import { VoidCause } from '../../../events/corrections.ts';
import type { Enrolled } from '../../../projections/enrolled.ts';
import { headCount } from '../../../projections/head-count.ts';

function participant(cause?: VoidCause): Enrolled {
  const enrolled = { participantId: '1', levels: ['a'], revision: 1 };
  if (cause === undefined) return enrolled;
  const voided = { revision: 2, cause, isRemoved: false, duplicateOf: undefined };
  return { ...enrolled, corrected: { id: '1', levels: ['a'], countedLevels: ['a'], voided } };
}

describe('headCount', () => {
  it('says of each cause of a void whether the place is free again', () => {
    const filled = VoidCause.options.map((cause) => [cause, headCount([participant(cause)])]);
    const one = { enrolled: 1, voided: 1 };
    expect(Object.fromEntries(filled)).toEqual({
      ineligible: { ...one, filled: 1 },
      duplicate: { ...one, filled: 0 },
      'never-enrolled': { ...one, filled: 0 },
      entry: { ...one, filled: 1 },
      other: { ...one, filled: 1 },
    });
  });

  it('counts everybody, and of them the voided and the places', () => {
    const all = [undefined, 'duplicate', undefined, 'ineligible', 'never-enrolled'] as const;
    expect(headCount(all.map((cause) => participant(cause)))).toEqual({ enrolled: 5, voided: 3, filled: 3 });
    expect(headCount([])).toEqual({ enrolled: 0, voided: 0, filled: 0 });
  });
});
