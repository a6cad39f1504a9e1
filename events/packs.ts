/**
 * Packs of medication: registered, replaced, withdrawn, and dispensed at visits after the enrolment. Stream
 * `study-<studyId>`.
 *
 * A pack has a code that says nothing about what is inside. A code that was given out is in the clear, because whoever may
 * see the participant may see it; which treatment it stands for is sealed.
 */
import { z } from 'zod';
import { defineEvent, FreeText, note, participant } from './define.ts';
import { Level, PackCode, request, Visit } from './study.ts';

/** A list of packs that are ready to be given out. */
const CodesRegistered = defineEvent('CodesRegistered', 1, {
  stream: 'study',
  data: z.strictObject({
    /** How many packs are on it. */
    count: z.int().min(1),
    /** 1, 2, … */
    list: z.int().min(1),
    /** Only participants with this level get packs of the list. */
    where: Level.optional(),
  }),
  sections: {
    codes: {
      /** 128 random bits, which decide the order in which the packs are given out. */
      key: z.string().regex(/^[0-9a-f]{32}$/),
      entries: z.array(z.strictObject({ code: PackCode, treatment: z.string().min(1) })).min(1),
      /** Some are of an arm that takes no new participants, for the visits of those on it. */
      closedArms: z.literal(true).optional(),
    },
  },
  optionalSections: {},
});

export const ReplacementCause = z.enum(['damaged', 'lost', 'expired', 'other']);
export type ReplacementCause = z.infer<typeof ReplacementCause>;

/** A participant gets another pack of the same treatment. */
export const CodeReplaced = defineEvent('CodeReplaced', 1, {
  stream: 'study',
  data: z.strictObject({ by: PackCode, cause: ReplacementCause, code: PackCode, ...participant }),
  sections: {},
  optionalSections: request,
});

/** Packs that nobody has must not be given out. Which ones is sealed: a recall of one treatment would group its packs. */
export const CodesWithdrawn = defineEvent('CodesWithdrawn', 1, {
  stream: 'study',
  data: z.strictObject({ count: z.int().min(1) }),
  sections: { withdrawn: { codes: z.array(PackCode).min(1), reason: FreeText } },
  optionalSections: request,
});

/** A participant gets a pack of their treatment at a visit. */
export const PackDispensed = defineEvent('PackDispensed', 1, {
  stream: 'study',
  data: z.strictObject({ code: PackCode, ...participant, visit: Visit }),
  sections: {},
  optionalSections: request,
});

/** `entry`: the wrong visit or participant was entered. */
export const DispensationCause = z.enum(['entry', 'not-handed-out', 'other']);
export type DispensationCause = z.infer<typeof DispensationCause>;

/** A pack was given out at another visit than recorded, or not to this participant. */
export const DispensationCorrected = defineEvent('DispensationCorrected', 1, {
  stream: 'study',
  data: z.strictObject({
    cause: DispensationCause,
    code: PackCode,
    /** The visit until here. Absent: the pack was not the participant's. */
    from: Visit.optional(),
    ...participant,
    /** The visit from here on. Absent: the participant never got the pack, and nobody gets it any more. */
    to: Visit.optional(),
  }),
  sections: note,
  optionalSections: request,
});

/** For the catalogue. */
export const PACK_EVENTS = [
  CodesRegistered,
  CodeReplaced,
  CodesWithdrawn,
  PackDispensed,
  DispensationCorrected,
] as const;
