/** Packs at visits: which one a participant gets, what is refused, and what a caller cannot find out by asking. */
import { beforeEach, describe, expect, it } from 'vitest';
import { NOBODY } from '../../../src/core/model/model.ts';
import type { Force } from '../../../src/core/study/commands.ts';
import { type FlatAct, tryWritten, writtenDecider } from '../../support/acts.ts';
import type { TrialRun } from '../../support/trial-run.ts';
import { correct, dispense, gives, packsOf, SUPPLY, visitsTrial, WORKED, ZOE } from '../../support/visits.ts';

const READS = { mayRead: true };
let trial: TrialRun;

beforeEach(() => {
  trial = visitsTrial();
});

function recorded(act: FlatAct): string {
  const outcome = trial.ask(act);
  expect(outcome, JSON.stringify(act)).toMatchObject({ type: 'recorded' });
  return String(gives(outcome));
}

const ask = (_: unknown, act: FlatAct) => trial.ask(act);

function replace(participantId: string, code: string, more: object = {}): FlatAct {
  return { act: 'CodeReplaced', participantId, code, cause: 'lost', ...more };
}

/** So that further packs run out before the packs do. */
function restocked(arms = ['A', 'B']): void {
  const packs = Array.from({ length: 20 }, (_, n) => n);
  const entries = arms.flatMap((treatment, i) => packs.map((n) => ({ code: `${'QRS'[i]}-${n}`, treatment })));
  trial.ask({ type: 'register-packs', list: 3, key: '00112233445566778899aabbccddeeff', entries });
}

function amend(changes: readonly object[], amendment = 1): void {
  const common = { type: 'amend', user: 'nurse', reason: 'as planned', approvals: [] } as const;
  expect(trial.ask({ ...common, amendment, changes: changes as never })).toEqual({ type: 'amended' });
}

describe('the worked sample', () => {
  it('gives the packs that were computed without this program', () => {
    expect([...trial.list.all()].map(({ treatment }) => treatment)).toEqual(['A', 'B', 'A']);
    expect(['002', ZOE].map((id) => trial.list.find(id)?.pack?.code)).toEqual(['P-105', 'P-104']);
    for (const [act, result] of WORKED) expect(gives(trial.ask(act)), JSON.stringify(act)).toBe(result);
    expect(['001', '002', ZOE].map((id) => packsOf(trial, id))).toEqual([
      'V2=P-202; U1=P-106',
      'V3=P-108; V2=P-111; U1=P-103',
      'V2=P-110; Week 12=P-112',
    ]);
  });

  it('is decided the same when it is replayed', () => {
    const replay = visitsTrial().onFork();
    for (const [act] of WORKED) {
      const { fact } = writtenDecider.decide(trial.state, act);
      if (fact)
        expect(writtenDecider.decide(replay.state, { ...act, askedAt: undefined } as FlatAct).fact).toEqual(
          fact,
        );
      trial.ask(act);
      replay.ask({ ...act, askedAt: undefined } as FlatAct);
    }
  });
});

describe('a pack at a visit', () => {
  it('is one for each visit, whatever the case of its letters', () => {
    const code = recorded(dispense('001', 'v2'));
    expect(trial.last('PackDispensed').visit).toBe('V2');
    for (const visit of ['V2', 'v2'])
      expect(trial.ask(dispense('001', visit, READS))).toEqual({
        ...{ type: 'dispensed-already', participantId: '001', visit: 'V2', pack: { visit: 'V2', code } },
      });
    expect(trial.ask(dispense('001', 'V2'))).not.toHaveProperty('pack');
    expect(tryWritten(trial.state, dispense('001', 'V2'))).toMatchObject({ type: 'dispensed-already' });
  });

  it('is for declared visits, or for any with supply', () => {
    const unknown = {
      type: 'unfit',
      problems: [{ field: 'visit', why: 'one of V2, V3, Week 12 (others need a key with the scope supply)' }],
    };
    expect(trial.ask(dispense('001', 'U1'))).toEqual(unknown);
    recorded(dispense('001', 'u1', SUPPLY));
    expect(trial.last('PackDispensed').visit).toBe('u1');
    expect(trial.ask(dispense('001', 'U1'))).toMatchObject({ type: 'dispensed-already', visit: 'u1' });
  });

  it('is for those who live, in every state but during an import', () => {
    // A wrong entry is further down.
    for (const cause of ['duplicate', 'never-enrolled', 'ineligible', 'other'] as const) {
      trial = visitsTrial();
      const voided = {
        act: 'AllocationVoided',
        participantId: '001',
        cause,
        analysis: 'keep',
        note: 'x',
      } as const;
      trial.ask({ ...voided, ...(cause === 'duplicate' && { duplicateOf: '002' }) });
      const gets = ['ineligible', 'other'].includes(cause);
      for (const source of [tryWritten, ask])
        expect(source(trial.state, dispense('001', 'V2', READS)), cause).toMatchObject({
          ...(gets ? { type: 'recorded' } : { type: 'stale', why: expect.stringContaining(cause) }),
        });
      if (gets) continue;
      expect(trial.ask(dispense('001', 'V2'))).toMatchObject({ why: expect.not.stringContaining(cause) });
      trial.ask({ act: 'AllocationReinstated', participantId: '001', note: 'x' });
      recorded(dispense('001', 'V2'));
    }
    trial = visitsTrial();
    trial.ask({ act: 'StudyPaused', reason: 'review' });
    recorded(dispense('001', 'V2'));
    trial.ask({ act: 'StudyClosed', reason: 'done', cause: 'end' });
    recorded(dispense('001', 'V3'));
  });

  it('is for nobody outside the limits of the key, by the current levels', () => {
    const where = [{ factor: 'site', levels: ['S'] }];
    expect(trial.ask(dispense('001', 'V2', { where }))).toEqual({ type: 'no-such-participant' });
    trial.ask({
      ...{ act: 'LevelsCorrected', participantId: '001', cause: 'transfer', note: 'moved' },
      changes: [{ factor: 'site', from: 'N', to: 'S' }],
    });
    recorded(dispense('001', 'V2', { where }));
  });

  it('needs three packs of every arm that is not stopped, closed ones too; with supply, one of its own arm', () => {
    // At the site S, five packs of each arm are free.
    for (const visit of ['V2', 'V3', 'Week 12']) recorded(dispense('002', visit));
    for (const source of [tryWritten, ask]) {
      expect(source(trial.state, dispense('002', 'U1', READS))).toMatchObject({ type: 'unfit' });
      expect(source(trial.state, replace('002', 'P-105'))).toEqual({ type: 'no-code' });
    }
    // At N there is one more of B.
    recorded(dispense('001', 'V2'));
    trial.ask({
      ...{ act: 'LevelsCorrected', participantId: '001', cause: 'transfer', note: 'moved' },
      changes: [{ factor: 'site', from: 'N', to: 'S' }],
    });
    expect(trial.ask(dispense('001', 'V3'))).toEqual({ type: 'no-code' });
    expect(tryWritten(trial.state, dispense('002', 'U1', SUPPLY))).toMatchObject({ type: 'recorded' });
    recorded(dispense('002', 'U1', SUPPLY));
    // Two arms must stay open.
    amend([{ kind: 'arm-added', treatment: 'C' }]);
    restocked(['C']);
    amend([{ kind: 'arm-closed', treatment: 'B' }], 2);
    expect(trial.ask(dispense('001', 'V3'))).toEqual({ type: 'no-code' });
    amend([{ kind: 'arm-stopped', treatment: 'B' }], 3);
    recorded(dispense('001', 'V3'));
    // A dry run at a site does not say that the arm is stopped. Only whoever knows what packs hold is told.
    expect(tryWritten(trial.state, replace('002', 'P-105'))).toMatchObject({ type: 'recorded' });
    expect(trial.ask(replace('002', 'P-105'))).toEqual({ type: 'no-code' });
    for (const source of [tryWritten, ask])
      expect(source(trial.state, dispense('002', 'U2', SUPPLY))).toEqual({ type: 'no-code' });
    amend([{ kind: 'arm-reopened', treatment: 'B' }], 4);
    recorded(dispense('002', 'U2', SUPPLY));
  });

  it('is chosen for nobody before there is a list', () => {
    trial = visitsTrial({}, []);
    for (const by of [{}, SUPPLY]) expect(trial.ask(dispense('001', 'V2', by))).toEqual({ type: 'no-code' });
  });

  it('gives way to another one of the same visit', () => {
    const code = recorded(dispense('001', 'V2'));
    expect(trial.ask(replace('001', 'P-1', READS))).toMatchObject({
      why: `the participant has the pack ${code} now`,
    });
    const by = recorded(replace('001', code));
    expect(packsOf(trial, '001')).toBe(`V2=${by}`);
    expect(trial.ask(replace('001', code))).toMatchObject({ type: 'stale', field: 'code' });
  });

  it('is answered again with the pack of its own event', () => {
    const asked = dispense('001', 'v2', { idempotencyKey: 'k', user: 'nurse' });
    const code = recorded(asked);
    recorded(replace('001', code));
    for (const visit of ['v2', 'V2'])
      expect(trial.ask({ ...asked, visit })).toMatchObject({
        type: 'done-before',
        data: { visit: 'V2', code },
      });
    expect(trial.ask({ ...asked, visit: 'V3' })).toEqual({ type: 'idempotency-key-reused' });
  });
});

describe('further packs', () => {
  const tooMany = { type: 'impossible', field: 'participantId' };

  it('are the replacements and the void packs: a fourth is for supply, and so is a visit after it', () => {
    restocked();
    let code = recorded(dispense('001', 'V2'));
    code = recorded(replace('001', code));
    code = recorded(replace('001', code));
    // Two, and with a void one three.
    recorded(correct('001', code, null));
    const first = recorded(dispense('001', 'V2'));
    expect(trial.ask(replace('001', first))).toMatchObject({
      ...tooMany,
      why: 'this participant had 3 further packs (hint: ask for a key with the scope supply)',
    });
    recorded(dispense('001', 'V3'));
    recorded(replace('001', first, SUPPLY));
    expect(trial.ask(dispense('001', 'Week 12'))).toMatchObject(tooMany);
    recorded(dispense('001', 'Week 12', SUPPLY));
    // It was theirs after all.
    recorded(correct('001', code, 'U1', SUPPLY));
    recorded(dispense('001', 'U2', SUPPLY));
  });

  it('begin anew with an entry that replaces a wrong one, whose packs are nobody’s', () => {
    restocked();
    const entry: Force = {
      ...{
        type: 'force',
        user: 'desk',
        participantId: '900',
        levels: ['N'],
        treatment: 'A',
        cause: 'outage',
      },
      ...{ occurredAt: '2026-03-01T08:00:00.000Z', note: 'envelope', code: 'Q-0' },
    };
    expect(trial.ask(entry)).toMatchObject({ type: 'recorded' });
    const code = recorded(dispense('900', 'V2'));
    const by = recorded(replace('900', code));
    const { revision } = trial.list.find('900') ?? {};
    trial.ask({ act: 'AllocationVoided', participantId: '900', cause: 'entry', analysis: 'keep', note: 'x' });
    expect(trial.ask(dispense('900', 'V3'))).toMatchObject({ type: 'stale' });
    trial.ask({ ...entry, levels: ['S'], replaces: revision });
    expect(packsOf(trial, '900')).toBe('');
    for (const one of [code, by]) expect(trial.registered.given.get(one)).toBe(NOBODY);
    expect(trial.registered.given.get('Q-0')).toBe('900');
    expect(trial.list.find('900')).not.toHaveProperty('dispensed');
    recorded(dispense('900', 'V2'));
  });
});

describe('a correction of a visit', () => {
  it('needs a pack of a visit, something to correct, and a free visit', () => {
    const [v2, v3] = [recorded(dispense('001', 'V2')), recorded(dispense('001', 'V3'))];
    const other = recorded(dispense('002', 'V2'));
    for (const code of ['P-1', other, 'P-105'])
      expect(trial.ask(correct('001', code, null))).toMatchObject({ type: 'stale', field: 'code' });
    expect(trial.ask(correct('001', 'P-1', null, READS))).toMatchObject({
      why: `the participant has no such pack of a visit; for visits, they have ${v2} (V2), ${v3} (V3)`,
    });
    expect(trial.ask(correct('001', v2, 'v2'))).toMatchObject({ type: 'stale', isSo: true });
    expect(trial.ask(correct('001', v2, 'v3', READS))).toMatchObject({ type: 'impossible', field: 'to' });
    expect(trial.ask(correct('001', v2, 'U1'))).toMatchObject({ type: 'unfit', problems: [{ field: 'to' }] });
    recorded(correct('001', v2, 'week 12'));
    expect(trial.last('DispensationCorrected')).toMatchObject({ from: 'V2', to: 'Week 12' });
    recorded(correct('001', v2, null));
    expect(trial.last('DispensationCorrected')).not.toHaveProperty('to');
    expect(trial.ask(correct('001', v2, null))).toMatchObject({ type: 'stale', isSo: true });
    recorded(correct('001', v2, 'V2'));
    expect(trial.last('DispensationCorrected')).not.toHaveProperty('from');
    expect(packsOf(trial, '001')).toBe(`V2=${v2}; V3=${v3}`);
  });

  it('takes the pack from everybody, and gives it back', () => {
    const code = recorded(dispense('001', 'V2'));
    recorded(correct('001', code, null));
    expect(trial.registered.given.get(code)).toBe(NOBODY);
    const reveal: FlatAct = {
      ...{ act: 'AllocationRevealed', category: 'emergency', grounds: { reason: 'a child ate it' } },
      ...{ reveal: '6d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d', code },
    };
    trial.ask(reveal);
    expect(trial.last('AllocationRevealed')).not.toHaveProperty('participantId');
    const next = recorded(dispense('001', 'V2'));
    expect(next).not.toBe(code);
    recorded(correct('001', code, 'V3'));
    trial.ask({ ...reveal, reveal: '7d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d' });
    expect(trial.last('AllocationRevealed')).toMatchObject({ participantId: '001' });
    expect(trial.ask({ act: 'CodesWithdrawn', codes: [code], reason: 'recalled' })).toMatchObject({
      type: 'impossible',
    });
  });

  it('is the same request again in another case, and another one with another cause', () => {
    const code = recorded(dispense('001', 'V2'));
    const asked = correct('001', code, 'v3', { idempotencyKey: 'k' });
    recorded(asked);
    recorded(correct('001', code, null));
    expect(trial.ask({ ...asked, to: 'V3' })).toMatchObject({
      type: 'done-before',
      data: { code, from: 'V2', to: 'V3' },
    });
    for (const more of [{ cause: 'other' }, { note: 'another' }, { to: 'Week 12' }, { to: null }])
      expect(trial.ask({ ...asked, ...more })).toEqual({ type: 'idempotency-key-reused' });
  });
});
