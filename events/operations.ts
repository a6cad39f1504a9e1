/**
 * What an inspector asks for beyond the allocations: who was refused, who was shown what, when the service ran and in
 * which version. Stream `operations`.
 *
 * Nothing here is sealed, because nothing here is secret: no treatment, level, state, seed or key, and nothing that a
 * client made up. Repeated occurrences are one event with their number, their first and their last time.
 */
import { z } from 'zod';
import { defineEvent, type FactOf } from './define.ts';

const Name = z.string().min(1);
const Instant = z.iso.datetime({ precision: 3 });
const Revision = z.int().nonnegative();
const inTheClear = { stream: 'operations', sections: {}, optionalSections: {} } as const;

/** How often it happened, and when by the clock of the process that counted. */
const tally = { count: z.int().min(1), firstAt: Instant, lastAt: Instant };

/** `runId` is of this one run of the process: several may serve one log. */
const Run = z.strictObject({ runId: z.uuid(), version: Name, nodeVersion: Name });

export const ServiceStarted = defineEvent('ServiceStarted', 1, { ...inTheClear, data: Run });
/** A process that is killed leaves none. */
export const ServiceStopped = defineEvent('ServiceStopped', 1, { ...inTheClear, data: Run });

export const RefusalReason = z.enum([
  'malformed', // the request itself: a parameter is missing, unknown or invalid
  'duplicate', // the participant is assigned already
  'idempotency-key-reused', // for another request
  'paused', // the study is
  'suspended', // the study is, because the studies file says something else
  'not-permitted', // the key lacks the scope, or is limited to other levels
  'not-found', // there is no such study, participant or path, or not for this key
  'revoked-key',
  'expired-key',
  'unavailable', // overload, no room, or a stream that cannot be read
  'failed', // an unexpected error
  'several', // more than are told apart: any of these, of any operation and study
]);
export type RefusalReason = z.infer<typeof RefusalReason>;

export const RequestRefused = defineEvent('RequestRefused', 1, {
  ...inTheClear,
  data: z.strictObject({
    /** Method and route, such as `POST /study_participants`; absent of `several`. */
    operation: Name.optional(),
    /** Name of the study, if the key may know that it exists. */
    study: Name.optional(),
    reason: RefusalReason,
    ...tally,
  }),
});

export const Disclosure = z.enum([
  'balance', // participants by level and treatment: arms, in sum
  'bundle',
  'explanation', // of one participant's arm
  'generator-states',
  'records', // as they are stored, with their sealed sections
  'seed',
  'verification', // the report of one: where it fails, treatments and states
]);
export type Disclosure = z.infer<typeof Disclosure>;

export const EvidenceDisclosed = defineEvent('EvidenceDisclosed', 1, {
  ...inTheClear,
  data: z.strictObject({
    what: Disclosure,
    /** Name of the study. */
    study: Name,
    /** The only one it is about. */
    participant: Name.optional(),
    /** Of the first record, of `records`. */
    fromRevision: Revision.optional(),
    /** Of the last event of the study that it shows, or of the last record. */
    toRevision: Revision.optional(),
    /** Of a bundle. */
    content: z.enum(['full', 'open', 'blinded']).optional(),
    /** Of a bundle's file, in lower-case hex. */
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
    ...tally,
  }),
});

export type OperationsFact =
  | FactOf<typeof ServiceStarted>
  | FactOf<typeof ServiceStopped>
  | FactOf<typeof RequestRefused>
  | FactOf<typeof EvidenceDisclosed>;
