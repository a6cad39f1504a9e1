/** What urn import will write: the rows of a file, and how the generator continues. */
import { createHash, randomUUID } from 'node:crypto';
import type { ImportedGenerator, SourceFormat } from '../../events/import.ts';
import type { Approval } from '../../events/text.ts';
import { type Design, hasRatio } from '../../projections/design.ts';
import { quote } from '../base/text.ts';
import { isSame } from '../core/model/import-proof.ts';
import type { Model } from '../core/model/model.ts';
import { Pcg64 } from '../core/random/pcg64.ts';
import type { BeginImport, ImportParticipant } from '../core/study/commands.ts';
import { drawnSeed } from '../core/study/studies.ts';
import { type HistoryRow, readHistory } from '../evidence/import/read-history.ts';
import type { SourceFile } from '../evidence/import/source-file.ts';
import { ImportError, type SourceTable } from '../evidence/import/source-table.ts';
import { type TreatmentMap, treatmentMapOf } from '../evidence/import/treatment-map.ts';
import { UsageError } from './options.ts';

export interface PlanOptions {
  readonly format: SourceFormat;
  readonly generator: ImportedGenerator;
  readonly seedKnown?: boolean;
  /** `THEIRS=OURS`. */
  readonly treatmentMap?: readonly string[];
}

export interface Plan {
  readonly begin: Omit<BeginImport, 'proof'>;
  readonly rows: readonly ImportParticipant[];
}

/**
 * @param state of the study, in which the same import may already be under way
 * @throws ImportError listing every problem in the file; UsageError
 */
export function planOf(
  design: Design,
  state: Model,
  file: SourceFile,
  options: PlanOptions,
  approvals: readonly Approval[],
): Plan {
  if (options.generator === 'continued' && hasRatio(design))
    throw new UsageError(
      '--generator continued: the other system has no ratios and would draw differently, so the generator begins anew (hint: leave it out)',
    );
  const treatmentMap = treatmentMapOf(mapOf(options.treatmentMap ?? []), design);
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
  { format, generator, seedKnown }: PlanOptions,
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
  { seedKnown }: PlanOptions,
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

/** A name may contain a comma: then each pair has an option of its own. */
export function pairsIn(value: string): string[] {
  const parts = value.split(',');
  return parts.every((part) => part.includes('=')) ? parts : [value];
}

/** @throws UsageError */
function mapOf(pairs: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (const pair of pairs) {
    const [from = '', to, ...more] = pair.split('=');
    if (from === '' || to === undefined || to === '' || more.length > 0)
      throw new UsageError(`--treatment-map ${pair} (write THEIRS=OURS, such as ndard=standard)`);
    if (map.has(from))
      throw new UsageError(`--treatment-map: ${quote(from)} is mapped to several treatments`);
    map.set(from, to);
  }
  return map;
}

/** The options of the command that the rows and their proofs depend on, besides the file. */
export function optionsIn({
  source: { format },
  generator,
  seedKnown,
  treatmentMap = [],
}: Pick<BeginImport, 'generator' | 'seedKnown' | 'treatmentMap'> & {
  readonly source: { readonly format: SourceFormat };
}): string {
  return [
    `--format ${format} --generator ${generator}`,
    ...(seedKnown ? ['--seed-known'] : []),
    ...treatmentMap.map(({ from, to }) => `--treatment-map ${quote(`${from}=${to}`)}`),
  ].join(' ');
}
