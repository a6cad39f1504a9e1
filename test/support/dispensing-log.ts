/** Studies in which participants get packs at visits, as bundles of each content. */
import { randomUUID } from 'node:crypto';
import type { StudyConfiguration } from '../../events/study.ts';
import { presentPacks } from '../../projections/enrolled.ts';
import type { Model } from '../../src/core/model/model.ts';
import type { Participant } from '../../src/core/model/participants.ts';
import type { Written } from './acts.ts';
import { APPROVAL, SITE } from './amended-log.ts';
import { OPERATOR } from './facts.ts';
import { beginImport, drawnRows, IMPORT } from './import-facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';
import { correct, dispense, LIST_1, LIST_2, SUPPLY, VISITS_SEED, WORKED, ZOE } from './visits.ts';

const STUDY: StudyConfiguration = {
  ...{ name: 'Visits', mode: 'test', treatments: ['A', 'B'], urnSelection: 'method1' },
  ...{ D: 'range', w: 1, alpha: 0, beta: 1, factors: [{ name: 'site', levels: ['N', 'S'] }] },
  visits: ['V2', 'V3', 'Week 12'],
};

export type SampleLog = BundledStudy<'site' | 'pharmacy' | 'desk' | 'night'>;

/** Where each event of the worked sample is, and of what comes after it. */
export const SAMPLE = {
  ...{ registered: 0, '001': 1, list1: 2, list2: 3, '002': 4, zoe: 5 },
  /** Packs of V2: of 001 P-107, of 002 P-108, which is void until `back`, and P-111. */
  ...{ v2: 6, other: 7, void: 8, again: 9 },
  /** Zoë 3 gets P-110 at Week 12, which was V2, and P-112 at Week 12. */
  ...{ week: 10, moved: 11, week2: 12 },
  /** P-107 by P-202, and 001 moves to S. */
  ...{ replaced: 13, transfer: 14 },
  /** By `pharmacy`: 002 gets P-103, 001 gets P-106. P-108 was for V3 after all. */
  ...{ u1: 15, u1Too: 16, back: 17 },
  /** Code-breaks by P-107, by P-108, and by P-111, which is void from then on. */
  ...{ before: 18, theirs: 19, nobodys: 20, loose: 21 },
  /** 001 is called 01. By `pharmacy`: P-103 was for Week 12, and 001 gets P-101 at V3. */
  ...{ renamed: 22, closed: 23, changed: 24, late: 25 },
} as const;

export function makeSampleLog(folder: string): Promise<SampleLog> {
  return bundledStudy(folder, { configuration: STUDY, seed: VISITS_SEED }, async (issue, submit) => {
    const actors = {
      site: await issue('site', ['blinded', 'randomize']),
      pharmacy: await issue('pharmacy', ['supply', 'read']),
      desk: await issue('desk', ['correct', 'blinded']),
      night: await issue('night', ['unblind', 'blinded']),
    };
    const enrol = (participantId: string, level: string) =>
      submit(actors.site, { type: 'randomize', participantId, levels: [level], user: 'site' });
    const byDesk = ['DispensationCorrected', 'LevelsCorrected'];
    await enrol('001', 'N');
    for (const list of [LIST_1, LIST_2]) await submit(OPERATOR, list);
    await enrol('002', 'S');
    await enrol(ZOE, 'N');
    for (const [act, result] of WORKED) {
      if (typeof act === 'object' && 'type' in act) continue;
      const by = act['isSupply'] ? 'pharmacy' : byDesk.includes(act.act) ? 'desk' : 'site';
      const refused = await submit(actors[by], { ...act, user: by }).catch((error: Error) => error.message);
      if (refused && refused !== `${act.act}: ${result}`) throw new Error(refused);
    }
    const reveal = (code: string) =>
      submit(actors.night, {
        ...{ act: 'AllocationRevealed', code, category: 'emergency', reveal: randomUUID(), user: 'night' },
        grounds: { reason: 'a child swallowed it' },
      });
    await reveal('P-107');
    await reveal('P-108');
    await submit(actors.desk, correct('002', 'P-111', null, { cause: 'not-handed-out' }));
    await reveal('P-111');
    await submit(actors.desk, {
      ...{ act: 'ParticipantIdCorrected', participantId: '001', to: '01', cause: 'entry' },
    });
    await submit(OPERATOR, { act: 'StudyClosed', cause: 'target', reason: 'all are in' });
    await submit(actors.pharmacy, correct('002', 'P-103', 'week 12', SUPPLY));
    await submit(actors.pharmacy, dispense('01', 'v3', SUPPLY));
    return actors;
  });
}

/** What the sample does not have: arms that close and stop, wrong entries, an import, a limited key, a name that changes. */
const LIFE_STUDY: StudyConfiguration = {
  ...STUDY,
  name: 'Life',
  treatments: ['A', 'B', 'Caro'],
  factors: [{ name: SITE, levels: ['N', 'S'] }],
  visits: ['V2', 'V3', 'V4'],
};

type User = 'site' | 'north' | 'pharmacy' | 'desk' | 'night' | 'force';
type By = (user: User | 'operator', command: object) => Promise<void>;
interface Living {
  readonly by: By;
  readonly state: () => Model;
  /** By arm, in the order of enrolment, but for p1. */
  readonly on: (treatment: string, n?: number) => string;
}

const withSupply: readonly string[] = ['pharmacy', 'operator'];
const DISPENSES: readonly string[] = ['PackDispensed', 'DispensationCorrected', 'CodeReplaced'];

const someone = ({ state }: Living, id: string) => state().participants.find(id) as Participant;
const at = (living: Living, id: string, visit: string) =>
  presentPacks(someone(living, id)).find((pack) => pack.visit === visit)?.code ?? '';
const free = ({ state }: Living, arm: string) =>
  state()
    .free.for(['North'], state().design)
    .flatMap(({ code, treatment }) => (treatment === arm ? [code] : []));

/** Done at one revision. */
type Step = (living: Living) => Promise<void>;
const ids = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p9'];
const [ROW] = drawnRows([{ levels: ['N'] }], LIFE_STUDY);
if (!ROW) throw new Error('there is no row');

const enrol =
  (participantId: string, level: string): Step =>
  ({ by }) =>
    by('site', { type: 'randomize', participantId, levels: [level] });
const list =
  (number: number, name: string, counts: Readonly<Record<string, number>>, level?: string): Step =>
  ({ by }) => {
    const arms = Object.entries(counts).flatMap(([treatment, n]) => Array<string>(n).fill(treatment));
    const entries = arms.map((treatment, n) => ({ code: `${name}-${(n * 7) % 101}`, treatment }));
    const where = level && { where: { factor: SITE, level } };
    return by('operator', {
      type: 'register-packs',
      list: number,
      key: `${number}`.repeat(32),
      entries,
      ...where,
    });
  };
type Who = string | ((living: Living) => string);
const whom = (who: Who, living: Living) => (typeof who === 'string' ? who : who(living));
const given =
  (who: Who, visit: string, user: Parameters<By>[0] = 'site'): Step =>
  (living) =>
    living.by(user, { act: 'PackDispensed', participantId: whom(who, living), visit });
const replaced =
  (who: Who, visit: string | null, user: Parameters<By>[0] = 'site'): Step =>
  (living) => {
    const participantId = whom(who, living);
    const code =
      visit === null ? someone(living, participantId).pack?.code : at(living, participantId, visit);
    return living.by(user, { act: 'CodeReplaced', participantId, code, cause: 'damaged' });
  };
const set =
  (who: Who, from: string, to: string | null, user: Parameters<By>[0] = 'desk'): Step =>
  (living) => {
    const participantId = whom(who, living);
    return living.by(user, {
      ...{ act: 'DispensationCorrected', participantId, code: at(living, participantId, from), to },
      ...{ cause: 'not-handed-out', note: 'wrong line' },
    });
  };
const amended =
  (amendment: number, changes: readonly object[], more: object = {}): Step =>
  ({ by }) =>
    by('operator', {
      ...{ type: 'amend', amendment, changes, reason: 'protocol', approvals: [APPROVAL], ...more },
    });
const voided =
  (who: Who, cause: string): Step =>
  (living) =>
    living.by('operator', {
      ...{
        act: 'AllocationVoided',
        cause,
        analysis: 'exclude',
        note: 'so',
        participantId: whom(who, living),
      },
    });
const entered =
  (more: object = {}): Step =>
  ({ by }) =>
    by('force', {
      ...{ type: 'force', participantId: 'F1', treatment: 'A', code: 'M-0', levels: ['North'] },
      ...{ cause: 'outage', occurredAt: new Date().toISOString(), note: 'envelope', ...more },
    });
const revealed =
  (code: string | (() => string)): Step =>
  ({ by }) =>
    by('night', {
      ...{ act: 'AllocationRevealed', code: typeof code === 'string' ? code : code() },
      ...{ category: 'emergency', reveal: randomUUID(), grounds: { reason: 'a child swallowed it' } },
    });
/** All packs of an arm but the last ones. */
const withdrawn =
  (arm: string, left: number): Step =>
  (living) => {
    const codes = free(living, arm);
    const most = codes.slice(0, codes.length - left);
    return living.by('operator', { act: 'CodesWithdrawn', codes: most, reason: 'recalled' });
  };
const [a, b, c, c2] = (
  [
    ['A', 0],
    ['B', 0],
    ['Caro', 0],
    ['Caro', 1],
  ] as const
).map(
  ([arm, n]) =>
    (living: Living) =>
      living.on(arm, n),
) as [Who, Who, Who, Who];
/** The packs of the wrong entry of F1: at V2, and a void one. */
const ofF1: string[] = [];
const noted =
  (visit: string): Step =>
  async (living) => {
    await given('F1', visit, 'pharmacy')(living);
    ofF1.push(at(living, 'F1', visit));
  };

/** What happens after the registration, in order. */
const STEPS = {
  begun: ({ by }) => by('operator', beginImport([ROW], { seedKnown: false }, 0)),
  imported: ({ by }) => by('operator', ROW),
  ended: ({ by }) => by('operator', { type: 'end-import', import: IMPORT }),
  early: enrol('e1', 'N'),
  list1: list(1, 'L', { A: 16, B: 16, Caro: 14 }),
  ...(Object.fromEntries(ids.map((id, n) => [id, enrol(id, n % 2 ? 'S' : 'N')])) as Record<'p1', Step>),
  /** Neither has a pack of the enrolment. */
  ofImported: given('i1', 'V2'),
  ofEarly: given('e1', 'v2', 'north'),
  /** By `north`, which is for those of N. */
  north: given('p1', 'v2', 'north'),
  northVoid: set('p1', 'V2', null, 'north'),
  names: amended(1, [{ kind: 'level-renamed', factor: SITE, level: 'N', to: 'North' }], { history: 'keep' }),
  northAfter: given('p1', 'V2', 'north'),
  transfer: ({ by }) =>
    by('operator', {
      ...{ act: 'LevelsCorrected', participantId: 'p1', cause: 'transfer', note: 'moved' },
      changes: [{ factor: SITE, from: 'North', to: 'S' }],
    }),
  afterTransfer: given('p1', 'V3'),
  cV2: given(c, 'V2'),
  closed: amended(2, [{ kind: 'arm-closed', treatment: 'Caro' }], { history: 'keep' }),
  cV3: given(c, 'V3'),
  refilled: list(2, 'M', { A: 2, Caro: 2 }),
  cU1: given(c, 'U1', 'pharmacy'),
  cReplaced: replaced(c, 'V3'),
  cV9: given(c, 'V9', 'pharmacy'),
  stopped: amended(3, [{ kind: 'arm-stopped', treatment: 'Caro' }]),
  /** A stopped arm gets no packs, but what was recorded of them may be wrong. */
  cSet: set(c, 'V3', 'V4'),
  aV2: given(a, 'V2'),
  visits: amended(
    4,
    [
      { kind: 'visits', value: ['V4', 'V2', 'V3', 'U1'] },
      { kind: 'arm-added', treatment: 'Dora' },
    ],
    { history: 'keep' },
  ),
  list3: list(3, 'N', { Dora: 3 }, 'North'),
  list4: list(4, 'O', { Dora: 4, B: 3, A: 3 }),
  reopened: amended(5, [{ kind: 'arm-reopened', treatment: 'Caro' }], { history: 'keep' }),
  c2V4: given(c2, 'V4'),
  closedAgain: amended(
    6,
    [
      { kind: 'arm-closed', treatment: 'Caro' },
      { kind: 'arm-stopped', treatment: 'Caro' },
    ],
    { history: 'restart' },
  ),
  noCaro: withdrawn('Caro', 0),
  /** There is no pack of the stopped arm, and none is needed. */
  aV4: given(a, 'V4'),
  bV2: given(b, 'V2'),
  bReplaced: replaced(b, 'V2'),
  bDuplicate: voided(b, 'duplicate'),
  bSet: set(b, 'V2', 'V4'),
  bBack: (living) =>
    living.by('operator', { act: 'AllocationReinstated', participantId: whom(b, living), note: 'no' }),
  bV2Again: given(b, 'V2'),
  bIneligible: voided(b, 'ineligible'),
  bV9: given(b, 'V9', 'pharmacy'),
  /** The second further pack of b, the third one by a site, and the fourth. */
  bSecond: replaced(b, 'V2'),
  bThird: replaced(b, null),
  bU1: given(b, 'U1'),
  bVoid: set(b, 'U1', null),
  bU1Again: given(b, 'U1', 'pharmacy'),
  bSupplied: replaced(b, 'U1', 'pharmacy'),
  entered: entered(),
  f1V2: noted('V2'),
  f1V4: noted('V4'),
  f1Void: set('F1', 'V4', null),
  wrong: voided('F1', 'entry'),
  enteredAgain: (living) => entered({ replaces: someone(living, 'F1').revision })(living),
  /** By the packs of the wrong entry, at V2 and the void one, and by the one that both entries name. */
  revealedV2: revealed(() => ofF1.at(-2) ?? ''),
  revealedVoid: revealed(() => ofF1.at(-1) ?? ''),
  revealedBoth: revealed('M-0'),
  f1Again: given('F1', 'V2', 'pharmacy'),
  /** Two packs of Dora are too few for a site, but not for the record of a replacement. */
  twoLeft: withdrawn('Dora', 2),
  low: given('i1', 'V3', 'pharmacy'),
  lowReplaced: replaced('i1', 'V3', 'pharmacy'),
  noneLeft: withdrawn('Dora', 0),
  noneReplaced: replaced('i1', 'V3', 'pharmacy'),
  /** Nobody can declare this visit: it has two spellings. */
  u9: given('p3', 'u9', 'operator'),
  u9Too: given('p1', 'U9', 'operator'),
  more: amended(7, [{ kind: 'visits', value: ['V4', 'V2', 'V3', 'U1', 'V9', 'V5'] }]),
} satisfies Record<string, Step>;

/** Where each event of the life is. */
export const AT = Object.fromEntries(Object.keys(STEPS).map((name, place) => [name, place + 1])) as Record<
  keyof typeof STEPS,
  number
>;

export type LifeLog = BundledStudy<User>;

export function makeDispensingLife(folder: string): Promise<LifeLog> {
  return bundledStudy(
    folder,
    { configuration: LIFE_STUDY, seed: VISITS_SEED },
    async (issue, submit, state) => {
      const actors = {
        site: await issue('site', ['blinded', 'randomize']),
        north: await issue('north', ['blinded', 'randomize', 'correct'], ['N']),
        pharmacy: await issue('pharmacy', ['supply', 'read']),
        desk: await issue('desk', ['correct', 'blinded']),
        night: await issue('night', ['unblind', 'blinded']),
        force: await issue('force', ['force', 'read']),
      };
      const by: By = (user, command) => {
        const supply = 'act' in command && DISPENSES.includes(`${command.act}`);
        return submit(user === 'operator' ? OPERATOR : actors[user], {
          ...{ ...command, user },
          ...(supply && { isSupply: withSupply.includes(user) }),
        } as Written);
      };
      const on = (treatment: string, n = 0) =>
        ids.filter((id) => id !== 'p1' && state().participants.find(id)?.treatment === treatment)[n] ?? '';
      const living = { by, state, on };
      for (const [name, step] of Object.entries(STEPS))
        await step(living).catch((error: Error) => {
          throw new Error(`${name}: ${error.message}`);
        });
      return actors;
    },
  );
}
