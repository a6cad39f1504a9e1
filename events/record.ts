/**
 * A record: one fact in the log, written once and never changed. Here its bytes are written and read, and here it is said
 * which of its sections may leave the service.
 *
 *   record  { id, log, stream, revision, type, version, at, actor, data, seals: { <section>: sha256 } }
 *   sealed  { <section>: { salt, … } }          seals.<section> = SHA-256(JCS(section)), lower-case hex
 *   leaf    SHA-256(0x00 ‖ record bytes)        the leaf hash of RFC 6962 §2.1
 *
 * Both parts are RFC 8785 canonical JSON (JCS) in UTF-8. They are serialized once, and exactly those bytes are stored. A
 * blinded reader may see the record alone: everything that must stay hidden is in the sections. Each seal binds its
 * section together with 128 random bits of salt, so the contents cannot be guessed by trying treatments.
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { configure } from 'safe-stable-stringify';
import { z } from 'zod';
import { RecordError, type RecordFault } from '../src/base/errors.ts';
import {
  type Catalogue,
  type Fact,
  catalogue as knownEvents,
  type StudyFact,
  streamKind,
} from './catalogue.ts';
import type { EventDefinition } from './define.ts';
import { RecordPatterns } from './record-pattern.ts';

/** Who caused a fact: an API key over HTTP, or a person at the command line (a user of the operating system). */
export const Actor = z.union([
  z.strictObject({
    keyId: z.string(),
    user: z.string(),
    /** Revision of `access` at which the deciding process accepted the key. */
    accessRevision: z.int().nonnegative(),
    onBehalfOf: z.string().optional(),
  }),
  z.strictObject({ cli: z.literal(true), user: z.string() }),
]);
export type Actor = z.infer<typeof Actor>;

/** The members of a record that surround its fact. `at` is the writer's clock in UTC, with milliseconds. */
export interface Header {
  readonly id: string;
  readonly log: string;
  readonly stream: string;
  readonly revision: number;
  readonly at: string;
  readonly actor: Actor;
}

/** One fact of the log, decoded and checked. */
export type LogEvent<F extends { readonly type: string } = Fact> = Header & F;

/** An event of one type, with all of its sections. */
export type EventOf<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;

/** A fact with some of its sections withheld, as in a bundle that does not include them. */
type WithPartOfSections<F> = F extends { readonly sections: infer S }
  ? Omit<F, 'sections'> & { readonly sections: Partial<S> }
  : never;
export type PartialEvent = LogEvent<WithPartOfSections<Fact>>;

/** An event of one type, with the sections that are included. */
export type PartialEventOf<T extends PartialEvent['type']> = Extract<PartialEvent, { type: T }>;
/** An event of a study, with the sections that are included. */
export type PartialStudyEvent = PartialEventOf<StudyFact['type']>;

/** The bytes of one record, as every store keeps them. */
export interface RecordBytes {
  readonly record: Uint8Array;
  readonly sealed: Uint8Array;
  /** 32 bytes. */
  readonly leaf: Uint8Array;
}

const RecordSchema = z.strictObject({
  id: z.uuid(),
  log: z.uuid(),
  stream: z.string(),
  revision: z.int().nonnegative(),
  type: z.string(),
  version: z.int().positive(),
  at: z.iso.datetime({ precision: 3 }),
  actor: Actor,
  data: z.unknown(),
  seals: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
});

// Writing.

/**
 * Serializes a fact and seals its sections.
 * @param newSalt returns 128 random bits in hex; called once per section
 * @throws RecordError when the fact does not fit the catalogue: once written, it could never be read
 */
export function encodeRecord(header: Header, fact: Fact, newSalt: () => string): RecordBytes {
  const { id, log, stream, revision, at, actor } = header;
  const { type, data } = fact;
  const definition = knownEvents.latest(type);
  if (!definition) throw new RecordError('unknown-type', type, 'is not in the catalogue');
  const { version } = definition;
  const sections: { readonly name: string; readonly text: string }[] = [];
  const seals: Record<string, string> = {};
  for (const name of Object.keys(fact.sections).sort()) {
    const text = canonicalJson(salted((fact.sections as SectionsByName)[name], newSalt()));
    sections.push({ name, text });
    seals[name] = hash('sha256', text);
  }
  const sealedText = joinSections(sections);
  const text = canonicalJson({ actor, at, data, id, log, revision, seals, stream, type, version });
  // The pattern says yes or nothing, in half the time that zod takes. Zod says what is wrong.
  if (!recordPatterns().describe(text, sealedText)) {
    const fault = faultOf(definition, data, JSON.parse(sealedText));
    if (fault !== '') throw new RecordError('malformed', type, `is not written: it has no valid ${fault}`);
  }
  const record = Buffer.from(text);
  return { record, sealed: Buffer.from(sealedText), leaf: leafHash(record) };
}

type SectionsByName = Readonly<Record<string, object | undefined>>;

/** Inserts the salt where it belongs in the sorted members. */
function salted(section: object | undefined, salt: string): object {
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(section ?? {})) {
    if (name > 'salt') members['salt'] ??= salt;
    members[name] = value;
  }
  members['salt'] ??= salt;
  return members;
}

/** The sections are canonical and sorted by name, so the result is canonical without a second pass. */
function joinSections(sections: readonly { readonly name: string; readonly text: string }[]): string {
  return `{${sections.map(({ name, text }) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** The paths at which the contents do not conform to a definition; empty if they do. */
function faultOf({ parseData, parseSealed }: EventDefinition, data: unknown, sealed: unknown): string {
  return [parseData(data), parseSealed(sealed)]
    .flatMap(({ error }) => (error ? [failedPaths(error)] : []))
    .join(', ');
}

/** Where a schema failed. Leaves out the values, which may be treatments or seeds. */
function failedPaths(error: z.ZodError): string {
  return error.issues.map((issue) => issue.path.join('.') || 'contents').join(', ');
}

/** Made when the first record is written or read. */
let patternsOfCatalogue: RecordPatterns | undefined;

function recordPatterns(): RecordPatterns {
  patternsOfCatalogue ??= new RecordPatterns(RecordSchema.shape, knownEvents);
  return patternsOfCatalogue;
}

/** RFC 8785 §3.2: members sorted by UTF-16 code units, everything else as ECMAScript serializes it. */
const sortedJson = configure({ deterministic: true, strict: true });
/** How JSON.stringify writes a lone surrogate, which RFC 8785 §3.2.2.2 forbids. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** RFC 8785 canonical JSON. Throws on values that JSON cannot hold and on lone surrogates. */
export function canonicalJson(value: unknown): string {
  // JSON.stringify is three times as fast, but it keeps the members in their existing order.
  const text = isSortedJson(value) ? JSON.stringify(value) : sortedJson(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  if (text.includes('\\ud') && LONE_SURROGATE.test(text))
    throw new TypeError('canonical JSON cannot hold a lone surrogate');
  return text;
}

/** Whether a value is plain JSON and the members of every object are already in canonical order. */
function isSortedJson(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.every(isSortedJson);
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  let last = '';
  for (const key in value) {
    if (key < last || !isSortedJson((value as Record<string, unknown>)[key])) return false;
    last = key;
  }
  return true;
}

/** 0x00, and room for most records. */
const PREFIXED = Buffer.alloc(8192);

/** The RFC 6962 §2.1 leaf hash of a record's bytes. */
export function leafHash(record: Uint8Array): Buffer {
  const length = 1 + record.length;
  const prefixed = length <= PREFIXED.length ? PREFIXED.subarray(0, length) : Buffer.alloc(length);
  prefixed.set(record, 1);
  return sha256(prefixed);
}

/** 32 bytes. Node makes a short string from a digest in half the time that it takes to make a Buffer. */
export function sha256(bytes: Uint8Array | string): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
}

// Reading.

/** A record as read from a store, and its place there. */
type PlacedRecord = RecordBytes & { readonly stream: string; readonly revision: number };

/**
 * Reads a stored record: checks its leaf, place, schema and seals, and converts it to the latest version of its type.
 * @throws RecordError, which names the stream and revision, but never contents
 */
export function decodeRecord(stored: PlacedRecord, events: Catalogue = knownEvents): LogEvent {
  const sound = events === knownEvents ? evidentlySound(stored) : undefined;
  if (!sound) return examine(stored, events);
  return eventOf(JSON.parse(sound.record), JSON.parse(sound.sealed), knownEvents, sound.type);
}

/**
 * Like `decodeRecord`, for a record that holds only some of its sections. Of the others only the seals are there, and
 * nothing is known about their contents.
 * @param isIncluded says which sections are included, by name: of those that the record seals, exactly these must be there
 * @throws RecordError as `decodeRecord`
 */
export function decodePartialRecord(
  stored: PlacedRecord,
  isIncluded: (section: string) => boolean,
): PartialEvent {
  return examine(stored, knownEvents, isIncluded);
}

/** Makes the same checks as `decodeRecord`, and throws the same errors, in a third of the time. */
export function checkRecord(stored: PlacedRecord): void {
  if (!evidentlySound(stored)) examine(stored, knownEvents);
}

/** Bytes that are not UTF-8 are decoded as this character. */
const REPLACEMENT_CHARACTER = '\ufffd';

/** Fast check for the usual case. @returns type and texts of a sound record; undefined if `examine` must decide */
function evidentlySound(
  stored: PlacedRecord,
): { readonly type: string; readonly record: string; readonly sealed: string } | undefined {
  const { leaf, stream, revision } = stored;
  if (Buffer.compare(leafHash(stored.record), leaf) !== 0) return undefined;
  const [record, sealed] = [textOf(stored.record), textOf(stored.sealed)];
  if (record.includes(REPLACEMENT_CHARACTER) || sealed.includes(REPLACEMENT_CHARACTER)) return undefined;
  const type = recordPatterns().match(record, sealed, stream, streamKind(stream), revision);
  return type === undefined ? undefined : { type, record, sealed };
}

/** The text of a stored part. It is valid UTF-8 if `decodeRecord` has accepted the part. */
export function textOf(bytes: Uint8Array): string {
  if (bytes instanceof Buffer) return bytes.toString('utf8');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** @param isIncluded undefined if every section is included */
function examine(
  stored: PlacedRecord,
  events: Catalogue,
  isIncluded?: (section: string) => boolean,
): LogEvent {
  const where = `${stored.stream}/${stored.revision}`;
  const fail = (fault: RecordFault, why: string): never => {
    throw new RecordError(fault, where, why);
  };
  if (Buffer.compare(leafHash(stored.record), stored.leaf) !== 0)
    fail(
      'leaf-mismatch',
      'the record does not match the leaf hash stored beside it: it was changed after it was written',
    );
  const text = utf8Text(stored.record) ?? fail('malformed', 'the record is not UTF-8');
  const json = parseJson(text) ?? fail('malformed', 'the record is not JSON');
  // With a duplicate key, two readers could read different things in the same record.
  if (!isCanonical(json, text)) fail('malformed', 'the record is not canonical JSON');
  const parsed = RecordSchema.safeParse(json);
  if (!parsed.success) return fail('malformed', `the record has no valid ${failedPaths(parsed.error)}`);
  const record = parsed.data;
  if (record.stream !== stored.stream || record.revision !== stored.revision)
    fail('misplaced', `the record says that it is ${record.stream}/${record.revision}`);
  const { type, version } = record;
  const definition =
    events.definition(type, version) ??
    fail(
      'unknown-type',
      `${type}@${version} is unknown to this build (hint: a newer version wrote it; run that one)`,
    );
  if (definition.stream !== streamKind(stored.stream))
    fail('misplaced', `${type} does not belong in this stream`);

  const sealedText = utf8Text(stored.sealed) ?? fail('malformed', 'the sealed part is not UTF-8');
  const sealed = parseJson(sealedText) ?? fail('malformed', 'the sealed part is not JSON');
  const seals = isIncluded ? includedSeals(definition, record.seals, isIncluded, fail) : record.seals;
  checkSeals(seals, sealed as Record<string, unknown>, sealedText, fail);
  const data = definition.parseData(record.data);
  if (!data.success) return fail('malformed', `data has no valid ${failedPaths(data.error)}`);
  const sections = isIncluded ? definition.parsePartial(sealed) : definition.parseSealed(sealed);
  if (!sections.success)
    return fail('malformed', `the sealed part has no valid ${failedPaths(sections.error)}`);
  return eventOf(record, sealed, events);
}

/** Undefined if the bytes are not UTF-8. */
function utf8Text(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? textOf(bytes) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isCanonical(json: unknown, text: string): boolean {
  return canonicalOr(json, () => undefined) === text;
}

/** The canonical form, or the result of `otherwise` if there is none, as for text with a lone surrogate. */
function canonicalOr<T>(json: unknown, otherwise: () => T): string | T {
  try {
    return canonicalJson(json);
  } catch {
    return otherwise();
  }
}

/** The seals of the included sections. Checks that no seal is missing; otherwise, the schema of the sections does. */
function includedSeals(
  { sections }: EventDefinition,
  seals: Readonly<Record<string, string>>,
  isIncluded: (section: string) => boolean,
  fail: (fault: RecordFault, why: string) => never,
): Readonly<Record<string, string>> {
  const missing = sections.find(({ name, isOptional }) => !isOptional && seals[name] === undefined);
  const unknown = Object.keys(seals).find((name) => !sections.some((section) => section.name === name));
  const wrong = missing?.name ?? unknown;
  if (wrong !== undefined) fail('malformed', `the record has no valid seals.${wrong}`);
  return Object.fromEntries(Object.entries(seals).filter(([name]) => isIncluded(name)));
}

function checkSeals(
  seals: Readonly<Record<string, string>>,
  sealed: Readonly<Record<string, unknown>>,
  sealedText: string,
  fail: (fault: RecordFault, why: string) => never,
): void {
  const sections = Object.entries(seals).map(([name, seal]) => {
    const section = sealed[name] ?? fail('seal-mismatch', `section "${name}" is sealed, but missing`);
    const text = canonicalOr(section, () => fail('seal-mismatch', `section "${name}" is not canonical JSON`));
    if (hash('sha256', text) !== seal)
      fail('seal-mismatch', `section "${name}" does not match its seal: it was changed after it was written`);
    return { name, text };
  });
  if (joinSections(sections) !== sealedText)
    fail(
      'seal-mismatch',
      'the sealed part is more than its sealed sections: it was changed after it was written',
    );
}

/** @param type that of the record: V8 compares a name that the program contains faster than one that was parsed */
function eventOf(
  record: z.infer<typeof RecordSchema>,
  sealed: unknown,
  events: Catalogue,
  type = record.type,
): LogEvent {
  const { id, log, stream, revision, at, actor, version } = record;
  const latest = events.upcast(type, version, { data: record.data, sealed });
  return {
    id,
    log,
    stream,
    revision,
    at,
    actor,
    type,
    data: latest.data,
    sections: latest.sealed,
  } as LogEvent;
}

// What may leave the service.

/**
 * Which sealed sections of a study are included in what leaves the service: a bundle or the feed. `full`: all sections, so
 * that every allocation can be drawn again. `open`: the treatments. `blinded`: none. Sections not listed here, such as
 * those added in a later version, stay inside. No sections of `log` and `access` are ever included, because they hold
 * credentials.
 */
export const CONTENTS = ['full', 'open', 'blinded'] as const;
export type Content = (typeof CONTENTS)[number];

/** Whether a section of a study is included in the content. */
export function isSectionIncluded(section: string, content: Content): boolean {
  return content === 'full' || (content === 'open' && section === 'allocation');
}

/** Canonical JSON for no sections. */
export const NO_SECTIONS = Buffer.from('{}');

/**
 * The sections of a study's record that are included in the content, as canonical JSON.
 * @param sealed all sections, as stored
 */
export function includedSections(sealed: Uint8Array, content: Content): Uint8Array {
  if (content === 'full') return sealed;
  if (content === 'blinded') return NO_SECTIONS;
  const { allocation } = JSON.parse(Buffer.from(sealed).toString('utf8')) as { allocation?: unknown };
  // JSON.stringify gives back the canonical bytes, because the parsed keys were sorted and none is a number.
  return allocation === undefined ? NO_SECTIONS : Buffer.from(JSON.stringify({ allocation }));
}
