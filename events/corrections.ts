/**
 * Facts about what turned out to be wrong after a randomization. Stream `study-<studyId>`. Nothing is drawn again: the
 * participant keeps arm, place and the record of what was known then.
 */
import { z } from 'zod';
import { defineEvent, note, participant, Revision } from './define.ts';
import { request } from './study.ts';

const Name = z.string().min(1);
const withNote = { stream: 'study', sections: note, optionalSections: request } as const;

export const LevelsCause = z.enum(['entry', 'source', 'definition', 'transfer', 'other']);
export type LevelsCause = z.infer<typeof LevelsCause>;

/** One factor, and the participant's level of it before and after. */
export const LevelChange = z.strictObject({ factor: Name, from: Name, to: Name });
export type LevelChange = z.infer<typeof LevelChange>;

export const LevelsCorrected = defineEvent('LevelsCorrected', 1, {
  ...withNote,
  data: z.strictObject({
    cause: LevelsCause,
    /** Each factor at most once, in the order of the study. */
    changes: z.array(LevelChange).min(1),
    /** At which levels the urns count the participant from here on: the policy that applied. */
    counts: z.enum(['as-randomized', 'as-corrected']),
    ...participant,
  }),
});

/** `entry` is for allocations that were made outside the service and entered wrongly. */
export const VoidCause = z.enum(['ineligible', 'duplicate', 'never-enrolled', 'entry', 'other']);
export type VoidCause = z.infer<typeof VoidCause>;

export const VoidAnalysis = z.enum(['keep', 'exclude']);
export type VoidAnalysis = z.infer<typeof VoidAnalysis>;

/** The participant was randomized in error. */
export const AllocationVoided = defineEvent('AllocationVoided', 1, {
  ...withNote,
  data: z.strictObject({
    /** Whether the participant is to be analysed, as far as the person who voided it knows. */
    analysis: VoidAnalysis,
    cause: VoidCause,
    /** Whether the urns still count the participant, by the policy that applied. */
    counts: z.enum(['kept', 'removed']),
    /** The id, as randomized, of the participant who is the same person. Only with the cause `duplicate`. */
    duplicateOf: Name.optional(),
    ...participant,
  }),
});

/** The participant was voided by mistake. */
export const AllocationReinstated = defineEvent('AllocationReinstated', 1, {
  ...withNote,
  data: z.strictObject({
    ...participant,
    /** Revision of the event that voided them. */
    voidedAt: Revision,
  }),
});

export const IdCause = z.enum(['entry', 'pattern', 'other']);
export type IdCause = z.infer<typeof IdCause>;

export const ParticipantIdCorrected = defineEvent('ParticipantIdCorrected', 1, {
  stream: 'study',
  data: z.strictObject({ cause: IdCause, from: Name, ...participant, to: Name }),
  sections: {},
  optionalSections: request,
});

/** For the catalogue. */
export const CORRECTIONS = [
  LevelsCorrected,
  AllocationVoided,
  AllocationReinstated,
  ParticipantIdCorrected,
] as const;
