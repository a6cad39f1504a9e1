/** Packs of medication, with all that can happen to them. Participants with an F were allocated outside. */
import type { Level } from '../../../events/study.ts';
import { CONFIGURATION } from '../facts.ts';
import {
  A,
  amends,
  arm,
  B,
  C,
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  enrols,
  enters,
  FEMALE,
  freePacks,
  type Living,
  lifeOf,
  MALE,
  registersPacks,
  renamedLevel,
  replacesPack,
  reveals,
  SITE,
  voids,
  withdraws,
} from '../life.ts';
import { CITY } from './amended.ts';

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

/** The codes of an arm on a list. */
export const codesOf = (list: number, treatment: string): string[] =>
  (LISTS[list - 1]?.entries ?? []).filter((pack) => pack.treatment === treatment).map(({ code }) => code);

const list = ({ entries, where }: List) => registersPacks(entries, where);
const nextOf = (treatment: string) => (living: Living) => ({
  code: freePacks(living, treatment, [FEMALE, COOK])[0],
});

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
    list1: list(LISTS[0]),
    '002': enrols([FEMALE, COOK]),
    list2: list(LISTS[1]),
    list3: list(LISTS[2]),
    '003': enrols([MALE, COOK]),
    '004': enrols([FEMALE, DUPAGE]),
    ...{ first: replacesPack('nurse', '003'), second: replacesPack('nurse', '003') },
    ...{ third: replacesPack('nurse', '003'), fourth: replacesPack('pharmacy', '003', undefined, 'expired') },
    withdrawn: withdraws('pharmacy', [codesOf(2, A)[0] ?? '', codesOf(2, B)[0] ?? '']),
    F1: enters('desk', A, [FEMALE, COOK], nextOf(A)),
    /** By the first pack of 003, and by a pack that nobody has. */
    revealed: reveals('doctor', { code: 'Q-9' }),
    loose: reveals('doctor', nextOf(B)),
    /** F2, who has the same pack after a wrong entry. */
    wrong: enters('desk', B, [FEMALE, COOK], (living) => ({ participantId: 'F2', ...nextOf(B)(living) })),
    voided: voids('operator', 'F2', 'entry'),
    again: enters('desk', B, [FEMALE, COOK], (living) => ({
      ...{ participantId: 'F2', code: living.model().participants.get('F2')?.pack?.code },
      replaces: living.at['wrong'],
    })),
    /** F3, who has none after a wrong entry. Then the code of that pack is broken. */
    wrongToo: enters('desk', A, [FEMALE, COOK], (living) => ({ participantId: 'F3', ...nextOf(A)(living) })),
    voidedToo: voids('operator', 'F3', 'entry'),
    without: enters('desk', A, [FEMALE, COOK], ({ at }) => ({
      ...{ participantId: 'F3', code: null, replaces: at['wrongToo'] },
    })),
    nobodys: reveals('operator', { code: 'P-6' }),
    amended: amends([renamedLevel(SITE, COOK, CITY), arm.closed(C)], { history: 'keep' }),
    /** All packs of the last arm. */
    recalled: withdraws('operator', (living) => [
      ...new Set([CITY, DUPAGE].flatMap((place) => freePacks(living, C, [FEMALE, place]))),
    ]),
    '005': enrols([MALE, CITY]),
    /** For Chicago. */
    list4: list(LISTS[3]),
    '006': enrols([FEMALE, CITY]),
    /** When the last arm has none. */
    supplied: replacesPack('pharmacy', '006'),
    corrected: corrects('operator', '002', 'source', [change(SITE, CITY, DUPAGE)]),
    closed: closes('operator', { cause: 'target' }),
    late: replacesPack('operator', '002', undefined, 'lost'),
  },
});
