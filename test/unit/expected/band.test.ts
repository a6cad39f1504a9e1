import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { Counts } from '../../../src/core/methods/memory.ts';
import { allocate } from '../../../src/core/methods/urn.ts';
import { type MethodDesign, urnDesignOf } from '../../../src/core/model/method-of.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import {
  Band,
  MAX_POINTS,
  midPercentile,
  quantiles,
  Range,
  replicatesFor,
} from '../../../src/statistics/expected/band.ts';
import { FollowedStudy } from '../../../src/statistics/expected/followed.ts';
import { baseSeed } from '../../../src/statistics/replicate/replicate.ts';
import type { DesignStep, DrawStep, Step } from '../../../src/statistics/replicate/steps.ts';
import { force, lifeStep, lived } from '../../support/arbitrary-life.ts';
import { choicesOf } from '../../support/choices.ts';
import { event } from '../../support/facts.ts';
import { beginImport, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const FACTORS = [
  { name: 'sex', levels: ['f', 'm'] },
  { name: 'site', levels: ['1', '2', '3'] },
];

function designStep(arms: readonly number[], more: Partial<DesignStep> = {}): DesignStep {
  const treatments = [...new Set(arms)].map((arm) => 'ABCD'[arm] ?? '');
  const methodDesign: MethodDesign = {
    ...{ method: 'urn', slots: arms.map((arm) => treatments[arm] ?? ''), factors: FACTORS, D: 'range' },
    ...{ w: 1, alpha: 0, beta: 1, hasRatio: arms.length > treatments.length },
  };
  return {
    ...{ kind: 'design', methodDesign, methodDesignOfImports: methodDesign, treatments, factors: FACTORS },
    ...{ arms, openArms: treatments.map((_, arm) => arm), restarts: false, ...more },
  };
}

const draw = (person: number, levels: readonly number[], slot = 0): DrawStep => ({
  ...{ kind: 'draw', person, levels, slot, isImported: false },
});

function bandOf(steps: readonly Step[], reps = 50, seed = 3) {
  const band = new Band(reps, seed);
  for (const step of steps) band.take(step);
  return band.result();
}

function follow(study: FollowedStudy, { facts }: TrialRun): void {
  for (const [revision, fact] of facts.entries()) study.take(event(fact, revision));
}

describe('the expected band', () => {
  /** An independent program: it allocates as the write path does, and follows every definition to the letter. */
  function written(design: DesignStep, people: readonly DrawStep[], reps: number, seed: number) {
    const { methodDesign, arms, treatments } = design;
    const urnDesign = urnDesignOf(methodDesign);
    const ratio = treatments.map((_, k) => arms.filter((arm) => arm === k).length);
    const rangeOf = (slots: readonly number[]) => {
      const perShare = ratio.map((r, k) => slots.filter((slot) => arms[slot] === k).length / r);
      return (arms.length / treatments.length) * (Math.max(...perShare) - Math.min(...perShare));
    };
    const runs = Array.from({ length: reps }, (_, r) => {
      const counts = new Counts({ slots: urnDesign.slots, factors: FACTORS });
      let state = Pcg64.fromSeed(baseSeed(seed) + BigInt(r)).snapshot();
      return people.map(({ levels }) => {
        const { slot, draw: evidence } = allocate(urnDesign, counts, levels, state);
        counts.add(levels, slot);
        state = evidence.bgStateAfter;
        return slot;
      });
    });
    const study = people.map(({ slot }) => slot);
    const at = (n: number, isOf: (person: DrawStep) => boolean) => {
      const slotsOf = (run: readonly number[]) => run.filter((_, i) => i < n && isOf(people[i] as DrawStep));
      const ranges = runs.map((run) => rangeOf(slotsOf(run))).sort((a, b) => a - b);
      const actual = rangeOf(slotsOf(study));
      const same = (one: number) => Math.abs(one - actual) < 1e-9;
      return {
        expected: [0.025, 0.25, 0.5, 0.75, 0.975].map((q) =>
          ranges.find((one) => ranges.filter((other) => other <= one).length / reps >= q - 1e-9),
        ),
        actual,
        percentile:
          (ranges.filter((one) => one < actual && !same(one)).length + ranges.filter(same).length / 2) / reps,
      };
    };
    return { at, runs, rangeOf, study };
  }

  it.each([
    ['three arms', [0, 1, 2]],
    ['a ratio of 2:1', [0, 0, 1]],
    ['a ratio of 1:2:3', [0, 1, 1, 2, 2, 2]],
  ])('agrees with an independent program, with %s', (_, arms) => {
    const { pick } = choicesOf(7);
    const design = designStep(arms);
    const people = Array.from({ length: 30 }, (_, i) =>
      draw(i, [pick([0, 1]), pick([0, 1, 2])], pick(arms.map((_, slot) => slot))),
    );
    const found = bandOf([design, ...people]);
    const { at, runs, rangeOf, study } = written(design, people, 50, 3);
    const rows = [
      { row: found.overall, isOf: () => true },
      ...FACTORS.flatMap(({ name, levels }, factor) =>
        levels.map((level, i) => ({
          row: found.levels.get(name)?.get(level),
          isOf: (person: DrawStep) => person.levels[factor] === i,
        })),
      ),
    ];
    expect(found.points).toEqual(people.map((_, i) => i + 1));
    const close = (value = -1) => expect.closeTo(value, 9);
    for (const { row, isOf } of rows)
      for (const [i, n] of found.points.entries()) {
        const { expected, actual, percentile } = at(n, isOf);
        const shown = [row?.expected[i], row?.actual[i], row?.percentile[i]];
        expect(shown).toEqual([expected.map(close), close(actual), close(percentile)]);
      }
    const largest = (run: readonly number[]) => Math.max(...run.map((_, i) => rangeOf(run.slice(0, i + 1))));
    const actual = largest(study);
    const all = runs.map(largest);
    const same = (one: number) => Math.abs(one - actual) < 1e-9;
    const below = all.filter((one) => one < actual && !same(one)).length;
    expect(found.course.actual).toBeCloseTo(actual, 9);
    expect(found.course.percentile).toBeCloseTo((below + all.filter(same).length / 2) / 50, 9);
  });

  it('shows each point as it was before the next participant, and the last as it is now', () => {
    const [first, second, third] = [draw(0, [0, 0], 0), draw(1, [1, 1], 0), draw(2, [1, 1], 1)];
    const leaves: Step = { kind: 'move', person: 0, from: [0, 0], to: undefined };
    const corrected: Step = { kind: 'move', person: 1, from: [1, 1], to: [0, 1] };
    const steps = [designStep([0, 1]), first, leaves, second, third];
    const [before, after] = [bandOf(steps), bandOf([...steps, corrected])];
    expect(before.overall.actual).toEqual([0, 1, 0]);
    expect(before.overall.expected[0]).toEqual([0, 0, 0, 0, 0]);
    expect(before.course.actual).toBe(1);
    const bySex = ({ levels }: typeof before) =>
      ['f', 'm'].map((level) => levels.get('sex')?.get(level)?.actual.join(' '));
    expect([bySex(before), bySex(after)]).toEqual([
      ['0 0 0', '0 1 0'],
      ['0 0 1', '0 1 1'],
    ]);
  });

  it('counts somebody who was entered again, after a wrong entry, once', () => {
    const [trial, followed, band] = [new TrialRun(), new FollowedStudy(), new Band(20, 3)];
    const slip = { cause: 'entry', analysis: 'exclude', note: 'slip' };
    trial.enrol('a');
    trial.record(force('b'));
    trial.record({ act: 'AllocationVoided', participantId: 'b', ...slip });
    trial.record(force('b', { replaces: 2 }));
    trial.enrol('c');
    follow(followed, trial);
    for (const step of followed.takeSteps().steps) band.take(step);
    expect([followed.participants, band.participants, band.result().points]).toEqual([3, 3, [1, 2, 3]]);
  });

  it('keeps the arm of participants who were not drawn, in every replicate', () => {
    const fixed = (person: number): Step => ({
      ...{ kind: 'fixed', person, levels: [0, 0], arm: 1, slot: 1, isCounted: person < 3 },
      isAgain: false,
    });
    const { overall } = bandOf([designStep([0, 1]), ...[0, 1, 2, 3].map(fixed)]);
    expect(overall.actual).toEqual([1, 2, 3, 3]);
    expect(overall.expected[3]).toEqual([3, 3, 3, 3, 3]);
    expect(overall.percentile).toEqual([0.5, 0.5, 0.5, 0.5]);
  });

  it('covers the open arms, and starts afresh when the urns do', () => {
    const people = [0, 1, 2].map((i) => draw(i, [0, 0], 2));
    const design = designStep([0, 1, 2]);
    const closed = bandOf([design, ...people, designStep([0, 1, 2], { openArms: [0, 1] })]);
    expect(closed.overall.actual).toEqual([1, 2, 0]);
    const restarted = bandOf([design, ...people, designStep([0, 1, 2], { restarts: true })]);
    expect(restarted.overall.actual).toEqual([1, 2, 0]);
    expect(restarted.overall.expected[2]).toEqual([0, 0, 0, 0, 0]);
    expect(restarted.course.actual).toBe(2);
  });

  it('has at most 200 points, evenly spaced and including the last', () => {
    const people = Array.from({ length: 250 }, (_, i) => draw(i, [0, 0], i % 2));
    const { points, overall } = bandOf([designStep([0, 1]), ...people], 2);
    expect(points).toHaveLength(MAX_POINTS);
    expect(points.slice(0, 5)).toEqual([2, 3, 4, 5, 7]);
    expect(points.at(-1)).toBe(250);
    expect(overall.actual.slice(0, 5)).toEqual([0, 1, 0, 1, 1]);
  });

  it('is the same to the bit whether a life is taken at once or event by event', () => {
    check(
      fc.property(fc.array(lifeStep, { maxLength: 40 }), fc.boolean(), (life, hasSlots) => {
        const [one, all] = [new FollowedStudy(), new FollowedStudy()];
        const [stepByStep, atOnce] = [new Band(20, 5), new Band(20, 5)];
        for (const [revision, fact] of lived(life, hasSlots).facts.entries()) {
          all.take(event(fact, revision));
          one.take(event(fact, revision));
          for (const step of one.takeSteps().steps) stepByStep.take(step);
          stepByStep.result();
        }
        for (const step of all.takeSteps().steps) atOnce.take(step);
        expect(stepByStep.result()).toEqual(atOnce.result());
        expect(one.participants).toBe(atOnce.participants);
      }),
    );
  });
});

describe('a followed study', () => {
  const rows = drawnRows([{}, {}, {}]);
  const abort = { type: 'end-import', import: IMPORT, abortedBecause: 'the wrong file' } as const;

  it('starts afresh when an import is given up', () => {
    const trial = new TrialRun();
    trial.all([beginImport(rows), ...rows]);
    const study = new FollowedStudy();
    follow(study, trial);
    expect(study.takeSteps()).toMatchObject({ beginsAnew: true, steps: { length: 4 } });
    trial.ask(abort);
    const last = trial.facts.length - 1;
    study.take(event(trial.facts[last] as StudyFact, last));
    const { steps, beginsAnew } = study.takeSteps();
    expect([beginsAnew, steps.map(({ kind }) => kind), study.participants]).toEqual([true, ['design'], 0]);
    expect(study.takeSteps()).toEqual({ beginsAnew: false, steps: [] });
  });

  it('knows the seed that it continues with after an import', () => {
    const trial = new TrialRun();
    const seed = baseSeed(9);
    trial.ask(beginImport(rows, { seed, bgState: Pcg64.fromSeed(seed).snapshot() }));
    const study = new FollowedStudy();
    follow(study, trial);
    expect([study.sharesSeed(9, 1), study.sharesSeed(10, 1)]).toEqual([true, false]);
  });
});

describe('the position of a number', () => {
  it('a quantile is the smallest number with at least its share at or below it; a percentile counts half of the ties', () => {
    const upTo = (n: number) => Float64Array.from({ length: n }, (_, i) => i + 1);
    expect(quantiles(upTo(1000))).toEqual([25, 250, 500, 750, 975]);
    expect(quantiles([7])).toEqual([7, 7, 7, 7, 7]);
    expect([1, 6, -1].map((one) => midPercentile([0, 1, 1, 5], one))).toEqual([0.5, 1, 0]);
  });

  it('equal ranges are equal, whatever counts they come from', () => {
    const range = new Range({ arms: [0, 0, 0, 1, 1], openArms: [0, 1] });
    const [one, other] = [
      [1, 1, 1, 0, 1],
      [9, 0, 0, 3, 2],
    ].map((counts) => range.of(Int32Array.from(counts), 0));
    expect(one).toBe(other);
    // R/K · (3/3 − 1/2)
    expect(range.value(one ?? 0)).toBe(1.25);
  });
});

it('the replicates are fewer for a long study, and are refused if one would have the seed of the study', () => {
  expect([0, 9999, 10_000].map(replicatesFor)).toEqual([1000, 1000, 200]);
  const study = new FollowedStudy();
  follow(study, new TrialRun({}, baseSeed(9) + 41n));
  const shared = [study.sharesSeed(9, 41), study.sharesSeed(9, 42), study.sharesSeed(8, 42)];
  expect(shared).toEqual([false, true, false]);
});
