/**
 * The short way to find that a stored record is as it should be: the texts of the record and of its sealed part are
 * matched as a whole, and its seals compared with the sections that were matched. It says yes, or that it does not know.
 */
import { hash } from 'node:crypto';
import type { z } from 'zod';
import {
  canonicalPattern,
  literal,
  type Member,
  NotUnderstood,
  objectPattern,
  type Pattern,
} from './canonical-pattern.ts';
import type { Catalogue } from './catalogue.ts';
import { type EventDefinition, type EventStreams, mayStandIn, type StreamKind } from './define.ts';

/** In characters. Longer texts go the long way: a regular expression may need memory in proportion. */
const LONGEST = 1 << 18;

const SEAL: Pattern = '"([0-9a-f]{64})"';

interface RecordPattern {
  readonly streams: EventStreams;
  /** Groups: revision, a seal for each section, stream. */
  readonly record: RegExp;
  /** Groups: each section. */
  readonly sealed: RegExp;
}

/** The schemas of a record's members that are of one shape in all records. */
export type Envelope = Readonly<Record<'actor' | 'at' | 'id' | 'log' | 'revision' | 'stream', z.ZodType>>;

export class RecordPatterns {
  readonly #envelope: Envelope;
  readonly #definitions: ReadonlyMap<string, EventDefinition>;
  /** Made when the first record of its kind comes; undefined: there is no short way for this kind. */
  readonly #patterns = new Map<EventDefinition, RecordPattern | undefined>();

  constructor(envelope: Envelope, catalogue: Catalogue) {
    this.#envelope = envelope;
    this.#definitions = new Map(catalogue.all().map((definition) => [endOf(definition), definition]));
  }

  /**
   * Whether record and sealed part are canonical and what the catalogue says, of this place, with seals that match.
   * False also where that is so and only the long way can tell.
   *
   * @param kind of the stream
   */
  match(
    record: string,
    sealed: string,
    stream: string,
    kind: StreamKind | undefined,
    revision: number,
  ): boolean {
    if (record.length > LONGEST || sealed.length > LONGEST) return false;
    const pattern = this.#patternFor(record);
    if (!pattern || !mayStandIn(pattern.streams, kind)) return false;
    const said = pattern.record.exec(record);
    if (!said || said[1] !== String(revision) || said.at(-1) !== `"${stream}"`) return false;
    const sections = pattern.sealed.exec(sealed);
    if (!sections) return false;
    for (let i = 1; i < sections.length; i++) {
      const [seal, section] = [said[i + 1], sections[i]];
      if (section === undefined ? seal !== undefined : hash('sha256', section) !== seal) return false;
    }
    return true;
  }

  /** Whether both texts are of a form that the catalogue describes. Where they stand and their seals are not checked. */
  describe(record: string, sealed: string): boolean {
    if (record.length > LONGEST || sealed.length > LONGEST) return false;
    const pattern = this.#patternFor(record);
    if (!pattern) return false;
    return pattern.record.test(record) && pattern.sealed.test(sealed);
  }

  #patternFor(record: string): RecordPattern | undefined {
    const definition = this.#definitions.get(record.slice(record.lastIndexOf(',"type":')));
    if (!definition) return undefined;
    if (!this.#patterns.has(definition)) this.#patterns.set(definition, this.#make(definition));
    return this.#patterns.get(definition);
  }

  #make({ type, version, stream, data, sections }: EventDefinition): RecordPattern | undefined {
    const members = (patterns: Readonly<Record<string, Pattern>>): Member[] =>
      Object.entries(patterns).map(([name, pattern]) => ({ name, pattern }));
    const { actor, at, id, log, revision, stream: itsStream } = this.#envelope;
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
        stream: `(${canonicalPattern(itsStream)})`,
        type: literal(type),
        version: literal(version),
      };
      const sealed = sections.map((section) => ({
        ...section,
        pattern: `(${canonicalPattern(section.schema)})`,
      }));
      return {
        streams: stream,
        record: whole(objectPattern(members(record))),
        sealed: whole(objectPattern(sealed)),
      };
    } catch (error) {
      if (error instanceof NotUnderstood) return undefined;
      throw error;
    }
  }
}

/** How a record of this type and version ends: these are the last of its members. */
function endOf({ type, version }: EventDefinition): string {
  return `,"type":${JSON.stringify(type)},"version":${version}}`;
}

function whole(pattern: Pattern): RegExp {
  return new RegExp(`^${pattern}$`);
}
