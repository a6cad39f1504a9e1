/**
 * Turns a JSON schema into a regular expression for the canonical texts (RFC 8785) of the values that it accepts.
 *
 * A text that matches is JSON, is canonical, and represents a value that the schema accepts: its members are in
 * canonical order, its numbers in canonical form, and nothing is escaped. One match takes a third of the time that it
 * takes to parse the text, validate the value and serialize it again. The reverse does not hold: a text with an escaped
 * character may be canonical and valid, but does not match.
 */
import { z } from 'zod';

/** The source of a regular expression without capturing groups and anchors. */
export type Pattern = string;

/** A member of an object. Its name needs no escaping. */
export interface Member {
  readonly name: string;
  readonly pattern: Pattern;
  readonly isOptional?: boolean;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** A character that needs no escaping in a JSON string. */
const PLAIN = '[^"\\\\\\x00-\\x1f]';

/** A schema's own pattern is supported only if it consists of these parts: they cannot match a quote or look around. */
const SIMPLE_PATTERN = /^\^(?:[A-Za-z0-9:,+/=_ -]|\\[d.+/-]|\[(?:[A-Za-z0-9:+/=_.-]|\\d)+\]|[()|?{}*])+\$$/;

const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems'],
  string: ['minLength', 'pattern', 'format', 'enum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
};

/** A schema requires something that a regular expression cannot express, or that is not implemented here. */
export class UnsupportedSchemaError extends Error {
  override readonly name = 'UnsupportedSchemaError';
}

/**
 * The pattern of a schema. The schema must describe plain JSON and leave it unchanged: no defaults, transforms or
 * refinements.
 * @throws UnsupportedSchemaError
 */
export function canonicalPattern(schema: z.ZodType): Pattern {
  return patternOf(z.toJSONSchema(schema));
}

/**
 * The pattern of an object with exactly these members, given in any order.
 * @throws UnsupportedSchemaError when all members are optional
 */
export function objectPattern(members: readonly Member[]): Pattern {
  const sorted = members.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const first = sorted.findIndex(({ isOptional }) => !isOptional);
  if (first < 0 && sorted.length > 0) throw new UnsupportedSchemaError('an object without a required member');
  const parts = sorted.map(({ name, pattern, isOptional }, i) => {
    const member = `${literal(name)}:${pattern}`;
    if (i === first) return member;
    return isOptional ? `(?:${i < first ? `${member},` : `,${member}`})?` : `,${member}`;
  });
  return `\\{${parts.join('')}\\}`;
}

/** The pattern of one fixed JSON value. */
export function literal(value: unknown): Pattern {
  return JSON.stringify(value).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function patternOf(schema: JsonSchema): Pattern {
  const { $schema, type = '', ...keywords } = schema;
  if (keywords.anyOf) return `(?:${allowingOnly(keywords, ['anyOf']).anyOf?.map(patternOf).join('|')})`;
  if (keywords.const !== undefined) return literal(allowingOnly(keywords, ['const']).const);
  allowingOnly(keywords, KEYWORDS[String(type)] ?? unsupported(`the type ${type}`));
  switch (type) {
    case 'object':
      return objectOf(keywords);
    case 'array':
      return arrayOf(keywords);
    case 'string':
      return stringOf(keywords);
    case 'integer':
      return integerOf(keywords);
    default:
      return '(?:true|false)';
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: JsonSchema): Pattern {
  if (additionalProperties !== false) unsupported('members of any name');
  return objectPattern(
    Object.entries(properties).map(([name, schema]) => ({
      name,
      pattern: patternOf(schema as JsonSchema),
      isOptional: !required.includes(name),
    })),
  );
}

function arrayOf({ items, minItems = 0 }: JsonSchema): Pattern {
  if (!items || items === true || Array.isArray(items)) return unsupported('a tuple');
  const item = patternOf(items as JsonSchema);
  if (minItems === 0) return `\\[(?:${item}(?:,${item})*)?\\]`;
  return `\\[${item}(?:,${item}){${minItems - 1},}\\]`;
}

function stringOf({ minLength = 0, pattern, format, enum: values }: JsonSchema): Pattern {
  if (values) return `(?:${values.map(literal).join('|')})`;
  if (pattern === undefined) {
    // For every format, Zod also writes a pattern.
    if (format !== undefined || minLength > 1) return unsupported('a format or a length');
    return `"${PLAIN}${minLength === 0 ? '*' : '+'}"`;
  }
  if (minLength > 0 || !SIMPLE_PATTERN.test(pattern) || pattern.includes('(?='))
    return unsupported('a pattern');
  return `"(?:${writtenOut(pattern.slice(1, -1)).replace(/\((?!\?)/g, '(?:')})"`;
}

/** The same pattern with repeated classes of characters written out: V8 takes twice as long if it has to count them. */
function writtenOut(pattern: Pattern): Pattern {
  return pattern.replace(/(\[[^\]]+\]|\\d)\{(\d+)\}/g, (_, one: Pattern, times) => one.repeat(Number(times)));
}

/** Integers from 0 or 1 to the maximum. */
function integerOf({ minimum, maximum }: JsonSchema): Pattern {
  const isSupportedMinimum = minimum === 0 || minimum === 1;
  if (!isSupportedMinimum || !Number.isSafeInteger(maximum) || Number(maximum) < 1)
    return unsupported('a range of numbers');
  const digits = String(maximum);
  const alternatives = digits.length > 1 ? [`[1-9]\\d{0,${digits.length - 2}}`] : [];
  // As many digits as the maximum: equal to it up to some digit and smaller in that one, or the maximum itself.
  for (const [i, digit] of [...digits].entries()) {
    const lowest = i === 0 ? 1 : 0;
    if (Number(digit) > lowest)
      alternatives.push(`${digits.slice(0, i)}[${lowest}-${Number(digit) - 1}]\\d{${digits.length - i - 1}}`);
  }
  return `(?:${[...(minimum === 0 ? ['0'] : []), ...alternatives, digits].join('|')})`;
}

function allowingOnly(keywords: JsonSchema, known: readonly string[]): JsonSchema {
  for (const keyword of Object.keys(keywords)) if (!known.includes(keyword)) unsupported(keyword);
  return keywords;
}

function unsupported(what: string): never {
  throw new UnsupportedSchemaError(what);
}
