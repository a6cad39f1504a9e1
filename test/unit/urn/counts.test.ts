import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../../events/study.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { participant, study } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { urnOf } from '../../support/urn-study.ts';

const shape = {
  slots: ['A', 'B', 'C'],
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels: ['1', '2', '3'] },
  ],
};

function table(counts: Counts, { factors }: Pick<UrnConfiguration, 'factors'>): number[][][] {
  return factors.map(({ levels }, factor) => levels.map((_, level) => [...counts.of(factor, level)]));
}

describe('Counts', () => {
  it('starts at zero', () => {
    expect(table(new Counts(shape), shape)).toEqual([
      [
        [0, 0, 0],
        [0, 0, 0],
      ],
      [
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
      ],
    ]);
  });

  it('counts a participant once for their level of each factor', () => {
    const counts = new Counts(shape);
    counts.add([1, 2], 0);
    counts.add([1, 0], 0);
    counts.add([0, 2], 2);
    expect(table(counts, shape)).toEqual([
      [
        [0, 0, 1],
        [2, 0, 0],
      ],
      [
        [1, 0, 0],
        [0, 0, 0],
        [1, 0, 1],
      ],
    ]);
  });

  it('returns rows that later participants do not change', () => {
    const counts = new Counts(shape);
    const before = counts.of(0, 1);
    counts.add([1, 2], 0);
    expect(before).toEqual([0, 0, 0]);
  });

  it('forgets a fork that is discarded', () => {
    const counts = new Counts(shape);
    counts.add([0, 0], 1);
    const before = table(counts, shape);
    const fork = counts.fork();
    fork.add([0, 0], 2);
    fork.fork().add([0, 0], 0);
    expect(table(counts, shape)).toEqual(before);
  });

  it('isolates every fork, and forks of forks, as if each were the only one counting', () => {
    const step = (configuration: UrnConfiguration) =>
      fc.record({
        fork: fc.boolean(),
        on: fc.nat(),
        levels: participant(configuration),
        treatment: fc.nat(configuration.treatments.length - 1),
      });
    const scenario = study.chain((configuration) =>
      fc.record({
        configuration: fc.constant(configuration),
        steps: fc.array(step(configuration), { maxLength: 40 }),
      }),
    );
    check(
      fc.property(scenario, ({ configuration, steps }) => {
        type Addition = readonly [readonly number[], number];
        const copies: { counts: Counts; additions: Addition[] }[] = [
          { counts: new Counts(urnOf(configuration)), additions: [] },
        ];
        for (const { fork, on, levels, treatment } of steps) {
          const copy = copies[on % copies.length];
          if (copy === undefined) throw new Error('there is always a copy');
          if (fork) copies.push({ counts: copy.counts.fork(), additions: [...copy.additions] });
          else {
            copy.counts.add(levels, treatment);
            copy.additions.push([levels, treatment]);
          }
        }
        for (const { counts, additions } of copies) {
          const alone = new Counts(urnOf(configuration));
          for (const [levels, treatment] of additions) alone.add(levels, treatment);
          expect(table(counts, configuration)).toEqual(table(alone, configuration));
        }
      }),
    );
  });

  it('adds up to the number of participants for every factor', () => {
    const scenario = study.chain((configuration) =>
      fc.record({
        configuration: fc.constant(configuration),
        participants: fc.array(
          fc.tuple(participant(configuration), fc.nat(configuration.treatments.length - 1)),
        ),
      }),
    );
    check(
      fc.property(scenario, ({ configuration, participants }) => {
        const counts = new Counts(urnOf(configuration));
        for (const [levels, treatment] of participants) counts.add(levels, treatment);
        for (const rows of table(counts, configuration)) {
          expect(rows.flat().reduce((sum, n) => sum + n, 0)).toBe(participants.length);
        }
      }),
    );
  });

  it('does not slow down in a long chain of forks', () => {
    let counts = new Counts(shape);
    for (let i = 0; i < 100_000; i++) {
      counts = counts.fork();
      counts.add([i % 2, i % 3], 0);
    }
    expect(table(counts, shape)[0]).toEqual([
      [50_000, 0, 0],
      [50_000, 0, 0],
    ]);
  });

  it('refuses indexes that are out of range or missing, without counting anything', () => {
    const counts = new Counts(shape);
    for (const levels of [[0], [0, 0, 0], [2, 0], [0, 3], [0, -2], [0, 0.5], []]) {
      expect(() => counts.add(levels, 0)).toThrow(RangeError);
    }
    for (const slot of [-1, 3, 0.5]) expect(() => counts.add([0, 0], slot)).toThrow(RangeError);
    expect(() => counts.of(2, 0)).toThrow(RangeError);
    expect(() => counts.of(0, 2)).toThrow(RangeError);
    expect(table(counts, shape)).toEqual(table(new Counts(shape), shape));
  });
});
