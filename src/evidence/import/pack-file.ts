/** Reads files of pack codes, finds every problem in them, and makes lists of the new packs. */
import { hash } from 'node:crypto';
import { type Level, PackCode } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { counted, plural } from '../../base/wording.ts';
import { activeFactors, type Factor, openTreatments, ratioOf, revealsArm } from '../../core/model/design.ts';
import { allowed, noSuchLevel } from '../../core/model/limits.ts';
import type { Model } from '../../core/model/model.ts';
import { MAX_ENTRIES, MAX_ENTRY_BYTES, type Pack } from '../../core/model/packs.ts';
import type { RegisterPacks } from '../../core/study/commands.ts';
import { whereNow } from '../../core/study/pack-map.ts';
import { bytesOf, type CsvRow, csvRows, ImportError } from './csv-file.ts';
import { type Finding, someNames } from './list-checks.ts';
import { tellingRule } from './telling-codes.ts';

type Entry = RegisterPacks['entries'][number];
type Design = Model['design'];

/** Packs that one record can hold. */
export interface CodeList {
  readonly where: Level | undefined;
  readonly entries: readonly Entry[];
}

export interface CodeFile {
  /** In the order of their first rows. */
  readonly lists: readonly CodeList[];
  /** How many rows are new. */
  readonly added: number;
  /** How many are already registered with the same treatment and level. */
  readonly skipped: number;
  /** What is named: a live study may need --yes for it. */
  readonly findings: readonly Finding[];
}

export const CODE_FORM = '1 to 64 of A–Z a–z 0–9 - _ . /';

/** A valid row. */
interface Row extends Entry {
  readonly where: Level | undefined;
}

/** @throws ImportError listing every problem in the file */
export function readCodeFile(path: string, state: Model): CodeFile {
  const bytes = bytesOf(path);
  const [header, ...rows] = csvRows(bytes);
  const { design } = state;
  const factor = factorOf(header?.cells ?? [], design);
  const problems: string[] = [];
  const lines = new Map<string, number>();
  const similar = new SimilarCodes(state);
  const all: Row[] = [];
  const added: Row[] = [];
  for (const row of rows) {
    const read = readRow(row, factor, problems);
    if (!read) continue;
    const earlier = lines.get(read.code);
    lines.set(read.code, earlier ?? row.line);
    all.push(read);
    const registered = state.packs.get(read.code);
    const isThere = registered !== undefined && isSame(registered, read, state);
    if (isThere && earlier === undefined) continue;
    const why = [
      ...(earlier === undefined ? [] : [`the code ${read.code} is also in line ${earlier}`]),
      ...(registered && !isThere ? [registeredDifferently(read)] : []),
      ...(registered || earlier !== undefined ? [] : similar.problems(read, row.line)),
      ...entryProblems(read, factor, design),
    ];
    if (why.length === 0) added.push(read);
    else problems.push(`line ${row.line}: ${why.join('; ')}`);
  }
  if (rows.length === 0) problems.push('the file has no codes');
  if (problems.length > 0) throw new ImportError(problems);
  const warnings =
    added.length === 0
      ? []
      : [...similar.warnings(), ...missingArms(added, design), ...stockWarnings(added, state)];
  const findings = [
    ...(added.length === 0 ? [] : tellingFindings(all, hash('sha256', bytes), design)),
    ...warnings.map((text) => ({ text, needsYes: false })),
  ];
  return { lists: listsOf(added), added: added.length, skipped: all.length - added.length, findings };
}

/** @param rows all of the file, so that one which was interrupted is judged as before */
function tellingFindings(rows: readonly Row[], sha256: string, { mode }: Design): Finding[] {
  const found = tellingRule(rows, sha256);
  if (!found) return [];
  const { by, right, guessed, of, isOfFile, isCertain } = found;
  const share = (count: number) => `${Math.round((100 * count) / of)} %`;
  const packs = of < rows.length ? `packs, drawn at random from ${rows.length}` : 'packs';
  const hint = isOfFile ? 'shuffle the rows' : 'have the codes assigned to the packs at random';
  return [
    {
      text: `the arm of a pack can be told by ${by}: that is right for ${right} of ${of} ${packs} (${share(right)}), and always guessing the commonest arm for ${guessed} (${share(guessed)}) (hint: ${hint})`,
      needsYes: isCertain && mode === 'live',
    },
  ];
}

/** Somebody who reads or types a code takes it for a similar one: of another case, without its zeros, with O for 0. */
class SimilarCodes {
  /** By the forms in which similar codes are the same. */
  readonly #packs = new Map<string, Known>();
  readonly #sameArm: string[] = [];

  constructor({ packs }: Model) {
    for (const [code, { treatment }] of packs.entries()) this.#add({ code, treatment, place: REGISTERED });
  }

  /** What is wrong with a code that is not known yet. */
  problems({ code, treatment }: Row, line: number): string[] {
    const known = similarForms(code).flatMap((form) => this.#packs.get(form) ?? []);
    const other = known.find((one) => one.treatment !== treatment);
    this.#add({ code, treatment, place: `line ${line}` });
    if (other)
      return [`the code ${code} can be taken for ${other.code} (${other.place}), which holds another arm`];
    const [same] = known;
    if (same) this.#sameArm.push(`${same.code} (${same.place}) and ${code} (line ${line})`);
    return [];
  }

  /** Of codes of the same arm. */
  warnings(): string[] {
    if (this.#sameArm.length === 0) return [];
    return [`codes that can be taken for each other: ${someNames(this.#sameArm)}`];
  }

  #add(known: Known): void {
    for (const form of similarForms(known.code)) if (!this.#packs.has(form)) this.#packs.set(form, known);
  }
}

interface Known {
  readonly code: string;
  readonly treatment: string;
  readonly place: string;
}

const REGISTERED = 'registered already';
/** Those that people mix up most, by the list of the Institute for Safe Medication Practices. */
const LOOK_ALIKES: Readonly<Record<string, string>> = { o: '0', z: '2', s: '5', b: '8' };

/**
 * Codes are similar if they share a form. The first is for other cases, the second for l, I and 1, as they are printed: with
 * both in one, the lots L and I would be the same.
 */
function similarForms(code: string): string[] {
  return [code, code.replaceAll(/[lIi]/g, '1')].map((text, i) => {
    const folded = text.toLowerCase().replaceAll(/[ozsb]/g, (letter) => LOOK_ALIKES[letter] ?? letter);
    return `${i} ${folded.replaceAll(/(?<!\d)0+(?=\d)/g, '')}`;
  });
}

const HEADER = 'code,treatment or code,treatment,<factor>';

/** The factor whose levels the packs are for, if the file names one. @throws ImportError */
function factorOf(columns: readonly string[], design: Design): Factor | undefined {
  const [code, treatment, name, ...more] = columns;
  if (code !== 'code' || treatment !== 'treatment' || more.length > 0)
    throw new ImportError([`the first line is ${quote(columns.join(','))} (expected: ${HEADER})`]);
  if (name === undefined) return undefined;
  const factor = design.factors.find((one) => one.name === name);
  if (factor && !factor.isRetired) return factor;
  const why = factor ? `the factor ${quote(name)} is retired` : `the study has no factor ${quote(name)}`;
  throw new ImportError([`${why} ${allowed(activeFactors(design).map((one) => one.name))}`]);
}

/** For a malformed row it adds a problem and returns undefined. */
function readRow({ line, cells }: CsvRow, factor: Factor | undefined, problems: string[]): Row | undefined {
  const [code = '', treatment = '', level = ''] = cells;
  const expected = factor ? 3 : 2;
  const why =
    cells.length === expected
      ? codeProblem(code)
      : `${counted(cells.length, 'field')} instead of ${expected} (hint: ${HEADER})`;
  if (why !== undefined) {
    problems.push(`line ${line}: ${why}`);
    return undefined;
  }
  return { code, treatment, where: factor && { factor: factor.name, level } };
}

export function codeProblem(code: string): string | undefined {
  return PackCode.safeParse(code).success ? undefined : `${quote(code)} is not a code: ${CODE_FORM}`;
}

function isSame(pack: Pack, { treatment, where }: Row, state: Model): boolean {
  const now = whereNow(pack, state);
  const level = where && whereNow({ where }, state);
  return pack.treatment === treatment && now?.factor === level?.factor && now?.level === level?.level;
}

function registeredDifferently({ code }: Row): string {
  return `the code ${code} is registered already, with another treatment or level (hint: urn codes list)`;
}

function entryProblems(
  { code, treatment, where }: Row,
  factor: Factor | undefined,
  design: Design,
): string[] {
  const supplied = suppliedArms(design);
  const why: string[] = [];
  if (!supplied.includes(treatment))
    why.push(
      design.treatments.includes(treatment)
        ? `the arm ${quote(treatment)} is stopped`
        : `the study has no arm ${quote(treatment)} ${allowed(supplied)}`,
    );
  if (revealsArm(code, design.treatments)) why.push(`the code ${code} is, or contains, the name of an arm`);
  if (factor && where?.level === '')
    why.push(`no level of ${factor.name} (hint: packs for all levels go into a file without this column)`);
  else if (factor && where && !factor.levels.includes(where.level))
    why.push(noSuchLevel(factor, where.level));
  return why;
}

/** Whoever is on a closed arm may get more packs, until it is stopped. */
function suppliedArms({ treatments, stoppedTreatments }: Design): readonly string[] {
  return treatments.filter((treatment) => !stoppedTreatments.includes(treatment));
}

/** One or more lists for each level, each as long as a record may be. */
function listsOf(rows: readonly Row[]): CodeList[] {
  const lists: { where: Level | undefined; entries: Entry[]; bytes: number }[] = [];
  const unfinished = new Map<string | undefined, (typeof lists)[number]>();
  for (const { where, ...entry } of rows) {
    // Includes the comma or bracket before it. The closing bracket is counted from the start.
    const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1;
    let list = unfinished.get(where?.level);
    if (!list || list.entries.length >= MAX_ENTRIES || list.bytes + bytes > MAX_ENTRY_BYTES) {
      list = { where, entries: [], bytes: 1 };
      lists.push(list);
      unfinished.set(where?.level, list);
    }
    list.entries.push(entry);
    list.bytes += bytes;
  }
  return lists.map(({ where, entries }) => ({ where, entries }));
}

/** Of the packs of each level: sites see from whose packs are of an old delivery who shares an arm. */
function missingArms(added: readonly Row[], design: Design): string[] {
  const levels = new Map(added.map(({ where }) => [where?.level, where]));
  return [...levels.values()].flatMap((where) => {
    const rows = added.filter((row) => row.where?.level === where?.level);
    const missing = suppliedArms(design).filter((arm) => rows.every(({ treatment }) => treatment !== arm));
    if (missing.length === 0) return [];
    const whom = where ? `${where.factor} = ${where.level}` : 'all levels';
    return [
      `the packs for ${whom} include none of ${missing.join(', ')}: a delivery of some arms alone shows sites who shares one (hint: fill up every arm, to equal stocks)`,
    ];
  });
}

/** For each limit of the study, the arms that will run out of packs before it is reached. */
function stockWarnings(added: readonly Row[], state: Model): string[] {
  const { design } = state;
  const { total, levels = [] } = design.limits ?? {};
  const packs: Row[] = [...added];
  for (const [code, pack] of state.packs.entries())
    if (!state.withdrawn.get(code)) packs.push({ ...pack, where: whereNow(pack, state) });
  return [
    ...(total === undefined ? [] : tooFew(packs, total, 'participants', design)),
    ...levels.flatMap(({ factor, level, max }) => {
      const usable = packs.filter(({ where }) => where?.factor !== factor || where.level === level);
      return tooFew(usable, max, `participants with ${factor} = ${level}`, design);
    }),
  ];
}

/** Chance can give an arm more than its share, and packs get damaged or lost: a fifth more is advisable. */
function tooFew(packs: readonly Row[], max: number, whom: string, design: Design): string[] {
  const ratio = ratioOf(design);
  const open = openTreatments(design);
  const shareOf = (arm: string) => ratio[design.treatments.indexOf(arm)] ?? 1;
  const shares = open.reduce((sum, arm) => sum + shareOf(arm), 0);
  return open.flatMap((arm) => {
    const found = packs.filter(({ treatment }) => treatment === arm).length;
    const advisable = Math.ceil((12 * max * shareOf(arm)) / (10 * shares));
    if (found >= advisable) return [];
    return [
      `${counted(found, 'pack')} of ${arm} for a limit of ${max} ${whom}: ${plural(advisable, 'at least 1 is', `at least ${advisable} are`)} advisable (1.2 times the expected share)`,
    ];
  });
}

/** The column `code` of a file. @throws ImportError listing every problem in it */
export function readCodes(path: string): string[] {
  const [header, ...rows] = csvRows(bytesOf(path));
  const column = header?.cells.indexOf('code') ?? -1;
  if (column < 0) throw new ImportError(['the first line has no column "code"']);
  const lines = new Map<string, number>();
  const problems = rows.flatMap(({ line, cells }) => {
    const code = cells[column] ?? '';
    const earlier = lines.get(code);
    lines.set(code, earlier ?? line);
    const problem =
      codeProblem(code) ??
      (earlier === undefined ? undefined : `the code ${code} is also in line ${earlier}`);
    return problem === undefined ? [] : [`line ${line}: ${problem}`];
  });
  if (rows.length === 0) problems.push('the file has no codes');
  if (problems.length > 0) throw new ImportError(problems);
  return [...lines.keys()];
}
