/** What events about one participant, after the one that enrolled them, have in common. */
import { z } from 'zod';
import { FreeText } from './text.ts';

export const Revision = z.int().nonnegative();

/** The participant: the id as randomized, never a corrected one, and the revision of the event that enrolled them. */
export const participant = { participantId: z.string().min(1), randomizedAt: Revision };

/** Sealed, because it is free text about one participant. */
export const note = { note: { text: FreeText } };
