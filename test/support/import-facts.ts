/** Commands that import a history into the study of facts.ts: its participants as the service itself would draw them. */
import type { BgState, StudyConfiguration } from '../../events/study.ts';
import { Counts } from '../../src/core/methods/memory.ts';
import { allocate } from '../../src/core/methods/urn.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import type { BeginImport, ImportParticipant } from '../../src/core/study/commands.ts';
import { CONFIGURATION, LEVELS, SEED } from './facts.ts';
import { urnOf } from './urn-study.ts';

export const IMPORT = '6d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d';
export const FRESH = 9n << 100n;

/** A second for each row. */
const datetimeOf = (row: number) =>
  new Date(Date.UTC(2026, 0, 1, 0, 0, row)).toISOString().replace('T', ' ').replace('.000Z', '.000001');

export interface Drawn {
  readonly levels?: readonly string[];
  /** How many rows before it the state is from: 1, the row before, unless two requests raced. */
  readonly back?: number;
  /** How many rows before it the counts are from. */
  readonly countsBack?: number;
  /** The reference gave another arm, recorded no state, or one that nothing leads to. */
  readonly otherArm?: boolean;
  readonly noState?: boolean;
  readonly ownState?: boolean;
  /** Default: the number of rows before it. */
  readonly second?: number;
}

/** What the reference would have written, row by row. */
export function drawnRows(
  rows: readonly Drawn[],
  configuration: StudyConfiguration = CONFIGURATION,
): ImportParticipant[] {
  const urn = urnOf(configuration);
  const counts = new Counts(urn);
  const states: (BgState | undefined)[] = [Pcg64.fromSeed(SEED).snapshot()];
  const before: Counts[] = [counts.fork()];
  return rows.map(({ levels = LEVELS, back = 1, countsBack = back, second, ...made }, i) => {
    const indexes = levels.map((level, f) => configuration.factors[f]?.levels.indexOf(level) ?? -1);
    const known = before[i + 1 - countsBack] ?? counts;
    const state = states[i + 1 - back] ?? states[0];
    if (!state) throw new Error('no state');
    const { draw, slot } = allocate(urn, known, indexes, state);
    const arm = made.otherArm ? (slot + 1) % configuration.treatments.length : slot;
    const bgState = made.ownState ? Pcg64.fromSeed(5n).snapshot() : draw.bgStateAfter;
    counts.add(indexes, arm);
    before.push(counts.fork());
    states.push(made.noState ? undefined : bgState);
    return {
      ...{ type: 'import-participant', import: IMPORT, row: i + 1, participantId: `i${i + 1}` },
      ...{ levels, treatment: configuration.treatments[arm] ?? '', ...(!made.noState && { bgState }) },
      original: { datetime: datetimeOf(second ?? i), user: 'dummy' },
    };
  });
}

/** @param redrawn how many of the rows can be drawn again; default: all */
export function beginImport(
  rows: readonly ImportParticipant[],
  more: Partial<BeginImport> = {},
  redrawn = rows.length,
): BeginImport {
  return {
    ...{ type: 'begin-import', import: IMPORT, source: { format: 'reference', rows: rows.length } },
    ...{ sha256: '0'.repeat(64), generator: 'fresh', seedKnown: true, seed: FRESH },
    bgState: Pcg64.fromSeed(FRESH).snapshot(),
    proof: { redrawn, unproven: rows.length - redrawn },
    approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-01' }],
    ...more,
  };
}
