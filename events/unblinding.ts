/**
 * Who was unblinded. Stream `study-<studyId>`, so receipts cover these events, and blinded staff can list them. They hold no
 * arm.
 */
import { z } from 'zod';
import { defineEvent, FreeText, participant, Revision } from './define.ts';
import { PackCode, request } from './study.ts';

const Instant = z.iso.datetime({ precision: 3 });

/** Sealed, because it is free text about one participant. */
const grounds = { grounds: { reason: FreeText, requestedBy: z.string().min(1).optional() } };

export const RevealCategory = z.enum(['emergency', 'safety-report', 'monitoring', 'planned', 'end', 'other']);
export type RevealCategory = z.infer<typeof RevealCategory>;

/**
 * The service was asked for the arm of one participant, or of one pack, and showed it once this was in the log. Of a pack
 * that was given out, the participant is named too.
 */
export const AllocationRevealed = defineEvent('AllocationRevealed', 1, {
  stream: 'study',
  data: z.strictObject({
    category: RevealCategory,
    code: PackCode.optional(),
    participantId: participant.participantId.optional(),
    randomizedAt: participant.randomizedAt.optional(),
    /** Made when the arm was asked for. The same reveal is not recorded twice. */
    reveal: z.uuid(),
    /** When the arm was shown, if the log could not be written then. */
    shownAt: Instant.optional(),
  }),
  sections: grounds,
  optionalSections: request,
});

export const UnblindingWay = z.enum(['envelope', 'label', 'clinical', 'disclosure', 'other']);
export type UnblindingWay = z.infer<typeof UnblindingWay>;

/** Somebody learned a participant's arm without the service, or the service was asked by mistake. */
export const UnblindingReported = defineEvent('UnblindingReported', 1, {
  stream: 'study',
  data: z.strictObject({
    how: UnblindingWay,
    inadvertent: z.literal(true).optional(),
    occurredAt: Instant,
    ...participant,
    /** Revision of a code-break that was a mistake. */
    revealedAt: Revision.optional(),
  }),
  sections: grounds,
  optionalSections: request,
});

/** For the catalogue. */
export const CODE_BREAKS = [AllocationRevealed, UnblindingReported] as const;
