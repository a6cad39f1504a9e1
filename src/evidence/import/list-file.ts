/**
 * Reads a file of allocations that were made elsewhere, finds every problem in it, and cuts it into lists that records hold.
 * It warns of what is possible but unwise: the order of its arms, and how many entries it has.
 */
import { hash } from 'node:crypto';
import { canonicalJson } from '../../../events/record.ts';
import { quote } from '../../base/text.ts';
import { counted, nearestTo, plural } from '../../base/wording.ts';
import { type Factor, openLevels, openTreatments } from '../../core/model/design.ts';
import { noSuchLevel } from '../../core/model/limits.ts';
import type { Model } from '../../core/model/model.ts';
import { MAX_ENTRIES, MAX_ENTRY_BYTES } from '../../core/model/packs.ts';
import type { RegisterList } from '../../core/study/commands.ts';
import { stratumNamed } from '../../core/study/lists.ts';
import { bytesOf, type CsvRow, csvRows, ImportError } from './csv-file.ts';
import { alike, inBlocks, listNames } from './order-of-arms.ts';

type Entry = RegisterList['entries'][number];

/** Entries that one record can hold. */
interface ListPart {
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
  const factors = stratifyingFactors(state);
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
function stratifyingFactors({ design, methodDesign }: Model): readonly Factor[] {
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

/** Parts that are as long as a record may be. @param first row of the first entry, from 1 */
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

/**
 * What is unwise about a list, though it is possible.
 * @param entries those that are new, at least one
 * @param factors whose levels make a stratum, in the order of the design
 */
function listWarnings(entries: readonly Entry[], factors: readonly Factor[], state: Model): string[] {
  const strata = new Map<string, Entry[]>();
  for (const entry of entries) {
    const name = stratumText(factors, entry.levels);
    const rows = strata.get(name);
    if (rows) rows.push(entry);
    else strata.set(name, [entry]);
  }
  const lists = [...strata].map(([name, rows]) => ({ name, rows }));
  const [sorted, same] = [inBlocks(lists), alike(lists)];
  const again = lists.filter((list) => alike([list, earlierLike(list, state)]).length > 0);
  const numbers = entryNumbers(entries, factors, state);
  return [
    ...(sorted.length > 0
      ? [`${listNames(sorted)} sorted by arm: the order is no random one (hint: ask whoever made it)`]
      : []),
    ...(same.length > 0
      ? [`${listNames(same)} in the same order: who knows one knows the others (hint: ask whoever made it)`]
      : []),
    ...(again.length > 0
      ? [
          `${listNames(again)} in the same order as the entries that are registered already: whoever saw arms knows those that come (hint: this may be the same list, saved as another file)`,
        ]
      : []),
    ...tooFew(numbers, factors, state),
    ...factors.flatMap((factor, place) => {
      const missing = openLevels(factor).filter((level) => numbers.of(place, level) === 0);
      return missing.map((level) => `no entry is for ${factor.name} = ${level}, which is open`);
    }),
  ];
}

/** `local_site = 11, sex = F`, in the order of the factors. */
function stratumText(factors: readonly Pick<Factor, 'name'>[], levels: readonly string[] = []): string {
  return factors.length === 0
    ? 'the whole study'
    : factors.map(({ name }, i) => `${name} = ${levels[i] ?? ''}`).join(', ');
}

/** The entries that the stratum of a list has already. */
function earlierLike({ name, rows }: { name: string; rows: readonly Entry[] }, state: Model) {
  const earlier = state.entries.strata.get(stratumNamed(state, rows[0]?.levels) ?? '')?.entries ?? [];
  return { name, rows: earlier.map(({ slot }) => ({ treatment: state.design.slots[slot] ?? '' })) };
}

/** How many entries there are, with those that the study has already. */
interface EntryNumbers {
  readonly all: number;
  /** @param place of the factor, among those that make a stratum */
  of(place: number, level: string): number;
}

function entryNumbers(entries: readonly Entry[], factors: readonly Factor[], state: Model): EntryNumbers {
  const byLevel = factors.map(() => new Map<string, number>());
  let all = 0;
  const count = (stratum: string, number: number) => {
    all += number;
    for (const [place, index] of stratum.split(',').entries())
      byLevel[place]?.set(index, (byLevel[place].get(index) ?? 0) + number);
  };
  for (const [stratum, earlier] of state.entries.strata) count(stratum, earlier.entries.length);
  for (const { levels } of entries) count(stratumNamed(state, levels) ?? '', 1);
  return {
    all,
    of: (place, level) => byLevel[place]?.get(String(factors[place]?.levels.indexOf(level))) ?? 0,
  };
}

/** Strata fill up unevenly: a fifth more is advisable. */
function tooFew(numbers: EntryNumbers, factors: readonly Factor[], state: Model): string[] {
  const { target, limits = {} } = state.design;
  const needed: [whom: string, max: number | undefined, found: number][] = [
    [`a target of ${counted(target ?? 0, 'participant')}`, target, numbers.all],
    ...(limits.levels ?? []).flatMap(({ factor, level, max }): typeof needed => {
      const place = factors.findIndex(({ name }) => name === factor);
      if (place < 0) return [];
      const whom = `a limit of ${max} participants with ${factor} = ${level}`;
      return [[whom, max, numbers.of(place, level)]];
    }),
  ];
  return needed.flatMap(([whom, max = 0, found]) => {
    const advisable = Math.ceil((12 * max) / 10);
    return found < advisable
      ? [
          `${counted(found, 'entry', 'entries')} for ${whom}: ${plural(advisable, 'at least 1 is', `at least ${advisable} are`)} advisable (1.2 times as many)`,
        ]
      : [];
  });
}
