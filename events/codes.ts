/**
 * Facts about packs of medication: codes that say nothing about what is inside. Stream `study-<studyId>`. A code that was
 * given out is in the clear, because whoever may see the participant may see it; which treatment it stands for is sealed.
 */
import { z } from 'zod';
import { participant } from './about-participant.ts';
import { defineEvent } from './define.ts';
import { Level, PackCode } from './study.ts';
import { request } from './study-state.ts';
import { FreeText } from './text.ts';

const LIST = {
  stream: 'study',
  by: 'people',
  data: z.strictObject({
    /** How many packs are on it. */
    count: z.int().min(1),
    /** 1, 2, … */
    list: z.int().min(1),
    /** Only participants with this level get packs of the list. */
    where: Level.optional(),
  }),
  optionalSections: {},
} as const;
const CONTENTS = {
  /** 128 random bits, which decide the order in which the packs are given out. */
  key: z.string().regex(/^[0-9a-f]{32}$/),
  entries: z.array(z.strictObject({ code: PackCode, treatment: z.string().min(1) })).min(1),
};

export const CodesRegistered1 = defineEvent('CodesRegistered', 1, { ...LIST, sections: { codes: CONTENTS } });
/** A list of packs that are ready to be given out. */
export const CodesRegistered = defineEvent('CodesRegistered', 2, {
  ...LIST,
  /** `closedArms`: some are of an arm that takes no new participants, for the visits of those on it. */
  sections: { codes: { ...CONTENTS, closedArms: z.literal(true).optional() } },
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

/** In the latest version, for the catalogue. */
export const CODES = [CodesRegistered, CodeReplaced, CodesWithdrawn] as const;
