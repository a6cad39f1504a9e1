import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { currentId, NONE } from '../../../projections/enrolled.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { InProgress } from '../../../src/service/http/request/in-progress.ts';
import {
  byId,
  byLevel,
  SORTED_AT_ONCE,
  sortedInTurns,
} from '../../../src/service/http/request/list-orders.ts';
import { check } from '../../support/property.ts';

let sequence = 0;

function participant(participantId: string, level = 'a', now = { id: participantId, level }): Participant {
  sequence++;
  const isCorrected = now.id !== participantId || now.level !== level;
  const levels = [now.level];
  return {
    ...{ participantId, levels: [level], revision: sequence, sequence, treatment: 'A', at: '', user: 'edc' },
    ...{ slot: 0, onBehalfOf: undefined, bgStateAfter: undefined },
    ...(isCorrected && { corrected: { id: now.id, levels, countedLevels: levels } }),
  };
}

const idsOf = (list: readonly Participant[]) => list.map(currentId);

describe('byId', () => {
  it('compares numbers in ids as numbers, and the ids in use', () => {
    const given = ['10-2', '9-10', 'a2', '9-9', 'B1', 'A10'].map((id) => participant(id));
    const renamed = participant('0', 'a', { id: '9-9b', level: 'a' });
    const sorted = ['9-9', '9-9b', '9-10', '10-2', 'a2', 'A10', 'B1'];
    expect(idsOf([...given, renamed].toSorted(byId))).toEqual(sorted);
  });

  it('leaves ids that read as the same in the order of randomization', () => {
    expect(idsOf(['01', '2', '1', '001'].map((id) => participant(id)).toSorted(byId))).toEqual([
      ...['01', '1', '001', '2'],
    ]);
  });
});

describe('byLevel', () => {
  const factor = { levels: ['b', 'a', 'c'] };

  it('follows the configuration; who has no level is last', () => {
    const list = [NONE, 'c', 'a', 'b'].map((level, i) => participant(`${i + 1}`, level));
    expect(idsOf(list.toSorted(byLevel(0, factor, 'current')))).toEqual(['4', '3', '2', '1']);
  });

  it('is by the levels that are shown', () => {
    const list = [participant('1', 'a'), participant('2', 'b', { id: '2', level: 'c' })];
    expect(idsOf(list.toSorted(byLevel(0, factor, 'current')))).toEqual(['1', '2']);
    expect(idsOf(list.toSorted(byLevel(0, factor, 'as_randomized')))).toEqual(['2', '1']);
  });
});

describe('sortedInTurns', () => {
  const { lists } = new InProgress();
  const sizes = [0, 1, SORTED_AT_ONCE, SORTED_AT_ONCE + 1, 3 * SORTED_AT_ONCE, 5 * SORTED_AT_ONCE + 7];

  it.each(sizes)(
    'sorts %i participants as toSorted does, and keeps the order of equal ones',
    async (size) => {
      const one = participant('1');
      const compare = (a: Participant, b: Participant) => a.sequence - b.sequence;
      const revisions = (sorted: readonly Participant[]) => sorted.map(({ revision }) => revision);
      const kinds = fc.integer({ min: 1, max: 50 });
      await check(
        fc.asyncProperty(fc.integer({ min: 1, max: 1e6 }), kinds, async (by, most) => {
          const list = Array.from({ length: size }, (_, i) => {
            return { ...one, sequence: (i * by) % most, revision: i };
          });
          const sorted = revisions(list.toSorted(compare));
          expect(revisions(await sortedInTurns(list, compare, lists))).toEqual(sorted);
        }),
        { numRuns: 5 },
      );
    },
  );

  it('does not change the given list, nor follow it when it grows', async () => {
    const list = ['3', '1', '2'].map((id) => participant(id));
    const sorting = sortedInTurns(list, byId, lists);
    list.push(participant('0'));
    expect(idsOf(await sorting)).toEqual(['1', '2', '3']);
    expect(idsOf(list)).toEqual(['3', '1', '2', '0']);
  });

  it('compares in each turn no more often than it takes to sort one run', async () => {
    const size = 8 * SORTED_AT_ONCE;
    const list = Array.from({ length: size }, (_, i) => ({
      ...participant('1'),
      sequence: (i * 7919) % size,
    }));
    const perTurn: number[] = [];
    let compared = 0;
    const counting = (a: Participant, b: Participant) => {
      compared++;
      return a.sequence - b.sequence;
    };
    const slice = async <R>(work: () => R) => {
      compared = 0;
      const result = work();
      perTurn.push(compared);
      return result;
    };
    await sortedInTurns(list, counting, { slice });
    // 8 runs, then as many parts of the merged list, each through three levels.
    expect(perTurn).toHaveLength(8 + 8);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(SORTED_AT_ONCE * Math.log2(SORTED_AT_ONCE));
  });
});
