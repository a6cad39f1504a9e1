import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Design, registeredDesign } from '../../../projections/design.ts';
import { withinLimits } from '../../../src/core/model/key-limits.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { evenlySpaced, MAX_POINTS, tallied } from '../../../src/service/http/request/enrolment-tally.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { check } from '../../support/property.ts';

const DESIGN: Design = registeredDesign(CONFIGURATION);
const [sex, site] = CONFIGURATION.factors;
const [A = '', B = ''] = CONFIGURATION.treatments;
const [male = '', female = ''] = sex?.levels ?? [];
const [cook = '', dupage = ''] = site?.levels ?? [];

function participant(sequence: number, treatment: string, levels: string[], more: Partial<Participant> = {}) {
  return {
    ...{ participantId: `${sequence}`, levels, revision: sequence, sequence, treatment },
    ...{ slot: DESIGN.slots.indexOf(treatment), at: `at ${sequence}`, user: 'edc' },
    ...{ onBehalfOf: undefined, bgStateAfter: undefined, ...more },
  };
}

const voided = { revision: 9, cause: 'never-enrolled', isRemoved: true, duplicateOf: undefined } as const;
const LIST: readonly Participant[] = [
  participant(1, B, [male, cook]),
  participant(2, A, [male, cook], {
    corrected: { id: '2', levels: [female, cook], countedLevels: [female, cook], voided },
  }),
  // A wrong entry was replaced before this one, and the second factor was retired.
  participant(4, B, [female, '']),
];

/** Counts as a list by treatment of the design, with those that nobody has. */
const on = (counts: Readonly<Record<string, number>>) => DESIGN.treatments.map((name) => counts[name] ?? 0);

const tallies = (enrolled: number, voided: number, counts: Readonly<Record<string, number>>) => ({
  ...{ enrolled, voided, filled: enrolled - voided, byTreatment: on(counts) },
});

describe('tallied', () => {
  it('counts everybody over time, by treatment and by current level', () => {
    const tally = tallied(DESIGN, LIST);
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

  it('counts only those within the limits of the key', () => {
    const at = (level: string) => {
      const where = [{ factor: site?.name ?? '', levels: [level] }];
      return tallied(DESIGN, withinLimits(LIST, where, DESIGN));
    };
    const atCook = at(cook);
    expect(atCook).toMatchObject({ enrolled: 2, byTreatment: on({ [A]: 1, [B]: 1 }) });
    expect(atCook.points.map(({ enrolled }) => enrolled)).toEqual([1, 2]);
    expect(at(dupage)).toMatchObject({ enrolled: 0, points: [] });
  });

  it('counts a long list', () => {
    const long = Array.from({ length: 6001 }, (_, i) => participant(i + 1, i % 2 ? A : B, [male, cook]));
    const { enrolled, points, levels } = tallied(DESIGN, long);
    const last = { sequence: 6001, at: 'at 6001', ...tallies(6001, 0, { [A]: 3000, [B]: 3001 }) };
    expect([enrolled, points.length, points.at(-1)]).toEqual([6001, MAX_POINTS, last]);
    for (const point of points) expect(point.enrolled).toBe(point.sequence);
    expect(levels[0]).toMatchObject({ enrolled: 6001 });
  });

  it('refuses a treatment that the design does not have', () => {
    expect(() => tallied(DESIGN, [participant(1, 'none', [male, cook])])).toThrow(
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
