/**
 * Every event that the log may hold, by "Type@version".
 *
 * Stored records are never rewritten. When an event's shape must change, a new version is defined beside the old one, in
 * which it is written from then on. An upcaster converts the contents of old records to the new shape while they are read.
 * Leaves and seals are always those of the stored bytes. An unknown type or version stops the fold: skipping a fact could
 * lead to an allocation that the skipped fact forbids.
 */
import { type AccessFact, ApiKeyIssued, ApiKeyRevoked } from './access.ts';
import { CORRECTIONS } from './corrections.ts';
import type { EventDefinition, FactOf, StreamKind } from './define.ts';
import { FROM_OUTSIDE } from './from-outside.ts';
import { LogArrived, LogCreated, type LogFact, LogMoved, LogRecovered, SigningKeyRotated } from './log.ts';
import {
  EvidenceDisclosed,
  type OperationsFact,
  RequestRefused,
  ServiceStarted,
  ServiceStopped,
  SessionBegan,
  SessionEnded,
} from './operations.ts';
import { PACK_EVENTS } from './packs.ts';
import {
  ParticipantRandomized,
  STATE_CHANGES,
  StudyAmended,
  StudyRecovered,
  StudyRegistered,
} from './study.ts';
import { CODE_BREAKS } from './unblinding.ts';

/** Of a study. An event that is added to one of these lists needs no other mention here. */
const STUDY_EVENTS = [
  StudyRegistered,
  ParticipantRandomized,
  ...STATE_CHANGES,
  StudyAmended,
  ...CORRECTIONS,
  ...FROM_OUTSIDE,
  ...PACK_EVENTS,
  ...CODE_BREAKS,
  StudyRecovered,
] as const;

export type StudyFact = FactOf<(typeof STUDY_EVENTS)[number]>;

export type Fact = LogFact | AccessFact | StudyFact | OperationsFact;

/** What an upcaster converts from version N to version N + 1. */
export interface RecordContents {
  readonly data: unknown;
  readonly sealed: unknown;
}
export type Upcaster = (contents: RecordContents) => RecordContents;

export class Catalogue {
  readonly #definitions = new Map<string, EventDefinition>();
  readonly #latest = new Map<string, EventDefinition>();
  readonly #upcasters: ReadonlyMap<string, Upcaster>;

  /** @param upcasters by "Type@N"; each converts version N to N + 1 */
  constructor(definitions: readonly EventDefinition[], upcasters: ReadonlyMap<string, Upcaster> = new Map()) {
    this.#upcasters = upcasters;
    for (const definition of definitions) {
      const { type, version } = definition;
      this.#definitions.set(`${type}@${version}`, definition);
      if (version > (this.latest(type)?.version ?? 0)) this.#latest.set(type, definition);
    }
    for (const [name, { type, version }] of this.#definitions)
      if (this.latest(type)?.version !== version && !upcasters.has(name))
        throw new Error(`no upcaster for ${name}`);
  }

  /** Every definition, including those of older versions. */
  all(): EventDefinition[] {
    return [...this.#definitions.values()];
  }

  /** The definition of exactly this version; undefined if this build does not know it. */
  definition(type: string, version: number): EventDefinition | undefined {
    return this.#definitions.get(`${type}@${version}`);
  }

  latest(type: string): EventDefinition | undefined {
    return this.#latest.get(type);
  }

  /** Converts the contents of a record of an older version to the latest version. */
  upcast(type: string, version: number, contents: RecordContents): RecordContents {
    if (this.latest(type)?.version === version) return contents;
    let current = contents;
    for (let v = version; ; v++) {
      const upcaster = this.#upcasters.get(`${type}@${v}`);
      if (!upcaster) return current;
      current = upcaster(current);
    }
  }
}

export const catalogue = new Catalogue([
  LogCreated,
  LogRecovered,
  SigningKeyRotated,
  LogMoved,
  LogArrived,
  ApiKeyIssued,
  ApiKeyRevoked,
  ...STUDY_EVENTS,
  ServiceStarted,
  ServiceStopped,
  RequestRefused,
  EvidenceDisclosed,
  SessionBegan,
  SessionEnded,
]);

/** The kind of a stream, from its name; undefined for a stream that this build does not know. */
export function streamKind(stream: string): StreamKind | undefined {
  if (stream === 'log' || stream === 'access' || stream === 'operations') return stream;
  return stream.startsWith('study-') ? 'study' : undefined;
}
