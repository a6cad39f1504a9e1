/**
 * Every event that may stand in the log, by "Type@version".
 *
 * A stored record is never rewritten. When an event's shape must change, its definition gets a new version beside
 * the old one, and an upcaster turns what the old one says into the new shape while it is read (leaves and seals are
 * always those of the stored bytes). A type or version that is not here stops the fold: skipping a fact could hand
 * out an allocation that the skipped fact forbids.
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

/** What an upcaster takes and gives: version N in, version N + 1 out. */
export interface RecordContents {
  readonly data: unknown;
  readonly sealed: unknown;
}
export type Upcaster = (contents: RecordContents) => RecordContents;

export class Catalogue {
  readonly #definitions = new Map<string, EventDefinition>();
  readonly #latest = new Map<string, EventDefinition>();
  readonly #upcasters: ReadonlyMap<string, Upcaster>;

  /** @param upcasters keyed "Type@N", each turning version N into N + 1. */
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

  /** Every definition, those of older versions included. */
  all(): EventDefinition[] {
    return [...this.#definitions.values()];
  }

  /** Definition of exactly this version, or undefined for a type this build does not know. */
  definition(type: string, version: number): EventDefinition | undefined {
    return this.#definitions.get(`${type}@${version}`);
  }

  /** The version that new events of this type are written in. */
  latest(type: string): EventDefinition | undefined {
    return this.#latest.get(type);
  }

  /** Brings what a record of an older version says to the latest version. */
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

/** The kind of a stream by its name, or undefined for a stream this build does not know. */
export function streamKind(stream: string): StreamKind | undefined {
  if (stream === 'log' || stream === 'access' || stream === 'operations') return stream;
  return stream.startsWith('study-') ? 'study' : undefined;
}
