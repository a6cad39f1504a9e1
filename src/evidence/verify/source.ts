/**
 * Where verification gets its records (a database or anything else that can provide them), what such a source withholds, and
 * how each of its records is decoded.
 */
import { hash } from 'node:crypto';
import {
  type Content,
  canonicalJson,
  decodePartialRecord,
  decodeRecord,
  type LogEvent,
  leafHash,
  type PartialEvent,
  type RecordBytes,
} from '../../../events/record.ts';
import { RecordError } from '../../base/errors.ts';
import { mismatch } from './replay/replay.ts';
import type { EventName, Mismatch, StoreFindings } from './report/report.ts';

export interface RecordSource {
  /** Which sealed sections a bundle includes; undefined if the source holds everything that the log holds. */
  readonly content?: Content;
  /** The names of all streams. */
  streams(): Promise<readonly string[]>;
  /**
   * All records of one stream, in pages, by ascending revision; none if there is no such stream. Records that occur twice
   * or have an impossible revision are included. Streams are read one after another, `log` and `access` first. Records
   * appended in the meantime may be left out, but consistently: no record may come without the key that it names. The
   * bytes of a page may be overwritten when the next page is requested. Throws BrokenStream if a stream is known to lack
   * records or to be deleted.
   */
  read(stream: string): AsyncIterable<readonly SourceRecord[]>;
  /** Findings about the database that holds the records. */
  findings?(): Promise<StoreFindings>;
}

export interface SourceRecord extends RecordBytes {
  /** The stream that it was read from. */
  readonly stream: string;
  /** As stored beside the record. In a source that was tampered with, it can be anything. */
  readonly revision: number;
  /** Set when the source provides only the leaf of the record. The other bytes are then empty. */
  readonly isWithheld?: boolean;
}

/**
 * How the records of a source are read, given what it withholds. A database withholds nothing; docs/bundle.md says what a
 * bundle of each content withholds. No other part of the verification knows which sections a bundle includes.
 */
export interface SourceReading {
  /** For all streams that are not studies. */
  readonly others: Decode;
  /** For studies whose draws are withheld and cannot be decided again. Undefined if all sections are included. */
  readonly undrawn: Decode<PartialEvent> | undefined;
  /** Whether the parts of LogRecovered that are about studies are withheld. */
  readonly hidesRecoveredStudies: boolean;
}

export type Decode<E extends PartialEvent = LogEvent> = (stored: SourceRecord) => Decoded<E>;

export type Decoded<E extends PartialEvent = LogEvent> =
  | {
      readonly event: E;
      readonly leaf: Uint8Array;
      /** The seals of withheld sections, by name. Absent if the source withholds none. */
      readonly withheldSeals?: Readonly<Record<string, string>>;
    }
  /** `leaf` is computed from the actual bytes. */
  | { readonly mismatch: Mismatch; readonly leaf: Uint8Array };

/** @param content of a bundle; undefined if the source holds everything that the log holds */
export function readingOf(content: Content | undefined): SourceReading {
  if (content === undefined) return { others: decode, undrawn: undefined, hidesRecoveredStudies: false };
  return { others: decodeOther, undrawn: UNDRAWN_STUDY[content], hidesRecoveredStudies: true };
}

const UNDRAWN_STUDY: Readonly<Record<Content, Decode<PartialEvent> | undefined>> = {
  full: undefined,
  open: (stored) => decodePartial(stored, (section) => section === 'allocation'),
  blinded: (stored) => decodePartial(stored, includesNone),
};

const includesNone = () => false;

/** For `log` and `access`: every bundle withholds all their sections. */
const decodeOther: Decode = (stored): Decoded => {
  const decoded = decodePartial(stored, includesNone);
  return 'event' in decoded ? { ...decoded, event: withStandIns(decoded.event) } : decoded;
};

/** The replay does not depend on the withheld sections, so placeholders can take their place. */
function withStandIns(event: PartialEvent): LogEvent {
  switch (event.type) {
    case 'ApiKeyIssued':
      // No credential is issued twice, but a bundle cannot show that. The event's id is just as unique.
      return { ...event, sections: { credential: { sha256: event.id } } };
    case 'LogRecovered':
      // This source names no studies here. StudyRecovered says the same and is used instead (verify.ts).
      return { ...event, sections: { studies: { streams: [] } } };
    case 'LogCreated':
    case 'SigningKeyRotated':
    case 'LogMoved':
    case 'LogArrived':
    case 'ApiKeyRevoked':
      return { ...event, sections: {} };
    default:
      throw new Error(`${event.type} is in no bundle`);
  }
}

/** Reads a record with every check that does not need other records, and says in which field it failed. */
export function decode(stored: SourceRecord): Decoded {
  try {
    return { event: decodeRecord(stored), leaf: stored.leaf };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return { mismatch: diagnosis(stored, error), leaf: leafHash(stored.record) };
  }
}

/** Like `decode`, for a source that includes some sections of its records and withholds the others. */
export function decodePartial(
  stored: SourceRecord,
  isIncluded: (section: string) => boolean,
): Decoded<PartialEvent> {
  try {
    const event = decodePartialRecord(stored, isIncluded);
    const { seals } = membersOf(stored.record) as { seals: Record<string, string> };
    const withheldSeals = Object.fromEntries(Object.entries(seals).filter(([name]) => !isIncluded(name)));
    return { event, leaf: stored.leaf, withheldSeals };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return { mismatch: diagnosis(stored, error, isIncluded), leaf: leafHash(stored.record) };
  }
}

function diagnosis(
  stored: SourceRecord,
  error: RecordError,
  isIncluded: (section: string) => boolean = () => true,
): Mismatch {
  const why = error.message.slice(error.message.indexOf(': ') + 2);
  const record = membersOf(stored.record);
  switch (error.fault) {
    case 'leaf-mismatch':
      return mismatch('leaf', hex(stored.leaf), hex(leafHash(stored.record)), why);
    case 'seal-mismatch':
      return sealDiagnosis(record['seals'], membersOf(stored.sealed), isIncluded, why);
    case 'misplaced':
      return mismatch(
        'revision',
        `${stored.stream}/${stored.revision}`,
        `${record['stream']}/${record['revision']}: ${record['type']}`,
        why,
      );
    case 'unknown-type':
      return mismatch(
        'type',
        'an event that this build knows',
        `${record['type']}@${record['version']}`,
        why,
      );
    case 'malformed':
      return mismatch(fieldOf(why), 'a record in the documented format', undefined, why);
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function sealDiagnosis(
  all: unknown,
  sealed: Readonly<Record<string, unknown>>,
  isIncluded: (section: string) => boolean,
  why: string,
): Mismatch {
  const seals = Object.entries(isObject(all) ? all : {}).filter(([name]) => isIncluded(name));
  for (const [name, seal] of seals) {
    const section = sealed[name];
    const found = section === undefined ? undefined : sealOf(section);
    if (found !== seal) return mismatch(`seals.${name}`, seal, found, why);
  }
  return mismatch(
    'seals',
    seals.map(([name]) => name),
    Object.keys(sealed),
    why,
  );
}

/** Undefined for a value without a canonical form, such as a lone surrogate. */
function sealOf(section: unknown): string | undefined {
  try {
    return hash('sha256', canonicalJson(section));
  } catch {
    return undefined;
  }
}

/** The field named first in a message such as "data has no valid levels.0.level, participantId". */
function fieldOf(why: string): string {
  const [, part = '', paths = ''] = /^(.*) has no valid (.*)$/.exec(why) ?? [];
  const [first = ''] = paths.split(', ');
  if (part === '') return 'record';
  return part === 'data' ? `data.${first}` : first;
}

/** What a record says it is, as far as it can be read. Nothing is checked. */
export function nameOf({ record, revision }: SourceRecord): EventName {
  const { id, type, data } = membersOf(record);
  const participant = isObject(data) ? data['participantId'] : undefined;
  return {
    revision,
    ...(typeof id === 'string' && { id }),
    ...(typeof type === 'string' && { type }),
    ...(typeof participant === 'string' && { participant }),
  };
}

function membersOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
