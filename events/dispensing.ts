/** Facts about packs that participants get at visits after their enrolment. Stream `study-<studyId>`. */
import { z } from 'zod';
import { note, participant } from './about-participant.ts';
import { defineEvent } from './define.ts';
import { PackCode, Visit } from './study.ts';
import { request } from './study-state.ts';

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

/** In the latest version, for the catalogue. */
export const DISPENSING = [PackDispensed, DispensationCorrected] as const;
