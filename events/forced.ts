/** Facts about allocations that were made outside the service. Stream `study-<studyId>`. Nothing is drawn. */
import { z } from 'zod';
import { note, Revision } from './about-participant.ts';
import { defineEvent } from './define.ts';
import { Level, PackCode, Slot } from './study.ts';
import { request } from './study-state.ts';

const Name = z.string().min(1);

/** `outage`: the service could not be reached. `elsewhere`: another system allocates too. `protocol`: as it prescribes. */
export const ForcedCause = z.enum(['outage', 'elsewhere', 'protocol', 'other']);
export type ForcedCause = z.infer<typeof ForcedCause>;

/** A participant who was given an arm without a draw. The order in the study is that of the records. */
export const AllocationForced = defineEvent('AllocationForced', 1, {
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
