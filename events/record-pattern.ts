/**
 * The fast check of a stored record, by one regular expression. It matches the whole text of the record and of its sealed
 * part, and compares the seals with the matched sections. The answer is either "valid" or "unknown", never "invalid".
 *
 * The expression is made from the JSON schemas of the catalogue (`canonicalPattern`), for the canonical texts (RFC 8785) of
 * the values that they accept. A text that matches is JSON, is canonical, and represents a value that the schema accepts:
 * its members are in canonical order, its numbers in canonical form, and nothing is escaped. One match takes a third of the
 * time that it takes to parse the text, validate the value and serialize it again. The reverse does not hold: a text with an
 * escaped character may be canonical and valid, but does not match.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Catalogue } from './catalogue.ts';
import type { EventDefinition, StreamKind } from './define.ts';

/** In characters. Longer texts get the full check, because a regular expression may need memory in proportion. */
const MAX_TEXT_LENGTH = 1 << 18;

/** Of any length: a seal is then compared with a digest as a whole. */
const SEAL: Pattern = '"([0-9a-f]*)"';

/** The schemas of the members that have the same form in all records. */
type Envelope = Readonly<Record<'actor' | 'at' | 'id' | 'log' | 'revision' | 'stream', z.ZodType>>;

interface RecordPattern {
  readonly type: string;
  readonly stream: StreamKind;
  /** Its groups: the revision, a seal for each section, the name of the stream without its quotes. */
  readonly record: RegExp;
  /** Its groups: the sections. */
  readonly sealed: RegExp;
}

export class RecordPatterns {
  readonly #envelope: Envelope;
  readonly #definitions: ReadonlyMap<string, EventDefinition>;
  /** Each is made when the first record of its kind is checked. Undefined: this kind has no fast check. */
  readonly #patterns = new Map<EventDefinition, RecordPattern | undefined>();
  /** How the last record ended. Most records are of the same kind as the one before. */
  #lastEnding = '';
  #lastPattern: RecordPattern | undefined;

  constructor(envelope: Envelope, catalogue: Catalogue) {
    this.#envelope = envelope;
    this.#definitions = new Map(catalogue.all().map((definition) => [endingOf(definition), definition]));
  }

  /**
   * Whether record and sealed part are canonical, conform to the catalogue, belong to this stream and revision, and the
   * seals match.
   *
   * @param kind the kind of the stream
   * @returns the type of the event; undefined if not, or if only the full check can decide
   */
  match(
    record: string,
    sealed: string,
    stream: string,
    kind: StreamKind | undefined,
    revision: number,
  ): string | undefined {
    if (record.length > MAX_TEXT_LENGTH || sealed.length > MAX_TEXT_LENGTH) return undefined;
    const pattern = this.#patternFor(record);
    if (!pattern || pattern.stream !== kind) return undefined;
    const groups = pattern.record.exec(record);
    if (!groups || Number(groups[1]) !== revision || groups.at(-1) !== stream) return undefined;
    const sections = pattern.sealed.exec(sealed);
    if (!sections) return undefined;
    for (let i = 1; i < sections.length; i++) {
      const [seal, section] = [groups[1 + i], sections[i]];
      if (section === undefined ? seal !== undefined : hash('sha256', section) !== seal) return undefined;
    }
    return pattern.type;
  }

  /** Whether both texts have a form that the catalogue describes. Their stream, revision and seals are not checked. */
  describe(record: string, sealed: string): boolean {
    if (record.length > MAX_TEXT_LENGTH || sealed.length > MAX_TEXT_LENGTH) return false;
    const pattern = this.#patternFor(record);
    if (!pattern) return false;
    return pattern.record.test(record) && pattern.sealed.test(sealed);
  }

  #patternFor(record: string): RecordPattern | undefined {
    if (this.#lastEnding !== '' && record.endsWith(this.#lastEnding)) return this.#lastPattern;
    const ending = record.slice(record.lastIndexOf(',"type":'));
    const definition = this.#definitions.get(ending);
    if (!definition) return undefined;
    if (!this.#patterns.has(definition)) this.#patterns.set(definition, this.#make(definition));
    this.#lastEnding = endingOf(definition);
    this.#lastPattern = this.#patterns.get(definition);
    return this.#lastPattern;
  }

  #make(definition: EventDefinition): RecordPattern | undefined {
    const { type, version, stream, data, sections } = definition;
    const members = (patterns: Readonly<Record<string, Pattern>>): Member[] =>
      Object.entries(patterns).map(([name, pattern]) => ({ name, pattern }));
    const { actor, at, id, log, revision, stream: streamName } = this.#envelope;
    try {
      const seals = sections.map((section) => ({ ...section, pattern: SEAL }));
      const record = {
        actor: canonicalPattern(actor),
        at: canonicalPattern(at),
        data: canonicalPattern(data),
        id: canonicalPattern(id),
        log: canonicalPattern(log),
        revision: `(${canonicalPattern(revision)})`,
        seals: objectPattern(seals),
        stream: `"(${canonicalPattern(streamName).slice(1, -1)})"`,
        type: literal(type),
        version: literal(version),
      };
      const sealed = sections.map((section) => ({
        ...section,
        pattern: `(${canonicalPattern(section.schema)})`,
      }));
      return {
        type,
        stream,
        record: anchored(objectPattern(members(record))),
        sealed: anchored(objectPattern(sealed)),
      };
    } catch (error) {
      if (error instanceof UnsupportedSchemaError) return undefined;
      throw error;
    }
  }
}

/** How a record of this type and version ends: these are its last members. */
function endingOf({ type, version }: EventDefinition): string {
  return `,"type":${JSON.stringify(type)},"version":${version}}`;
}

function anchored(pattern: Pattern): RegExp {
  return new RegExp(`^${pattern}$`);
}

// From schemas to patterns.

/** The source of a regular expression without capturing groups and anchors. */
type Pattern = string;

/**
 * The pattern of a schema. The schema must describe plain JSON and leave it unchanged: no defaults, transforms or
 * refinements.
 * @throws UnsupportedSchemaError
 */
export function canonicalPattern(schema: z.ZodType): Pattern {
  return patternOf(z.toJSONSchema(schema));
}

/** A schema requires something that a regular expression cannot express, or that is not implemented here. */
export class UnsupportedSchemaError extends Error {
  override readonly name = 'UnsupportedSchemaError';
}

type JsonSchema = z.core.JSONSchema.BaseSchema;
const SUPPORTED_KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems'],
  string: ['minLength', 'pattern', 'format', 'enum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
};

function patternOf(schema: JsonSchema): Pattern {
  const { $schema, type = '', ...keywords } = schema;
  if (keywords.anyOf) return `(?:${allowingOnly(keywords, ['anyOf']).anyOf?.map(patternOf).join('|')})`;
  if (keywords.const !== undefined) return literal(allowingOnly(keywords, ['const']).const);
  allowingOnly(keywords, SUPPORTED_KEYWORDS[String(type)] ?? unsupported(`the type ${type}`));
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

/** The pattern of one fixed JSON value. */
function literal(value: unknown): Pattern {
  return JSON.stringify(value).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
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

/** A member of an object. Its name needs no escaping. */
interface Member {
  readonly name: string;
  readonly pattern: Pattern;
  readonly isOptional?: boolean;
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

function arrayOf({ items, minItems = 0 }: JsonSchema): Pattern {
  if (!items || items === true || Array.isArray(items)) return unsupported('a tuple');
  const item = patternOf(items as JsonSchema);
  if (minItems === 0) return `\\[(?:${item}(?:,${item})*)?\\]`;
  return `\\[${item}(?:,${item}){${minItems - 1},}\\]`;
}

/** A character that needs no escaping in a JSON string. */
const PLAIN_CHARACTER = '[^"\\\\\\x00-\\x1f]';

/** A schema's own pattern is supported only if it consists of these parts: they cannot match a quote or look around. */
const SIMPLE_PATTERN = /^\^(?:[A-Za-z0-9:,+/=_ -]|\\[d.+/-]|\[(?:[A-Za-z0-9:+/=_.-]|\\d)+\]|[()|?{}*])+\$$/;

function stringOf({ minLength = 0, pattern, format, enum: values }: JsonSchema): Pattern {
  if (values) return `(?:${values.map(literal).join('|')})`;
  if (pattern === undefined) {
    // For every format, Zod also writes a pattern.
    if (format !== undefined || minLength > 1) return unsupported('a format or a length');
    return `"${PLAIN_CHARACTER}${minLength === 0 ? '*' : '+'}"`;
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
