/** Where two facts differ, field by field. */
import type { Fact } from '../../../events/catalogue.ts';
import type { LogEvent } from '../../../events/record.ts';
import type { Mismatch } from '../report.ts';

/** Longest value quoted, in characters. */
const QUOTED = 300;

export interface FieldDifference {
  readonly field: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/**
 * What the event says otherwise than the fact that was decided, in the order of `data` and then of the sections'
 * names. Salts, which nothing decides, are left out.
 */
export function factDifferences(decided: Fact, event: LogEvent): FieldDifference[] {
  if (isSameFact(decided, event)) return [];
  const found: FieldDifference[] = [];
  if (decided.type !== event.type) return [{ field: 'type', expected: decided.type, found: event.type }];
  collect(decided.data, event.data, 'data', found);
  const expectedSections: Readonly<Record<string, object | undefined>> = decided.sections;
  const sections: Readonly<Record<string, object | undefined>> = event.sections;
  for (const name of new Set([...Object.keys(expectedSections), ...Object.keys(sections)]))
    collect(expectedSections[name], sections[name], name, found, true);
  return found;
}

/**
 * Whether there is no difference: what is so of nearly every event, and found without naming the fields. False also of
 * a fact with a member that is undefined.
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

/** @param more members that an object that was found has, beside those that are compared */
function isSame(expected: unknown, found: unknown, more: number): boolean {
  if (expected === undefined) return false;
  if (expected === found) return true;
  if (Array.isArray(expected))
    return (
      Array.isArray(found) &&
      expected.length === found.length &&
      expected.every((element, i) => isSame(element, found[i], 0))
    );
  if (!isObject(expected) || !isObject(found)) return false;
  let members = 0;
  for (const name in expected) {
    if (!isSame(expected[name], found[name], 0)) return false;
    members++;
  }
  for (const _ in found) members--;
  return members === -more;
}

/** @param isSection then the member `salt` is not compared */
function collect(
  expected: unknown,
  found: unknown,
  field: string,
  into: FieldDifference[],
  isSection = false,
): void {
  if (expected === found) return;
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length) {
    for (let i = 0; i < expected.length; i++)
      if (expected[i] !== found[i]) collect(expected[i], found[i], `${field}[${i}]`, into);
    return;
  }
  if (!isObject(expected) || !isObject(found)) {
    into.push({ field, expected, found });
    return;
  }
  for (const name in expected)
    if (expected[name] !== found[name]) collect(expected[name], found[name], `${field}.${name}`, into);
  for (const name in found)
    if (!(name in expected) && !(isSection && name === 'salt'))
      into.push({ field: `${field}.${name}`, expected: undefined, found: found[name] });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function mismatch(field: string, expected: unknown, found: unknown, why: string): Mismatch {
  return { field, expected: quote(expected), found: quote(found), why };
}

/** A value as JSON, so that a text is told from a number; cut where it is very long. */
function quote(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text;
}
