/**
 * Packs at visits: what is said of them, what became of each pack, and where packs run low. Who gets which pack and what is
 * refused, in any life: test/unit/verify/dispensing-lives with test/support/pack-oracle.ts.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { Visit } from '../../../events/study.ts';
import { NOBODY } from '../../../src/core/model/packs.ts';
import type { Force } from '../../../src/core/study/commands.ts';
import { type AccountedPack, packAccountability } from '../../../src/core/study/pack-accountability.ts';
import { packMap, stockOf } from '../../../src/core/study/pack-map.ts';
import { accountabilityCsv, accountabilityPage } from '../../../src/evidence/export/accountability.ts';
import { type FlatAct, tryWritten } from '../../support/acts.ts';
import { parseCsv } from '../../support/csv.ts';
import {
  correct,
  dispense,
  entered,
  gives,
  LIST_1,
  LIST_2,
  listOf,
  moved,
  packsOf,
  reinstated,
  replace,
  SUPPLY,
  visitsTrial,
  voided,
  WORKED,
  ZOE,
} from '../../support/visits.ts';

const READS = { mayRead: true };
let trial: ReturnType<typeof visitsTrial>;

beforeEach(() => {
  trial = visitsTrial();
});

/** What must be recorded. @returns the pack */
function recorded(act: FlatAct | Force): string {
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

it.each<[boolean, unknown[]]>([
  [true, ['V', '2', 'Week 12', 'a.b_c-d', 'V'.repeat(20), `V${' '.repeat(18)}2`]],
  [false, ['', ' ', 'V2 ', ' V2', '=V2', '-V2', '.V2', '_V2', 'V'.repeat(21), 'V2\n', 'V\t2', 'V2;V3', 'Vé']],
  // Whose small letters are in the form.
  [false, ['Wee\u212a', 'V\u0130', 2, null, ['V2'], undefined]],
])('whether a visit may have these names is %s: %j', (may, names) => {
  for (const name of names) expect(Visit.safeParse(name).success, JSON.stringify(name)).toBe(may);
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
});

it('a refusal of the fourth further pack says who may give it', () => {
  trial.ask(listOf(3, { A: 20, B: 20 }));
  let code = recorded(dispense('001', 'V2'));
  for (let further = 0; further < 3; further++) code = recorded(replace('001', code));
  expect(trial.ask(replace('001', code))).toEqual({
    ...{ type: 'impossible', field: 'participantId' },
    why: 'this participant had 3 further packs (hint: ask for a key with the scope supply)',
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

const account = () => packAccountability(trial.registered);
const accountOf = (code: string) => account().find((one) => one.code === code);
/** When the event at this revision was recorded. */
const momentOf = (revision: number) => new Date(Date.UTC(2026, 2, 1, 9) + revision * 1000).toISOString();
const last = () => momentOf(trial.facts.length - 1);

const ENTRY = entered('P-101');

describe('accountability', () => {
  it('has a row for each pack, in the order of the lists, without arms', () => {
    for (const [act] of WORKED) trial.ask(act);
    const rows = account();
    const listed = [LIST_1, LIST_2].flatMap(({ entries }) => entries.map(({ code }) => code));
    expect(rows.map(({ code }) => code)).toEqual(listed);
    const of = (state: string) => rows.flatMap((one) => (one.state === state ? [one.code] : [])).toSorted();
    expect(of('free')).toEqual(['P-101', 'P-102', 'P-109', 'P-201', 'P-203']);
    expect(of('held')).toEqual('P-103 P-104 P-105 P-106 P-108 P-110 P-111 P-112 P-202'.split(' '));
    expect(of('replaced')).toEqual(['P-107']);
    expect(JSON.stringify(rows)).not.toMatch(/"[AB]"/);
  });

  it('says of a pack of the enrolment who enrolled the participant, and when, though it was replaced twice', () => {
    const { revision = 0 } = trial.list.find('002') ?? {};
    const enrolled = { code: 'P-105', id: '002', dispensedAt: momentOf(revision), user: 'nurse' };
    expect(accountOf('P-105')).toEqual({ ...enrolled, state: 'held' });
    const first = recorded(replace('002', 'P-105'));
    const next = recorded(replace('002', first));
    const replaced = { state: 'replaced', cause: 'lost' };
    expect(accountOf('P-105')).toEqual({ ...enrolled, ...replaced, replacedBy: first });
    expect(accountOf(first)).toMatchObject({ ...replaced, replacedBy: next });
    const held = { code: next, state: 'held', id: '002', dispensedAt: last(), user: 'nurse' };
    expect(accountOf(next)).toEqual(held);
  });

  it('follows a pack from its visit to what took its place', () => {
    const given = (code: string, visit = 'V2') => {
      return { code, visit, state: 'held', id: '001', user: 'nurse', dispensedAt: last() };
    };
    const replaced = (replacedBy: string, cause = 'lost') => ({ state: 'replaced', replacedBy, cause });
    const first = given(recorded(dispense('001', 'V2')));
    const second = given(recorded(replace('001', first.code)));
    const both = () => [accountOf(first.code), accountOf(second.code)];
    expect(both()).toEqual([{ ...first, ...replaced(second.code) }, second]);
    recorded(correct('001', second.code, 'V3'));
    const third = given(recorded(replace('001', second.code, { cause: 'damaged' })), 'V3');
    expect(accountOf(third.code)).toEqual(third);
    const moved = { ...second, visit: 'V3', ...replaced(third.code, 'damaged') };
    expect(both()).toEqual([{ ...first, ...replaced(second.code) }, moved]);
  });

  it('says why a pack is void, until it was theirs after all', () => {
    const code = recorded(dispense('001', 'V2'));
    const at = last();
    recorded(correct('001', code, null, { cause: 'not-handed-out' }));
    expect(accountOf(code)).toEqual({
      ...{ code, state: 'void', id: '001', dispensedAt: at, user: 'nurse', cause: 'not-handed-out' },
    });
    recorded(correct('001', code, 'V3', { cause: 'other' }));
    expect(accountOf(code)).toEqual({
      ...{ code, state: 'held', visit: 'V3', id: '001', dispensedAt: at, user: 'nurse' },
    });
  });

  it('knows a pack that was given by hand, and that the packs of a wrong entry are nobody’s', () => {
    recorded(ENTRY);
    const given = { code: 'P-101', state: 'held', id: '900', dispensedAt: ENTRY.occurredAt, user: 'nurse' };
    expect(accountOf('P-101')).toEqual(given);
    const v2 = recorded(dispense('900', 'V2', SUPPLY));
    const by = recorded(replace('900', v2, SUPPLY));
    const void_ = recorded(dispense('900', 'V3', SUPPLY));
    recorded(correct('900', void_, null));
    const { revision } = trial.list.find('900') ?? {};
    trial.record(voided('900', 'entry'));
    expect([v2, by, void_].map((code) => accountOf(code)?.state)).toEqual(['replaced', 'held', 'void']);
    recorded({ ...ENTRY, replaces: revision as number });
    expect(accountOf('P-101')).toEqual(given);
    for (const code of [v2, by, void_]) expect(accountOf(code)).toEqual({ code, state: 'nobody' });
  });

  it('knows what was withdrawn, and the id in use', () => {
    trial.ask({ act: 'CodesWithdrawn', codes: ['P-102'], reason: 'recall' });
    expect(accountOf('P-102')).toEqual({ code: 'P-102', state: 'withdrawn' });
    trial.ask({ act: 'ParticipantIdCorrected', participantId: '002', to: '0002', cause: 'entry' });
    expect(accountOf('P-105')).toMatchObject({ id: '0002' });
  });

  it('shows as much as its reader may know, of a void pack, too', () => {
    const code = recorded(dispense('001', 'V2'));
    recorded(correct('001', code, null));
    const asked: (string | undefined)[] = [];
    const rows = packAccountability(trial.registered, {
      isShown: (pack, id) => {
        if (pack.code === code) asked.push(id);
        return pack.code === code;
      },
      mayKnowOf: ({ participantId }) => participantId !== '001',
    });
    expect([rows, asked]).toEqual([[{ code, state: 'void' }], [undefined]]);
  });
});

describe('accountability as a file', () => {
  const ROW: AccountedPack = {
    ...{ code: '-7', state: 'replaced', id: '=1', visit: 'V2', dispensedAt: '2026-03-01T09:30:00.123Z' },
    ...{ user: '<b>', onBehalfOf: 'Dr "K"', replacedBy: 'P-2', cause: 'lost' },
  };
  const HEAD = 'code,visit,state,id,dispensed_at,user,on_behalf_of,replaced_by,cause';

  it('is comma-separated, and guarded for a spreadsheet', () => {
    const [head, ...rows] = parseCsv([...accountabilityCsv([ROW, { code: 'P-3', state: 'free' }])].join(''));
    expect(head).toEqual(HEAD.split(','));
    expect(rows).toEqual([
      ['-7', 'V2', 'replaced', '=1', '2026-03-01T09:30:00.123Z', '<b>', 'Dr "K"', 'P-2', 'lost'],
      ['P-3', '', 'free', '', '', '', '', '', ''],
    ]);
    const [, guarded] = parseCsv([...accountabilityCsv([ROW], true)].join(''));
    expect([guarded?.[0], guarded?.[3], guarded?.[5]]).toEqual(["'-7", "'=1", '<b>']);
  });

  it('comes in pieces with every pack once', () => {
    const many = Array.from({ length: 2500 }, (_, n): AccountedPack => ({ code: `P-${n}`, state: 'free' }));
    const pieces = [...accountabilityCsv(many)];
    expect(pieces.length).toBeGreaterThan(3);
    expect(
      parseCsv(pieces.join(''))
        .slice(1)
        .map(([code]) => code),
    ).toEqual(many.map(({ code }) => code));
  });

  it('is a page with empty columns to fill in, without arms', () => {
    for (const [act] of WORKED) trial.ask(act);
    const about = { study: '<Study>', isTest: true, revision: 9, at: '2026-03-02T10:00:00.000Z' };
    const page = accountabilityPage([...account(), ROW], about);
    expect(page).toContain('<title>&lt;Study&gt;: accountability of packs</title>');
    expect(page).toContain('Test study');
    expect(page).toContain('As of 2026-03-02 10:00:00 UTC, revision 9');
    for (const head of ['Received', 'Returned', 'Destroyed', 'Initials'])
      expect(page).toContain(`<th>${head}</th>`);
    expect(page).toContain(
      '<tr><td><code>-7</code></td><td>V2</td><td>replaced by P-2 (lost)</td><td>=1</td><td>2026-03-01 09:30:00</td>' +
        '<td>&lt;b&gt;, on behalf of Dr &quot;K&quot;</td><td></td><td></td><td></td><td></td></tr>',
    );
    expect(page.match(/<tr>/g)).toHaveLength(account().length + 2);
    expect(page).not.toMatch(/>[AB]</);
    expect(page).not.toMatch(/<script|src=|href=/);
  });
});

describe('the map of packs', () => {
  const visitOf = (code: string) => packMap(trial.registered).find((one) => one.code === code)?.visit;
  const stock = () => stockOf(trial.registered, packMap(trial.registered));
  const low = () =>
    stock().map(({ treatment, where, free, low: is }) => `${treatment} ${where?.level} ${free} ${is}`);

  it('says for which visit the participant has a pack', () => {
    const { code = '' } = trial.record(dispense('001', 'V2'));
    expect([visitOf(code), visitOf('P-105'), visitOf('P-101')]).toEqual(['V2', undefined, undefined]);
    const { by = '' } = trial.record(replace('001', code));
    expect([visitOf(code), visitOf(by)]).toEqual([undefined, 'V2']);
    trial.record(correct('001', by, null));
    expect(visitOf(by)).toBeUndefined();
  });

  it('says where less is free than three packs and one for each participant who may get one', () => {
    // 001 and Zoë have A, 002 has B. Zoë and 001 are at N, 002 at S.
    expect(low()).toEqual(['A undefined 5 undefined', 'B undefined 5 undefined', 'A N 2 true', 'B N 1 true']);
    trial.record(dispense('002', 'V2'));
    expect(low()[1]).toBe('B undefined 4 undefined');
    trial.record(dispense('002', 'V3'));
    expect(low()[1]).toBe('B undefined 3 true');
  });

  it('counts who lives, at the current levels, by the arm as allocated', () => {
    trial.ask({ act: 'CodesWithdrawn', codes: ['P-101'], reason: 'recall' });
    expect(low()[0]).toBe('A undefined 4 true');
    for (const cause of ['other', 'ineligible', 'never-enrolled'] as const) {
      trial.record(voided(ZOE, cause));
      expect(low()[0], cause).toBe(`A undefined 4 ${cause === 'never-enrolled' ? undefined : true}`);
      trial.record(reinstated(ZOE));
    }
    const list = ['R', 'S', 'T', 'U'].map((code) => ({ code, treatment: 'A' }));
    trial.ask({
      ...{ type: 'register-packs', list: 3, key: '00112233445566778899aabbccddeeff', entries: list },
      where: { factor: 'site', level: 'S' },
    });
    expect(low().at(-1)).toBe('A S 4 undefined');
    for (const id of ['001', ZOE]) trial.record(moved(id));
    expect([low().at(-1), low()[2]]).toEqual(['A S 4 true', 'A N 2 true']);
    trial.amend({ kind: 'level-renamed', factor: 'site', level: 'S', to: 'South' });
    expect(low().at(-1)).toBe('A South 4 true');
  });

  it('says nothing of a stopped arm', () => {
    trial.amend({ kind: 'arm-added', treatment: 'C' });
    trial.amend({ kind: 'arm-closed', treatment: 'A' });
    expect(low()[2]).toBe('A N 2 true');
    trial.amend({ kind: 'arm-stopped', treatment: 'A' });
    expect([low()[2], low()[3]]).toEqual(['A N 2 undefined', 'B N 1 true']);
  });

  it('says nothing of it in a study that never had visits; one pack at an undeclared one is enough', () => {
    trial = visitsTrial({ visits: [] });
    expect(trial.registered.hasVisits).toBe(false);
    expect(low()[2]).toBe('A N 2 undefined');
    trial.record(dispense('001', 'U1', SUPPLY));
    expect(trial.registered.hasVisits).toBe(true);
    expect(low()[2]).toMatch(/true$/);
    // It goes on saying so when the visits were taken away.
    trial = visitsTrial();
    trial.amend({ kind: 'visits', value: [] });
    expect(trial.registered.hasVisits).toBe(true);
    trial = visitsTrial({ visits: [] });
    trial.amend({ kind: 'visits', value: ['V2'] });
    expect(trial.registered.hasVisits).toBe(true);
  });
});
