/** Allocations made outside the service: who is then in the study, what the urns count, and what is refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
  ...{
    act: 'AllocationVoided',
    user: 'nurse',
    participantId,
    cause: 'entry',
    analysis: 'exclude',
    note: 'wrong arm',
  },
});

function begun(more = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  return trial;
}

describe('a forced allocation', () => {
  it('is counted by the urns, and does not use the generator', () => {
    const trial = begun();
    const before = trial.counts();
    const { bgState } = trial;
    expect(trial.ask(force('b'))).toEqual({ type: 'recorded', participantId: 'b', moves: true });
    expect(trial.last('AllocationForced').counted).toBe(true);
    const one = (row: number[] = []) => row.map((n, k) => n + Number(k === 0));
    expect(trial.counts()).toEqual([
      [before[0]?.[0], one(before[0]?.[1])],
      [before[1]?.[0], one(before[1]?.[1])],
    ]);
    expect(trial.bgState).toEqual(bgState);
    expect(trial.list.find('b')).toMatchObject({ treatment: FIRST, occurredAt: AT, sequence: 2 });
    expect(trial.list.find('b')?.bgStateAfter).toEqual(bgState);
  });

  it('is listed but not counted, if the study says so', () => {
    const trial = begun({ policies: { forcedCounts: 'not-counted' } });
    const before = trial.counts();
    expect(trial.ask(force('b'))).toEqual({ type: 'recorded', participantId: 'b', moves: false });
    expect(trial.counts()).toEqual(before);
    const view = trial.balance;
    expect([view?.totals[0], view?.counted.totals[0]]).toEqual([
      (view?.counted.totals[0] ?? 0) + 1,
      view?.counted.totals[0],
    ]);
    // No correction makes it count.
    trial.ask({ ...voided('b') });
    trial.ask({ act: 'AllocationReinstated', user: 'nurse', participantId: 'b', note: 'right after all' });
    expect(trial.counts()).toEqual(before);
  });

  it('is possible in a paused study, and in a closed one if it was made before', () => {
    const trial = begun();
    trial.ask({ act: 'StudyPaused', user: 'operator', reason: 'outage' });
    expect(trial.ask(force('b'))).toMatchObject({ type: 'recorded' });
    trial.ask({ act: 'StudyClosed', user: 'operator', reason: 'done', cause: 'end' });
    expect(trial.ask(force('c'))).toMatchObject({ type: 'recorded' });
    const after = '2999-01-01T00:00:00.000Z';
    expect(trial.ask(force('d', { occurredAt: after }))).toMatchObject({
      type: 'impossible',
      field: 'occurredAt',
    });
  });

  it('is never refused because the study is full, and takes a place', () => {
    const trial = begun({ limits: { total: 2 }, policies: { stopAtLimit: true } });
    trial.ask(force('b'));
    expect(trial.ask(force('c'))).toMatchObject({ type: 'recorded' });
    expect(trial.enrol('d')).toMatchObject({ type: 'full' });
  });

  it('needs a free id, open levels, and an arm of the study', () => {
    const trial = begun();
    expect(trial.ask(force('a'))).toMatchObject({ type: 'impossible', field: 'participantId' });
    expect(trial.ask(force('b', { treatment: 'placebo' }))).toMatchObject({ field: 'treatment' });
    expect(trial.ask(force('b', { levels: ['Female', 'Nowhere'] }))).toMatchObject({ type: 'level-unknown' });
    trial.ask({
      ...{ type: 'amend', user: 'operator', amendment: 1, reason: 'Cook closed' },
      changes: [{ kind: 'level-closed', factor: '9', level: COOK }],
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }],
    });
    expect(trial.ask(force('b', { levels: ['Female', COOK] }))).toMatchObject({ field: 'levels[1].level' });
    expect(trial.ask(force('b', { amendment: 0 }))).toEqual({ type: 'amended-meanwhile' });
  });

  it('is entered once per idempotency key, and naming another arm makes it another request', () => {
    const trial = begun();
    const command = force('b', { idempotencyKey: 'k' });
    trial.ask(command);
    expect(trial.ask(command)).toEqual({ type: 'done-before', revision: 2, data: expect.any(Object) });
    expect(trial.ask({ ...command, treatment: SECOND })).toEqual({ type: 'idempotency-key-reused' });
    expect(trial.enrol('b', LEVELS, { idempotencyKey: 'k' })).toEqual({ type: 'idempotency-key-reused' });
  });
});

describe('a wrong entry', () => {
  it('is voided, is taken out of the urns, and can be replaced', () => {
    const trial = begun();
    const before = trial.counts();
    trial.ask(force('b'));
    expect(trial.ask(force('b', { replaces: 2 }))).toMatchObject({ type: 'impossible', field: 'replaces' });
    expect(trial.ask(voided('b'))).toMatchObject({ moves: true });
    expect(trial.counts()).toEqual(before);
    trial.enrol('c');
    expect(trial.ask(force('b'))).toMatchObject({ why: expect.stringContaining('replaces 2') });
    expect(trial.ask(force('b', { replaces: 1 }))).toMatchObject({ field: 'replaces' });
    expect(trial.ask(force('b', { replaces: 2, treatment: SECOND }))).toMatchObject({ type: 'recorded' });
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
    trial.ask(force('b'));
    trial.ask({ act: 'ParticipantIdCorrected', user: 'nurse', participantId: 'b', to: 'z', cause: 'entry' });
    trial.ask(voided('z'));
    expect(trial.ask(force('z', { replaces: 2 }))).toMatchObject({ field: 'replaces' });
    trial.ask(force('b', { replaces: 2 }));
    expect(trial.list.find('z')?.revision).toBe(5);
  });

  it('cannot be an allocation drawn by the service', () => {
    expect(begun().ask(voided('a'))).toMatchObject({ type: 'impossible', field: 'cause' });
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
    ids.map((id) => voided(id)),
    ids.map(
      (id) => ({ act: 'AllocationReinstated', user: 'nurse', participantId: id, note: 'slip' }) as const,
    ),
    fc.tuple(ids, levels).map(([id, [sex]]) => ({
      ...({
        act: 'LevelsCorrected',
        user: 'nurse',
        participantId: id,
        cause: 'entry',
        note: 'slip',
      } as const),
      changes: [{ factor: '10', from: sex === 'Male' ? 'Female' : 'Male', to: sex }],
    })),
  );

  it('leaves exactly the listed and counted participants in the urns, and a replay decides the same', () => {
    check(
      fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, isCounted) => {
        const policies = isCounted
          ? ({ levelCounts: 'as-corrected' } as const)
          : ({ forcedCounts: 'not-counted' } as const);
        const limits = { total: 4 };
        const trial = new TrialRun({ limits, policies: { ...policies, stopAtLimit: true } });
        const replay = new TrialRun({ limits, policies: { ...policies, stopAtLimit: true } }).onFork();
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
