/**
 * Allocations that the service did not draw: entered by hand, taken from a list in its order, or imported with the history
 * of another system. Stream `study-<studyId>`. The arms are sealed, and so is which entry of a list a participant got.
 */
import { z } from 'zod';
import { Approval, defineEvent, note, Revision, Sha256 } from './define.ts';
import { BgState, Draw, Level, PackCode, request, Slot } from './study.ts';

const Name = z.string().min(1);
const Count = z.int().nonnegative();

/** `outage`: the service could not be reached. `elsewhere`: another system allocates too. `protocol`: as it prescribes. */
export const ForcedCause = z.enum(['outage', 'elsewhere', 'protocol', 'other']);
export type ForcedCause = z.infer<typeof ForcedCause>;

/** A participant who was given an arm without a draw. The order in the study is that of the records. */
const AllocationForced = defineEvent('AllocationForced', 1, {
  stream: 'study',
  data: z.strictObject({
    cause: ForcedCause,
    /** Of the pack that the participant was given. */
    code: PackCode.optional(),
    /** Whether the urns count the participant: the policy that applied. */
    counted: z.boolean(),
    /** One of each factor, in the order of the study. */
    levels: z.array(Level).min(1),
    /** When the allocation was made, as the writer asserts. */
    occurredAt: z.iso.datetime({ precision: 3 }),
    participantId: Name,
    /** Revision of an entry of the same id that was wrong and is voided. */
    replaces: Revision.optional(),
  }),
  sections: { allocation: { treatment: Name, slot: Slot.optional() }, ...note },
  optionalSections: request,
});

/** The levels of a stratum, in the order of the factors that make it; absent if the whole study is one. */
const stratum = { levels: z.array(Name).min(1).optional() };

/** Entries of a file, allocated elsewhere, that are to be used in their order, each stratum on its own. */
const ListRegistered = defineEvent('ListRegistered', 1, {
  stream: 'study',
  data: z.strictObject({
    /** Empty only in a test study. */
    approvals: z.array(Approval),
    /** How many entries are on it. */
    count: z.int().min(1),
    /** 1, 2, … */
    list: z.int().min(1),
  }),
  sections: {
    list: {
      entries: z.array(z.strictObject({ ...stratum, treatment: Name })).min(1),
      /** Digest of the file. */
      file: Sha256,
      /** Its row of the first entry, from 1. A file that is too long for one record has several lists. */
      first: z.int().min(1),
    },
  },
  optionalSections: {},
});

/**
 * The next entries of these strata are never used: participants have them whom the log does not have. Due behind a recovery
 * and an import; without strata, none were used.
 */
const EntriesSkipped = defineEvent('EntriesSkipped', 1, {
  stream: 'study',
  data: z.strictObject({
    reason: Name,
    skipped: z.array(z.strictObject({ ...stratum, count: z.int().min(1) })),
  }),
  sections: {},
  optionalSections: {},
});

/** The same in all events of one import. */
const ImportId = z.uuid();

export const SourceFormat = z.enum(['reference', 'csv']);
export type SourceFormat = z.infer<typeof SourceFormat>;

/** Where the study's generator continues from: fresh entropy, or where the other system stopped. */
export const ImportedGenerator = z.enum(['fresh', 'continued']);
export type ImportedGenerator = z.infer<typeof ImportedGenerator>;

/** A history that began in another system continues here. From here to HistoryImportEnded, the study takes nobody. */
const HistoryImported = defineEvent('HistoryImported', 1, {
  stream: 'study',
  data: z.strictObject({
    /** Empty only in a test study. */
    approvals: z.array(Approval),
    generator: ImportedGenerator,
    import: ImportId,
    /** How many rows follow, and how many of them were drawn again. */
    proof: z.strictObject({ redrawn: Count, unproven: Count }),
    /** The other system began with the seed of the registration. */
    seedKnown: z.literal(true).optional(),
    source: z.strictObject({ format: SourceFormat, rows: z.int().min(1) }),
  }),
  sections: {
    /** A digest of a file that names arms finds them by trial, when everything else is known. */
    source: {
      sha256: Sha256,
      treatmentMap: z
        /** The slot, of a treatment for which the file has several names. */
        .array(z.strictObject({ from: Name, to: Name, slot: Slot.optional() }))
        .min(1)
        .optional(),
    },
    /** The state of the first new draw, and the seed if it was drawn here. */
    generator: { bgState: BgState, seed: z.string().regex(/^\d+$/).optional() },
  },
  optionalSections: {},
});

/**
 * Why a row could not be drawn again. `first`: nothing is known of the state before it. `no-state`: the row has none.
 * `override`: the state fits and the arm does not. `differs`: neither fits. `other-system`: the file has no states at all.
 */
export const UnprovenCause = z.enum(['first', 'no-state', 'override', 'differs', 'other-system']);
export type UnprovenCause = z.infer<typeof UnprovenCause>;

/** One row, in the order of the instants. */
const ParticipantImported = defineEvent('ParticipantImported', 1, {
  stream: 'study',
  data: z.strictObject({
    /** Absent if it was drawn again. */
    cause: UnprovenCause.optional(),
    import: ImportId,
    levels: z.array(Level).min(1),
    /** As the other system has them. */
    original: z.strictObject({ datetime: Name, user: Name }),
    participantId: Name,
    redrawn: z.boolean(),
    /** Number of the row in the file, from 1. */
    row: z.int().min(1),
  }),
  /** The slot is that of the draw, if there is one. */
  sections: { allocation: { treatment: Name, slot: Slot.optional() } },
  /** The draw that gives the row's arm and state, or else the state alone. */
  optionalSections: { draw: Draw, state: { bgState: BgState } },
});

/** The import is complete, or was given up: then its participants and their counts are gone. */
const HistoryImportEnded = defineEvent('HistoryImportEnded', 1, {
  stream: 'study',
  data: z.union([
    z.strictObject({ import: ImportId, rows: z.int().min(1) }),
    z.strictObject({ aborted: z.literal(true), import: ImportId, reason: Name }),
  ]),
  sections: {},
  optionalSections: {},
});

/** For the catalogue. */
export const FROM_OUTSIDE = [
  AllocationForced,
  ListRegistered,
  EntriesSkipped,
  HistoryImported,
  ParticipantImported,
  HistoryImportEnded,
] as const;
