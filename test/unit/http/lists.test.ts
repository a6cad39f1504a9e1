/** Which part of a list is asked for, in which form and order, and how many there are over time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Design, registeredDesign } from '../../../src/core/model/design.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { currentId, NONE } from '../../../src/core/model/participants.ts';
import { InProgress } from '../../../src/service/http/request/in-progress.ts';
import { wantsCsv } from '../../../src/service/http/request/study-view.ts';
import { evenlySpaced, MAX_POINTS, tallied } from '../../../src/service/http/routes/enrolment.ts';
import {
  byId,
  byLevel,
  pageOf,
  SORTED_AT_ONCE,
  searchForm,
  sortedInTurns,
} from '../../../src/service/http/routes/list-participants.ts';
import { CONFIGURATION } from '../../support/facts.ts';
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

it.each([
  [true, ['text/csv', 'TEXT/CSV; charset=utf-8', 'text/csv;q=0.2, */*;q=0.9', 'text/csv, application/json']],
  [true, ['application/json;q=0.5, text/csv;q=0.5']],
  [false, [undefined, '*/*', 'text/*', 'application/json', 'text/html,*/*;q=0.8', 'text/csv;q=0', ',;=']],
  [false, ['text/csv;q=0.5, application/json', 'text/csv;q=2', 'text/csv-schema']],
])('a list is CSV: %s, with Accept: %s', (expected, accepts) => {
  for (const accept of accepts) expect(wantsCsv({ headers: { accept } }), accept).toBe(expected);
});

it('searchForm is one for capitals, small letters and both ways to write an accent', () => {
  expect(searchForm('ÉMILE-01')).toBe(searchForm('e\u0301mile-01'));
  expect(searchForm('A')).not.toBe(searchForm('B'));
});

function person(sequence: number, treatment: string, levels: string[], more: Partial<Participant> = {}) {
  return {
    ...{ participantId: `${sequence}`, levels, revision: sequence, sequence, treatment, slot: 0 },
    ...{ at: `at ${sequence}`, user: 'edc', onBehalfOf: undefined, bgStateAfter: undefined, ...more },
  };
}

let sequence = 0;

function participant(participantId: string, level = 'a', now = { id: participantId, level }): Participant {
  const isCorrected = now.id !== participantId || now.level !== level;
  const levels = [now.level];
  const corrected = { id: now.id, levels, countedLevels: levels };
  return person(++sequence, 'A', [level], { participantId, ...(isCorrected && { corrected }) });
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
  const turn = new InProgress().turns.of('k1');
  const sizes = [0, 1, SORTED_AT_ONCE, SORTED_AT_ONCE + 1, 3 * SORTED_AT_ONCE + 7];

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
        expect(revisions(await sortedInTurns(list, compare, turn))).toEqual(sorted);
      }),
      { numRuns: 5 },
    );
  });

  it('does not change the given list, nor follow it when it grows', async () => {
    const list = ['3', '1', '2'].map((id) => participant(id));
    const sorting = sortedInTurns(list, byId, turn);
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

const DESIGN: Design = registeredDesign(CONFIGURATION);
const [sex, site] = CONFIGURATION.factors;
const [A = '', B = ''] = CONFIGURATION.treatments;
const [male = '', female = ''] = sex?.levels ?? [];
const [cook = ''] = site?.levels ?? [];

const voided = { revision: 9, cause: 'never-enrolled', isRemoved: true, duplicateOf: undefined } as const;
const LIST: readonly Participant[] = [
  person(1, B, [male, cook]),
  person(2, A, [male, cook], {
    corrected: { id: '2', levels: [female, cook], countedLevels: [female, cook], voided },
  }),
  // A wrong entry was replaced before this one, and the second factor was retired.
  person(4, B, [female, '']),
];

/** Counts as a list by treatment of the design, with those that nobody has. */
const on = (counts: Readonly<Record<string, number>>) => DESIGN.treatments.map((name) => counts[name] ?? 0);

const tallies = (enrolled: number, voided: number, counts: Readonly<Record<string, number>>) => ({
  ...{ enrolled, voided, filled: enrolled - voided, byTreatment: on(counts) },
});

describe('tallied', () => {
  const turn = new InProgress().turns.of('k1');

  it('counts everybody over time, by treatment and by current level', async () => {
    const tally = await tallied(DESIGN, LIST, turn);
    expect(tally).toMatchObject({ treatments: DESIGN.treatments, ...tallies(3, 1, { [A]: 1, [B]: 2 }) });
    expect(tally.points).toEqual([
      { sequence: 1, at: 'at 1', ...tallies(1, 0, { [B]: 1 }) },
      { sequence: 2, at: 'at 2', ...tallies(2, 1, { [A]: 1, [B]: 1 }) },
      { sequence: 4, at: 'at 4', ...tallies(3, 1, { [A]: 1, [B]: 2 }) },
    ]);
    expect(tally.levels.filter(({ enrolled }) => enrolled > 0)).toEqual([
      { factor: sex?.name, level: male, ...tallies(1, 0, { [B]: 1 }) },
      { factor: sex?.name, level: female, ...tallies(2, 1, { [A]: 1, [B]: 1 }) },
      { factor: site?.name, level: cook, ...tallies(2, 1, { [A]: 1, [B]: 1 }) },
    ]);
    const names = CONFIGURATION.factors.flatMap(({ name, levels }) => levels.map((level) => [name, level]));
    expect(tally.levels.map(({ factor, level }) => [factor, level])).toEqual(names);
  });

  it('counts a long list', async () => {
    const long = Array.from({ length: 6001 }, (_, i) => person(i + 1, i % 2 ? A : B, [male, cook]));
    const { enrolled, points, levels } = await tallied(DESIGN, long, turn);
    const last = { sequence: 6001, at: 'at 6001', ...tallies(6001, 0, { [A]: 3000, [B]: 3001 }) };
    expect([enrolled, points.length, points.at(-1)]).toEqual([6001, MAX_POINTS, last]);
    for (const point of points) expect(point.enrolled).toBe(point.sequence);
    expect(levels[0]).toMatchObject({ enrolled: 6001 });
  });

  it('refuses a treatment that the design does not have', async () => {
    await expect(tallied(DESIGN, [person(1, 'none', [male, cook])], turn)).rejects.toThrow(
      'a treatment that the design does not have',
    );
  });
});

it('evenlySpaced takes all of a short list; else the first, the last and steps of equal length between them', () => {
  expect([evenlySpaced(0, 3), evenlySpaced(1, 3), evenlySpaced(3, 3)]).toEqual([[], [0], [0, 1, 2]]);
  check(
    fc.property(fc.integer({ min: 3, max: 200_000 }), fc.integer({ min: 2, max: 300 }), (length, most) => {
      const indexes = evenlySpaced(length, most);
      expect([indexes.length, indexes[0], indexes.at(-1)]).toEqual([Math.min(length, most), 0, length - 1]);
      const steps = indexes.slice(1).map((index, i) => index - (indexes[i] ?? 0));
      expect(Math.min(...steps)).toBeGreaterThan(0);
      expect(Math.max(...steps) - Math.min(...steps)).toBeLessThanOrEqual(1);
    }),
  );
});
