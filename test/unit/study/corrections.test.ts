/** Corrections after a randomization, and their effect on urns, ids, limits and requests. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import type { BalanceView } from '../../../projections/balance.ts';
import { countedLevels, currentId, currentLevels } from '../../../projections/enrolled.ts';
import { actOf } from '../../../src/core/acts/acts.ts';
import { type FlatAct, type Written, writtenDecider } from '../../support/acts.ts';
import { CONFIGURATION, event, LEVELS, randomize } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const note = 'source record';
const TO_MALE: FlatAct = {
  ...{ act: 'LevelsCorrected', participantId: 'a', cause: 'entry', note },
  changes: [{ factor: '10', from: 'Female', to: 'Male' }],
};
const VOID: FlatAct = {
  ...{ act: 'AllocationVoided', participantId: 'a', cause: 'never-enrolled', analysis: 'exclude', note },
};
const DUPLICATE = { ...VOID, cause: 'duplicate' };
const REINSTATE: FlatAct = { act: 'AllocationReinstated', participantId: 'a', note };
const RENAME: FlatAct = { act: 'ParticipantIdCorrected', participantId: 'a', to: 'z', cause: 'entry' };

function begun(more: Partial<StudyConfiguration> = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  trial.enrol('b', ['Male', COOK]);
  return trial;
}

const impossible = (field: string, why: string) => ({ type: 'impossible', field, why });
const unfit = (field: string, why: string) => ({ type: 'unfit', problems: [{ field, why }] });

describe('a corrected level', () => {
  it('leaves the urns of an open study as randomized, and changes those of a blinded one', () => {
    for (const moves of [false, true]) {
      const trial = begun(moves ? { blinding: 'blinded' } : {});
      const [before, bgState] = [trial.counts(), trial.bgState];
      expect(trial.ask(TO_MALE)).toMatchObject({ type: 'recorded', participantId: 'a', moves });
      expect(trial.last('LevelsCorrected').counts).toBe(moves ? 'as-corrected' : 'as-randomized');
      const [male, female] = before[0] ?? [];
      const k = trial.registered.participants.find('a')?.slot ?? -1;
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

  const CHANGE = { factor: '10', from: 'Female', to: 'Male' };
  it.each([
    ['changes[0].factor', 'the study has no such factor', [{ ...CHANGE, factor: 'age' }]],
    ['changes[0].to', 'the factor has no such level', [{ ...CHANGE, to: COOK }]],
    ['changes[0].to', 'it is the same level as from', [{ ...CHANGE, to: 'Female' }]],
    ['changes[1].factor', 'it is changed twice at once', [CHANGE, { ...CHANGE, from: 'Male', to: 'Female' }]],
  ])('must be possible in the study: %s, %s', (field, why, changes) => {
    expect(begun().ask({ ...TO_MALE, changes })).toEqual(impossible(field, why));
  });
});

/** What the design alone shows, in a request that no state of the study was asked about. */
describe('a request that does not fit the design', () => {
  const { registered } = begun({ idPattern: '[a-z]' });
  const fits = (act: FlatAct) => actOf(act.act).fits?.(act, registered);

  it.each<[FlatAct, object]>([
    [
      { ...TO_MALE, changes: [{ factor: 'age', from: 'old', to: 'young' }] },
      unfit('changes[0].factor', 'the study has no factor "age" (it has: 10, 9)'),
    ],
    [
      { ...TO_MALE, changes: [{ factor: '10', from: 'Female', to: COOK }] },
      impossible('changes[0].to', expect.stringContaining('; it is a level of 9')),
    ],
    [{ ...VOID, duplicateOf: 'b' }, unfit('duplicateOf', 'is only for the cause duplicate')],
    [
      { ...RENAME, to: 'zz' },
      impossible('to', "does not match this study's pattern [a-z] (an id of this form: a)"),
    ],
    [{ ...RENAME, to: '=z' }, unfit('to', expect.stringContaining('='))],
  ])('is refused: %j', (act, problem) => {
    expect(fits(act)).toEqual(problem);
  });

  it('is none that fits it', () => {
    for (const act of [TO_MALE, { ...DUPLICATE, duplicateOf: 'b' }, RENAME])
      expect(fits(act), act.act).toBeUndefined();
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
    expect(trial.ask({ ...VOID, cause })).toMatchObject({ type: 'recorded', moves, data: { counts } });
    const total = (of: number[][][]) => of.flat(2).reduce((sum, n) => sum + n, 0);
    expect(total(trial.counts())).toBe(total(before) - (moves ? 2 : 0));
    expect(trial.ask(REINSTATE)).toMatchObject({ type: 'recorded', moves, data: { voidedAt: 3 } });
    expect(trial.counts()).toEqual(before);
  });

  it('is reinstated at the levels corrected in between', () => {
    const policies = { voidCounts: 'removed', levelCounts: 'as-corrected' } as const;
    const [trial, direct] = [begun({ policies }), begun({ policies })];
    trial.record(VOID);
    expect(trial.ask(TO_MALE)).toMatchObject({ type: 'recorded', moves: false });
    trial.record(REINSTATE);
    direct.record(TO_MALE);
    expect(trial.counts()).toEqual(direct.counts());
  });

  it('cannot be voided for another cause, or as the duplicate of another', () => {
    const trial = begun();
    trial.enrol('c');
    trial.record({ ...DUPLICATE, duplicateOf: 'b' });
    const why = 'the participant is voided already (duplicate, revision 4)';
    for (const other of [VOID, { ...DUPLICATE, duplicateOf: 'c' }])
      expect(trial.ask(other)).toEqual({ type: 'stale', why });
    // Whose duplicate it is may be left out.
    expect(trial.ask(DUPLICATE)).toEqual({ type: 'stale', why, isSo: true });
  });

  it.each([
    ['a', 'it is the same participant'],
    ['nobody', 'there is no such participant'],
    ['c', 'that participant is voided as a duplicate of this one'],
    ['d', 'that participant is voided as a duplicate of this one'],
  ])('cannot be a duplicate of %s', (duplicateOf, why) => {
    const trial = begun();
    trial.enrol('c');
    trial.enrol('d');
    trial.record({ ...DUPLICATE, participantId: 'c', duplicateOf: 'a' });
    trial.record({ ...DUPLICATE, participantId: 'd', duplicateOf: 'c' });
    expect(trial.ask({ ...DUPLICATE, duplicateOf })).toEqual(impossible('duplicateOf', why));
  });

  it.each([
    ['cause', 'the allocation was not entered by hand, so it cannot be entered wrongly', { cause: 'entry' }],
    ['duplicateOf', 'only a duplicate has it', { cause: 'other', duplicateOf: 'b' }],
  ])('cannot be voided with this %s: %s', (field, why, more) => {
    expect(begun().ask({ ...VOID, ...more })).toEqual(impossible(field, why));
  });

  it('frees a place only if the cause means that there was no such person', () => {
    const trial = begun({ limits: { total: 2 }, policies: { stopAtLimit: true } });
    expect(trial.enrol('c')).toMatchObject({ type: 'full' });
    trial.record({ ...VOID, cause: 'ineligible' });
    expect(trial.enrol('c')).toMatchObject({ type: 'full' });
    trial.record(REINSTATE);
    trial.record(DUPLICATE);
    expect(trial.enrol('c')).toMatchObject({ type: 'randomized' });
    // A reinstatement is never refused, so the limit can be exceeded.
    trial.record(REINSTATE);
    expect(trial.enrol('d')).toMatchObject({ type: 'full' });
  });
});

describe('a corrected id', () => {
  it('finds the participant, and so does the earlier one', () => {
    const trial = begun();
    trial.record(RENAME);
    for (const id of ['a', 'z'])
      expect(trial.enrol(id)).toEqual({ type: 'duplicate', participantId: id, differingFactors: [] });
    trial.record({ ...RENAME, participantId: 'z', to: 'y' });
    expect(trial.last('ParticipantIdCorrected')).toMatchObject({ from: 'z', participantId: 'a', to: 'y' });
  });

  it('cannot be a present or past id of somebody else, but can be a former id of the same participant', () => {
    const trial = begun();
    const taken = impossible('to', 'another participant has, or had, this id');
    expect(trial.ask({ ...RENAME, to: 'b' })).toEqual(taken);
    trial.record({ ...RENAME, participantId: 'b', to: 'y' });
    for (const to of ['b', 'y']) expect(trial.ask({ ...RENAME, to })).toEqual(taken);
    trial.record(RENAME);
    trial.record({ ...RENAME, to: 'a' });
    expect(trial.list.find('z')?.corrected?.id).toBe('a');
  });
});

describe('a key limited to certain levels', () => {
  const where = [{ factor: '9', levels: [DUPAGE] }];
  const move = (participantId: string, from: string, to: string, cause: string): FlatAct => ({
    ...{ ...TO_MALE, where, participantId, cause, changes: [{ factor: '9', from, to }] },
  });

  it('cannot correct a participant into or out of its limits', () => {
    const trial = begun();
    expect(trial.ask(move('a', DUPAGE, COOK, 'entry'))).toEqual({
      type: 'outside-limits',
      limit: { factor: '9', levels: [DUPAGE] },
    });
    expect(trial.ask(move('b', COOK, DUPAGE, 'entry'))).toEqual({ type: 'no-such-participant' });
  });

  it('can record a transfer to or from another site', () => {
    const trial = begun();
    trial.record(move('a', DUPAGE, COOK, 'transfer'));
    trial.record(move('b', COOK, DUPAGE, 'transfer'));
    // From here on the corrected levels count.
    expect(trial.ask({ ...VOID, where })).toEqual({ type: 'no-such-participant' });
    trial.record({ ...VOID, where, participantId: 'b' });
  });

  it('cannot find out the levels of others by trying transfers', () => {
    const trial = begun();
    const tried = (id: string, [was, is]: readonly string[], [from = '', to = '']: readonly string[]) => {
      const { changes, ...asked } = move(id, from, to, 'transfer');
      return trial.ask({
        ...asked,
        changes: [{ factor: '10', from: was, to: is }, ...(changes as object[])],
      });
    };
    const stale = (why: string) => ({ type: 'stale', why, field: 'changes[0].from' });
    expect(tried('b', ['Female', 'Male'], [COOK, DUPAGE])).toEqual(
      stale('a level is not as the request says'),
    );
    expect(tried('a', ['Male', 'Female'], [DUPAGE, COOK])).toEqual(stale('10 is "Female" now'));
  });
});

describe('a repeated request', () => {
  it('to randomize is compared with the original request', () => {
    const trial = new TrialRun();
    const again = (id: string, levels = LEVELS) => trial.enrol(id, levels, { idempotencyKey: 'k' });
    again('a');
    trial.record(TO_MALE);
    trial.record(RENAME);
    expect(again('a')).toEqual({ type: 'repeated', participantId: 'a' });
    expect(again('z')).toEqual({ type: 'idempotency-key-reused' });
    expect(again('a', ['Male', DUPAGE])).toEqual({ type: 'idempotency-key-reused' });
  });

  it('without a key is a duplicate whose levels agree with those at randomization or with the present ones', () => {
    const trial = begun();
    trial.record(TO_MALE);
    for (const levels of [LEVELS, ['Male', DUPAGE]])
      expect(trial.enrol('a', levels)).toMatchObject({ type: 'duplicate', differingFactors: [] });
    expect(trial.enrol('a', ['Male', COOK])).toMatchObject({ differingFactors: ['9'] });
  });
});

describe('after any corrections', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const sex = fc.constantFrom('Male', 'Female');
  const county = fc.constantFrom(COOK, DUPAGE);
  const common = { participantId: id, note: fc.constant('a note') };
  const act = <A extends FlatAct['act']>(name: A) => ({ ...common, act: fc.constant(name) });
  const command: fc.Arbitrary<Written> = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(id, sex, county).map(([one, ...levels]) => randomize(one, { levels })) },
    fc.tuple(id, sex, sex, fc.constantFrom('entry', 'transfer')).map(([participantId, from, to, cause]) => ({
      ...TO_MALE,
      ...{ participantId, cause, changes: [{ factor: '10', from, to }] },
    })),
    fc.record({
      ...{ ...act('AllocationVoided'), analysis: fc.constant('keep') },
      cause: fc.constantFrom('ineligible', 'duplicate', 'never-enrolled', 'other'),
    }),
    fc.record(act('AllocationReinstated')),
    id.chain((participantId) => id.map((to) => ({ ...RENAME, participantId, to }))),
  );
  const policies: fc.Arbitrary<StudyConfiguration['policies']> = fc.record({
    stopAtLimit: fc.constantFrom(true as const, undefined),
    levelCounts: fc.constantFrom('as-randomized' as const, 'as-corrected' as const),
    voidCounts: fc.constantFrom('removed' as const, undefined),
  });
  const limits = { total: 4, levels: [{ factor: '10', level: 'Male', max: 2 }] };

  it('the urns, the limits, the balance and the list agree on every participant, and a replay on all', () => {
    check(
      fc.property(policies, fc.array(command, { maxLength: 40 }), (chosen, commands) => {
        const trial = new TrialRun({ policies: chosen, limits });
        const replay = new TrialRun({ policies: chosen, limits }).onFork();
        commands.forEach((one, i) => {
          // A dropped batch must leave no trace.
          if (i % 3 === 0) dropped(trial, one);
          expect(replay.ask(one)).toEqual(trial.ask(one));
        });
        expect([replay.facts, replay.counts()]).toEqual([trial.facts, trial.counts()]);
        expect(replay.list.inOrder).toEqual(trial.list.inOrder);
        const { registered, list } = trial;
        for (const one of list.inOrder) {
          expect(registered.participants.find(one.participantId)?.corrected).toEqual(one.corrected);
          expect(list.find(currentId(one))).toBe(one);
        }
        const { treatments, factors } = CONFIGURATION;
        const countOf = (levelsOf: typeof countedLevels) =>
          factors.map(({ levels }, f) =>
            levels.map((level) => {
              const there = list.inOrder.filter((one) => levelsOf(one, registered.design)?.[f] === level);
              return treatments.map((name) => there.filter((one) => one.treatment === name).length);
            }),
          );
        const countsIn = (tally: Pick<BalanceView, 'factors'> | undefined) =>
          tally?.factors.map(({ levels }) => levels.map(({ counts }) => counts));
        expect(trial.counts()).toEqual(countOf(countedLevels));
        expect(countsIn(trial.balance)).toEqual(countOf(currentLevels));
        expect(countsIn(trial.balance?.counted)).toEqual(trial.counts());
        const placed = list.inOrder.filter(
          ({ corrected }) => !['duplicate', 'never-enrolled'].includes(corrected?.voided?.cause ?? ''),
        );
        const male = placed.filter((one) => currentLevels(one)[0] === 'Male');
        expect(registered.filled).toEqual(chosen?.stopAtLimit ? [placed.length, male.length] : []);
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
