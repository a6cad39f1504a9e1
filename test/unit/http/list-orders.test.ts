/** Which part of a list is asked for, and its order. */
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
import { pageOf, searchForm } from '../../../src/service/http/request/page.ts';
import { check } from '../../support/property.ts';

function read(parameters: Record<string, string>) {
  const problems: string[] = [];
  const page = pageOf(new Map(Object.entries(parameters)), problems);
  return { page, problems };
}

describe('pageOf', () => {
  it('without parameters is the whole list, uncounted', () => {
    expect(read({})).toEqual({
      page: {
        ...{ from: 0, limit: undefined, offset: 0, isDescending: false, search: undefined },
        ...{ isCounted: false, continuesByRevision: true },
      },
      problems: [],
    });
  });

  it.each([
    [{ 'urn.limit': '5' }, true, true],
    [{ 'urn.limit': '5', 'urn.from': '0' }, false, true],
    [{ 'urn.search': 'a', 'urn.from': '7' }, false, true],
    [{ 'urn.search': '😀'.repeat(128) }, true, true],
    [{ 'urn.sort': 'time' }, true, true],
    [{ 'urn.sort': 'time', 'urn.order': 'asc', 'urn.from': '3' }, false, true],
    [{ 'urn.order': 'desc' }, true, false],
    [{ 'urn.sort': 'id' }, true, false],
    [{ 'urn.limit': '5', 'urn.offset': '0' }, true, false],
  ])('%j: counted %s, goes on by revision %s', (parameters, isCounted, continuesByRevision) => {
    expect(read(parameters)).toMatchObject({ page: { isCounted, continuesByRevision }, problems: [] });
  });

  it.each([
    [{ 'urn.sort': 'id', 'urn.from': '0' }, /^urn\.from .*leave urn\.from out, and page with urn\.offset/],
    [{ 'urn.order': 'desc', 'urn.from': '5' }, /^urn\.from is a place in the order of randomization/],
    [{ 'urn.offset': '0', 'urn.limit': '1', 'urn.from': '5' }, /^urn\.from is a place/],
    [{ 'urn.offset': '3' }, /^urn\.offset needs urn\.limit/],
    [{ 'urn.offset': '-1', 'urn.limit': '1' }, /^urn\.offset is not a whole number from 0 on$/],
    [{ 'urn.order': 'up' }, /^urn\.order must be asc or desc$/],
    [{ 'urn.search': '' }, /^urn\.search is empty/],
    [{ 'urn.search': '😀'.repeat(129) }, /^urn\.search has more than 128 characters$/],
  ])('%j is one problem', (parameters, problem) => {
    expect(read(parameters).problems).toEqual([expect.stringMatching(problem)]);
  });
});

it('searchForm is one for capitals, small letters and both ways to write an accent', () => {
  expect(searchForm('ÉMILE-01')).toBe(searchForm('e\u0301mile-01'));
  expect(searchForm('A')).not.toBe(searchForm('B'));
});

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

it('byId compares numbers in ids as numbers, and the ids in use; those that read as the same keep their order', () => {
  const given = ['10-2', '9-10', 'a2', '9-9', 'B1', 'A10', '01', '1', '001'].map((id) => participant(id));
  const renamed = participant('0', 'a', { id: '9-9b', level: 'a' });
  const sorted = ['01', '1', '001', '9-9', '9-9b', '9-10', '10-2', 'a2', 'A10', 'B1'];
  expect(idsOf([...given, renamed].toSorted(byId))).toEqual(sorted);
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
  const sizes = [0, 1, SORTED_AT_ONCE, SORTED_AT_ONCE + 1, 5 * SORTED_AT_ONCE + 7];

  it.each(sizes)('sorts %i participants as toSorted does, equal ones, too', async (size) => {
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
  });

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
