/**
 * Deciding the events of a stream again, one after another: the parts shared by all kinds of streams. A decided fact is
 * compared with the recorded event field by field.
 */
import type { Fact } from '../../../../events/catalogue.ts';
import type { LogEvent, PartialEvent } from '../../../../events/record.ts';
import type { Mismatch } from '../report/report.ts';

export interface Replay<E extends PartialEvent = LogEvent> {
  /**
   * Decides the event again from those before it, and adds it to the state if it matches.
   * @param withheldSeals by section; absent if the source withholds none
   * @returns what is wrong with it, the most informative field first. The state is then unchanged.
   */
  take(event: E, withheldSeals?: Readonly<Record<string, string>>): readonly Mismatch[];
  /** Called for each correct event. */
  passed?(event: E): void;
}

export interface FieldDifference {
  readonly field: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/**
 * Where the event differs from the decided fact: first in `data`, then section by section. Salts are not compared,
 * because they are not decided.
 */
export function factDifferences(decided: Fact, event: LogEvent): FieldDifference[] {
  if (isSameFact(decided, event)) return [];
  const found: FieldDifference[] = [];
  if (decided.type !== event.type) return [{ field: 'type', expected: decided.type, found: event.type }];
  collectDifferences(decided.data, event.data, 'data', found);
  const expectedSections: Readonly<Record<string, object | undefined>> = decided.sections;
  const sections: Readonly<Record<string, object | undefined>> = event.sections;
  for (const name of new Set([...Object.keys(expectedSections), ...Object.keys(sections)]))
    collectDifferences(expectedSections[name], sections[name], name, found, true);
  return found;
}

/** Where the part in the clear differs from the decided fact. */
export function dataDifferences({ data: decided }: Fact, { data }: PartialEvent): FieldDifference[] {
  const found: FieldDifference[] = [];
  collectDifferences(decided, data, 'data', found);
  return found;
}

/**
 * Whether there is no difference. This is true of nearly every event, and faster to find without naming the fields. Also
 * false for a fact with an undefined member.
 */
function isSameFact(decided: Fact, event: LogEvent): boolean {
  if (decided.type !== event.type || !isSame(decided.data, event.data, 0)) return false;
  const expected: Readonly<Record<string, object | undefined>> = decided.sections;
  const found: Readonly<Record<string, object | undefined>> = event.sections;
  let sections = 0;
  for (const name in expected) {
    const salts = found[name] && 'salt' in found[name] ? 1 : 0;
    if (!isSame(expected[name], found[name], salts)) return false;
    sections++;
  }
  return Object.keys(found).length === sections;
}

/** @param more how many members the found object has in addition to the compared ones */
function isSame(expected: unknown, found: unknown, more: number): boolean {
  if (expected === undefined) return false;
  if (expected === found) return true;
  if (Array.isArray(expected)) return Array.isArray(found) && areSame(expected, found);
  if (!isObject(expected) || !isObject(found)) return false;
  let members = 0;
  for (const name in expected) {
    if (!isSame(expected[name], found[name], 0)) return false;
    members++;
  }
  for (const _ in found) members--;
  return members === -more;
}

function areSame(expected: readonly unknown[], found: readonly unknown[]): boolean {
  for (let i = 0; i < expected.length; i++) if (!isSame(expected[i], found[i], 0)) return false;
  return expected.length === found.length;
}

/** @param isSection whether to ignore the member `salt` */
function collectDifferences(
  expected: unknown,
  found: unknown,
  field: string,
  into: FieldDifference[],
  isSection = false,
): void {
  if (expected === found) return;
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length) {
    for (let i = 0; i < expected.length; i++)
      if (expected[i] !== found[i]) collectDifferences(expected[i], found[i], `${field}[${i}]`, into);
    return;
  }
  if (!isObject(expected) || !isObject(found)) {
    into.push({ field, expected, found });
    return;
  }
  for (const name in expected)
    if (expected[name] !== found[name])
      collectDifferences(expected[name], found[name], `${field}.${name}`, into);
  for (const name in found)
    if (!(name in expected) && !(isSection && name === 'salt'))
      into.push({ field: `${field}.${name}`, expected: undefined, found: found[name] });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sorts by the prefix in `order` that matches the field's path. Fields without a match come last. */
export function inReportingOrder(
  differences: readonly FieldDifference[],
  order: readonly string[],
): FieldDifference[] {
  const rank = ({ field }: FieldDifference) => {
    const place = order.findIndex((start) => field.startsWith(start));
    return place < 0 ? order.length : place;
  };
  return differences.toSorted((a, b) => rank(a) - rank(b));
}

export function asMismatches(differences: readonly FieldDifference[], why: string): Mismatch[] {
  return differences.map(({ field, expected, found }) => mismatch(field, expected, found, why));
}

export function mismatch(field: string, expected: unknown, found: unknown, why: string): Mismatch {
  return { field, expected: quote(expected), found: quote(found), why };
}

/** The most characters of a value that are quoted. */
const MAX_QUOTED = 300;

/** A value as JSON, so that strings and numbers look different. Long values are cut. */
function quote(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}
