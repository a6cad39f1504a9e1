/** Reads a file of allocations that were made elsewhere, finds every problem in it, and cuts it into lists that records hold. */
import { hash } from 'node:crypto';
import { canonicalJson } from '../../../events/record.ts';
import { quote } from '../../base/text.ts';
import { counted, nearestTo, plural } from '../../base/wording.ts';
import { type Factor, openTreatments } from '../../core/model/design.ts';
import { noSuchLevel } from '../../core/model/limits.ts';
import type { Model } from '../../core/model/model.ts';
import { MAX_ENTRIES, MAX_ENTRY_BYTES } from '../../core/model/packs.ts';
import type { RegisterList } from '../../core/study/commands.ts';
import { bytesOf, type CsvRow, csvRows } from './csv-file.ts';
import { listWarnings } from './list-warnings.ts';
import { ImportError } from './source-table.ts';

type Entry = RegisterList['entries'][number];

/** Entries that one record can hold. */
export interface ListPart {
  /** Row of the first one, from 1. */
  readonly first: number;
  readonly entries: readonly Entry[];
}

export interface ListFile {
  readonly sha256: string;
  readonly parts: readonly ListPart[];
  /** How many rows are new, and how many the study has already. */
  readonly added: number;
  readonly known: number;
  readonly warnings: readonly string[];
}

const TREATMENT = 'treatment';

const USED_ANEW =
  'this file was registered before the list began anew, and it begins from its first row: whoever saw arms then knows those that come now (hint: have another list made)';

/**
 * @param ignored columns that are not read
 * @throws ImportError listing every problem in the file
 */
export function readListFile(path: string, ignored: readonly string[], state: Model): ListFile {
  const bytes = bytesOf(path);
  const sha256 = hash('sha256', bytes);
  const [header, ...rows] = csvRows(bytes);
  const factors = stratifying(state);
  const columns = header?.cells ?? [];
  const wrongColumns = columnProblems(columns, ignored, factors);
  if (wrongColumns.length > 0) throw new ImportError(wrongColumns);
  const read = (row: CsvRow) => entryOf(row, columns, factors);
  const known = state.entries.rowsOf(sha256);
  const added = rows.slice(known);
  const problems = added.flatMap((row) => {
    const why = rowProblems(row, columns, read(row), factors, state);
    return why.length > 0 ? [`${path}, line ${row.line}: ${why.join('; ')}`] : [];
  });
  const entries = rows.map(read);
  if (rows.length === 0) problems.push('the file has no entries');
  else
    for (const arm of openTreatments(state.design))
      if (!entries.some(({ treatment }) => treatment === arm))
        problems.push(`no entry is of the arm ${quote(arm)}, which is open`);
  if (problems.length > 0) throw new ImportError(problems);
  const fresh = entries.slice(known);
  const isUsedAnew = known === 0 && state.entries.knows(sha256);
  return {
    ...{ sha256, known, added: fresh.length, parts: partsOf(fresh, known + 1) },
    warnings: [
      ...(isUsedAnew ? [USED_ANEW] : []),
      ...(fresh.length > 0 ? listWarnings(fresh, factors, state) : []),
    ],
  };
}

/** The factors whose levels make a stratum, in the order of the design. */
function stratifying({ design, methodDesign }: Model): readonly Factor[] {
  return methodDesign.method === 'list' ? methodDesign.by.flatMap((at) => design.factors[at] ?? []) : [];
}

function columnProblems(
  columns: readonly string[],
  ignored: readonly string[],
  factors: readonly Factor[],
): string[] {
  const wanted = [TREATMENT, ...factors.map(({ name }) => name)];
  const others = columns.filter((name) => !wanted.includes(name));
  const unread = others.filter((name) => !ignored.includes(name));
  const problems = wanted.flatMap((name) => {
    const found = columns.filter((column) => column === name).length;
    if (found === 1) return [];
    const near = found === 0 ? nearestTo(name, unread) : undefined;
    const hint = near === undefined ? '' : ` (hint: the column ${quote(near)} may be meant)`;
    return [
      found === 0
        ? `there is no column ${quote(name)}${hint}`
        : `the column ${quote(name)} is there ${found} times`,
    ];
  });
  if (unread.length > 0) {
    // While a column is missing, one of these may be meant.
    const hint = problems.length === 0 ? ` (hint: --ignore ${quote(unread.join(','))})` : '';
    problems.push(
      `${unread.map(quote).join(', ')}: no ${plural(unread.length, 'column', 'columns')} of a list of this study, which has ${wanted.join(', ')}${hint}`,
    );
  }
  for (const name of ignored)
    if (wanted.includes(name)) problems.push(`--ignore ${name}: the list needs this column`);
    else if (!others.includes(name)) problems.push(`--ignore ${name}: there is no such column`);
  return problems;
}

function entryOf({ cells }: CsvRow, columns: readonly string[], factors: readonly Factor[]): Entry {
  const cell = (name: string) => cells[columns.indexOf(name)] ?? '';
  const levels = factors.map(({ name }) => cell(name));
  return { ...(levels.length > 0 && { levels }), treatment: cell(TREATMENT) };
}

function rowProblems(
  { cells }: CsvRow,
  columns: readonly string[],
  { levels = [], treatment }: Entry,
  factors: readonly Factor[],
  { design }: Model,
): string[] {
  if (cells.length !== columns.length)
    return [`${counted(cells.length, 'field')} instead of ${columns.length}`];
  const open = openTreatments(design);
  const ofArm = design.closedTreatments.includes(treatment)
    ? [`the arm ${quote(treatment)} is closed`]
    : [`there is no open arm ${quote(treatment)} (hint: ${nearestTo(treatment, open) ?? open.join(', ')})`];
  const ofLevels = factors.flatMap((factor, i) => {
    const level = levels[i] ?? '';
    return factor.levels.includes(level) ? [] : [noSuchLevel(factor, level)];
  });
  return [...(open.includes(treatment) ? [] : ofArm), ...ofLevels];
}

/** As long as a record may be. */
function partsOf(entries: readonly Entry[], first: number): ListPart[] {
  const parts: { first: number; entries: Entry[]; bytes: number }[] = [];
  for (const [i, entry] of entries.entries()) {
    // Includes the comma or bracket before it. The closing bracket is counted from the start.
    const bytes = Buffer.byteLength(canonicalJson(entry)) + 1;
    let part = parts.at(-1);
    if (!part || part.entries.length >= MAX_ENTRIES || part.bytes + bytes > MAX_ENTRY_BYTES) {
      part = { first: first + i, entries: [], bytes: 1 };
      parts.push(part);
    }
    part.entries.push(entry);
    part.bytes += bytes;
  }
  return parts.map(({ bytes: _, ...part }) => part);
}
