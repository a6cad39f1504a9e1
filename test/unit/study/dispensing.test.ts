/**
 * Packs at visits: what is said of them. Who gets which pack and what is refused, in any life: test/unit/verify/dispensing-lives
 * with test/support/pack-oracle.ts.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { Visit } from '../../../events/study.ts';
import { NOBODY } from '../../../src/core/model/model.ts';
import { type FlatAct, tryWritten } from '../../support/acts.ts';
import {
  correct,
  dispense,
  gives,
  listOf,
  packsOf,
  replace,
  SUPPLY,
  visitsTrial,
  WORKED,
  ZOE,
} from '../../support/visits.ts';

const READS = { mayRead: true };
let trial: ReturnType<typeof visitsTrial>;

beforeEach(() => {
  trial = visitsTrial();
});

/** What must be recorded. @returns the pack */
function recorded(act: FlatAct): string {
  const { by, code } = trial.record(act);
  return by ?? code ?? '';
}

/** The answer to the request, which a dry run gives, too. */
function answer(act: FlatAct) {
  const tried = tryWritten(trial.state, act);
  const outcome = trial.ask(act);
  expect(tried.type, 'the dry run').toBe(outcome.type);
  return outcome;
}

it('the worked sample gives the packs that were computed without this program', () => {
  expect([...trial.list.all()].map(({ treatment }) => treatment)).toEqual(['A', 'B', 'A']);
  expect(['002', ZOE].map((id) => trial.list.find(id)?.pack?.code)).toEqual(['P-105', 'P-104']);
  for (const [act, result] of WORKED) expect(gives(trial.ask(act)), JSON.stringify(act)).toBe(result);
  expect(['001', '002', ZOE].map((id) => packsOf(trial, id))).toEqual([
    ...['V2=P-202; U1=P-106', 'V3=P-108; V2=P-111; U1=P-103', 'V2=P-110; Week 12=P-112'],
  ]);
});

describe('the name of a visit', () => {
  it.each(['V', '2', 'Week 12', 'a.b_c-d', 'V'.repeat(20), `V${' '.repeat(18)}2`])('may be %j', (visit) => {
    expect(Visit.safeParse(visit).success).toBe(true);
  });

  it.each([
    ...['', ' ', 'V2 ', ' V2', '=V2', '-V2', '.V2', '_V2', '@V2', 'V'.repeat(21), 'V2\n', 'V\t2', 'V\u00a02'],
    ...[
      'V2;V3',
      'V/2',
      '"V2"',
      'Vé',
      'Ⅴ2',
      '２',
      'V2\u0000',
      'Wee\u212a',
      'V\u0130',
      2,
      null,
      ['V2'],
      undefined,
    ],
  ])('is not %j', (visit) => {
    expect(Visit.safeParse(visit).success).toBe(false);
  });
});

describe('a pack at a visit', () => {
  it('is one for each visit, whatever the case of its letters, and named to those who may read it', () => {
    const code = recorded(dispense('001', 'v2'));
    expect(trial.last('PackDispensed').visit).toBe('V2');
    for (const visit of ['V2', 'v2'])
      expect(answer(dispense('001', visit, READS))).toEqual({
        ...{ type: 'dispensed-already', participantId: '001', visit: 'V2', pack: { visit: 'V2', code } },
      });
  });

  it('is for declared visits, or for any with supply', () => {
    const why = (known: string) => ({
      ...{
        type: 'unfit',
        problems: [{ field: 'visit', why: `${known} (others need a key with the scope supply)` }],
      },
    });
    expect(trial.ask(dispense('001', 'U1'))).toEqual(why('one of V2, V3, Week 12'));
    recorded(dispense('001', 'u1', SUPPLY));
    expect(trial.last('PackDispensed').visit).toBe('u1');
    expect(trial.ask(dispense('001', 'U1'))).toMatchObject({ type: 'dispensed-already', visit: 'u1' });
    expect(trial.ask(dispense('001', 'A', SUPPLY))).toEqual({
      ...{ type: 'unfit', problems: [{ field: 'visit', why: 'is, or contains, the name of an arm' }] },
    });
    expect(visitsTrial({ visits: [] }).ask(dispense('001', 'V2'))).toEqual(why('the study has no visits'));
  });

  it('is told only to whoever knows what packs hold if the arm is stopped; there is none before there is a list', () => {
    trial.amend({ kind: 'arm-added', treatment: 'C' });
    trial.ask(listOf(3, { A: 3, B: 3, C: 20 }));
    trial.amend({ kind: 'arm-closed', treatment: 'B' }, { kind: 'arm-stopped', treatment: 'B' });
    // A dry run at a site does not say it.
    expect(tryWritten(trial.state, replace('002', 'P-105'))).toMatchObject({ type: 'recorded' });
    expect(trial.ask(replace('002', 'P-105'))).toEqual({ type: 'no-code' });
    expect(answer(dispense('002', 'U2', SUPPLY))).toEqual({ type: 'no-code' });
    trial = visitsTrial({}, []);
    for (const by of [{}, SUPPLY]) expect(trial.ask(dispense('001', 'V2', by))).toEqual({ type: 'no-code' });
  });

  it('gives way to another one of the same visit', () => {
    const code = recorded(dispense('001', 'V2'));
    const why = (has: string) => ({ type: 'stale', field: 'code', why: `the participant has ${has} now` });
    expect(trial.ask(replace('001', 'P-1', READS))).toEqual(why(`the pack ${code}`));
    const by = recorded(replace('001', code));
    expect(packsOf(trial, '001')).toBe(`V2=${by}`);
    expect(trial.ask(replace('001', code))).toEqual(why('another pack'));
    const next = recorded(dispense('001', 'V3'));
    expect(trial.ask(replace('001', code, READS))).toEqual(why(`the packs ${by}, ${next}`));
  });
});

describe('further packs', () => {
  const tooMany = {
    ...{ type: 'impossible', field: 'participantId' },
    why: 'this participant had 3 further packs (hint: ask for a key with the scope supply)',
  };

  it('are the replacements and the void packs: a fourth is for supply, and so is a visit after it', () => {
    trial.ask(listOf(3, { A: 20, B: 20 }));
    let code = recorded(dispense('001', 'V2'));
    code = recorded(replace('001', code));
    code = recorded(replace('001', code));
    // Two, and with a void one three.
    recorded(correct('001', code, null));
    const first = recorded(dispense('001', 'V2'));
    expect(trial.ask(replace('001', first))).toEqual(tooMany);
    recorded(dispense('001', 'V3'));
    recorded(replace('001', first, SUPPLY));
    expect(trial.ask(dispense('001', 'Week 12'))).toMatchObject({ ...tooMany, why: expect.any(String) });
    recorded(dispense('001', 'Week 12', SUPPLY));
    // It was theirs after all.
    recorded(correct('001', code, 'U1', SUPPLY));
    recorded(dispense('001', 'U2', SUPPLY));
  });
});

describe('a correction of a visit', () => {
  it('needs a pack of a visit, something to correct, and a free visit', () => {
    const [v2, v3] = [recorded(dispense('001', 'V2')), recorded(dispense('001', 'V3'))];
    const other = recorded(dispense('002', 'V2'));
    const no = { type: 'stale', field: 'code', why: 'the participant has no such pack of a visit' };
    for (const code of ['P-1', other, 'P-105']) expect(trial.ask(correct('001', code, null))).toEqual(no);
    expect(trial.ask(correct('001', 'P-1', null, READS))).toEqual({
      ...{ ...no, why: `${no.why}; for visits, they have ${v2} (V2), ${v3} (V3)` },
    });
    expect(trial.ask(correct(ZOE, 'P-1', null, READS))).toEqual(no);
    expect(trial.ask(correct('001', v2, 'v3', READS))).toEqual({
      ...{ type: 'impossible', field: 'to' },
      why: `the participant has a pack for V3 (${v3}): correct that one first`,
    });
    expect(trial.ask(correct('001', v2, 'U1'))).toMatchObject({ type: 'unfit', problems: [{ field: 'to' }] });
    recorded(correct('001', v2, 'week 12'));
    expect(trial.last('DispensationCorrected')).toMatchObject({ from: 'V2', to: 'Week 12' });
    recorded(correct('001', v2, null));
    expect(trial.last('DispensationCorrected')).not.toHaveProperty('to');
    expect(trial.ask(correct('001', v2, null))).toEqual({
      ...{ type: 'stale', why: 'the participant never got the pack, as recorded already', isSo: true },
    });
    recorded(correct('001', v2, 'V2'));
    expect(trial.last('DispensationCorrected')).not.toHaveProperty('from');
    expect(packsOf(trial, '001')).toBe(`V2=${v2}; V3=${v3}`);
  });

  it('takes the pack from everybody, and gives it back', () => {
    const code = recorded(dispense('001', 'V2'));
    recorded(correct('001', code, null));
    expect(trial.registered.given.get(code)).toBe(NOBODY);
    const reveal: FlatAct = {
      ...{ act: 'AllocationRevealed', category: 'emergency', reason: 'a child ate it', code },
      reveal: '6d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d',
    };
    trial.ask(reveal);
    expect(trial.last('AllocationRevealed')).not.toHaveProperty('participantId');
    expect(recorded(dispense('001', 'V2'))).not.toBe(code);
    recorded(correct('001', code, 'V3'));
    trial.ask({ ...reveal, reveal: '7d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d' });
    expect(trial.last('AllocationRevealed')).toMatchObject({ participantId: '001' });
    expect(trial.ask({ act: 'CodesWithdrawn', codes: [code], reason: 'recalled' })).toMatchObject({
      type: 'impossible',
    });
  });
});

it('a request is known again in other capital letters, even of a visit that is not declared', () => {
  const asked = dispense('001', 'u1', { ...SUPPLY, idempotencyKey: 'k' });
  const corrected = correct('001', recorded(asked), 'u2', { ...SUPPLY, idempotencyKey: 'c' });
  recorded(corrected);
  expect(trial.ask({ ...asked, visit: 'U1' })).toMatchObject({ type: 'done-before' });
  expect(trial.ask({ ...corrected, to: 'U2' })).toMatchObject({ type: 'done-before' });
});
