/**
 * Every event that the log may hold, by "Type@version".
 *
 * Stored records are never rewritten. When an event's shape must change, a new version is defined beside the old one. A
 * fact is written in the lowest version that can express it, so that it has one form, and older programs read all that
 * they can. An upcaster converts the contents of old records to the new shape while they are read. Leaves and seals are
 * always those of the stored bytes. An unknown type or version stops the fold: skipping a fact could lead to an allocation
 * that the skipped fact forbids.
 */
import { type AccessFact, ApiKeyIssued, ApiKeyIssued1, ApiKeyRevoked } from './access.ts';
import { CORRECTIONS } from './corrections.ts';
import type { EventDefinition, FactOf, StreamKind } from './define.ts';
import { FROM_OUTSIDE } from './from-outside.ts';
import { LogArrived, LogCreated, type LogFact, LogMoved, LogRecovered, SigningKeyRotated } from './log.ts';
import {
  EvidenceDisclosed,
  EvidenceDisclosed1,
  type OperationsFact,
  RequestRefused,
  RequestRefused1,
  RequestRefused2,
  ServiceStarted,
  ServiceStopped,
  SessionBegan,
  SessionEnded,
} from './operations.ts';
import { CodesRegistered1, PACK_EVENTS } from './packs.ts';
import {
  EARLIER_STATE_CHANGES,
  ParticipantRandomized,
  ParticipantRandomized1,
  ParticipantRandomized2,
  STATE_CHANGES,
  StudyAmended,
  StudyAmended1,
  StudyRecovered,
  StudyRegistered,
  StudyRegistered1,
  StudyRegistered2,
  StudyRegistered3,
} from './study.ts';
import { CODE_BREAKS } from './unblinding.ts';

/** Of a study, in the latest version. An event that is added to one of these lists needs no other mention here. */
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

/** In the latest version. */
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
  /** The versions of each type, from the lowest. */
  readonly #versions = new Map<string, EventDefinition[]>();
  readonly #upcasters: ReadonlyMap<string, Upcaster>;

  /** @param upcasters by "Type@N"; each converts version N to N + 1 */
  constructor(definitions: readonly EventDefinition[], upcasters: ReadonlyMap<string, Upcaster> = new Map()) {
    this.#upcasters = upcasters;
    for (const definition of definitions) {
      this.#definitions.set(`${definition.type}@${definition.version}`, definition);
      const versions = [...this.versions(definition.type), definition];
      this.#versions.set(
        definition.type,
        versions.sort((a, b) => a.version - b.version),
      );
    }
    for (const versions of this.#versions.values())
      for (const { type, version } of versions.slice(0, -1))
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

  /** The definitions of a type, from the lowest version. A fact is written in the lowest one that can express it. */
  versions(type: string): readonly EventDefinition[] {
    return this.#versions.get(type) ?? [];
  }

  latest(type: string): EventDefinition | undefined {
    return this.versions(type).at(-1);
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

/** The new version can express more, and everything that the old one expressed means the same in it. */
const unchanged: Upcaster = (contents) => contents;

const DEFINITIONS: readonly EventDefinition[] = [
  LogCreated,
  LogRecovered,
  SigningKeyRotated,
  LogMoved,
  LogArrived,
  ApiKeyIssued1,
  ApiKeyIssued,
  ApiKeyRevoked,
  StudyRegistered1,
  StudyRegistered2,
  StudyRegistered3,
  StudyAmended1,
  CodesRegistered1,
  ParticipantRandomized1,
  ParticipantRandomized2,
  ...EARLIER_STATE_CHANGES,
  ...STUDY_EVENTS,
  ServiceStarted,
  ServiceStopped,
  RequestRefused1,
  RequestRefused2,
  RequestRefused,
  EvidenceDisclosed1,
  EvidenceDisclosed,
  SessionBegan,
  SessionEnded,
];

export const catalogue = new Catalogue(
  DEFINITIONS,
  new Map(
    [
      'ApiKeyIssued@1',
      'StudyRegistered@1',
      'StudyRegistered@2',
      'StudyRegistered@3',
      'StudyAmended@1',
      'CodesRegistered@1',
      'ParticipantRandomized@1',
      'ParticipantRandomized@2',
      'StudyPaused@1',
      'StudyResumed@1',
      'RequestRefused@1',
      'RequestRefused@2',
      'EvidenceDisclosed@1',
    ].map((version) => [version, unchanged]),
  ),
);

/** The kind of a stream, from its name; undefined for a stream that this build does not know. */
export function streamKind(stream: string): StreamKind | undefined {
  if (stream === 'log' || stream === 'access' || stream === 'operations') return stream;
  return stream.startsWith('study-') ? 'study' : undefined;
}
