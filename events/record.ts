/**
 * The record: one fact as it stands in the log, written once and never changed.
 *
 *   record  { id, log, stream, revision, type, version, at, actor, data, seals: { <section>: sha256 } }
 *   sealed  { <section>: { salt, … } }          seals.<section> = SHA-256(JCS(section)), lower-case hex
 *   leaf    SHA-256(0x00 ‖ record bytes)        the leaf hash of RFC 6962 §2.1
 *
 * Both parts are RFC 8785 canonical JSON (JCS) in UTF-8, serialized once; exactly those bytes are stored. The record
 * alone is what a blinded reader may see: what must stay hidden is in the sections, and each seal binds its section
 * through 128 random bits of salt, so that it cannot be guessed by trying treatments.
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { type Catalogue, type Fact, catalogue as knownEvents, streamKind } from './catalogue.ts';

/** Who caused a fact: an API key over HTTP, or a person on the command line (the operating system's user). */
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

/** What a record says around its fact. `at` is UTC with milliseconds, the writer's clock as it was read. */
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

/** The bytes of one record as every store keeps them. */
export interface RecordBytes {
  readonly record: Uint8Array;
  readonly sealed: Uint8Array;
  /** 32 bytes. */
  readonly leaf: Uint8Array;
}

export type RecordFault = 'unknown-type' | 'malformed' | 'leaf-mismatch' | 'seal-mismatch' | 'misplaced';

/** A stored record that cannot be taken for what it claims to be. The message never quotes what the record says. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
  readonly fault: RecordFault;
  constructor(fault: RecordFault, where: string, why: string) {
    super(`${where}: ${why}`);
    this.fault = fault;
  }
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

/** RFC 8785 canonical JSON. Throws on what JSON cannot hold and on lone surrogates. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}

/** RFC 6962 §2.1 leaf hash of a record's bytes. */
export function leafHash(record: Uint8Array): Buffer {
  const prefixed = Buffer.allocUnsafe(record.length + 1);
  prefixed[0] = 0;
  prefixed.set(record, 1);
  return hash('sha256', prefixed, 'buffer');
}

/**
 * Serializes a fact, sealing its sections.
 * @param newSalt gives 128 random bits in hex, once per section
 */
export function encodeRecord(header: Header, fact: Fact, newSalt: () => string): RecordBytes {
  const definition = knownEvents.latest(fact.type);
  if (!definition) throw new RecordError('unknown-type', fact.type, 'is not in the catalogue');
  const sealedParts: string[] = [];
  const seals: Record<string, string> = {};
  for (const [name, section] of Object.entries(fact.sections).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const text = canonicalJson({ ...section, salt: newSalt() });
    sealedParts.push(`${JSON.stringify(name)}:${text}`);
    seals[name] = hash('sha256', text);
  }
  const { id, log, stream, revision, at, actor } = header;
  const { type, data } = fact;
  const record = Buffer.from(
    canonicalJson({ actor, at, data, id, log, revision, seals, stream, type, version: definition.version }),
  );
  // The sections are canonical and their names sorted, so the whole is canonical without a second pass.
  return { record, sealed: Buffer.from(`{${sealedParts.join(',')}}`), leaf: leafHash(record) };
}

/**
 * Reads a stored record back: checks its leaf, its place, its schema and its seals, and brings it to the latest
 * version of its type.
 * @throws RecordError, naming stream and revision, never contents
 */
export function decodeRecord(
  stored: RecordBytes & { readonly stream: string; readonly revision: number },
  events: Catalogue = knownEvents,
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
  const parsed = RecordSchema.safeParse(
    parseJson(stored.record) ?? fail('malformed', 'the record is not JSON in UTF-8'),
  );
  if (!parsed.success) return fail('malformed', `the record has no valid ${paths(parsed.error)}`);
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
    fail('misplaced', `${type} does not belong into this stream`);

  const sealed = parseJson(stored.sealed) ?? fail('malformed', 'the sealed part is not JSON in UTF-8');
  checkSeals(record.seals, sealed as Record<string, unknown>, fail);
  const data = definition.data.safeParse(record.data);
  if (!data.success) return fail('malformed', `data has no valid ${paths(data.error)}`);
  const sections = definition.sealed.safeParse(sealed);
  if (!sections.success) return fail('malformed', `the sealed part has no valid ${paths(sections.error)}`);

  const said = events.upcast(type, version, { data: data.data, sealed: sections.data });
  const { id, log, stream, revision, at, actor } = record;
  return { id, log, stream, revision, at, actor, type, data: said.data, sections: said.sealed } as LogEvent;
}

function checkSeals(
  seals: Readonly<Record<string, string>>,
  sealed: Readonly<Record<string, unknown>>,
  fail: (fault: RecordFault, why: string) => never,
): void {
  const names = Object.keys(sealed);
  if (names.length !== Object.keys(seals).length)
    fail('seal-mismatch', 'seals and sealed sections differ in number');
  for (const name of names) {
    // JSON.stringify gives a section's canonical bytes back: it was parsed from sorted keys, none of them a number.
    if (hash('sha256', JSON.stringify(sealed[name])) !== seals[name])
      fail('seal-mismatch', `section "${name}" does not match its seal: it was changed after it was written`);
  }
}

function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Where a schema failed, without the values: a value here may be a treatment or a seed. */
function paths(error: z.ZodError): string {
  return error.issues.map((issue) => issue.path.join('.') || 'contents').join(', ');
}
