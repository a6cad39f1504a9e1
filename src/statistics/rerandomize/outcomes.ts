/** Reads the file of outcomes: one row per participant, found by id. */
import { hash } from 'node:crypto';
import { quote } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import { bytesOf, type CsvRow, csvRows, ImportError } from '../../evidence/import/csv-file.ts';
import type { PastPerson, PastStudy } from './past-study.ts';

/** The names of the columns. */
export type Columns =
  | { readonly kind: 'number'; readonly outcome: string }
  /** 0 or 1. */
  | { readonly kind: 'yes-or-no'; readonly outcome: string }
  | { readonly kind: 'survival'; readonly time: string; readonly event: string };

export interface Outcome extends PastPerson {
  /** The outcome, or the time. */
  readonly value: number;
  /** 1 if the time is that of an event, 0 if it is censored. */
  readonly event: number;
}

export interface Outcomes {
  readonly sha256: string;
  /** In the order of the study. */
  readonly inOrder: readonly Outcome[];
  /** Rows of participants who were voided and are not to be analysed. */
  readonly excluded: number;
}

/** @throws ImportError listing every problem in the file */
export function readOutcomes(path: string, columns: Columns, study: Pick<PastStudy, 'find'>): Outcomes {
  const bytes = bytesOf(path);
  const [header, ...rows] = csvRows(bytes);
  const places = placesOf(header?.cells ?? [], columns);
  const problems: string[] = [];
  /** The line of each person, by the person's number. */
  const lines = new Map<number, number>();
  const found: Outcome[] = [];
  let excluded = 0;
  for (const row of rows) {
    const id = row.cells[places.id]?.trim() ?? '';
    const person = study.find(id);
    const earlier = person && lines.get(person.person);
    if (person && earlier === undefined) lines.set(person.person, row.line);
    const why =
      row.cells.length !== header?.cells.length
        ? `${counted(row.cells.length, 'field')} instead of ${header?.cells.length}`
        : idProblem(id, person, earlier);
    const read = why ?? valuesOf(row, places, columns);
    if (typeof read === 'string') problems.push(`line ${row.line}: ${read}`);
    else if (read && person?.voided === 'exclude') excluded++;
    else if (read && person) found.push({ ...person, ...read });
  }
  if (rows.length === 0) problems.push('the file has no outcomes');
  if (problems.length > 0) throw new ImportError(problems);
  return {
    sha256: hash('sha256', bytes),
    inOrder: found.sort((a, b) => a.person - b.person),
    excluded,
  };
}

interface Places {
  readonly id: number;
  readonly value: number;
  /** -1 if there is none. */
  readonly event: number;
}

/** @throws ImportError */
function placesOf(header: readonly string[], columns: Columns): Places {
  const names = header.map((name) => name.trim());
  const isSurvival = columns.kind === 'survival';
  const wanted = isSurvival ? ['id', columns.time, columns.event] : ['id', columns.outcome];
  const problems = wanted.flatMap((name) => {
    const count = names.filter((one) => one === name).length;
    if (count === 1) return [];
    if (count > 1) return [`the file has the column ${quote(name)} twice`];
    return [`the file has no column ${quote(name)} (it has: ${names.map(quote).join(', ')})`];
  });
  if (problems.length > 0) throw new ImportError(problems);
  const [id = -1, value = -1, event = -1] = wanted.map((name) => names.indexOf(name));
  return { id, value, event };
}

function idProblem(
  id: string,
  person: PastPerson | undefined,
  earlier: number | undefined,
): string | undefined {
  if (!person) return id === '' ? 'it has no id' : `the study has no participant ${quote(id)}`;
  return earlier === undefined ? undefined : `participant ${quote(id)} is also in line ${earlier}`;
}

/** Undefined for a participant without an outcome; a text says what is wrong. */
function valuesOf(
  { cells }: CsvRow,
  places: Places,
  columns: Columns,
): { value: number; event: number } | string | undefined {
  const cellAt = (place: number) => cells[place]?.trim() ?? '';
  const [value, event] = [cellAt(places.value), cellAt(places.event)];
  if (value === '' && event === '') return undefined;
  if (columns.kind !== 'survival') {
    const number = numberOf(value);
    if (number === undefined) return notANumber(columns.outcome, value);
    if (columns.kind === 'yes-or-no' && number !== 0 && number !== 1)
      return `${quote(columns.outcome)} is ${quote(value)} (expected: 0 or 1)`;
    return { value: number, event: 1 };
  }
  const [time, happened] = [numberOf(value), numberOf(event)];
  if (time === undefined) return notANumber(columns.time, value);
  if (happened !== 0 && happened !== 1)
    return `${quote(columns.event)} is ${quote(event)} (expected: 1 for an event, 0 for none so far)`;
  return { value: time, event: happened };
}

function notANumber(name: string, value: string): string {
  if (NUMBER.test(value))
    return `${quote(name)} is ${quote(value)} (expected: no more than 1e100, above or below 0)`;
  return `${quote(name)} is ${quote(value)}, which is not a number (hint: leave the cell empty if there is no outcome)`;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Up to this size, sums of squares stay finite. */
const LARGEST = 1e100;

function numberOf(text: string): number | undefined {
  if (!NUMBER.test(text)) return undefined;
  const number = Number(text);
  return Math.abs(number) <= LARGEST ? number : undefined;
}
