/** A study into which a history was imported, after an attempt that was given up, as bundles of each content. */
import { randomUUID } from 'node:crypto';
import type { DesignChange } from '../../events/amendment.ts';
import type { BgState, StudyConfiguration } from '../../events/study.ts';
import { Counts } from '../../src/core/methods/counts.ts';
import { allocate } from '../../src/core/methods/urn/allocate.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import type { EndImport, ImportParticipant } from '../../src/core/study/commands.ts';
import type { Written } from './acts.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { beginImport, FRESH, IMPORT } from './import-facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';
import { urnOf } from './urn-study.ts';

export const ATTEMPT = '1b6a53a2-0c9d-4e57-8f1e-2a3b4c5d6e7f';
const LEVELS = CONFIGURATION.factors.map(({ levels }) => levels) as [[string, string], [string, string]];
const [[MALE, FEMALE], [COOK]] = LEVELS;

/** One participant more would not have been randomized. */
const IMPORTED_STUDY: StudyConfiguration = {
  ...CONFIGURATION,
  limits: { total: 12 },
  policies: { stopAtLimit: true, levelCounts: 'as-corrected' },
};

/** Where each event of the log is. */
export const AT = {
  registered: 0,
  attempt: 1,
  /** Nothing is known of the state before it. */
  first: 2,
  second: 3,
  aborted: 4,
  begun: 5,
  i1: 6,
  i2: 7,
  /** From the state after i1: a race. */
  raced: 8,
  /** The code of i2, while the import runs. By `desk`. */
  revealed: 9,
  override: 10,
  i5: 11,
  noState: 12,
  /** From the state after i5, with the counts after the row without a state. */
  i7: 13,
  differs: 14,
  /** With the largest instant, like the last row. */
  i9: 15,
  last: 16,
  ended: 17,
  n1: 18,
  /** i2 is male. */
  corrected: 19,
  n2: 20,
} as const;

interface Made {
  /** How many rows before it the state is from, and the counts. */
  readonly back?: number;
  readonly countsBack?: number;
  /** The reference gave another arm, recorded no state, or one that nothing leads to. */
  readonly otherArm?: boolean;
  readonly noState?: boolean;
  readonly ownState?: boolean;
  readonly second?: number;
}

/** What the reference would have written. */
function madeRows(rows: readonly Made[]): ImportParticipant[] {
  const counts = new Counts(urnOf(IMPORTED_STUDY));
  const states: (BgState | undefined)[] = [Pcg64.fromSeed(SEED).snapshot()];
  const before = [counts.fork()];
  return rows.map((made, i) => {
    const { back = 1, countsBack = back, second = i } = made;
    const levelIndexes = [i % 2, i % 3 === 0 ? 1 : 0];
    const [state, known] = [states[i + 1 - back], before[i + 1 - countsBack]];
    if (!state || !known) throw new Error(`nothing is known ${back} rows before row ${i + 1}`);
    const { draw, slot } = allocate(urnOf(IMPORTED_STUDY), known, levelIndexes, state);
    const arm = made.otherArm ? (slot + 1) % IMPORTED_STUDY.treatments.length : slot;
    const after = made.ownState ? Pcg64.fromSeed(5n).snapshot() : draw.bgStateAfter;
    counts.add(levelIndexes, arm);
    before.push(counts.fork());
    states.push(made.noState ? undefined : after);
    return {
      ...{ type: 'import-participant', import: IMPORT, row: i + 1, participantId: `i${i + 1}` },
      levels: levelIndexes.map((level, factor) => LEVELS[factor]?.[level] ?? ''),
      treatment: IMPORTED_STUDY.treatments[arm] ?? '',
      ...(!made.noState && { bgState: after }),
      original: { datetime: `2026-01-01 00:00:${String(second).padStart(2, '0')}.000001`, user: 'dummy' },
    };
  });
}

const ROWS = madeRows([
  ...[{}, {}, { back: 2 }, { otherArm: true }, {}, { noState: true }],
  ...[{ back: 2, countsBack: 1 }, { ownState: true }, {}, { second: 8 }],
]);

export type ImportedLog = BundledStudy<'nurse' | 'desk'>;

export function makeImportedLog(folder: string): Promise<ImportedLog> {
  return bundledStudy(folder, { configuration: IMPORTED_STUDY, seed: SEED }, async (issue, submit) => {
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      desk: await issue('desk', ['unblind']),
    };
    const byOperator = async (...commands: Written[]) => {
      for (const command of commands) await submit(OPERATOR, command);
    };
    const enrol = (participantId: string) =>
      submit(actors.nurse, {
        ...{ type: 'randomize', participantId, levels: [FEMALE, COOK], user: 'nurse' },
      });
    const bgState = ROWS[8]?.bgState;
    if (!bgState) throw new Error('the row with the largest instant has no state');
    const attempted = ROWS.slice(0, 2).map((row) => ({ ...row, import: ATTEMPT }));
    await byOperator(
      beginImport(ROWS, { import: ATTEMPT, seedKnown: false }, 6),
      ...attempted,
      { type: 'end-import', import: ATTEMPT, abortedBecause: 'the reference had this seed' },
      beginImport(ROWS, { generator: 'continued', bgState, seed: undefined }, 7),
      ...ROWS.slice(0, 3),
    );
    await submit(actors.desk, {
      ...{ act: 'AllocationRevealed', participantId: 'i2', category: 'emergency', reveal: randomUUID() },
      ...{ grounds: { reason: 'anaphylaxis' }, user: 'desk' },
    });
    await byOperator(...ROWS.slice(3), { type: 'end-import', import: IMPORT });
    await enrol('n1');
    const toMale = [{ factor: '10', from: FEMALE, to: MALE }];
    await byOperator({
      ...{ act: 'LevelsCorrected', participantId: 'i2', cause: 'entry', changes: toMale },
      ...{ note: 'source document', user: 'operator' },
    });
    await enrol('n2');
    return actors;
  });
}

/** Two rows without states of a generator, and the end of their import. */
function foreignImport(id: string, end: Partial<EndImport> = {}): Written[] {
  const rows = ROWS.slice(0, 2).map(({ bgState: _, ...row }) => ({ ...row, import: id }));
  const source = { format: 'csv', rows: 2 } as const;
  return [
    beginImport(rows, { import: id, source, seed: FRESH, seedKnown: false }, 0),
    ...rows,
    { type: 'end-import', import: id, ...end },
  ];
}

/**
 * A study whose history came without states of a generator: two rows and one allocation after them.
 * @param before is done first
 */
export function makeForeignLog(
  folder: string,
  before: readonly Written[] = [],
  site: string = COOK,
): Promise<BundledStudy<'nurse'>> {
  return bundledStudy(folder, { configuration: IMPORTED_STUDY, seed: SEED }, async (issue, submit) => {
    const actors = { nurse: await issue('nurse', ['blinded', 'randomize']) };
    for (const command of [...before, ...foreignImport(IMPORT)]) await submit(OPERATOR, command);
    await submit(actors.nurse, {
      ...{ type: 'randomize', participantId: 'n1', levels: [FEMALE, site], user: 'nurse' },
    });
    return actors;
  });
}

/** The same study, amended before it: its first attempt at an import was given up. */
export function makeAmendedImport(
  folder: string,
  changes: readonly DesignChange[],
  site: string,
): Promise<BundledStudy<'nurse'>> {
  const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-01' }];
  const amend = { type: 'amend', user: 'operator', amendment: 1, changes, approvals } as const;
  const attempt = foreignImport(ATTEMPT, { abortedBecause: 'rows are missing' });
  return makeForeignLog(folder, [{ ...amend, reason: 'protocol 3' }, ...attempt], site);
}
