/** Facts about whether a study takes participants. Stream `study-<studyId>`. */
import { z } from 'zod';
import { defineEvent } from './define.ts';
import { Approval, Protocol } from './text.ts';

/** The Idempotency-Key of the request, unique per study and user over all types of events. */
export const request = { request: { idempotencyKey: z.string().min(1) } };

const Reason = z.strictObject({ reason: z.string().min(1) });
const inTheClear = { stream: 'study', sections: {} } as const;
const ofVersion1 = { ...inTheClear, data: Reason, optionalSections: {}, by: 'people' } as const;
const ofVersion2 = { ...inTheClear, data: Reason, optionalSections: request } as const;

export const StudyPaused1 = defineEvent('StudyPaused', 1, ofVersion1);
export const StudyPaused = defineEvent('StudyPaused', 2, ofVersion2);
export const StudyResumed1 = defineEvent('StudyResumed', 1, ofVersion1);
export const StudyResumed = defineEvent('StudyResumed', 2, ofVersion2);

export const ClosingCause = z.enum(['target', 'sponsor', 'safety', 'regulator', 'end', 'other']);
export type ClosingCause = z.infer<typeof ClosingCause>;

/** The study takes no more participants. Those in it can still be corrected, and codes can be broken. */
export const StudyClosed = defineEvent('StudyClosed', 1, {
  ...inTheClear,
  data: z.strictObject({
    approvals: z.array(Approval).min(1).optional(),
    cause: ClosingCause,
    reason: z.string().min(1),
  }),
  optionalSections: request,
});

export const StudyReopened = defineEvent('StudyReopened', 1, {
  ...inTheClear,
  data: z.strictObject({
    /** Empty only in a test study. */
    approvals: z.array(Approval),
    protocol: Protocol.optional(),
    reason: z.string().min(1),
  }),
  optionalSections: request,
});

/** In the latest version, for the catalogue. */
export const STATES = [StudyPaused, StudyResumed, StudyClosed, StudyReopened] as const;
export const EARLIER_STATES = [StudyPaused1, StudyResumed1] as const;
