/**
 * A JSON schema as a regular expression for the canonical texts (RFC 8785) of the values that it admits.
 *
 * A text that matches is JSON, canonical, and of a value that the schema admits: members stand in the one order, numbers
 * are written in the one way, and nothing is escaped. To know all that from one match takes a third of the time that it
 * takes to parse the text, to judge the value and to write it again. The reverse does not hold: a value with a
 * character that must be escaped is as good, and does not match.
 */
import { z } from 'zod';

/** Source of a regular expression, without groups that capture and without anchors. */
export type Pattern = string;

/** A member of an object; its name has nothing to escape. */
export interface Member {
  readonly name: string;
  readonly pattern: Pattern;
  readonly isOptional?: boolean;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What can stand in a JSON string as it is. */
const PLAIN = '[^"\\\\\\x00-\\x1f]';

/** A schema's own patterns are taken as far as they are made of these: they cannot match a quote, nor look around. */
const SIMPLE_PATTERN = /^\^(?:[A-Za-z0-9:,+/=_ -]|\\[d.+/-]|\[(?:[A-Za-z0-9:+/=_-]|\\d)+\]|[()|?{}*])+\$$/;

const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems'],
  string: ['minLength', 'pattern', 'format', 'enum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
};

/** A schema says more than can be said, or is said here, with a regular expression. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

/**
 * For schemas of plain JSON that change nothing: no defaults, transforms or refinements.
 * @throws NotUnderstood
 */
export function canonicalPattern(schema: z.ZodType): Pattern {
  return patternOf(z.toJSONSchema(schema));
}

/**
 * Of an object with these members, in any order, and no others.
 * @throws NotUnderstood when all are optional
 */
export function objectPattern(members: readonly Member[]): Pattern {
  const sorted = members.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const first = sorted.findIndex(({ isOptional }) => !isOptional);
  if (first < 0 && sorted.length > 0) throw new NotUnderstood('an object without a required member');
  const parts = sorted.map(({ name, pattern, isOptional }, i) => {
    const member = `${literal(name)}:${pattern}`;
    if (i === first) return member;
    return isOptional ? `(?:${i < first ? `${member},` : `,${member}`})?` : `,${member}`;
  });
  return `\\{${parts.join('')}\\}`;
}

/** A JSON value that is always the same. */
export function literal(value: unknown): Pattern {
  return JSON.stringify(value).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function patternOf(schema: JsonSchema): Pattern {
  const { $schema, type = '', ...says } = schema;
  if (says.anyOf) return `(?:${onlyOf(says, ['anyOf']).anyOf?.map(patternOf).join('|')})`;
  if (says.const !== undefined) return literal(onlyOf(says, ['const']).const);
  onlyOf(says, KEYWORDS[String(type)] ?? refuse(`the type ${type}`));
  switch (type) {
    case 'object':
      return objectOf(says);
    case 'array':
      return arrayOf(says);
    case 'string':
      return stringOf(says);
    case 'integer':
      return integerOf(says);
    default:
      return '(?:true|false)';
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: JsonSchema): Pattern {
  if (additionalProperties !== false) refuse('members of any name');
  return objectPattern(
    Object.entries(properties).map(([name, schema]) => ({
      name,
      pattern: patternOf(schema as JsonSchema),
      isOptional: !required.includes(name),
    })),
  );
}

function arrayOf({ items, minItems = 0 }: JsonSchema): Pattern {
  if (!items || items === true || Array.isArray(items)) return refuse('a tuple');
  const item = patternOf(items as JsonSchema);
  if (minItems === 0) return `\\[(?:${item}(?:,${item})*)?\\]`;
  return `\\[${item}(?:,${item}){${minItems - 1},}\\]`;
}

function stringOf({ minLength = 0, pattern, format, enum: values }: JsonSchema): Pattern {
  if (values) return `(?:${values.map(literal).join('|')})`;
  if (pattern === undefined) {
    // Zod writes every format as a pattern as well.
    if (format !== undefined || minLength > 1) return refuse('a format or a length');
    return `"${PLAIN}${minLength === 0 ? '*' : '+'}"`;
  }
  if (minLength > 0 || !SIMPLE_PATTERN.test(pattern) || pattern.includes('(?=')) return refuse('a pattern');
  return `"(?:${pattern.slice(1, -1).replace(/\((?!\?)/g, '(?:')})"`;
}

/** From 0 or 1 to the maximum. */
function integerOf({ minimum, maximum }: JsonSchema): Pattern {
  const isCounting = minimum === 0 || minimum === 1;
  if (!isCounting || !Number.isSafeInteger(maximum) || Number(maximum) < 1)
    return refuse('a range of numbers');
  const digits = String(maximum);
  const ways = digits.length > 1 ? [`[1-9]\\d{0,${digits.length - 2}}`] : [];
  // As long as the maximum, and below it from one digit on; or the maximum itself.
  for (const [i, digit] of [...digits].entries()) {
    const lowest = i === 0 ? 1 : 0;
    if (Number(digit) > lowest)
      ways.push(`${digits.slice(0, i)}[${lowest}-${Number(digit) - 1}]\\d{${digits.length - i - 1}}`);
  }
  return `(?:${[...(minimum === 0 ? ['0'] : []), ...ways, digits].join('|')})`;
}

function onlyOf(says: JsonSchema, known: readonly string[]): JsonSchema {
  for (const keyword of Object.keys(says)) if (!known.includes(keyword)) refuse(keyword);
  return says;
}

function refuse(what: string): never {
  throw new NotUnderstood(what);
}
