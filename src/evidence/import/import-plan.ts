/** What urn import will write: the rows of a file, and how the generator continues. */
import { createHash, randomUUID } from 'node:crypto';
import type { Approval } from '../../../events/define.ts';
import type { ImportedGenerator, SourceFormat } from '../../../events/from-outside.ts';
import type { Design } from '../../core/model/design.ts';
import { isSame } from '../../core/model/import-proof.ts';
import type { Model } from '../../core/model/model.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';
import type { BeginImport, ImportParticipant } from '../../core/study/commands.ts';
import { drawnSeed } from '../../core/study/studies.ts';
import { type HistoryRow, readHistory } from './read-history.ts';
import type { SourceFile } from './source-file.ts';
import { ImportError, type SourceTable } from './source-table.ts';
import { type TreatmentMap, treatmentMapOf } from './treatment-map.ts';

export interface ImportOptions {
  readonly format: SourceFormat;
  readonly generator: ImportedGenerator;
  readonly seedKnown?: boolean;
  /** Names of treatments: theirs, and ours. */
  readonly treatmentMap: ReadonlyMap<string, string>;
}

export interface ImportPlan {
  readonly begin: Omit<BeginImport, 'proof'>;
  readonly rows: readonly ImportParticipant[];
}

/**
 * @param state of the study, in which the same import may already be under way
 * @throws ImportError listing every problem in the file
 */
export function planOf(
  design: Design,
  state: Model,
  file: SourceFile,
  options: ImportOptions,
  approvals: readonly Approval[],
): ImportPlan {
  const treatmentMap = treatmentMapOf(options.treatmentMap, design);
  const table = file.table(design.name);
  const history = readHistory(table, design, options.format, treatmentMap);
  const begin = {
    ...beginning(options, history, file, treatmentMap),
    ...{ approvals, askedAt: new Date().toISOString(), amendment: design.amendment },
    ...{ import: state.importing?.import ?? randomUUID() },
  };
  const rows = history.map(({ instant: _, ...row }, place): ImportParticipant => {
    return { type: 'import-participant', import: begin.import, place, ...row };
  });
  if (!state.importing) refuseOtherSeed(options, table.settings, state);
  return { begin, rows };
}

function beginning(
  { format, generator, seedKnown }: ImportOptions,
  history: readonly HistoryRow[],
  { bytes }: SourceFile,
  treatmentMap: TreatmentMap,
): Omit<BeginImport, 'proof' | 'import' | 'approvals'> {
  const seed = generator === 'fresh' ? drawnSeed() : undefined;
  const bgState = seed === undefined ? lastState(history) : Pcg64.fromSeed(seed).snapshot();
  if (!bgState)
    throw new ImportError([
      'the row with the largest instant has no state, so the generator cannot continue',
    ]);
  const pairs = [...treatmentMap].map(([from, named]) => ({ from, ...named }));
  return {
    type: 'begin-import',
    source: { format, rows: history.length },
    sha256: createHash('sha256').update(bytes).digest('hex'),
    ...(pairs.length > 0 && { treatmentMap: pairs }),
    ...{ generator, bgState, seed, seedKnown },
  };
}

/** Among rows with the same instant, the reference continues from the first. */
function lastState(history: readonly HistoryRow[]) {
  const last = history.at(-1)?.instant;
  return history.find(({ instant }) => instant === last)?.bgState;
}

/** @throws ImportError when the other system's database has a different seed from the study */
function refuseOtherSeed(
  { seedKnown }: ImportOptions,
  settings: SourceTable['settings'],
  { seedState }: Model,
): void {
  const seed = settings?.get('starting_seed') ?? '';
  if (
    !seedKnown ||
    !settings ||
    !seedState ||
    (/^\d+$/.test(seed) && isSame(Pcg64.fromSeed(BigInt(seed)).snapshot(), seedState))
  )
    return;
  throw new ImportError([
    `the database ${seed === '' ? 'has no starting_seed' : 'has a different starting_seed from the study'} (hint: leave out --seed-known)`,
  ]);
}
