/**
 * Every event that the log may hold, by "Type@version".
 *
 * Stored records are never rewritten. When an event's shape must change, a new version is defined beside the old one, and
 * an upcaster converts the contents of old records to the new shape while they are read. Leaves and seals are always
 * those of the stored bytes. An unknown type or version stops the fold: skipping a fact could lead to an allocation that
 * the skipped fact forbids.
 */
import { type AccessFact, ApiKeyIssued, ApiKeyRevoked } from './access.ts';
import type { EventDefinition, StreamKind } from './define.ts';
import { LogCreated, type LogFact, LogRecovered, SigningKeyRotated } from './log.ts';
import { CopyAborted, LogArrived, LogMoved, LogReopened, type MoveFact } from './move.ts';
import {
  EvidenceDisclosed,
  type OperationsFact,
  RequestRefused,
  ServiceStarted,
  ServiceStopped,
} from './operations.ts';
import {
  ParticipantRandomized,
  type StudyFact,
  StudyPaused,
  StudyRecovered,
  StudyRegistered,
  StudyResumed,
} from './study.ts';

export type Fact = LogFact | MoveFact | AccessFact | StudyFact | OperationsFact;

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
      this.#definitions.set(`${definition.type}@${definition.version}`, definition);
      const latest = this.#latest.get(definition.type);
      if (!latest || latest.version < definition.version) this.#latest.set(definition.type, definition);
    }
    for (const [type, latest] of this.#latest)
      for (let version = 1; version < latest.version; version++)
        if (!upcasters.has(`${type}@${version}`)) throw new Error(`no upcaster for ${type}@${version}`);
  }

  /** Every definition, including those of older versions. */
  all(): EventDefinition[] {
    return [...this.#definitions.values()];
  }

  /** The definition of exactly this version; undefined if this build does not know it. */
  definition(type: string, version: number): EventDefinition | undefined {
    return this.#definitions.get(`${type}@${version}`);
  }

  /** The definition with which new events of this type are written. */
  latest(type: string): EventDefinition | undefined {
    return this.#latest.get(type);
  }

  /** Converts the contents of a record of an older version to the latest version. */
  upcast(type: string, version: number, contents: RecordContents): RecordContents {
    if (this.#latest.get(type)?.version === version) return contents;
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
  LogReopened,
  LogArrived,
  CopyAborted,
  ApiKeyIssued,
  ApiKeyRevoked,
  StudyRegistered,
  ParticipantRandomized,
  StudyPaused,
  StudyResumed,
  StudyRecovered,
  ServiceStarted,
  ServiceStopped,
  RequestRefused,
  EvidenceDisclosed,
]);

/** The kind of a stream, from its name; undefined for a stream that this build does not know. */
export function streamKind(stream: string): StreamKind | undefined {
  if (stream === 'log' || stream === 'access' || stream === 'operations') return stream;
  return stream.startsWith('study-') ? 'study' : undefined;
}
