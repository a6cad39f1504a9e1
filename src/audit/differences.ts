/** Where two facts differ, field by field. */
import type { Fact } from '../../events/catalogue.ts';
import type { LogEvent } from '../../events/record.ts';
import type { Problem } from './report.ts';

/** Longest value quoted, in characters. */
const QUOTED = 300;

export interface Difference {
  readonly field: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/**
 * What the event says otherwise than the fact that was decided, in the order of `data` and then of the sections'
 * names. Salts, which nothing decides, are left out.
 */
export function factDifferences(decided: Fact, event: LogEvent): Difference[] {
  const found: Difference[] = [];
  if (decided.type !== event.type) return [{ field: 'type', expected: decided.type, found: event.type }];
  collect(decided.data, event.data, 'data', found);
  const expectedSections: Readonly<Record<string, object | undefined>> = decided.sections;
  const sections: Readonly<Record<string, object | undefined>> = event.sections;
  for (const name of new Set([...Object.keys(expectedSections), ...Object.keys(sections)]))
    collect(expectedSections[name], sections[name], name, found, true);
  return found;
}

/** @param isSection then the member `salt` is not compared */
function collect(
  expected: unknown,
  found: unknown,
  field: string,
  into: Difference[],
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

export function problem(field: string, expected: unknown, found: unknown, why: string): Problem {
  return { field, expected: quote(expected), found: quote(found), why };
}

/** A value as JSON, so that a text is told from a number; cut where it is very long. */
function quote(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text;
}
