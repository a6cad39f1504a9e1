/** Closed and added arms, ratios, changed numbers of balls, retired factors, and urns that start afresh. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import { hasRatio, ratioOf, registeredDesign } from '../../../projections/design.ts';
import { countedLevels } from '../../../projections/enrolled.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { workOut } from '../../../src/core/methods/urn/allocate.ts';
import type { FlatAct } from '../../support/acts.ts';
import {
  added,
  amend,
  COOK,
  closed,
  DUPAGE,
  force,
  type LifeStep,
  lifeStep,
  MART,
  RMCA,
  RMCQ,
  ratio,
  reopened,
  retired,
  SITES,
} from '../../support/arbitrary-life.ts';
import { CONFIGURATION, LEVELS, randomize } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { drawIn, urnDesignOf } from '../../support/urn-study.ts';

/** With twelve participants. */
function begun(more = {}): TrialRun {
  const trial = new TrialRun(more);
  for (let n = 0; n < 12; n++) trial.enrol(`p${n}`, [n % 3 === 0 ? 'Male' : 'Female', SITES[n % 2] ?? '']);
  return trial;
}

const drawOf = (trial: TrialRun) => {
  const fact = trial.facts.at(-1);
  if (fact?.type !== 'ParticipantRandomized') throw new Error('nobody was randomized');
  return { ...drawIn(fact.sections), treatment: fact.sections.allocation.treatment };
};

const isEmpty = (trial: TrialRun) =>
  trial
    .counts()
    .flat(2)
    .every((n) => n === 0);

describe('a closed arm', () => {
  it('takes its counts out of the draws, and brings them back when it is reopened', () => {
    const trial = begun();
    const before = trial.counts();
    trial.amend(closed(RMCA));
    expect(trial.last('StudyAmended').history).toBe('keep');
    expect(trial.counts()).toEqual(before);
    for (let n = 0; n < 20; n++) {
      trial.enrol(`q${n}`);
      const { treatment, balls, counts, ...draw } = drawOf(trial);
      expect([MART, RMCQ]).toContain(treatment);
      expect([balls.length, counts.length]).toEqual([2, 2]);
      // w + beta (N - n), with N over the open arms only.
      expect(balls).toEqual(counts.map((_, k) => 1 + (counts[1 - k] ?? 0)));
      expect(draw).not.toHaveProperty('slot');
    }
    trial.amend(reopened(RMCA));
    trial.enrol('r');
    expect(drawOf(trial).counts).toHaveLength(3);
  });

  it('can be entered for an allocation made outside before it was closed', () => {
    const trial = begun();
    const amended = trial.facts.length;
    trial.amend(closed(RMCA));
    const { latestAt } = trial.registered;
    const before = new Date(Date.parse(latestAt) - 1).toISOString();
    expect(trial.ask(force('x', { treatment: RMCA, occurredAt: latestAt }))).toMatchObject({
      ...{ type: 'impossible', field: 'treatment' },
    });
    expect(trial.ask(force('x', { treatment: RMCA, occurredAt: before }))).toMatchObject({
      type: 'recorded',
    });
    expect(amended).toBe(13);
    trial.amend(reopened(RMCA));
    const during = { treatment: RMCA, occurredAt: latestAt };
    expect(trial.ask(force('y', during))).toMatchObject({ type: 'impossible' });
    expect(trial.ask(force('y', { treatment: RMCA }))).toMatchObject({ type: 'recorded' });
  });
});

describe('an added arm', () => {
  it('resets all counts to zero, unless the history is kept', () => {
    const restarted = begun();
    restarted.amend(added('D'));
    expect(restarted.last('StudyAmended').history).toBe('restart');
    expect(isEmpty(restarted)).toBe(true);
    restarted.enrol('q');
    expect(drawOf(restarted)).toMatchObject({ counts: [0, 0, 0, 0], balls: [1, 1, 1, 1] });

    const kept = begun();
    const before = kept.counts();
    kept.ask(amend([added('D')], 1, { history: 'keep' }));
    expect(kept.counts()).toEqual(before.map((levels) => levels.map((counts) => [...counts, 0])));
  });

  it('cannot be entered for an allocation made before it was added', () => {
    const trial = begun();
    trial.amend(added('D'));
    const { latestAt } = trial.registered;
    const before = new Date(Date.parse(latestAt) - 1).toISOString();
    expect(trial.ask(force('x', { treatment: 'D', occurredAt: before }))).toMatchObject({
      field: 'treatment',
    });
    expect(trial.ask(force('x', { treatment: 'D', occurredAt: latestAt }))).toMatchObject({
      type: 'recorded',
    });
  });
});

describe('urns that start afresh', () => {
  it('never count earlier participants, whatever is corrected', () => {
    const trial = begun({ policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } });
    trial.amend(added('D'));
    trial.enrol('q');
    const before = trial.counts();
    const about = { participantId: 'p0', note: 'slip' };
    const correct: FlatAct = {
      ...{ ...about, act: 'LevelsCorrected', cause: 'entry' },
      changes: [{ factor: '10', from: 'Male', to: 'Female' }],
    };
    const voiding: FlatAct = { ...about, act: 'AllocationVoided', cause: 'duplicate', analysis: 'exclude' };
    for (const command of [correct, voiding, { ...about, act: 'AllocationReinstated' } as const])
      expect(trial.ask(command)).toMatchObject({ moves: false });
    expect(trial.counts()).toEqual(before);
    expect(trial.ask({ ...voiding, participantId: 'q' })).toMatchObject({ moves: true });
    expect(isEmpty(trial)).toBe(true);
  });

  it('can start afresh with any change that touches them', () => {
    const trial = begun();
    expect(trial.ask(amend([closed(RMCA)], 1, { history: 'restart' }))).toEqual({ type: 'amended' });
    expect(trial.registered.design).toMatchObject({ epoch: 1, epochBegan: 13 });
    // As a whole: two arms are open in the end.
    begun().amend(closed(MART), closed(RMCA), added('D'));
  });
});

describe('changed numbers of balls', () => {
  it('apply from then on, to the present counts', () => {
    const trial = begun();
    const before = trial.counts();
    trial.amend({ kind: 'urn', w: 2, alpha: 1, beta: 3, D: 'range' });
    expect(trial.counts()).toEqual(before);
    trial.enrol('q');
    const { balls, counts } = drawOf(trial);
    const all = counts.reduce((sum, n) => sum + n, 0);
    expect(balls).toEqual(counts.map((n) => 2 + n + 3 * (all - n)));
  });
});

describe('a ratio', () => {
  it('gives each arm its slots, records the slot, and counts by slot', () => {
    const trial = new TrialRun({ ratio: [2, 1, 1] });
    expect(trial.facts[0]).toMatchObject({ data: { algorithm: { version: 2 } } });
    expect(trial.registered.design.slots).toEqual([MART, MART, RMCQ, RMCA]);
    for (let n = 0; n < 40; n++) {
      trial.enrol(`p${n}`, ['Male', COOK]);
      const { slot = -1, treatment, counts } = drawOf(trial);
      expect(trial.registered.design.slots[slot]).toBe(treatment);
      expect(counts).toHaveLength(4);
    }
    const [male] = trial.counts();
    expect(male?.[0]?.reduce((sum, n) => sum + n, 0)).toBe(40);
    expect(trial.balance?.ratio).toEqual([2, 1, 1]);
  });

  it('does not depend on the order of the slots: equal balls give equal imbalances', () => {
    const balls = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 4, maxLength: 4 });
    const { bgState } = new TrialRun();
    check(
      fc.property(balls, fc.constantFrom('variance' as const, 'chisquare' as const), (numbers, D) => {
        const design = registeredDesign({ ...CONFIGURATION, D, ratio: [2, 1, 1] });
        const counts = new Counts(design);
        for (const [slot, n] of numbers.entries())
          for (let i = 0; i < n; i++) {
            counts.add([0, 1], slot);
            counts.add([1, 0], 3 - slot);
          }
        const [one, other] = workOut(urnDesignOf(design), counts, [0, 0], bgState).urns;
        expect(one?.imbalance).toBe(other?.imbalance);
      }),
    );
  });

  it('puts an allocation made outside in the emptiest slot of its arm', () => {
    const trial = new TrialRun({ ratio: [2, 1, 1] });
    const slots: (number | undefined)[] = [];
    for (const id of ['a', 'b', 'c', 'd']) {
      trial.ask(force(id, { treatment: MART }));
      const fact = trial.facts.at(-1);
      if (fact?.type === 'AllocationForced') slots.push(fact.sections.allocation.slot);
    }
    expect(slots).toEqual([0, 1, 0, 1]);
    trial.ask(force('e', { treatment: RMCA }));
    expect(trial.facts.at(-1)?.sections).toMatchObject({ allocation: { treatment: RMCA, slot: 3 } });
  });

  it('can be amended, and is ended by a ratio of ones', () => {
    const trial = begun();
    trial.amend(ratio(1, 2, 3));
    expect(trial.last('StudyAmended').history).toBe('restart');
    expect(trial.registered.design.slots).toEqual([MART, RMCQ, RMCQ, RMCA, RMCA, RMCA]);
    trial.enrol('q');
    expect(drawOf(trial)).toMatchObject({ counts: [0, 0, 0, 0, 0, 0] });
    trial.amend(ratio(1, 1, 1));
    expect(hasRatio(trial.registered.design)).toBe(false);
    trial.enrol('r');
    expect(drawOf(trial)).not.toHaveProperty('slot');
  });

  it('starts when an arm is added with several slots', () => {
    const trial = begun();
    trial.ask(amend([added('D', { ratio: 2 })], 1, { history: 'keep' }));
    expect(ratioOf(trial.registered.design)).toEqual([1, 1, 1, 2]);
    trial.enrol('q');
    expect(drawOf(trial).slot).toBeTypeOf('number');
  });
});

describe('a retired factor', () => {
  it('is no longer drawn from, recorded or corrected', () => {
    const trial = begun();
    trial.amend(retired('9'));
    for (let n = 0; n < 8; n++) {
      expect(trial.enrol(`q${n}`, ['Male', ''])).toMatchObject({ type: 'randomized' });
      expect(drawOf(trial).candidates).toEqual(['10']);
      expect(trial.last('ParticipantRandomized').levels).toEqual([{ factor: '10', level: 'Male' }]);
    }
    expect(trial.list.find('q0')?.levels).toEqual(['Male', '']);
    expect(trial.list.find('p0')?.levels).toEqual(['Male', COOK]);
    expect(trial.enrol('r', ['Male', COOK])).toEqual({ type: 'level-unknown', factor: '9', level: COOK });
    const correct: FlatAct = {
      ...{ act: 'LevelsCorrected', note: 'slip', cause: 'entry', participantId: 'p0' },
      changes: [{ factor: '9', from: COOK, to: DUPAGE }],
    };
    const why = 'the factor is retired';
    expect(trial.ask(correct)).toEqual({ type: 'impossible', field: 'changes[0].factor', why });
  });

  it('is still compared in requests from before it was retired', () => {
    const trial = new TrialRun();
    trial.enrol('a', LEVELS, { idempotencyKey: 'k' });
    trial.amend(retired('9'));
    expect(trial.enrol('a', LEVELS, { idempotencyKey: 'k' })).toMatchObject({ type: 'repeated' });
    expect(trial.enrol('a', ['Female', COOK], { idempotencyKey: 'k' })).toMatchObject({
      type: 'idempotency-key-reused',
    });
    expect(trial.enrol('a', ['Female', ''])).toMatchObject({ type: 'duplicate', differingFactors: [] });
  });

  it('is left out of an allocation entered by hand, even if it is the first factor', () => {
    const trial = begun();
    trial.amend(retired('10'));
    const entered = force('f', { levels: ['', COOK ?? ''] });
    expect(trial.ask(entered)).toMatchObject({ type: 'recorded' });
    expect(trial.last('AllocationForced').levels).toEqual([{ factor: '9', level: COOK }]);
    trial.amend({ kind: 'level-closed', factor: '9', level: COOK ?? '' });
    expect(trial.ask({ ...entered, participantId: 'g' })).toMatchObject({
      type: 'impossible',
      field: 'levels[0].level',
    });
  });
});

describe('any life of a study whose design changes', () => {
  const places = fc.constantFrom(COOK, DUPAGE, 'North', 'South');
  const ofSite = { factor: fc.constant('9'), level: places };
  const change = fc.oneof(
    fc.record({ ...ofSite, kind: fc.constantFrom('level-added', 'level-closed', 'level-reopened') }),
    fc.record({ ...ofSite, kind: fc.constant('level-renamed'), to: places }),
    fc.record({ kind: fc.constant('limits'), value: fc.record({ total: fc.integer({ min: 1, max: 9 }) }) }),
    fc.record({ kind: fc.constant('policy'), name: fc.constant('stopAtLimit'), value: fc.boolean() }),
  ) as fc.Arbitrary<DesignChange>;
  const person = fc.stringMatching(/^[a-h]$/);
  const step: fc.Arbitrary<LifeStep> = fc.oneof(
    { weight: 3, arbitrary: lifeStep },
    { weight: 1, arbitrary: change.map((one) => (number: number) => amend([one], number)) },
    {
      weight: 1,
      arbitrary: fc.tuple(person, places).map(
        ([id, place]) =>
          () =>
            randomize(id, { levels: ['Male', place] }),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(person, places, places).map(
        ([id, from, to]) =>
          () =>
            moved(id, from, to),
      ),
    },
  );
  const moved = (participantId: string, from: string, to: string): FlatAct => ({
    ...{ act: 'LevelsCorrected', user: 'nurse', participantId, cause: 'entry', note: 'slip' },
    changes: [{ factor: '9', from, to }],
  });
  const namesAndCounts = (trial: TrialRun) =>
    trial.balance?.counted.factors.map(({ levels }) => levels.map(({ level, counts }) => [level, ...counts]));

  it('leaves exactly the participants of the epoch in the urns, and a replay decides the same', () => {
    check(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, hasSlots) => {
        const more = {
          policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } as const,
          ...(hasSlots && { ratio: [1, 2, 1] }),
        };
        const [trial, replay] = [new TrialRun(more), new TrialRun(more).onFork()];
        for (const next of steps) {
          const command = next(trial.registered.design.amendment + 1);
          expect(replay.ask(command)).toEqual(trial.ask(command));
        }
        expect(replay.facts).toEqual(trial.facts);
        expect(replay.list.inOrder).toEqual(trial.list.inOrder);
        for (const { participantId } of trial.list.inOrder)
          expect(replay.list.get(participantId)).toEqual(trial.list.get(participantId));
        const { registered } = trial;
        const { design } = registered;
        const expected = new Counts(design);
        for (const { participantId } of trial.list.inOrder) {
          const holder = registered.participants.find(participantId);
          const counted = holder && countedLevels(holder, design);
          const indexes = counted?.map((level, i) => design.factors[i]?.levels.indexOf(level) ?? -1);
          if (indexes) expected.add(indexes, holder?.slot ?? -1);
        }
        const table = design.factors.map((factor, i) =>
          factor.levels.map((_, level) => [...expected.of(i, level)]),
        );
        expect([trial.counts(), replay.counts()]).toEqual([table, table]);
        const ofArm = (counts: readonly number[], arm: string) =>
          counts.reduce((sum, n, slot) => sum + (design.slots[slot] === arm ? n : 0), 0);
        expect(namesAndCounts(trial)).toEqual(
          design.factors.map(({ levels }, f) =>
            levels.map((level, i) => [
              level,
              ...design.treatments.map((arm) => ofArm(table[f]?.[i] ?? [], arm)),
            ]),
          ),
        );
      }),
      { numRuns: 400 },
    );
  });
});
