/** Packs of medication: of the enrolment, the worked sample of visits with what comes after it, and a longer life. */
import type { Level, StudyConfiguration } from '../../../events/study.ts';
import { CONFIGURATION } from '../facts.ts';
import { beginImport, drawnRows, IMPORT } from '../import-facts.ts';
import {
  A,
  acts,
  amends,
  arm,
  asks,
  B,
  C,
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  dispenses,
  enrols,
  enters,
  FEMALE,
  freePacks,
  type Living,
  lifeOf,
  MALE,
  now,
  packOf,
  registersPacks,
  reinstates,
  renamedLevel,
  renames,
  replacesPack,
  reveals,
  SITE,
  type Step,
  visits,
  voids,
  withdraws,
} from '../life.ts';
import { correct, LIST_1, LIST_2, VISITS_SEED, WORKED, ZOE } from '../visits.ts';
import { CITY } from './urns.ts';

/** Packs of each of these arms, which are numbered through all arms. */
const packs = (name: string, number: number, arms: readonly string[]) =>
  arms.flatMap((treatment, place) =>
    Array.from({ length: number }, (_, n) => ({ code: `${name}-${n * arms.length + place}`, treatment })),
  );

interface List {
  readonly where?: Level;
  readonly entries: readonly { readonly code: string; readonly treatment: string }[];
}
/** The lists of the study, in order. */
export const LISTS = [
  { entries: packs('P', 8, [A, B, C]) },
  { where: { factor: SITE, level: COOK }, entries: packs('Q', 4, [A, B, C]) },
  { where: { factor: SITE, level: DUPAGE }, entries: packs('R', 4, [A, B, C]) },
  { where: { factor: SITE, level: CITY }, entries: packs('S', 3, [A, B]) },
] as const satisfies readonly List[];

const registers = ({ entries, where }: List) => registersPacks(entries, where);
const nextOf = (treatment: string) => (living: Living) => ({
  code: freePacks(living, treatment, [FEMALE, COOK])[0],
});

/** All that can happen to packs of the enrolment. Participants with an F were allocated outside. */
export const PACKS = lifeOf({
  configuration: CONFIGURATION,
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    // Limited to Cook County, which becomes Chicago.
    pharmacy: { scopes: ['supply', 'read'], sites: [COOK] },
    desk: { scopes: ['force', 'read'] },
    doctor: { scopes: ['unblind', 'blinded'], sites: [COOK] },
  },
  steps: {
    /** Without a pack. */
    '001': enrols([FEMALE, COOK]),
    list1: registers(LISTS[0]),
    '002': enrols([FEMALE, COOK]),
    list2: registers(LISTS[1]),
    list3: registers(LISTS[2]),
    '003': enrols([MALE, COOK]),
    '004': enrols([FEMALE, DUPAGE]),
    ...{ first: replacesPack('nurse', '003'), second: replacesPack('nurse', '003') },
    ...{ third: replacesPack('nurse', '003'), fourth: replacesPack('pharmacy', '003', undefined, 'expired') },
    withdrawn: withdraws('pharmacy', ['Q-0', 'Q-1']),
    F1: enters('desk', A, [FEMALE, COOK], nextOf(A)),
    /** By the first pack of 003, and by a pack that nobody has. */
    revealed: reveals('doctor', { code: 'Q-9' }),
    loose: reveals('doctor', nextOf(B)),
    amended: amends([renamedLevel(SITE, COOK, CITY), arm.closed(C)], { history: 'keep' }),
    /** All packs of the last arm. */
    recalled: withdraws('operator', (living) => [
      ...new Set([CITY, DUPAGE].flatMap((place) => freePacks(living, C, [FEMALE, place]))),
    ]),
    '005': enrols([MALE, CITY]),
    /** For Chicago. */
    list4: registers(LISTS[3]),
    '006': enrols([FEMALE, CITY]),
    /** When the last arm has none. */
    supplied: replacesPack('pharmacy', '006'),
    corrected: corrects('operator', '002', 'source', [change(SITE, CITY, DUPAGE)]),
    closed: closes('operator', { cause: 'target' }),
    late: replacesPack('operator', '002', undefined, 'lost'),
  },
});

const STUDY: StudyConfiguration = {
  ...{ name: 'Visits', mode: 'test', treatments: ['A', 'B'], urnSelection: 'method1' },
  ...{ D: 'range', w: 1, alpha: 0, beta: 1, factors: [{ name: 'site', levels: ['N', 'S'] }] },
  visits: ['V2', 'V3', 'Week 12'],
};

/** An act of the worked sample, by whoever may. */
const worked = (number: number): Step => {
  const recorded = WORKED.filter(([, gives]) => !['unfit', 'no-code'].includes(gives));
  const [act] = recorded[number] ?? [{}];
  const name = 'act' in act ? `${act.act}` : '';
  const isDesk = ['DispensationCorrected', 'LevelsCorrected'].includes(name);
  return asks('isSupply' in act ? 'pharmacy' : isDesk ? 'desk' : 'nurse', act);
};
const byCode = (code: string) => reveals('night', { code });

export const SAMPLE = lifeOf({
  ...{ configuration: STUDY, seed: VISITS_SEED },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    pharmacy: { scopes: ['supply', 'read'] },
    desk: { scopes: ['correct', 'blinded'] },
    night: { scopes: ['unblind', 'blinded'] },
  },
  steps: {
    '001': enrols(['N']),
    ...{ list1: asks('operator', LIST_1), list2: asks('operator', LIST_2) },
    '002': enrols(['S']),
    [ZOE]: enrols(['N']),
    /** Packs of V2: of 001 P-107, of 002 P-108, which is void until `back`, and P-111. */
    ...{ v2: worked(0), other: worked(1), void: worked(2), again: worked(3) },
    /** Zoë 3 gets P-110 at Week 12, which was V2, and P-112 at Week 12. */
    ...{ week: worked(4), moved: worked(5), week2: worked(6) },
    /** P-107 by P-202, and 001 moves to S. */
    ...{ replaced: worked(7), transfer: worked(8) },
    /** By `pharmacy`: 002 gets P-103, 001 gets P-106. P-108 was for V3 after all. */
    ...{ u1: worked(9), u1Too: worked(10), back: worked(11) },
    ...{ before: byCode('P-107'), theirs: byCode('P-108') },
    /** P-111 is void from then on. */
    nobodys: asks('desk', correct('002', 'P-111', null, { cause: 'not-handed-out' })),
    loose: byCode('P-111'),
    renamed: renames('desk', '001', '01'),
    closed: closes('operator', { cause: 'target' }),
    /** P-103 was for Week 12, and 001 gets P-101 at V3. */
    changed: asks('pharmacy', correct('002', 'P-103', 'week 12')),
    late: dispenses('pharmacy', '01', 'v3'),
  },
});

/** What the sample does not have: arms that close and stop, wrong entries, an import, a limited key, a name that changes. */
const LIFE_STUDY: StudyConfiguration = {
  ...{ ...STUDY, name: 'Life', treatments: ['A', 'B', 'Caro'], visits: ['V2', 'V3', 'V4'] },
  factors: [{ name: SITE, levels: ['N', 'S'] }],
};
const ids = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p9'];
const [ROW] = drawnRows([{ levels: ['N'] }], LIFE_STUDY);
if (!ROW) throw new Error('there is no row');

/** By arm, in the order of enrolment, but for p1. */
const on =
  (treatment: string, n = 0) =>
  ({ model }: Living) =>
    ids.filter((id) => id !== 'p1' && model().participants.find(id)?.treatment === treatment)[n] ?? '';
const [a, b, c, c2] = [on('A'), on('B'), on('Caro'), on('Caro', 1)];
const list = (name: string, counts: Readonly<Record<string, number>>, level?: string): Step => {
  const arms = Object.entries(counts).flatMap(([treatment, n]) => Array<string>(n).fill(treatment));
  const entries = arms.map((treatment, n) => ({ code: `${name}-${(n * 7) % 101}`, treatment }));
  return registersPacks(entries, level === undefined ? undefined : { factor: SITE, level });
};
type Who = Parameters<typeof dispenses>[1];
const given = (who: Who, visit: string, user = 'nurse') => dispenses(user, who, visit);
const set = (who: Who, from: string, to: string | null, user = 'desk'): Step =>
  acts(user, 'DispensationCorrected', who, (living) => ({
    ...{ code: packOf(living, typeof who === 'string' ? who : who(living, ''), from), to },
    ...{ cause: 'not-handed-out', note: 'wrong line' },
  }));
const entered = (more: (living: Living) => object = () => ({})): Step =>
  enters('force', 'A', ['North'], (living) => ({
    ...{ participantId: 'F1', code: 'M-0', occurredAt: now(), ...more(living) },
  }));
/** All packs of an arm but the last ones. */
const leaves = (treatment: string, left: number) =>
  withdraws('operator', (living) => {
    const codes = freePacks(living, treatment, ['North']);
    return codes.slice(0, codes.length - left);
  });
const keep = { history: 'keep' };

export const LIFE = lifeOf({
  ...{ configuration: LIFE_STUDY, seed: VISITS_SEED },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    north: { scopes: ['blinded', 'randomize', 'correct'], sites: ['N'] },
    pharmacy: { scopes: ['supply', 'read'] },
    desk: { scopes: ['correct', 'blinded'] },
    night: { scopes: ['unblind', 'blinded'] },
    force: { scopes: ['force', 'read'] },
  },
  steps: {
    begun: asks('operator', beginImport([ROW], { seedKnown: false }, 0)),
    imported: asks('operator', ROW),
    ended: asks('operator', { type: 'end-import', import: IMPORT }),
    e1: enrols(['N']),
    list1: list('L', { A: 16, B: 16, Caro: 14 }),
    ...(Object.fromEntries(ids.map((id, n) => [id, enrols([n % 2 ? 'S' : 'N'])])) as Record<'p1', Step>),
    /** Neither has a pack of the enrolment. */
    ...{ ofImported: given('i1', 'V2'), ofEarly: given('e1', 'v2', 'north') },
    ...{ north: given('p1', 'v2', 'north'), northVoid: set('p1', 'V2', null, 'north') },
    names: amends([renamedLevel(SITE, 'N', 'North')], keep),
    northAfter: given('p1', 'V2', 'north'),
    transfer: corrects('operator', 'p1', 'transfer', [change(SITE, 'North', 'S')]),
    afterTransfer: given('p1', 'V3'),
    cV2: given(c, 'V2'),
    closed: amends([arm.closed('Caro')], keep),
    cV3: given(c, 'V3'),
    refilled: list('M', { A: 2, Caro: 2 }),
    cU1: given(c, 'U1', 'pharmacy'),
    cReplaced: replacesPack('nurse', c, 'V3'),
    cV9: given(c, 'V9', 'pharmacy'),
    stopped: amends([arm.stopped('Caro')]),
    /** A stopped arm gets no packs, but what was recorded of them may be wrong. */
    cSet: set(c, 'V3', 'V4'),
    aV2: given(a, 'V2'),
    visits: amends([visits('V4', 'V2', 'V3', 'U1'), arm.added('Dora')], keep),
    list3: list('N', { Dora: 3 }, 'North'),
    list4: list('O', { Dora: 4, B: 3, A: 3 }),
    reopened: amends([arm.reopened('Caro')], keep),
    c2V4: given(c2, 'V4'),
    closedAgain: amends([arm.closed('Caro'), arm.stopped('Caro')], { history: 'restart' }),
    noCaro: leaves('Caro', 0),
    /** There is no pack of the stopped arm, and none is needed. */
    aV4: given(a, 'V4'),
    bV2: given(b, 'V2'),
    bReplaced: replacesPack('nurse', b, 'V2'),
    bDuplicate: voids('operator', b, 'duplicate'),
    bSet: set(b, 'V2', 'V4'),
    bBack: reinstates('operator', b),
    bV2Again: given(b, 'V2'),
    bIneligible: voids('operator', b, 'ineligible'),
    bV9: given(b, 'V9', 'pharmacy'),
    /** The second further pack of b, the third one by a site, and the fourth. */
    ...{ bSecond: replacesPack('nurse', b, 'V2'), bThird: replacesPack('nurse', b), bU1: given(b, 'U1') },
    bVoid: set(b, 'U1', null),
    bU1Again: given(b, 'U1', 'pharmacy'),
    bSupplied: replacesPack('pharmacy', b, 'U1'),
    F1: entered(),
    ...{ f1V2: given('F1', 'V2', 'pharmacy'), f1V4: given('F1', 'V4', 'pharmacy') },
    f1Void: set('F1', 'V4', null),
    wrong: voids('operator', 'F1', 'entry'),
    enteredAgain: entered(({ at }) => ({ replaces: at['F1'] })),
    /** By the packs of the wrong entry, at V2 and the void one, and by the one that both entries name. */
    ...{ revealedV2: byCode('L-0'), revealedVoid: byCode('L-70'), revealedBoth: byCode('M-0') },
    f1Again: given('F1', 'V2', 'pharmacy'),
    /** Two packs of Dora are too few for a site. */
    twoLeft: leaves('Dora', 2),
    low: given('i1', 'V3', 'pharmacy'),
    lowReplaced: replacesPack('pharmacy', 'i1', 'V3'),
    noneLeft: leaves('Dora', 0),
    noneReplaced: replacesPack('pharmacy', 'i1', 'V3'),
    /** Nobody can declare this visit: it has two spellings. */
    ...{ u9: given('p3', 'u9', 'operator'), u9Too: given('p1', 'U9', 'operator') },
    more: amends([visits('V4', 'V2', 'V3', 'U1', 'V9', 'V5')]),
  },
});
