/** Requests about packs of visits that are at an edge: forms, states, limits of keys, and which refusal comes first. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Visit } from '../../../events/study.ts';
import type { RegisterPacks } from '../../../src/core/study/commands.ts';
import type { FlatAct } from '../../support/acts.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { beginImport, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { correct, dispense, gives, packsOf, SUPPLY, visitsTrial, ZOE } from '../../support/visits.ts';

const OF_N = { where: [{ factor: 'site', levels: ['N'] }] };
const OF_S = { where: [{ factor: 'site', levels: ['S'] }] };
let trial: TrialRun;

beforeEach(() => {
  trial = visitsTrial();
});

function recorded(act: FlatAct): string {
  const outcome = trial.ask(act);
  expect(outcome, JSON.stringify(act)).toMatchObject({ type: 'recorded' });
  return String(gives(outcome));
}
function amended(amendment: number, ...changes: readonly object[]): void {
  const common = { type: 'amend', user: 'nurse', reason: 'as planned', approvals: [] } as const;
  expect(trial.ask({ ...common, amendment, changes: changes as never })).toEqual({ type: 'amended' });
}
const void_ = (participantId: string, cause = 'never-enrolled'): FlatAct => ({
  ...{ act: 'AllocationVoided', participantId, cause, analysis: 'keep', note: 'x' },
});
const toS: FlatAct = {
  ...{ act: 'LevelsCorrected', participantId: '001', cause: 'transfer', note: 'moved' },
  changes: [{ factor: 'site', from: 'N', to: 'S' }],
};
const list = (number: number, counts: Readonly<Record<string, number>>): RegisterPacks => ({
  ...{ type: 'register-packs', list: number, key: `${number}`.repeat(32) },
  entries: Object.entries(counts).flatMap(([treatment, n], arm) =>
    Array.from({ length: n }, (_, i) => ({ code: `${number}-${arm}-${i}`, treatment })),
  ),
});

describe('the name of a visit', () => {
  it.each(['V', '2', 'V2', 'Week 12', 'V2 a', 'a.b_c-d', 'V.', 'V-', 'V'.repeat(20), `V${' '.repeat(18)}2`])(
    'may be %j',
    (visit) => {
      expect(Visit.safeParse(visit).success).toBe(true);
    },
  );

  it.each([
    ...[
      '',
      ' ',
      'V2 ',
      ' V2',
      '=V2',
      '-V2',
      '.V2',
      '_V2',
      '+V2',
      '@V2',
      'V'.repeat(21),
      `V2${' '.repeat(19)}`,
    ],
    ...[
      'V2\n',
      'V2\r',
      'V\t2',
      'V\u00a02',
      'V2=1',
      'V2;V3',
      'V2,V3',
      'V/2',
      '"V2"',
      'Vé',
      'Ⅴ2',
      '２',
      'V2\u0000',
      'Wee\u212a',
      'V\u0130',
    ],
    ...[2, null, true, [], ['V2'], {}, undefined],
  ])('is not %j', (visit) => {
    expect(Visit.safeParse(visit).success).toBe(false);
  });
});

describe('during an import', () => {
  it('nobody gets a pack, and nothing is corrected: only an unknown participant is said to be unknown', () => {
    const [row] = drawnRows([{}]);
    if (!row) throw new Error('no row');
    trial = new TrialRun({ visits: ['V2'] });
    trial.all([beginImport([row]), row]);
    const refused = { type: 'refused', because: 'importing' };
    for (const by of [{}, SUPPLY]) {
      for (const visit of ['V2', 'U1']) expect(trial.ask(dispense('i1', visit, by))).toEqual(refused);
      expect(trial.ask(correct('i1', 'P', null, by))).toEqual(refused);
      expect(trial.ask(dispense('nobody', 'V2', by))).toEqual({ type: 'no-such-participant' });
      expect(trial.ask(correct('nobody', 'P', null, by))).toEqual({ type: 'no-such-participant' });
    }
    trial.ask({ type: 'end-import', import: IMPORT });
    trial.ask(list(1, Object.fromEntries(CONFIGURATION.treatments.map((arm) => [arm, 4]))));
    recorded(dispense('i1', 'V2'));
  });
});

describe('a correction of a visit', () => {
  it.each<[string, FlatAct[]]>([
    ['paused', [{ act: 'StudyPaused', reason: 'review' }]],
    ['closed', [{ act: 'StudyClosed', reason: 'done', cause: 'end' }]],
    ['voided as never enrolled', [void_('001')]],
    ['voided as a duplicate', [void_('001', 'duplicate')]],
    ['voided as ineligible', [void_('001', 'ineligible')]],
  ])('is possible when the study, or its participant, is %s', (_, happened) => {
    const code = recorded(dispense('001', 'V2'));
    for (const act of happened) recorded(act);
    recorded(correct('001', code, 'V3'));
    recorded(correct('001', code, null));
    recorded(correct('001', code, 'V2'));
    expect(packsOf(trial, '001')).toBe(`V2=${code}`);
  });
});

/** Each request fails for two reasons that stand beside each other in the order of the specification. */
describe('the first of two refusals is', () => {
  const UNKNOWN = { type: 'no-such-participant' };

  it('that the participant is outside the limits, before that there is a pack', () => {
    recorded(dispense('001', 'V2'));
    expect(trial.ask(dispense('001', 'V2', OF_S))).toEqual(UNKNOWN);
    expect(trial.ask(correct('001', 'P-1', null, OF_S))).toEqual(UNKNOWN);
  });

  it('that there is a pack, before that the visit is not declared, or the participant voided', () => {
    recorded(dispense('001', 'U1', SUPPLY));
    expect(trial.ask(dispense('001', 'u1'))).toMatchObject({ type: 'dispensed-already', visit: 'U1' });
    recorded(dispense('001', 'V2'));
    recorded(void_('001'));
    expect(trial.ask(dispense('001', 'v2'))).toMatchObject({ type: 'dispensed-already', visit: 'V2' });
  });

  it('that the visit is not declared, before that the participant is voided', () => {
    recorded(void_('001'));
    expect(trial.ask(dispense('001', 'U1'))).toMatchObject({ type: 'unfit' });
    expect(trial.ask(dispense('001', 'U1', SUPPLY))).toMatchObject({ type: 'stale' });
  });

  it('that the participant is voided, before too many further packs; and these, before too few packs', () => {
    trial.ask(list(3, { A: 9, B: 9 }));
    for (let n = 0; n < 4; n++) recorded(correct('001', recorded(dispense('001', 'V2', SUPPLY)), null));
    const codes = [...trial.registered.packs.entries()].map(([code]) => code);
    const { given } = trial.registered;
    const free = codes.filter((code) => given.get(code) === undefined);
    recorded({ act: 'CodesWithdrawn', codes: free, reason: 'recalled', isSupply: true });
    expect(trial.ask(dispense('001', 'V2'))).toMatchObject({ type: 'impossible', field: 'participantId' });
    expect(trial.ask(dispense(ZOE, 'V2'))).toEqual({ type: 'no-code' });
    recorded(void_('001'));
    expect(trial.ask(dispense('001', 'V2'))).toMatchObject({ type: 'stale' });
  });

  it('that the pack is not theirs, or the visit as it is, before that the visit has one or is not declared', () => {
    const [v2, v3] = [recorded(dispense('001', 'V2')), recorded(dispense('001', 'V3'))];
    expect(trial.ask(correct('001', 'P-1', 'U1'))).toMatchObject({ type: 'stale', field: 'code' });
    expect(trial.ask(correct('001', 'P-1', 'V3'))).toMatchObject({ type: 'stale', field: 'code' });
    expect(trial.ask(correct('001', v2, 'V2'))).toMatchObject({ type: 'stale', isSo: true });
    recorded(correct('001', v3, 'U1', SUPPLY));
    expect(trial.ask(correct('001', v2, 'u1'))).toMatchObject({ type: 'impossible', field: 'to' });
    expect(trial.ask(correct('001', v3, 'u1'))).toMatchObject({ type: 'stale', isSo: true });
  });

  it('none for a request that is repeated, whatever has happened since', () => {
    const asked = dispense('001', 'V2', { idempotencyKey: 'k', ...OF_N });
    const code = recorded(asked);
    const undone = correct('001', code, null, { idempotencyKey: 'c', ...OF_N });
    recorded(undone);
    recorded(void_('001'));
    trial.ask(toS);
    amended(1, { kind: 'visits', value: ['V3'] });
    recorded({ act: 'StudyPaused', reason: 'review' });
    const again = { type: 'done-before', data: { code, visit: 'V2' } };
    expect(trial.ask(asked)).toMatchObject(again);
    expect(trial.ask({ ...asked, participantId: '002' })).not.toMatchObject(again);
    expect(trial.ask(undone)).toMatchObject({ type: 'done-before', data: { code, from: 'V2' } });
  });
});

describe('the limits of a key', () => {
  it('are those of the level, whatever its name, and of the participant as they are now', () => {
    const code = recorded(dispense('001', 'V2', OF_N));
    amended(1, { kind: 'level-renamed', factor: 'site', level: 'N', to: 'North' });
    recorded(correct('001', code, 'V3', OF_N));
    recorded(dispense('001', 'V2', OF_N));
    recorded({ ...toS, changes: [{ factor: 'site', from: 'North', to: 'S' }] });
    const unknown = { type: 'no-such-participant' };
    for (const asked of [dispense('001', 'Week 12', OF_N), correct('001', code, null, OF_N)])
      expect(trial.ask(asked)).toEqual(unknown);
    recorded(dispense('001', 'Week 12', OF_S));
    recorded(correct('001', code, null, OF_S));
  });
});

describe('the pack of a participant', () => {
  it('is the same under another id: it is chosen by the id as randomized', () => {
    const before = recorded(dispense('001', 'V2'));
    trial = visitsTrial();
    recorded({ act: 'ParticipantIdCorrected', participantId: '001', to: 'A-1', cause: 'entry' });
    expect(recorded(dispense('A-1', 'V2'))).toBe(before);
    expect(trial.last('PackDispensed')).toMatchObject({ participantId: '001' });
    // By a former id it is the same participant.
    expect(trial.ask(dispense('001', 'v2'))).toMatchObject({
      type: 'dispensed-already',
      participantId: 'A-1',
    });
  });

  it('is for a level under whatever name it has', () => {
    const before = recorded(dispense('001', 'V2'));
    trial = visitsTrial();
    amended(1, { kind: 'level-renamed', factor: 'site', level: 'N', to: 'North' });
    expect(recorded(dispense('001', 'V2'))).toBe(before);
  });
});

describe('three free packs', () => {
  /** Of three arms, one of which is closed: two participants of each, and so many packs left of each arm. */
  function stocked(left: Readonly<Record<string, number>>): string[] {
    trial = new TrialRun({
      ...{ mode: 'test', treatments: ['A', 'B', 'C'], factors: [{ name: 'site', levels: ['N', 'S'] }] },
      visits: ['V2'],
    });
    const ids = Array.from({ length: 9 }, (_, n) => `p${n}`);
    for (const id of ids) trial.enrol(id, ['N']);
    trial.ask(list(1, left));
    amended(1, { kind: 'arm-closed', treatment: 'C' });
    const arms = new Map(ids.map((id) => [trial.list.find(id)?.treatment ?? '', id]));
    expect([...arms.keys()].toSorted()).toEqual(['A', 'B', 'C']);
    return ['A', 'B', 'C'].map((arm) => arms.get(arm) ?? '');
  }
  const tried = (ids: readonly string[]) =>
    ids.map((id) => {
      const before = trial.state;
      const { type } = trial.onFork().ask(dispense(id, 'V2'));
      trial.state = before;
      return type;
    });
  const none = ['no-code', 'no-code', 'no-code'];
  const all = ['recorded', 'recorded', 'recorded'];

  it.each<[string, Readonly<Record<string, number>>, readonly string[]]>([
    ['of each arm are enough', { A: 3, B: 3, C: 3 }, all],
    ['are too few if they are two of one arm', { A: 2, B: 9, C: 9 }, none],
    ['are too few if they are two of another arm', { A: 9, B: 2, C: 9 }, none],
    ['are too few if they are two of the closed arm', { A: 9, B: 9, C: 2 }, none],
    ['are too few if there are none of the closed arm', { A: 9, B: 9 }, none],
  ])('%s, for the participants of every arm', (_, left, expected) => {
    expect(tried(stocked(left))).toEqual(expected);
  });

  it('of a closed arm are there again when it is refilled, and are not needed when it is stopped', () => {
    const ids = stocked({ A: 4, B: 4, C: 2 });
    expect(tried(ids)).toEqual(none);
    trial.ask(list(2, { C: 1 }));
    expect(tried(ids)).toEqual(all);
    const short = stocked({ A: 4, B: 4, C: 2 });
    amended(2, { kind: 'arm-stopped', treatment: 'C' });
    expect(tried(short)).toEqual(['recorded', 'recorded', 'no-code']);
    amended(3, { kind: 'arm-reopened', treatment: 'C' });
    expect(tried(short)).toEqual(none);
  });
});
