/**
 * Reads a file of allocations that were made elsewhere, finds every problem in it, and cuts it into lists that records hold.
 * It says what is possible but unwise: what an honest list seldom does, and how many entries it has.
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
import { type Finding, listFindings, sameLists, sequenceProblem, someNames } from './list-checks.ts';

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
  readonly findings: readonly Finding[];
}

const TREATMENT = 'treatment';

const USED_ANEW =
  'this file was registered before the list began anew, and it begins from its first row: whoever saw arms then knows those that come now (hint: have another list made)';

/**
 * @param ignored columns that are not read
 * @param studies all, this one, too
 * @throws ImportError listing every problem in the file
 */
export function readListFile(
  path: string,
  ignored: readonly string[],
  state: Model,
  studies: readonly Model[],
): ListFile {
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
  if (rows.length === 0) problems.push('the file has no entries');
  if (problems.length > 0) throw new ImportError(problems);
  const entries = rows.map(read);
  const whole = { rows, columns, ignored, entries, known, factors };
  const inMode = (one: Finding) => ({ ...one, needsYes: one.needsYes && state.design.mode === 'live' });
  const isUsedAnew = known === 0 && state.entries.knows(sha256);
  return {
    ...{ sha256, known, added: added.length, parts: partsOf(entries.slice(known), known + 1) },
    findings: [
      ...(isUsedAnew ? [named(USED_ANEW)] : []),
      ...(added.length > 0
        ? [...findingsIn(whole, state).map(inMode), ...registeredElsewhere(whole, state, studies)]
        : []),
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
  // Semicolons or tabs; or line ends that are a carriage return alone.
  if (columns.some((name) => name.includes('\r')) || (columns.length === 1 && /[;\t]/.test(columns[0] ?? '')))
    return [
      'the file has no commas between its fields, or no line ends that are known (hint: save it as CSV in UTF-8, comma delimited)',
    ];
  const wanted = [TREATMENT, ...factors.map(({ name }) => name)];
  const others = columns.filter((name) => !wanted.includes(name));
  const unread = others.filter((name) => !ignored.includes(name));
  const problems = wanted.flatMap((name) => {
    const found = columns.filter((column) => column === name).length;
    if (found === 1) return [];
    const near = found === 0 ? nearestTo(name, unread) : undefined;
    const hint = near === undefined ? '' : ` (hint: the column ${quote(near)} may be meant: rename it)`;
    return [
      found === 0
        ? `there is no column ${quote(name)}${hint}`
        : `the column ${quote(name)} is there ${found} times`,
    ];
  });
  if (unread.length > 0) {
    // While a column is missing, one of these may be meant.
    const all = [...new Set(others)]
      .map((name) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name))
      .join(',');
    const hint = problems.length === 0 ? ` (hint: --ignore ${quote(all === '' ? ',' : all)})` : '';
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

/** What a file says. */
interface Read {
  readonly rows: readonly CsvRow[];
  readonly columns: readonly string[];
  /** Those of the columns that are not read. */
  readonly ignored: readonly string[];
  readonly entries: readonly Entry[];
  /** How many of them the study has already. */
  readonly known: number;
  readonly factors: readonly Factor[];
}

/** What is unwise about a list, though it is possible. */
function findingsIn({ rows, columns, ignored, entries, known, factors }: Read, state: Model): Finding[] {
  const names = entries.map(({ levels }) => stratumText(factors, levels));
  const strata = new Map<string, string>();
  for (const [i, { treatment }] of entries.entries())
    strata.set(names[i] ?? '', (strata.get(names[i] ?? '') ?? '') + signOf(treatment, state));
  const missing = openTreatments(state.design).filter((arm) =>
    entries.every(({ treatment }) => treatment !== arm),
  );
  const numbers = entryNumbers(entries.slice(known), factors, state);
  return [
    ...missing.map((arm) => ({
      text: `no entry is of the arm ${quote(arm)}, which is open`,
      needsYes: true,
    })),
    ...listFindings([...strata].map(([name, arms]) => ({ name, arms }))),
    ...columns.flatMap((column, at) => {
      const cells = rows.map(({ cells: own }, i) => ({ stratum: names[i] ?? '', cell: own[at] ?? '' }));
      const why = ignored.includes(column) ? sequenceProblem(column, cells) : undefined;
      return why === undefined
        ? []
        : [
            {
              text: `the column ${quote(column)}, which is not read, ${why}: were rows sorted, or pasted twice? (hint: the order of the rows is the order of use)`,
              needsYes: true,
            },
          ];
    }),
    ...[...tooFew(numbers, factors, state), ...thinStrata(numbers, factors, state)].map(named),
  ];
}

const named = (text: string): Finding => ({ text, needsYes: false });

/** One character for each arm. Names that the study does not have share one. */
function signOf(treatment: string, { design }: Model): string {
  return String.fromCharCode(design.treatments.indexOf(treatment) + 1);
}

/** `local_site = 11, sex = F`, in the order of the factors. */
function stratumText(factors: readonly Pick<Factor, 'name'>[], levels: readonly string[] = []): string {
  return factors.length === 0
    ? 'the whole study'
    : factors.map(({ name }, i) => `${name} = ${levels[i] ?? ''}`).join(', ');
}

/** The same list in two studies, or twice in one. Whoever saw its arms there knows those that come here. */
function registeredElsewhere({ entries, known }: Read, state: Model, studies: readonly Model[]): Finding[] {
  const rows = entries.map(({ levels, treatment }) => ({
    stratum: commonName(stratumNamed(state, levels) ?? '', state),
    arm: signOf(treatment, state),
  }));
  const { name, mode } = state.design;
  // If rows of this file are in already, they are its own.
  const others = studies.filter(({ design }) => known === 0 || design.name !== name);
  const same = sameLists(
    rows,
    others.flatMap((one) => earlierLists(one, state)),
  );
  return [...new Set(same.map(({ design }) => design))].map((design) => {
    const where = design.name === name ? 'this study' : `the ${design.mode} study ${quote(design.name)}`;
    return {
      text: `${where} has the same list: in each stratum the entries of one begin those of the other, so whoever saw arms there knows those that come here (hint: have another list made)`,
      needsYes: mode === 'live' || design.mode === 'live',
    };
  });
}

/** The entries of a study in their order: from the first list on, from the second on, and so on. */
function earlierLists({ design, entries, methodDesign }: Model, state: Model) {
  const all = [...entries.strata].flatMap(([name, { entries: own }]) => {
    const stratum = commonName(name, { design, methodDesign });
    return own.map(({ list, entry, slot }) => {
      return { list, entry, stratum, arm: signOf(design.slots[slot] ?? '', state) };
    });
  });
  all.sort((a, b) => a.list - b.list || a.entry - b.entry);
  const firsts = all.flatMap(({ list }, i) => (list === all[i - 1]?.list ? [] : [i]));
  return firsts.map((first) => ({ design, rows: all.slice(first) }));
}

/** The name of a stratum that depends neither on the order of factors and levels nor on earlier names. */
function commonName(
  stratum: string,
  { design, methodDesign }: Pick<Model, 'design' | 'methodDesign'>,
): string {
  const by = methodDesign.method === 'list' ? methodDesign.by : [];
  const indexes = stratum.split(',').map(Number);
  const levels = by.map((at, i) => {
    const factor = design.factors[at];
    return [factor?.name ?? '', factor?.levels[indexes[i] ?? -1] ?? ''];
  });
  return JSON.stringify(levels.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)));
}

/** How many entries there are, with those that the study has already. */
interface EntryNumbers {
  readonly all: number;
  /** By the name of the stratum. */
  readonly strata: ReadonlyMap<string, number>;
  /** @param place of the factor, among those that make a stratum */
  of(place: number, level: string): number;
}

function entryNumbers(entries: readonly Entry[], factors: readonly Factor[], state: Model): EntryNumbers {
  const strata = new Map([...state.entries.strata].map(([name, { entries: own }]) => [name, own.length]));
  for (const { levels } of entries) {
    const name = stratumNamed(state, levels) ?? '';
    strata.set(name, (strata.get(name) ?? 0) + 1);
  }
  const byLevel = factors.map(() => new Map<string, number>());
  let all = 0;
  for (const [stratum, number] of strata) {
    all += number;
    for (const [place, index] of stratum.split(',').entries())
      byLevel[place]?.set(index, (byLevel[place].get(index) ?? 0) + number);
  }
  const of = (place: number, level: string) =>
    byLevel[place]?.get(String(factors[place]?.levels.indexOf(level))) ?? 0;
  return { all, strata, of };
}

/** Of more strata, the others are not looked at. */
const MAX_STRATA = 100_000;

/** Strata of open levels that have no entry, or only one. */
function thinStrata({ strata }: EntryNumbers, factors: readonly Factor[], state: Model): string[] {
  const found: string[][] = [[], []];
  let looked = 0;
  for (const levels of combinations(factors.map(openLevels))) {
    if (++looked > MAX_STRATA) break;
    found[strata.get(stratumNamed(state, levels) ?? '') ?? 0]?.push(stratumText(factors, levels));
  }
  return found.flatMap((names, n) => {
    if (names.length === 0) return [];
    const are = plural(names.length, 'is', 'are');
    return [
      n === 0
        ? `no entry is for ${someNames(names)}, which ${are} open`
        : `only one entry is for ${someNames(names)}: it is soon used up (hint: ask whoever made the list whether rows are missing)`,
    ];
  });
}

function* combinations(levels: readonly (readonly string[])[]): Generator<string[]> {
  const [first, ...others] = levels;
  if (!first) yield [];
  else for (const level of first) for (const rest of combinations(others)) yield [level, ...rest];
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
