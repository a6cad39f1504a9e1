/** Amendments of a design: what they change, what they leave unchanged, and which are refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import { currentLevels } from '../../../projections/enrolled.ts';
import { isWithin } from '../../../src/core/model/key-limits.ts';
import { newNameProblems } from '../../../src/core/study/amendments.ts';
import type { Amend } from '../../../src/core/study/commands.ts';
import { studyDecider } from '../../../src/core/study/decide.ts';
import { fork, type StudyState } from '../../../src/core/study/state.ts';
import type { FlatAct, Written } from '../../support/acts.ts';
import { event, LEVELS, randomize } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const MCLEAN = '50-Mclean County';
const APPROVED = { approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }] };

const level = (kind: 'level-added' | 'level-closed' | 'level-reopened', name: string): DesignChange => ({
  kind,
  factor: '9',
  level: name,
});
const renamed = (from: string, to: string, more = {}): DesignChange => ({
  ...{ kind: 'level-renamed', factor: '9', level: from, to },
  ...more,
});

function amend(changes: readonly DesignChange[], amendment = 1, more: Partial<Amend> = {}): Amend {
  return { type: 'amend', user: 'nurse', amendment, changes, reason: 'protocol 3', ...APPROVED, ...more };
}

function begun(more = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  trial.enrol('b', ['Male', COOK]);
  return trial;
}

describe('an added level', () => {
  it('starts with an empty urn and changes no other urn', () => {
    const trial = begun();
    const before = trial.counts();
    const { bgState } = trial;
    expect(trial.ask(amend([level('level-added', MCLEAN)]))).toEqual({ type: 'amended' });
    expect(trial.last('StudyAmended')).toMatchObject({ amendment: 1, history: 'keep' });
    expect(trial.counts()).toEqual([before[0], [...(before[1] ?? []), [0, 0, 0]]]);
    expect(trial.bgState).toEqual(bgState);
    expect(trial.enrol('c', ['Male', MCLEAN])).toMatchObject({ type: 'randomized' });
    expect(trial.balance?.counted.factors[1]?.levels[2]).toMatchObject({ level: MCLEAN });
  });

  it('is drawn from as if it had been there from the start', () => {
    const late = begun();
    late.ask(amend([level('level-added', MCLEAN)]));
    const factors = [
      { name: '10', levels: ['Male', 'Female'] },
      { name: '9', levels: [COOK, DUPAGE, MCLEAN] },
    ];
    const early = begun({ factors });
    for (const trial of [late, early])
      for (const [id, site] of [
        ['c', MCLEAN],
        ['d', COOK],
        ['e', MCLEAN],
      ] as const)
        trial.enrol(id, ['Male', site]);
    expect(late.counts()).toEqual(early.counts());
    expect(late.bgState).toEqual(early.bgState);
  });
});

describe('a closed level', () => {
  it('accepts nobody, but keeps its urn for when it is reopened', () => {
    const trial = begun();
    const before = trial.counts();
    trial.ask(amend([level('level-closed', DUPAGE)]));
    expect(trial.enrol('c')).toEqual({ type: 'level-closed', factor: '9', level: DUPAGE });
    expect(trial.enrol('c', ['Female', COOK])).toMatchObject({ type: 'randomized' });
    expect(trial.counts()[1]?.[1]).toEqual(before[1]?.[1]);
    trial.ask(amend([level('level-reopened', DUPAGE)], 2));
    expect(trial.enrol('d')).toMatchObject({ type: 'randomized' });
  });

  it('can still be the corrected level of a participant', () => {
    const trial = begun();
    trial.ask(amend([level('level-closed', DUPAGE)]));
    const correct: FlatAct = {
      ...{ act: 'LevelsCorrected', user: 'nurse', participantId: 'b', cause: 'entry', note: 'slip' },
      changes: [{ factor: '9', from: COOK, to: DUPAGE }],
    };
    expect(trial.ask(correct)).toMatchObject({ type: 'recorded' });
  });

  it('is the reason for a refusal after paused, closed and suspended, but before a limit', () => {
    const limits = { total: 2 };
    const trial = begun({ limits, policies: { stopAtLimit: true } });
    trial.ask(amend([level('level-closed', DUPAGE)]));
    expect(trial.enrol('c')).toMatchObject({ type: 'level-closed' });
    expect(trial.enrol('c', LEVELS, { suspended: true })).toMatchObject({ because: 'suspended' });
    trial.ask({ act: 'StudyPaused', user: 'operator', reason: 'review' });
    expect(trial.enrol('c')).toMatchObject({ because: 'paused' });
  });
});

describe('a renamed level', () => {
  it('keeps its urn under the new name, in lists, counts, limits and corrections', () => {
    const limits = { levels: [{ factor: '9', level: DUPAGE, max: 1 }] };
    const trial = begun({ limits, policies: { stopAtLimit: true } });
    const before = trial.counts();
    trial.ask(amend([renamed(DUPAGE, 'DuPage')]));
    expect(trial.counts()).toEqual(before);
    expect(trial.list.find('a')?.levels).toEqual(['Female', 'DuPage']);
    expect(trial.registered.participants.get('a')?.levels).toEqual(['Female', 'DuPage']);
    expect(trial.balance?.factors[1]?.levels[1]?.level).toBe('DuPage');
    expect(trial.enrol('c', ['Female', 'DuPage'])).toMatchObject({ type: 'full' });
    const corrected = trial.ask({
      ...{ act: 'LevelsCorrected', user: 'nurse', participantId: 'a', cause: 'entry', note: 'slip' },
      changes: [{ factor: '9', from: 'DuPage', to: COOK }],
    });
    expect(corrected).toMatchObject({ type: 'recorded' });
    expect(trial.enrol('c', ['Female', 'DuPage'])).toMatchObject({ type: 'randomized' });
  });

  it('does not change the answer to an earlier request', () => {
    const trial = new TrialRun();
    trial.enrol('a', LEVELS, { idempotencyKey: 'k' });
    trial.ask(amend([renamed(DUPAGE, 'DuPage')]));
    for (const site of [DUPAGE, 'DuPage']) {
      expect(trial.enrol('a', ['Female', site], { idempotencyKey: 'k' })).toMatchObject({ type: 'repeated' });
      expect(trial.enrol('a', ['Female', site])).toMatchObject({ type: 'duplicate', differingFactors: [] });
    }
    expect(trial.enrol('a', ['Female', COOK])).toMatchObject({ differingFactors: ['9'] });
    expect(trial.enrol('b')).toEqual({ type: 'level-unknown', factor: '9', level: DUPAGE });
  });

  it('stays within the limits of a key that uses its old or its new name', () => {
    const trial = begun();
    trial.ask(amend([renamed(DUPAGE, 'DuPage'), renamed('DuPage', 'Du Page')]));
    const levels = currentLevels(trial.list.find('a') ?? { participantId: '', levels: [], revision: 0 });
    for (const named of [DUPAGE, 'DuPage', 'Du Page'])
      expect(isWithin([{ factor: '9', levels: [named] }], trial.registered.design, levels)).toBe(true);
    expect(isWithin([{ factor: '9', levels: [COOK] }], trial.registered.design, levels)).toBe(false);
  });

  it('can go back to one of its earlier names, but cannot take a present or past name of another level', () => {
    const trial = begun();
    trial.ask(amend([renamed(DUPAGE, 'DuPage')]));
    const taken = [
      [renamed(COOK, DUPAGE), 'changes[0].to'],
      [renamed(COOK, 'DuPage'), 'changes[0].to'],
      [level('level-added', DUPAGE), 'changes[0].level'],
      [level('level-closed', DUPAGE), 'changes[0].level'],
    ] as const;
    for (const [change, field] of taken)
      expect(trial.ask(amend([change], 2))).toMatchObject({ type: 'not-amendable', problems: [{ field }] });
    expect(trial.ask(amend([renamed('DuPage', DUPAGE)], 2))).toEqual({ type: 'amended' });
    expect(trial.enrol('c')).toMatchObject({ type: 'randomized' });
  });
});

describe('limits, policies, pattern and target', () => {
  it('apply from then on, and count everybody already enrolled', () => {
    const trial = begun();
    const value = { total: 3, levels: [{ factor: '9', level: DUPAGE, max: 1 }] };
    const stop: DesignChange = { kind: 'policy', name: 'stopAtLimit', value: true };
    trial.ask(amend([{ kind: 'limits', value }, stop]));
    expect(trial.last('StudyAmended').history).toBeUndefined();
    expect(trial.enrol('c')).toMatchObject({ type: 'full', limit: { max: 1 } });
    trial.enrol('c', ['Female', COOK]);
    expect(trial.enrol('d', ['Female', COOK])).toMatchObject({ type: 'full', limit: { max: 3 } });
    trial.ask(amend([{ kind: 'limits' }], 2));
    expect(trial.enrol('d')).toMatchObject({ type: 'randomized' });
  });

  it('affect only later corrections', () => {
    const trial = begun();
    const policy: DesignChange = { kind: 'policy', name: 'levelCounts', value: 'as-corrected' };
    const correct = (id: string, from: string, to: string): FlatAct => ({
      ...{ act: 'LevelsCorrected', user: 'nurse', participantId: id, cause: 'entry', note: 'slip' },
      changes: [{ factor: '10', from, to }],
    });
    expect(trial.ask(correct('a', 'Female', 'Male'))).toMatchObject({ moves: false });
    trial.ask(amend([policy, { kind: 'blinding', value: 'blinded' }]));
    expect(trial.ask(correct('b', 'Male', 'Female'))).toMatchObject({ moves: true });
    // The defaults that depend on the blinding were set at registration.
    trial.ask(amend([{ kind: 'blinding', value: 'open' }], 2));
    expect(trial.ask(correct('b', 'Female', 'Male'))).toMatchObject({ moves: true });
  });
});

describe('an amendment', () => {
  it('is refused if it is not the next one, or has been made already', () => {
    const trial = begun();
    for (const number of [0, 2])
      expect(trial.ask(amend([level('level-added', MCLEAN)], number))).toMatchObject({
        ...{ type: 'stale', field: 'amendment', why: 'the next amendment is number 1' },
      });
  });

  it('is made only once with the same idempotency key', () => {
    const trial = begun();
    const command = amend([level('level-added', MCLEAN)], 1, { idempotencyKey: 'k' });
    trial.ask(command);
    expect(trial.ask(command)).toEqual({ type: 'done-before', revision: 3, data: expect.any(Object) });
    expect(trial.ask({ ...command, reason: 'another' })).toEqual({ type: 'idempotency-key-reused' });
  });

  it('is possible while the study is paused or closed, and not during an import', () => {
    const trial = begun();
    trial.ask({ act: 'StudyPaused', user: 'operator', reason: 'review' });
    expect(trial.ask(amend([level('level-added', MCLEAN)]))).toEqual({ type: 'amended' });
    trial.ask({ act: 'StudyClosed', user: 'operator', reason: 'done', cause: 'end' });
    expect(trial.ask(amend([level('level-closed', MCLEAN)], 2))).toEqual({ type: 'amended' });
    expect(trial.registered.status).toBe('closed');
  });

  it('reports all problems at once, checking each change against the design left by the changes before it', () => {
    const changes: DesignChange[] = [
      level('level-added', COOK),
      level('level-added', MCLEAN),
      level('level-closed', MCLEAN),
      level('level-added', MCLEAN),
      level('level-closed', 'Nowhere'),
      level('level-reopened', COOK),
      { kind: 'level-added', factor: 'age', level: 'old' },
      { kind: 'limits' },
      { kind: 'limits', value: { levels: [{ factor: '9', level: 'Nowhere', max: 3 }] } },
      { kind: 'id-pattern', value: '(a+)+\\1' },
      { kind: 'target' },
      { kind: 'policy', name: 'voidCounts', value: 'kept' },
      { kind: 'blinding', value: 'open' },
      renamed(COOK, COOK),
    ];
    const outcome = begun().ask(amend(changes, 1, { approvals: [] }));
    const fields = outcome.type === 'not-amendable' ? outcome.problems.map(({ field }) => field) : [];
    const wrong = [0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    expect(fields[0]).toBe('approvals');
    expect(fields.slice(1).map((field) => Number(/\[(\d+)\]/.exec(field)?.[1]))).toEqual(wrong);
  });

  it('needs a change or a protocol, an approval if the study is live, and valid dates', () => {
    const trial = begun();
    const refused = (command: Amend) => expect(trial.ask(command)).toMatchObject({ type: 'not-amendable' });
    refused(amend([]));
    refused(amend([], 1, { protocol: { version: '3', date: '2027-02-30' } }));
    refused(amend([], 1, { protocol: { version: '3' }, approvals: [] }));
    refused(
      amend([], 1, {
        protocol: { version: '3' },
        approvals: [{ ...APPROVED.approvals[0], on: '2027-13-01' } as never],
      }),
    );
    expect(trial.ask(amend([], 1, { protocol: { version: '3' } }))).toEqual({ type: 'amended' });
    expect(trial.registered.design.protocol).toEqual({ version: '3' });
    const test = begun({ mode: 'test' });
    expect(test.ask(amend([level('level-added', MCLEAN)], 1, { approvals: [] }))).toEqual({
      type: 'amended',
    });
  });

  it('never leaves a factor without an open level', () => {
    const trial = begun();
    expect(trial.ask(amend([level('level-closed', COOK), level('level-closed', DUPAGE)]))).toMatchObject({
      problems: [{ field: 'changes[1].level', why: 'no level of the factor would be open' }],
    });
  });

  it('refuses a command that was checked against the design before it', () => {
    const trial = begun();
    trial.ask(amend([level('level-added', MCLEAN)]));
    expect(trial.enrol('c', LEVELS, { amendment: 0 })).toEqual({ type: 'amended-meanwhile' });
    expect(trial.enrol('a', LEVELS, { amendment: 0 })).toMatchObject({ type: 'duplicate' });
    expect(trial.enrol('c', LEVELS, { amendment: 1 })).toMatchObject({ type: 'randomized' });
  });

  it('does not affect the original when it is made in a fork', () => {
    const trial = begun();
    const before = [trial.counts(), trial.registered.participants.get('a')?.levels];
    let copy: StudyState = fork(trial.state);
    for (const command of [
      amend([renamed(DUPAGE, 'DuPage'), level('level-added', MCLEAN)]),
      randomize('c', { levels: ['Male', MCLEAN] }),
    ]) {
      const { fact } = studyDecider.decide(copy, command);
      if (fact) copy = studyDecider.evolve(copy, event(fact, 9));
    }
    expect([trial.counts(), trial.registered.participants.get('a')?.levels]).toEqual(before);
    expect(trial.registered.design.amendment).toBe(0);
  });
});

describe('the names of new levels', () => {
  it.each(['', ' ', 'a\tb', 'x\u200by', '\ufffd', 'n'.repeat(201)])('may not be %j', (name) => {
    expect(newNameProblems([level('level-added', name)])).toMatchObject([{ field: 'changes[0].level' }]);
    expect(newNameProblems([renamed(COOK, name)])).toMatchObject([{ field: 'changes[0].to' }]);
    expect(newNameProblems([level('level-closed', name)])).toEqual([]);
  });
});

describe('any life of a study with amendments', () => {
  const sites = fc.constantFrom(COOK, DUPAGE, MCLEAN, 'North', 'South');
  const change: fc.Arbitrary<DesignChange> = fc.oneof(
    fc.record({
      kind: fc.constantFrom('level-added' as const, 'level-closed' as const, 'level-reopened' as const),
      factor: fc.constant('9'),
      level: sites,
    }),
    fc.record({
      kind: fc.constant('level-renamed' as const),
      factor: fc.constant('9'),
      level: sites,
      to: sites,
    }),
    fc.record({
      kind: fc.constant('limits' as const),
      value: fc.record({ total: fc.integer({ min: 1, max: 9 }) }),
    }),
    fc.record({
      kind: fc.constant('policy' as const),
      name: fc.constant('stopAtLimit' as const),
      value: fc.boolean(),
    }),
  );
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ id: fc.stringMatching(/^[a-f]$/), site: sites }) },
    { weight: 2, arbitrary: fc.record({ changes: fc.array(change, { minLength: 1, maxLength: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ id: fc.stringMatching(/^[a-f]$/), from: sites, to: sites }) },
  );

  it('leaves exactly the listed participants in the urns, and a replay decides the same', () => {
    check(
      fc.property(fc.array(step, { maxLength: 25 }), fc.boolean(), (steps, follows) => {
        const policies = follows ? ({ levelCounts: 'as-corrected' } as const) : {};
        const [trial, replay] = [new TrialRun({ policies }), new TrialRun({ policies }).onFork()];
        for (const one of steps) {
          const { amendment } = trial.registered.design;
          const command: Written =
            'changes' in one
              ? amend(one.changes, amendment + 1)
              : 'site' in one
                ? randomize(one.id, { levels: ['Male', one.site] })
                : ({
                    ...{ act: 'LevelsCorrected', user: 'nurse', participantId: one.id, cause: 'entry' },
                    ...{ note: 'slip', changes: [{ factor: '9', from: one.from, to: one.to }] },
                  } as const);
          expect(replay.ask(command)).toEqual(trial.ask(command));
        }
        expect(replay.facts).toEqual(trial.facts);
        expect(replay.counts()).toEqual(trial.counts());
        expect(replay.list.inOrder).toEqual(trial.list.inOrder);
        const { counted } = trial.balance ?? {};
        expect(counted?.factors.map(({ levels }) => levels.map(({ counts }) => [...counts]))).toEqual(
          trial.counts(),
        );
        expect(counted?.factors.map(({ levels }) => levels.map(({ level: name }) => name))).toEqual(
          trial.registered.design.factors.map(({ levels }) => levels),
        );
      }),
    );
  });
});
