/** Imports of a history: after an attempt that was given up, and without states of a generator. */
import type { BgState, StudyConfiguration } from '../../../events/study.ts';
import type { EndImport, ImportParticipant } from '../../../src/core/study/commands.ts';
import { CONFIGURATION } from '../facts.ts';
import { beginImport, type Drawn, drawnRows, FRESH, IMPORT } from '../import-facts.ts';
import {
  amends,
  byOperator,
  COOK,
  change,
  corrects,
  DUPAGE,
  enrols,
  FEMALE,
  lifeOf,
  MALE,
  reveals,
  SEX,
} from '../life.ts';
import { CHANGES, MCLEAN } from './amended.ts';

export const ATTEMPT = '1b6a53a2-0c9d-4e57-8f1e-2a3b4c5d6e7f';
const keys = { nurse: { scopes: ['blinded', 'randomize'] }, desk: { scopes: ['unblind'] } } as const;

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
  keys,
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
  keys,
  steps: { ...byOperator(foreignImport(IMPORT)), n1: enrols([FEMALE, COOK]) },
});

const { begun, one, two, ended } = foreignImport(ATTEMPT, { abortedBecause: 'rows are missing' });
/** The same, amended before it: its first attempt at an import was given up. */
export const AMENDED_IMPORT = lifeOf({
  configuration,
  keys,
  steps: {
    amended: amends(CHANGES.sites),
    ...byOperator({ attempt: begun, first: one, second: two, aborted: ended }),
    ...byOperator(foreignImport(IMPORT)),
    n1: enrols([FEMALE, MCLEAN]),
  },
});
