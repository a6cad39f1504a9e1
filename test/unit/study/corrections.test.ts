/**
 * Corrections after a randomization, and allocations made outside the service: which are refused, and their effect on ids, limits
 * and requests. In numbers, their effect on urns: test/vectors/life-histories.json.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { actOf } from '../../../src/core/acts/acts.ts';
import type { BalanceView } from '../../../src/core/model/balance.ts';
import { countedLevels, currentId, currentLevels } from '../../../src/core/model/participants.ts';
import type { Force } from '../../../src/core/study/commands.ts';
import type { Occasion } from '../../../src/core/write/decider.ts';
import type { FlatAct, Written } from '../../support/acts.ts';
import { force as forceIn } from '../../support/arbitrary-life.ts';
import { ASKED, CONFIGURATION, LEVELS, randomize } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { voided } from '../../support/visits.ts';

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

/** With one participant, `a`. */
function started(more: Partial<StudyConfiguration> = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  return trial;
}

function begun(more: Partial<StudyConfiguration> = {}): TrialRun {
  const trial = started(more);
  trial.enrol('b', ['Male', COOK]);
  return trial;
}

const impossible = (field: string, why: string) => ({ type: 'impossible', field, why });
const unfit = (field: string, why: string) => ({ type: 'unfit', problems: [{ field, why }] });

describe('a corrected level', () => {
  it('leaves the urns of an open study as randomized, and changes those of a blinded one', () => {
    for (const moves of [false, true]) {
      const trial = begun(moves ? { blinding: 'blinded' } : {});
      const { bgState } = trial;
      expect(trial.ask(TO_MALE)).toMatchObject({ type: 'recorded', participantId: 'a', moves });
      expect(trial.last('LevelsCorrected').counts).toBe(moves ? 'as-corrected' : 'as-randomized');
      expect(trial.bgState).toEqual(bgState);
      expect(trial.list.find('a')).toMatchObject({ levels: LEVELS, corrected: { levels: ['Male', DUPAGE] } });
    }
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
      { ...TO_MALE, changes: [{ factor: '10', from: 'Femal', to: 'Mal' }] },
      {
        type: 'unfit',
        problems: ['from', 'to'].map((member) => expect.objectContaining({ field: `changes[0].${member}` })),
      },
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
  it('is not voided, or reinstated, by a key of whoever randomized them in a live study; replays do not ask', () => {
    const own = { user: 'nurse', isKey: true };
    const refused = { type: 'own-allocation' };
    for (const [before, command] of [
      [[], VOID],
      [[VOID], REINSTATE],
    ] as const) {
      const ask = (by: object, more = {}, mode: Occasion['mode'] = 'request') => {
        const trial = begun(more);
        trial.all(before);
        return trial.ask({ ...command, ...by }, { ...ASKED, mode });
      };
      expect(ask(own)).toEqual(refused);
      expect(ask({ ...own, user: 'Nurse' })).toEqual(refused);
      for (const outcome of [
        ...[ask({ ...own, user: 'clerk' }), ask({ ...own, isKey: false }), ask(own, { mode: 'test' })],
        ask(own, {}, 'replay'),
      ])
        expect(outcome).toMatchObject({ type: 'recorded' });
    }
  });

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
    expect(trial.ask(REINSTATE)).toMatchObject({ type: 'recorded', moves, data: { voidedAt: 3 } });
    expect(trial.counts()).toEqual(before);
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

  it('cannot correct a participant into or out of its limits, but record a transfer', () => {
    const trial = begun();
    expect(trial.ask(move('a', DUPAGE, COOK, 'entry'))).toEqual({
      type: 'outside-limits',
      limit: { factor: '9', levels: [DUPAGE] },
    });
    expect(trial.ask(move('b', COOK, DUPAGE, 'entry'))).toEqual({ type: 'no-such-participant' });
    trial.record(move('a', DUPAGE, COOK, 'transfer'));
    trial.record(move('b', COOK, DUPAGE, 'transfer'));
  });

  it.each([
    ['b', { factor: '10', from: 'Female', to: 'Male' }, COOK, DUPAGE, 'a level is not as the request says'],
    ['a', { factor: '10', from: 'Male', to: 'Female' }, DUPAGE, COOK, '10 is "Female" now'],
  ] as const)('cannot find out the levels of others by trying transfers: %s', (id, guess, from, to, why) => {
    const changes = [guess, { factor: '9', from, to }];
    const tried = begun().ask({ ...move(id, from, to, 'transfer'), changes });
    expect(tried).toEqual({ type: 'stale', why, field: 'changes[0].from' });
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

const [FIRST = '', SECOND = ''] = CONFIGURATION.treatments;
const AT = '2020-03-02T21:40:00.000Z';

const force = (participantId: string, more: Partial<Force> = {}) =>
  forceIn(participantId, { treatment: FIRST, occurredAt: AT, ...more });

const PAUSE = { act: 'StudyPaused', reason: 'outage' } as const;
const CLOSE = { act: 'StudyClosed', reason: 'done', cause: 'end' } as const;

describe('a forced allocation', () => {
  it('is possible in a paused study, in a closed one if it was made before, and in a full one', () => {
    const trial = started({ limits: { total: 2 }, policies: { stopAtLimit: true } });
    trial.record(force('b'));
    trial.record(force('c'));
    expect(trial.enrol('d')).toMatchObject({ type: 'full' });
    trial.record(PAUSE);
    trial.record(force('d'));
    trial.record(CLOSE);
    trial.record(force('e'));
    const { closedAt = '' } = trial.registered;
    expect(trial.ask(force('f', { occurredAt: closedAt }))).toEqual(
      impossible('occurredAt', `the study was closed at ${closedAt}`),
    );
    trial.record(force('f', { occurredAt: new Date(Date.parse(closedAt) - 1).toISOString() }));
  });

  it.each<[object, Force]>([
    [impossible('participantId', 'a participant has, or had, this id'), force('a')],
    [impossible('treatment', 'the study has no such treatment'), force('b', { treatment: 'placebo' })],
    [{ type: 'level-unknown', factor: '9', level: 'Nowhere' }, force('b', { levels: ['Female', 'Nowhere'] })],
    [
      impossible('levels[1].level', `${COOK} of 9 is closed (hint: reopen it, or amend the study)`),
      force('b', { levels: ['Female', COOK] }),
    ],
    [{ type: 'amended-meanwhile' }, force('b', { amendment: 0 })],
  ])('is refused: %j', (refused, command) => {
    const trial = started();
    trial.amend({ kind: 'level-closed', factor: '9', level: COOK });
    expect(trial.ask(command)).toEqual(refused);
  });

  it('is entered once per idempotency key, and any other member makes it another request', () => {
    const trial = started();
    const command = force('b', { idempotencyKey: 'k' });
    trial.record(command);
    expect(trial.ask(command)).toEqual({ type: 'done-before', revision: 2, data: {} });
    const reused = { type: 'idempotency-key-reused' };
    const others: Partial<Force>[] = [
      ...[{ treatment: SECOND }, { participantId: 'c' }, { levels: ['Male', DUPAGE] }, { note: 'another' }],
      ...[{ occurredAt: '2020-03-02T21:41:00.000Z' }, { cause: 'other' as const }, { replaces: 1 }],
    ];
    for (const other of others)
      expect(trial.ask({ ...command, ...other }), JSON.stringify(other)).toEqual(reused);
    expect(trial.enrol('b', LEVELS, { idempotencyKey: 'k' })).toEqual(reused);
    // A new name is the same level.
    trial.amend({ kind: 'level-renamed', factor: '9', level: DUPAGE, to: 'DuPage', alias: true });
    expect(trial.ask({ ...command, levels: ['Female', 'DuPage'] })).toMatchObject({ type: 'done-before' });
  });
});

describe('a wrong entry', () => {
  const NOT_OF_IT = impossible('replaces', 'no participant with this id was entered at this revision');

  it('is voided, and can be replaced', () => {
    const trial = started();
    trial.record(force('b'));
    expect(trial.ask(force('b', { replaces: 2 }))).toEqual(
      impossible('replaces', 'that allocation is not voided as a wrong entry'),
    );
    expect(trial.ask(voided('b', 'entry'))).toMatchObject({ moves: true });
    trial.enrol('c');
    expect(trial.ask(force('b'))).toEqual(
      impossible('participantId', 'a participant has, or had, this id (hint: replaces 2)'),
    );
    expect(trial.ask(force('b', { replaces: 1 }))).toEqual(NOT_OF_IT);
    trial.record(force('b', { replaces: 2, treatment: SECOND }));
    const order = trial.list.inOrder.map(({ participantId, sequence }) => `${participantId} ${sequence}`);
    expect(order).toEqual(['a 1', 'c 3', 'b 4']);
    expect(trial.list.find('b')).toMatchObject({ treatment: SECOND, slot: 1, revision: 5 });
    expect(trial.balance?.voided).toEqual([0, 0, 0]);
  });

  it('is still found by an id given to it later', () => {
    const trial = started();
    trial.record(force('b'));
    trial.record({ act: 'ParticipantIdCorrected', participantId: 'b', to: 'z', cause: 'entry' });
    trial.record(voided('z', 'entry'));
    expect(trial.ask(force('z', { replaces: 2 }))).toEqual(NOT_OF_IT);
    trial.record(force('b', { replaces: 2 }));
    expect(trial.list.find('z')?.revision).toBe(5);
  });
});

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
    cause: fc.constantFrom('ineligible', 'duplicate', 'never-enrolled', 'entry', 'entry', 'other'),
  }),
  fc.record(act('AllocationReinstated')),
  fc
    .record({ id, levels: fc.tuple(sex, county), arm: fc.nat(2), replaces: fc.option(fc.nat(9)) })
    .map(({ id: one, levels, arm, replaces }) => {
      const treatment = CONFIGURATION.treatments[arm] ?? '';
      return force(one, { levels, treatment, replaces: replaces ?? undefined });
    }),
  id.chain((participantId) => id.map((to) => ({ ...RENAME, participantId, to }))),
);
const policies: fc.Arbitrary<StudyConfiguration['policies']> = fc.record({
  stopAtLimit: fc.constantFrom(true as const, undefined),
  levelCounts: fc.constantFrom('as-randomized' as const, 'as-corrected' as const),
  voidCounts: fc.constantFrom('removed' as const, undefined),
  forcedCounts: fc.constantFrom('not-counted' as const, undefined),
});
const limits = { total: 4, levels: [{ factor: '10', level: 'Male', max: 2 }] };

it('after any corrections and entries by hand, all views agree on every participant, and so does a replay', () => {
  check(
    fc.property(policies, fc.array(command, { maxLength: 40 }), (chosen, commands) => {
      const trial = new TrialRun({ policies: chosen, limits });
      const replay = new TrialRun({ policies: chosen, limits }).onFork();
      commands.forEach((one, i) => {
        // A dropped batch must leave no trace.
        if (i % 3 === 0) trial.copy().ask(one);
        expect(replay.ask(one)).toEqual(trial.ask(one));
      });
      expect([replay.facts, replay.counts()]).toEqual([trial.facts, trial.counts()]);
      expect(replay.registered.filled).toEqual(trial.registered.filled);
      expect(replay.list.inOrder).toEqual(trial.list.inOrder);
      const { registered, list } = trial;
      for (const one of list.inOrder) {
        const { corrected, revision } = registered.participants.find(one.participantId) ?? {};
        expect([corrected, revision]).toEqual([one.corrected, one.revision]);
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
    { numRuns: 400 },
  );
});
