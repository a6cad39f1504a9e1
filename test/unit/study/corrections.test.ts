/** Corrections after a randomization, and their effect on urns, ids, limits and requests. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { countedLevels, currentId, currentLevels } from '../../../projections/enrolled.ts';
import { type FlatAct, type Written, writtenDecider } from '../../support/acts.ts';
import { CONFIGURATION, event, LEVELS, randomize } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const user = 'nurse';
const TO_MALE: FlatAct = {
  ...{ act: 'LevelsCorrected', user, participantId: 'a', cause: 'entry', note: 'source record' },
  changes: [{ factor: '10', from: 'Female', to: 'Male' }],
};
const VOID: FlatAct = {
  ...{ act: 'AllocationVoided', user, participantId: 'a', cause: 'never-enrolled' },
  ...{ analysis: 'exclude', note: 'left before' },
};
const REINSTATE: FlatAct = { act: 'AllocationReinstated', user, participantId: 'a', note: 'came back' };
const RENAME: FlatAct = { act: 'ParticipantIdCorrected', user, participantId: 'a', to: 'z', cause: 'entry' };

function begun(more: Partial<StudyConfiguration> = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  trial.enrol('b', ['Male', COOK]);
  return trial;
}

const arm = (trial: TrialRun, id: string) => trial.registered.participants.find(id)?.slot ?? -1;

describe('a corrected level', () => {
  it('leaves the urns of an open study as randomized, and changes those of a blinded one', () => {
    for (const moves of [false, true]) {
      const trial = begun(moves ? { blinding: 'blinded' } : {});
      const [before, bgState] = [trial.counts(), trial.bgState];
      expect(trial.ask(TO_MALE)).toEqual({
        type: 'recorded',
        participantId: 'a',
        moves,
        data: expect.any(Object),
      });
      expect(trial.last('LevelsCorrected').counts).toBe(moves ? 'as-corrected' : 'as-randomized');
      const [male, female] = before[0] ?? [];
      const k = arm(trial, 'a');
      const shifted = [male?.map((n, i) => n + Number(i === k)), female?.map((n, i) => n - Number(i === k))];
      expect(trial.counts()).toEqual([moves ? shifted : before[0], before[1]]);
      expect(trial.bgState).toEqual(bgState);
      expect(trial.list.find('a')).toMatchObject({ levels: LEVELS, corrected: { levels: ['Male', DUPAGE] } });
    }
  });

  it('follows the policy of the study, except for a transfer', () => {
    const trial = begun({ policies: { levelCounts: 'as-corrected' } });
    const before = trial.counts();
    const changes = [{ factor: '9', from: DUPAGE, to: COOK }];
    expect(trial.ask({ ...TO_MALE, cause: 'transfer', changes })).toMatchObject({ moves: false });
    expect(trial.last('LevelsCorrected').counts).toBe('as-randomized');
    expect(trial.counts()).toEqual(before);
    expect(trial.ask(TO_MALE)).toMatchObject({ moves: true });
    // The urns of the site still count the person where they were randomized.
    expect(trial.counts()[1]).toEqual(before[1]);
  });

  it('is recorded with all changes in the study’s order of factors', () => {
    const trial = begun();
    const changes = [
      { factor: '9', from: DUPAGE, to: COOK },
      { factor: '10', from: 'Female', to: 'Male' },
    ];
    trial.ask({ ...TO_MALE, changes });
    expect(trial.last('LevelsCorrected').changes).toEqual(changes.toReversed());
  });

  it('can be corrected again, from its corrected value', () => {
    const trial = begun();
    trial.ask(TO_MALE);
    expect(trial.ask(TO_MALE)).toEqual({
      type: 'stale',
      field: 'changes[0].from',
      why: '10 is "Male" now',
    });
    const back = { ...TO_MALE, changes: [{ factor: '10', from: 'Male', to: 'Female' }] };
    expect(trial.ask(back)).toMatchObject({ type: 'recorded' });
    expect(trial.list.find('a')?.corrected?.levels).toEqual(LEVELS);
  });

  it.each([
    ['changes[0].factor', [{ factor: 'age', from: 'old', to: 'young' }]],
    ['changes[0].to', [{ factor: '10', from: 'Female', to: COOK }]],
    ['changes[0].to', [{ factor: '10', from: 'Female', to: 'Female' }]],
    [
      'changes[1].factor',
      [
        { factor: '10', from: 'Female', to: 'Male' },
        { factor: '10', from: 'Male', to: 'Female' },
      ],
    ],
  ])('must be possible in the study (%s)', (field, changes) => {
    expect(begun().ask({ ...TO_MALE, changes })).toMatchObject({ type: 'impossible', field });
  });
});

describe('a voided participant', () => {
  it.each([
    ['ineligible', 'kept'],
    ['other', 'kept'],
    ['duplicate', 'removed'],
    ['never-enrolled', 'removed'],
  ] as const)('with cause %s is %s in the urns if the policy is to remove', (cause, counts) => {
    const trial = begun({ policies: { voidCounts: 'removed' } });
    const before = trial.counts();
    const moves = counts === 'removed';
    expect(trial.ask({ ...VOID, cause })).toEqual({
      type: 'recorded',
      participantId: 'a',
      moves,
      data: expect.any(Object),
    });
    expect(trial.last('AllocationVoided').counts).toBe(counts);
    const total = (of: number[][][]) => of.flat(2).reduce((sum, n) => sum + n, 0);
    expect(total(trial.counts())).toBe(total(before) - (moves ? 2 : 0));
    expect(trial.ask(REINSTATE)).toEqual({
      type: 'recorded',
      participantId: 'a',
      moves,
      data: expect.any(Object),
    });
    expect(trial.last('AllocationReinstated').voidedAt).toBe(trial.facts.length - 2);
    expect(trial.counts()).toEqual(before);
  });

  it('stays in the urns by default', () => {
    expect(begun().ask(VOID)).toMatchObject({ moves: false });
  });

  it('is reinstated at the levels corrected in between', () => {
    const trial = begun({ policies: { voidCounts: 'removed', levelCounts: 'as-corrected' } });
    trial.ask(VOID);
    expect(trial.ask(TO_MALE)).toMatchObject({ type: 'recorded', moves: false });
    trial.ask(REINSTATE);
    const direct = begun({ policies: { voidCounts: 'removed', levelCounts: 'as-corrected' } });
    direct.ask(TO_MALE);
    expect(trial.counts()).toEqual(direct.counts());
  });

  it('cannot be voided again, and only a voided one can be reinstated', () => {
    const trial = begun();
    expect(trial.ask(REINSTATE)).toEqual({
      ...{ type: 'stale', why: 'the participant is not voided', isSo: true },
    });
    trial.ask(VOID);
    expect(trial.ask(VOID)).toEqual({
      type: 'stale',
      why: 'the participant is voided already (never-enrolled, revision 3)',
      isSo: true,
    });
  });

  it('can be a duplicate of another, recorded by the id at randomization', () => {
    const trial = begun();
    trial.ask({ ...RENAME, participantId: 'b', to: 'y' });
    const duplicate = { ...VOID, cause: 'duplicate' } as const;
    expect(trial.ask({ ...duplicate, duplicateOf: 'y' })).toMatchObject({ type: 'recorded' });
    expect(trial.last('AllocationVoided').duplicateOf).toBe('b');
  });

  it.each([
    ['a', 'it is the same participant'],
    ['nobody', 'there is no such participant'],
    ['c', 'that participant is voided as a duplicate of this one'],
    ['d', 'that participant is voided as a duplicate of this one'],
  ])('cannot be a duplicate of %s', (duplicateOf, why) => {
    const trial = begun();
    const duplicate = { ...VOID, cause: 'duplicate' } as const;
    trial.enrol('c');
    trial.enrol('d');
    trial.ask({ ...duplicate, participantId: 'c', duplicateOf: 'a' });
    trial.ask({ ...duplicate, participantId: 'd', duplicateOf: 'c' });
    expect(trial.ask({ ...duplicate, duplicateOf })).toEqual({
      type: 'impossible',
      field: 'duplicateOf',
      why,
    });
  });

  it('cannot be voided as a wrong entry if the service made the allocation', () => {
    expect(begun().ask({ ...VOID, cause: 'entry' })).toMatchObject({ type: 'impossible', field: 'cause' });
  });

  it('frees a place only if the cause means that there was no such person', () => {
    const limits = { total: 2 };
    const trial = begun({ limits, policies: { stopAtLimit: true } });
    expect(trial.enrol('c')).toMatchObject({ type: 'full' });
    trial.ask({ ...VOID, cause: 'ineligible' });
    expect(trial.enrol('c')).toMatchObject({ type: 'full' });
    trial.ask(REINSTATE);
    trial.ask({ ...VOID, cause: 'duplicate' });
    expect(trial.enrol('c')).toMatchObject({ type: 'randomized' });
    // A reinstatement is never refused, so the limit can be exceeded.
    expect(trial.ask(REINSTATE)).toMatchObject({ type: 'recorded' });
    expect(trial.enrol('d')).toMatchObject({ type: 'full' });
  });
});

describe('a corrected id', () => {
  it('finds the participant, and so does the earlier one', () => {
    const trial = begun();
    expect(trial.ask(RENAME)).toEqual({
      type: 'recorded',
      participantId: 'a',
      moves: false,
      data: expect.any(Object),
    });
    expect(trial.last('ParticipantIdCorrected')).toEqual({
      ...{ cause: 'entry', from: 'a', participantId: 'a', randomizedAt: 1, to: 'z' },
    });
    for (const id of ['a', 'z']) {
      expect(trial.enrol(id)).toEqual({ type: 'duplicate', participantId: id, differingFactors: [] });
      expect(trial.list.find(id)?.corrected?.id).toBe('z');
    }
    trial.ask({ ...RENAME, participantId: 'z', to: 'y' });
    expect(trial.last('ParticipantIdCorrected')).toMatchObject({ from: 'z', participantId: 'a', to: 'y' });
  });

  it('cannot be a present or past id of somebody else, but can be a former id of the same participant', () => {
    const trial = begun();
    const taken = { type: 'impossible', field: 'to', why: 'another participant has, or had, this id' };
    expect(trial.ask({ ...RENAME, to: 'b' })).toEqual(taken);
    trial.ask({ ...RENAME, participantId: 'b', to: 'y' });
    for (const to of ['b', 'y']) expect(trial.ask({ ...RENAME, to })).toEqual(taken);
    trial.ask(RENAME);
    expect(trial.ask(RENAME)).toEqual({
      ...{ type: 'stale', why: 'the participant has this id already', isSo: true },
    });
    expect(trial.ask({ ...RENAME, to: 'a' })).toMatchObject({ type: 'recorded' });
    expect(trial.list.find('z')?.corrected?.id).toBe('a');
  });
});

describe('a key limited to certain levels', () => {
  const where = [{ factor: '9', levels: [DUPAGE] }];
  const site = (from: string, to: string) => ({ ...TO_MALE, where, changes: [{ factor: '9', from, to }] });

  it('cannot see participants with other levels', () => {
    const trial = begun();
    for (const command of [TO_MALE, VOID, REINSTATE, RENAME])
      expect(trial.ask({ ...command, participantId: 'b', where })).toEqual({ type: 'no-such-participant' });
    for (const command of [TO_MALE, VOID, RENAME])
      expect(trial.ask({ ...command, where })).toMatchObject({ type: 'recorded' });
  });

  it('cannot correct a participant into or out of its limits', () => {
    const trial = begun();
    expect(trial.ask(site(DUPAGE, COOK))).toEqual({
      type: 'outside-limits',
      limit: { factor: '9', levels: [DUPAGE] },
    });
    expect(trial.ask({ ...site(COOK, DUPAGE), participantId: 'b' })).toEqual({ type: 'no-such-participant' });
  });

  it('can record a transfer to or from another site', () => {
    const trial = begun();
    expect(trial.ask({ ...site(DUPAGE, COOK), cause: 'transfer' })).toMatchObject({
      type: 'recorded',
    });
    expect(trial.ask({ ...site(COOK, DUPAGE), participantId: 'b', cause: 'transfer' })).toMatchObject({
      type: 'recorded',
    });
    // From here on the corrected levels count.
    expect(trial.ask({ ...VOID, where })).toEqual({ type: 'no-such-participant' });
    expect(trial.ask({ ...VOID, where, participantId: 'b' })).toMatchObject({ type: 'recorded' });
  });

  it('cannot find out the levels of others by trying transfers', () => {
    const trial = begun();
    const factor = '10';
    const toMale = { factor, from: 'Female', to: 'Male' };
    const toFemale = { factor, from: 'Male', to: 'Female' };
    const ask = (participantId: string, change: typeof toMale, from: string, to: string) =>
      trial.ask({
        ...{ ...TO_MALE, where, participantId, cause: 'transfer' },
        changes: [change, { factor: '9', from, to }],
      });
    expect(ask('b', toMale, COOK, DUPAGE)).toMatchObject({
      type: 'stale',
      why: 'a level is not as the request says',
    });
    expect(ask('a', toFemale, DUPAGE, COOK)).toMatchObject({ why: `${factor} is "Female" now` });
  });

  it('can break the code of a participant who is or was within its limits', () => {
    const trial = begun();
    const reveal = {
      act: 'AllocationRevealed',
      user,
      where,
      category: 'emergency',
      grounds: { reason: 'ICU' },
    } as const;
    const one = '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c3e';
    expect(trial.ask({ ...reveal, participantId: 'b', reveal: one })).toEqual({
      type: 'no-such-participant',
    });
    trial.ask({ ...TO_MALE, cause: 'transfer', changes: [{ factor: '9', from: DUPAGE, to: COOK }] });
    expect(trial.ask({ ...reveal, participantId: 'a', reveal: one })).toMatchObject({ type: 'recorded' });
  });
});

describe('a repeated request', () => {
  it.each([TO_MALE, VOID, RENAME])('to write $act is done once', (command) => {
    const trial = begun({ blinding: 'blinded' });
    const asked = { ...command, idempotencyKey: 'k' };
    trial.ask(asked);
    const { length } = trial.facts;
    expect(trial.ask(asked)).toEqual({ type: 'done-before', revision: length - 1, data: expect.any(Object) });
    expect(trial.ask({ ...asked, participantId: 'b' })).toEqual({ type: 'idempotency-key-reused' });
    expect(trial.facts).toHaveLength(length);
  });

  it('to reinstate is done once', () => {
    const trial = begun();
    trial.ask(VOID);
    const asked = { ...REINSTATE, idempotencyKey: 'k' };
    trial.ask(asked);
    expect(trial.ask(asked)).toEqual({ type: 'done-before', revision: 4, data: expect.any(Object) });
    expect(trial.ask({ ...asked, note: 'another' })).toEqual({ type: 'idempotency-key-reused' });
  });

  it('to randomize is compared with the original request', () => {
    const trial = new TrialRun();
    trial.enrol('a', LEVELS, { idempotencyKey: 'k' });
    trial.ask(TO_MALE);
    trial.ask(RENAME);
    expect(trial.enrol('a', LEVELS, { idempotencyKey: 'k' })).toEqual({
      type: 'repeated',
      participantId: 'a',
    });
    expect(trial.enrol('z', LEVELS, { idempotencyKey: 'k' })).toEqual({ type: 'idempotency-key-reused' });
    expect(trial.enrol('a', ['Male', DUPAGE], { idempotencyKey: 'k' })).toEqual({
      type: 'idempotency-key-reused',
    });
  });

  it('without a key is a duplicate whose levels agree with those at randomization or with the present ones', () => {
    const trial = begun();
    trial.ask(TO_MALE);
    for (const levels of [LEVELS, ['Male', DUPAGE]])
      expect(trial.enrol('a', levels)).toMatchObject({ type: 'duplicate', differingFactors: [] });
    expect(trial.enrol('a', ['Male', COOK])).toMatchObject({ differingFactors: ['9'] });
  });
});

describe('after any corrections', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const sex = fc.constantFrom('Male', 'Female');
  const county = fc.constantFrom(COOK, DUPAGE);
  const common = { user: fc.constant(user), participantId: id };
  const note = fc.constant('a note');
  const command: fc.Arbitrary<Written> = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(id, sex, county).map(([one, ...levels]) => randomize(one, { levels })) },
    fc.tuple(id, sex, sex, fc.constantFrom('entry', 'transfer')).map(([participantId, from, to, cause]) => ({
      ...TO_MALE,
      ...{ participantId, cause, changes: [{ factor: '10', from, to }] },
    })) as fc.Arbitrary<FlatAct>,
    fc.record({
      ...{
        ...common,
        note,
        act: fc.constant('AllocationVoided' as const),
        analysis: fc.constant('keep' as const),
      },
      cause: fc.constantFrom('ineligible', 'duplicate', 'never-enrolled', 'other'),
    }),
    fc.record({ ...common, note, act: fc.constant('AllocationReinstated' as const) }),
    fc.record({
      ...common,
      act: fc.constant('ParticipantIdCorrected' as const),
      cause: fc.constant('entry' as const),
      to: id,
    }),
  );
  const policies: fc.Arbitrary<StudyConfiguration['policies']> = fc.record({
    stopAtLimit: fc.constantFrom(true as const, undefined),
    levelCounts: fc.constantFrom('as-randomized' as const, 'as-corrected' as const),
    voidCounts: fc.constantFrom('removed' as const, undefined),
  });
  const limits = { total: 4, levels: [{ factor: '10', level: 'Male', max: 2 }] };

  it('the urns, the limits, the balance and the list agree on every participant', () => {
    check(
      fc.property(policies, fc.array(command, { maxLength: 40 }), (chosen, commands) => {
        const trial = new TrialRun({ policies: chosen, limits });
        const isDropped = (i: number) => i % 3 === 0;
        commands.forEach((one, i) => {
          // A dropped batch must leave no trace.
          if (isDropped(i)) dropped(trial, one);
          trial.ask(one);
        });
        const { registered, list } = trial;
        const all = list.inOrder.map((one) => registered.participants.find(one.participantId));
        for (const [i, one] of list.inOrder.entries()) {
          expect(all[i]?.corrected).toEqual(one.corrected);
          expect(list.find(currentId(one))).toBe(one);
        }
        const { treatments, factors } = CONFIGURATION;
        const countOf = (levelsOf: typeof countedLevels) =>
          factors.map(({ levels }, f) =>
            levels.map((level) =>
              treatments.map(
                (name) =>
                  list.inOrder.filter(
                    (one) => levelsOf(one, registered.design)?.[f] === level && one.treatment === name,
                  ).length,
              ),
            ),
          );
        const view = trial.balance;
        const countsIn = (tally: typeof view) =>
          tally?.factors.map(({ levels }) => levels.map(({ counts }) => counts));
        expect(trial.counts()).toEqual(countOf(countedLevels));
        expect(countsIn(view)).toEqual(countOf(currentLevels));
        expect(view?.counted.factors.map(({ levels }) => levels.map(({ counts }) => counts))).toEqual(
          trial.counts(),
        );
        const placed = list.inOrder.filter(
          ({ corrected }) => !['duplicate', 'never-enrolled'].includes(corrected?.voided?.cause ?? ''),
        );
        const male = placed.filter((one) => currentLevels(one)[0] === 'Male');
        expect(registered.filled).toEqual(chosen?.stopAtLimit ? [placed.length, male.length] : []);
      }),
      { numRuns: 300 },
    );
  });

  it('a replay decides the same', () => {
    check(
      fc.property(policies, fc.array(command, { maxLength: 40 }), (chosen, commands) => {
        const whole = new TrialRun({ policies: chosen, limits });
        const replay = new TrialRun({ policies: chosen, limits }).onFork();
        for (const one of commands) expect(replay.ask(one)).toEqual(whole.ask(one));
        expect(replay.facts).toEqual(whole.facts);
        expect(replay.counts()).toEqual(whole.counts());
        expect(replay.list.inOrder).toEqual(whole.list.inOrder);
      }),
      { numRuns: 300 },
    );
  });
});

function dropped(trial: TrialRun, command: Written): void {
  const fork = writtenDecider.fork(trial.state);
  const { fact } = writtenDecider.decide(fork, command);
  if (fact) writtenDecider.evolve(fork, event(fact, trial.facts.length));
}
