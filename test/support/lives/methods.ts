/**
 * Studies that allocate otherwise than from urns, in which participants with an F were allocated outside; and imports of a
 * history: after an attempt that was given up, and without states of a generator.
 */
import type {
  BgState,
  Method,
  MethodParameters,
  MinimizationParameters,
  StudyConfiguration,
} from '../../../events/study.ts';
import type {
  EndImport,
  ImportParticipant,
  RegisterList,
  SkipEntries,
} from '../../../src/core/study/commands.ts';
import { CONFIGURATION } from '../facts.ts';
import { beginImport, type Drawn, drawnRows, FRESH, IMPORT } from '../import-facts.ts';
import {
  A,
  APPROVAL,
  amends,
  arm,
  asks,
  B,
  byOperator,
  C,
  COOK,
  change,
  corrects,
  DUPAGE,
  enrols,
  enters,
  FEMALE,
  lifeOf,
  MALE,
  ratio,
  recovers,
  registersPacks,
  renamedLevel,
  reveals,
  SEX,
  SITE,
  type Step,
  site,
} from '../life.ts';
import { CHANGES, MCLEAN } from './urns.ts';

const { D: _, urnSelection: __, w, alpha, beta, ...WITHOUT_URNS } = CONFIGURATION;
const keys = { nurse: { scopes: ['blinded', 'randomize'] } } as const;

export interface MethodStudy {
  readonly configuration: StudyConfiguration;
  readonly parameters?: MethodParameters;
}

export function studyOf(
  method: Method,
  perSlot?: readonly number[],
  more: Partial<StudyConfiguration> = {},
): MethodStudy {
  const configuration = { ...WITHOUT_URNS, ...more, method } as StudyConfiguration;
  return { configuration, ...(perSlot && { parameters: { blocks: { perSlot: [...perSlot] } } }) };
}

export function minimizing(
  minimization: MinimizationParameters,
  more: Partial<StudyConfiguration> = {},
): MethodStudy {
  return { ...studyOf({ name: 'minimization' }, undefined, more), parameters: { minimization } };
}

/** A history of another system: two participants, one a second. */
export function imported(...arms: readonly [string, string]) {
  const rows = arms.map(
    (treatment, i): ImportParticipant => ({
      ...{ type: 'import-participant', import: IMPORT, row: i + 1, participantId: `i${i + 1}`, treatment },
      levels: i === 0 ? [MALE, COOK] : [FEMALE, DUPAGE],
      original: { datetime: `2026-01-01 00:00:0${i}`, user: 'dummy' },
    }),
  );
  const source = { format: 'csv', rows: rows.length } as const;
  const begun = beginImport(rows, { source, seed: FRESH, seedKnown: false }, 0);
  const [i1, i2] = rows as [ImportParticipant, ImportParticipant];
  return { begun, i1, i2, ended: { type: 'end-import', import: IMPORT } as const };
}

const entered = enters('operator', A, [FEMALE, COOK]);
const moves = corrects('operator', '001', 'entry', [change(SITE, COOK, DUPAGE)]);

/** Blocks of two sizes by site. */
export const BLOCKS = lifeOf({
  ...{ keys, ...studyOf({ name: 'blocks', by: [SITE] }, [2, 3]) },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, COOK]),
    /** On the first arm, which takes no place. */
    F1: entered,
    '003': enrols([MALE, DUPAGE]),
    /** 001 is of the other site, which moves no place. */
    corrected: moves,
    '004': enrols([FEMALE, COOK]),
    /** 003's site, whose block waits. */
    closed: amends([site.closed(DUPAGE)]),
    '005': enrols([MALE, COOK]),
    reopened: amends([site.reopened(DUPAGE)]),
    '006': enrols([MALE, DUPAGE]),
    /** So all blocks are dropped. */
    armClosed: amends([arm.closed(C)]),
    '007': enrols([MALE, COOK]),
    recovered: recovers,
    /** Of the block of 007. */
    '008': enrols([FEMALE, COOK]),
    ratio: amends([ratio(2, 1, 1), arm.reopened(C)]),
    '009': enrols([MALE, COOK]),
    '010': enrols([MALE, DUPAGE]),
  },
});

export const COMPLETE = lifeOf({
  ...{ keys, ...studyOf({ name: 'complete' }) },
  steps: {
    ...byOperator(imported(B, C)),
    /** At least two packs of each arm. */
    packs: registersPacks([C, A, B, C, A, B, A, B].map((treatment, i) => ({ code: `P-${i}`, treatment }))),
    n1: enrols([MALE, COOK]),
    armClosed: amends([arm.closed(C)]),
    n2: enrols([FEMALE, DUPAGE]),
    ratio: amends([ratio(2, 1, 1)]),
    n3: enrols([FEMALE, COOK]),
  },
});

export const MINIMIZED = lifeOf({
  ...{ keys, ...minimizing({ measure: 'range', pThousandths: 800, weights: [1, 2] }) },
  steps: {
    ...{ '001': enrols([MALE, COOK]), '002': enrols([FEMALE, COOK]), F1: entered },
    ...{ '003': enrols([MALE, DUPAGE]), corrected: moves, '004': enrols([FEMALE, COOK]) },
    armClosed: amends([arm.closed(C)]),
    '005': enrols([MALE, COOK]),
    reopened: amends([arm.reopened(C)]),
    ...{ '006': enrols([MALE, DUPAGE]), '007': enrols([MALE, COOK]) },
  },
});

type Entry = RegisterList['entries'][number];
export const entryOf = (treatment: string, ...levels: string[]): Entry => ({
  ...(levels.length > 0 && { levels }),
  treatment,
});
/** Digests of the files that lists come from. */
export const FILES = ['1'.repeat(64), '2'.repeat(64)] as const;
export const list = (number: number, file: string, first: number, entries: readonly Entry[]) => ({
  ...{ type: 'register-list' as const, list: number, approvals: [APPROVAL], file, first, entries },
});
export const skip = (...skipped: SkipEntries['skipped']) => ({
  ...{ type: 'skip-entries' as const, reason: 'told by the sites', skipped },
});
const lists = (...given: Parameters<typeof list>): Step => asks('operator', list(...given));

/** Lists by site. The comments say which entry was used. */
export const LISTED = lifeOf({
  ...{ keys, ...studyOf({ name: 'list', by: [SITE] }), seed: 'drawn' },
  steps: {
    first: lists(1, FILES[0], 1, [
      ...[entryOf(A, COOK), entryOf(B, DUPAGE), entryOf(B, COOK), entryOf(C, DUPAGE)],
      ...[entryOf(C, COOK), entryOf(A, DUPAGE), entryOf(A, COOK)],
    ]),
    ...byOperator(imported(B, C)),
    /** The first entry of each site. */
    skipped: asks('operator', skip({ levels: [COOK], count: 1 }, { levels: [DUPAGE], count: 1 })),
    /** 3 of the first list. */
    '001': enrols([MALE, COOK]),
    F1: entered,
    /** 4 of the first list. */
    '002': enrols([FEMALE, DUPAGE]),
    corrected: moves,
    /** Of the same file. */
    second: lists(2, FILES[0], 8, [entryOf(B, COOK), entryOf(B, DUPAGE), entryOf(A, DUPAGE)]),
    /** 5 of the first list. */
    '003': enrols([MALE, COOK]),
    recovered: recovers,
    /** Nothing is skipped. */
    none: asks('operator', skip()),
    /** 7 of the first list. */
    '004': enrols([FEMALE, COOK]),
    /** 1 of the second list. */
    '005': enrols([FEMALE, COOK]),
    /** So all entries are void. */
    armClosed: amends([arm.closed(C)]),
    /** Of another file. */
    third: lists(3, FILES[1], 1, [entryOf(B, COOK), entryOf(A, COOK), entryOf(A, DUPAGE)]),
    /** 1 of the third list. */
    '006': enrols([MALE, COOK]),
    /** The site of 006. */
    renamed: amends([renamedLevel(SITE, COOK, 'x')]),
    /** 2 of the third list. */
    '007': enrols([MALE, 'x']),
  },
});

/** An urn, for what belongs to the other methods alone. */
export const URN = lifeOf({
  ...{ keys, configuration: CONFIGURATION },
  steps: { '001': enrols([MALE, COOK]) },
});

export const ATTEMPT = '1b6a53a2-0c9d-4e57-8f1e-2a3b4c5d6e7f';
const importKeys = { ...keys, desk: { scopes: ['unblind'] } } as const;

/** One participant more would not have been randomized. */
const configuration: StudyConfiguration = {
  ...{ ...CONFIGURATION, limits: { total: 12 } },
  policies: { stopAtLimit: true, levelCounts: 'as-corrected' },
};

const MADE: readonly Omit<Drawn, 'levels'>[] = [
  ...[{}, {}, { back: 2 }, { otherArm: true }, {}, { noState: true }],
  ...[{ back: 2, countsBack: 1 }, { ownState: true }, {}, { second: 8 }],
];
const ROWS = drawnRows(
  MADE.map((made, i) => ({ levels: [i % 2 ? FEMALE : MALE, i % 3 ? COOK : DUPAGE], ...made })),
  configuration,
);
const row = (n: number) => ROWS[n - 1] as ImportParticipant;
const of = (attempt: string) => (row: ImportParticipant) => ({ ...row, import: attempt });

export const IMPORTED = lifeOf({
  configuration,
  keys: importKeys,
  steps: {
    ...byOperator({
      attempt: beginImport(ROWS, { import: ATTEMPT, seedKnown: false }, 6),
      /** Nothing is known of the state before it. */
      ...{ first: of(ATTEMPT)(row(1)), second: of(ATTEMPT)(row(2)) },
      aborted: { type: 'end-import', import: ATTEMPT, abortedBecause: 'the reference had this seed' },
      begun: beginImport(
        ROWS,
        { generator: 'continued', bgState: row(9).bgState as BgState, seed: undefined },
        7,
      ),
      /** The last one is from the state after i1: a race. */
      ...{ i1: row(1), i2: row(2), raced: row(3) },
    }),
    /** While the import runs. */
    revealed: reveals('desk', { participantId: 'i2' }),
    ...byOperator({
      /** i7 is from the state after i5, with the counts after the row without a state. */
      ...{ override: row(4), i5: row(5), noState: row(6), i7: row(7), differs: row(8) },
      /** With the largest instant, like the last row. */
      ...{ i9: row(9), last: row(10) },
      ended: { type: 'end-import', import: IMPORT },
    }),
    n1: enrols([FEMALE, COOK]),
    corrected: corrects('operator', 'i2', 'entry', [change(SEX, FEMALE, MALE)]),
    n2: enrols([FEMALE, COOK]),
  },
});

/** Two rows without states of a generator, and the end of their import. */
function foreignImport(id: string, end: Partial<EndImport> = {}) {
  const [one, two] = ROWS.slice(0, 2).map(({ bgState: _, ...row }) => of(id)(row)) as [object, object];
  const source = { format: 'csv', rows: 2 } as const;
  const begun = beginImport(ROWS.slice(0, 2), { import: id, source, seed: FRESH, seedKnown: false }, 0);
  return { begun, one, two, ended: { type: 'end-import', import: id, ...end } };
}

/** A history without states of a generator, and one allocation after it. */
export const FOREIGN = lifeOf({
  configuration,
  keys: importKeys,
  steps: { ...byOperator(foreignImport(IMPORT)), n1: enrols([FEMALE, COOK]) },
});

const { begun, one, two, ended } = foreignImport(ATTEMPT, { abortedBecause: 'rows are missing' });
/** The same, amended before it: its first attempt at an import was given up. */
export const AMENDED_IMPORT = lifeOf({
  configuration,
  keys: importKeys,
  steps: {
    amended: amends(CHANGES.sites),
    ...byOperator({ attempt: begun, first: one, second: two, aborted: ended }),
    ...byOperator(foreignImport(IMPORT)),
    n1: enrols([FEMALE, MCLEAN]),
  },
});
