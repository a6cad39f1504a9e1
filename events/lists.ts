/**
 * Facts about lists of allocations that were made elsewhere. Stream `study-<studyId>`. Which arm an entry has is sealed, and
 * so is which entry a participant got.
 */
import { z } from 'zod';
import { defineEvent } from './define.ts';
import { Approval, Sha256 } from './text.ts';

const Name = z.string().min(1);

/** The levels of a stratum, in the order of the factors that make it; absent if the whole study is one. */
const stratum = { levels: z.array(Name).min(1).optional() };

/** Entries of a file that are to be used in their order, each stratum on its own. */
export const ListRegistered = defineEvent('ListRegistered', 1, {
  stream: 'study',
  by: 'people',
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
export const EntriesSkipped = defineEvent('EntriesSkipped', 1, {
  stream: 'study',
  by: 'people',
  data: z.strictObject({
    reason: Name,
    skipped: z.array(z.strictObject({ ...stratum, count: z.int().min(1) })),
  }),
  sections: {},
  optionalSections: {},
});

/** In the latest version, for the catalogue. */
export const LISTS = [ListRegistered, EntriesSkipped] as const;
