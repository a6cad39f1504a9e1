/**
 * What an inspector wants to know in addition to the allocations: who was refused, who was shown what, who signed in and
 * out, when the service ran and in which version. Stream `operations`.
 *
 * Nothing here is secret but the digest of a file with arms, which is sealed: no treatment, level, state, seed or key, no
 * result of a test, and no text made up by a client. Repeated occurrences become one event with their count and the times of the first and last.
 */
import { z } from 'zod';
import { RECORDED_REASONS, type RecordedReason } from '../src/base/refusals.ts';
import { defineEvent, type FactOf, FreeText, Sha256 } from './define.ts';

const Name = z.string().min(1);
const Instant = z.iso.datetime({ precision: 3 });
const Revision = z.int().nonnegative();
const inTheClear = { stream: 'operations', sections: {}, optionalSections: {} } as const;

/** How often something happened, and when, by the clock of the process that counted. */
const tally = { count: z.int().min(1), firstAt: Instant, lastAt: Instant };

/** `runId` identifies one run of the process. Several processes may serve one log. */
const Run = z.strictObject({ runId: z.uuid(), version: Name, nodeVersion: Name });

export const ServiceStarted = defineEvent('ServiceStarted', 1, { ...inTheClear, data: Run });
/** A process that is killed does not write this. */
export const ServiceStopped = defineEvent('ServiceStopped', 1, { ...inTheClear, data: Run });

export const RequestRefused = defineEvent('RequestRefused', 1, {
  ...inTheClear,
  data: z.strictObject({
    /** Method and route, such as `POST /study_participants`. Absent for `several`. */
    operation: Name.optional(),
    /** Name of the study, if the key may know that it exists. */
    study: Name.optional(),
    reason: z.enum(Object.keys(RECORDED_REASONS) as RecordedReason[]),
    ...tally,
  }),
});

export const Disclosure = z.enum([
  'balance', // counts of participants by level and treatment
  'bundle',
  'explanation', // of one participant's arm
  'generator-states',
  'records', // as stored, with their sealed sections
  'seed',
  'verification', // the report, which on a failure can show treatments and states
  'codes', // which treatment packs hold
  'envelopes', // a printed code-break, one for each participant
  'expected-balance', // how far apart the arms are, here and in replicates
  'export', // a list of the participants as a file
  'rerandomization', // the result of a re-randomization test, which compares arms
]);
export type Disclosure = z.infer<typeof Disclosure>;

export const EvidenceDisclosed = defineEvent('EvidenceDisclosed', 1, {
  ...inTheClear,
  data: z.strictObject({
    what: Disclosure,
    /** Name of the study. */
    study: Name,
    /** If it was about a single participant. */
    participant: Name.optional(),
    /** Revision of the first record. Only for `records`. */
    fromRevision: Revision.optional(),
    /** Revision of the last record or the last event of the study that was shown. */
    toRevision: Revision.optional(),
    /** For a bundle, a feed or an export. */
    content: z.enum(['full', 'open', 'blinded']).optional(),
    /** Of a bundle's file, of an export without arms, or of the outcomes of a re-randomization test. */
    sha256: Sha256.optional(),
    ...tally,
    /** Why arms were compared while the study went on. Only for `rerandomization`, by a person at the command line. */
    interim: FreeText.optional(),
  }),
  /**
   * Of an export with arms. It is sealed because anyone who knows the other columns of the file could find the arms by
   * trying which of them give this digest.
   */
  optionalSections: { file: { sha256: Sha256 } },
});

/** A person signed in to the pages with the key of the actor, or signed out. The id is no credential: the cookie is sealed. */
const Session = z.strictObject({
  /** 128 random bits. */
  sessionId: z.string().regex(/^[A-Za-z0-9_-]{21}[AQgw]$/),
  keyId: Name,
});

export const SessionBegan = defineEvent('SessionBegan', 1, { ...inTheClear, data: Session });
/** Only a sign-out writes this. A session that ends by its age does not. */
export const SessionEnded = defineEvent('SessionEnded', 1, { ...inTheClear, data: Session });

export type OperationsFact =
  | FactOf<typeof ServiceStarted>
  | FactOf<typeof ServiceStopped>
  | FactOf<typeof RequestRefused>
  | FactOf<typeof EvidenceDisclosed>
  | FactOf<typeof SessionBegan>
  | FactOf<typeof SessionEnded>;
