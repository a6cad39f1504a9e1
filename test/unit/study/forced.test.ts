/** Allocations made outside the service: who is then in the study, what the urns count, and what is refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import type { Force } from '../../../src/core/study/commands.ts';
import type { FlatAct, Written } from '../../support/acts.ts';
import { CONFIGURATION, LEVELS, randomize } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const [FIRST = '', SECOND = ''] = CONFIGURATION.treatments;
const AT = '2020-03-02T21:40:00.000Z';

function force(participantId: string, more: Partial<Force> = {}): Force {
  return {
    ...{ type: 'force', user: 'nurse', participantId, levels: LEVELS, treatment: FIRST },
    ...{ cause: 'outage', occurredAt: AT, note: 'envelope 12', ...more },
  };
}

const voided = (participantId: string): FlatAct => ({
  ...{ act: 'AllocationVoided', participantId, cause: 'entry', analysis: 'exclude', note: 'wrong arm' },
});
const reinstated = (participantId: string): FlatAct => ({
  ...{ act: 'AllocationReinstated', participantId, note: 'slip' },
});
const PAUSE = { act: 'StudyPaused', reason: 'outage' } as const;
const CLOSE = { act: 'StudyClosed', reason: 'done', cause: 'end' } as const;
const impossible = (field: string, why: string) => ({ type: 'impossible', field, why });

function begun(more = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  return trial;
}

describe('a forced allocation', () => {
  it('is counted by the urns, and does not use the generator', () => {
    const trial = begun();
    const [before, { bgState }] = [trial.counts(), trial];
    expect(trial.ask(force('b'))).toEqual({ type: 'recorded', participantId: 'b', moves: true });
    expect(trial.last('AllocationForced').counted).toBe(true);
    const one = ([first, row = []]: number[][]) => [first, row.map((n, k) => n + Number(k === 0))];
    expect(trial.counts()).toEqual(before.map(one));
    expect(trial.bgState).toEqual(bgState);
    expect(trial.list.find('b')).toMatchObject({ treatment: FIRST, occurredAt: AT, sequence: 2 });
    expect(trial.list.find('b')?.bgStateAfter).toEqual(bgState);
  });

  it('is listed but not counted, if the study says so, and no correction makes it count', () => {
    const trial = begun({ policies: { forcedCounts: 'not-counted' } });
    const before = trial.counts();
    expect(trial.ask(force('b'))).toEqual({ type: 'recorded', participantId: 'b', moves: false });
    expect(trial.counts()).toEqual(before);
    const { totals, counted } = trial.balance ?? {};
    expect(totals?.[0]).toBe((counted?.totals[0] ?? 0) + 1);
    for (const act of [voided('b'), reinstated('b')]) trial.record(act);
    expect(trial.counts()).toEqual(before);
  });

  it('is possible in a paused study, in a closed one if it was made before, and in a full one', () => {
    const trial = begun({ limits: { total: 2 }, policies: { stopAtLimit: true } });
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
    const trial = begun();
    trial.amend({ kind: 'level-closed', factor: '9', level: COOK });
    expect(trial.ask(command)).toEqual(refused);
  });

  it('is entered once per idempotency key, and any other member makes it another request', () => {
    const trial = begun();
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

  it('is voided, is taken out of the urns, and can be replaced', () => {
    const trial = begun();
    const before = trial.counts();
    trial.record(force('b'));
    expect(trial.ask(force('b', { replaces: 2 }))).toEqual(
      impossible('replaces', 'that allocation is not voided as a wrong entry'),
    );
    expect(trial.ask(voided('b'))).toMatchObject({ moves: true });
    expect(trial.counts()).toEqual(before);
    trial.enrol('c');
    expect(trial.ask(force('b'))).toEqual(
      impossible('participantId', 'a participant has, or had, this id (hint: replaces 2)'),
    );
    expect(trial.ask(force('b', { replaces: 1 }))).toEqual(NOT_OF_IT);
    trial.record(force('b', { replaces: 2, treatment: SECOND }));
    expect(trial.list.inOrder.map(({ participantId, sequence }) => [participantId, sequence])).toEqual([
      ['a', 1],
      ['c', 3],
      ['b', 4],
    ]);
    expect(trial.list.find('b')).toMatchObject({ treatment: SECOND, revision: 5 });
    expect(trial.list.find('c')?.participantId).toBe('c');
    expect(trial.registered.participants.find('b')).toMatchObject({ slot: 1, revision: 5 });
    expect(trial.balance?.voided).toEqual([0, 0, 0]);
  });

  it('is still found by an id given to it later', () => {
    const trial = begun();
    trial.record(force('b'));
    trial.record({ act: 'ParticipantIdCorrected', participantId: 'b', to: 'z', cause: 'entry' });
    trial.record(voided('z'));
    expect(trial.ask(force('z', { replaces: 2 }))).toEqual(NOT_OF_IT);
    trial.record(force('b', { replaces: 2 }));
    expect(trial.list.find('z')?.revision).toBe(5);
  });
});

describe('any life of a study with allocations made outside', () => {
  const ids = fc.stringMatching(/^[a-e]$/);
  const levels = fc.tuple(fc.constantFrom('Male', 'Female'), fc.constantFrom(COOK, DUPAGE));
  const step: fc.Arbitrary<Written> = fc.oneof(
    fc.record({ id: ids, levels }).map((one) => randomize(one.id, one)),
    fc
      .record({ id: ids, levels, arm: fc.integer({ min: 0, max: 2 }), replaces: fc.option(fc.nat(9)) })
      .map(({ id, levels: given, arm, replaces }) =>
        force(id, {
          levels: given,
          treatment: CONFIGURATION.treatments[arm] ?? '',
          replaces: replaces ?? undefined,
        }),
      ),
    ids.map(voided),
    ids.map(reinstated),
    fc.tuple(ids, levels).map(([participantId, [sex]]) => ({
      ...({ act: 'LevelsCorrected', participantId, cause: 'entry', note: 'slip' } as const),
      changes: [{ factor: '10', from: sex === 'Male' ? 'Female' : 'Male', to: sex }],
    })),
  );

  it('leaves exactly the listed and counted participants in the urns, and a replay decides the same', () => {
    check(
      fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, isCounted) => {
        const counts = isCounted ? { levelCounts: 'as-corrected' } : { forcedCounts: 'not-counted' };
        const policies = { ...counts, stopAtLimit: true } as StudyConfiguration['policies'];
        const limits = { total: 4 };
        const trial = new TrialRun({ limits, policies });
        const replay = new TrialRun({ limits, policies }).onFork();
        for (const command of steps) expect(replay.ask(command)).toEqual(trial.ask(command));
        expect(replay.facts).toEqual(trial.facts);
        expect(replay.registered.filled).toEqual(trial.registered.filled);
        expect(replay.list.inOrder).toEqual(trial.list.inOrder);
        const { counted } = trial.balance ?? {};
        expect(counted?.factors.map((one) => one.levels.map(({ counts }) => [...counts]))).toEqual(
          trial.counts(),
        );
        for (const { participantId, revision } of trial.list.inOrder)
          expect(trial.registered.participants.find(participantId)?.revision).toBe(revision);
      }),
    );
  });
});
