/** Schemas of texts that several events share. */
import { z } from 'zod';

/** Free text of 1 to 2,000 code points, without control characters except line feeds and tabs. */
export const FreeText = z.string().regex(/^(?:[^\p{Cc}]|[\n\t]){1,2000}$/u);

/** A digest, in lower-case hex. */
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** `YYYY-MM-DD`. Whether it is a day of the calendar is checked when it is written and when it is verified. */
export const Day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

/** Somebody who decided something outside the system, as the writer asserts. */
export const Approval = z.strictObject({
  name: z.string().min(1),
  role: z.string().min(1),
  on: Day,
  reference: z.string().min(1).optional(),
});
export type Approval = z.infer<typeof Approval>;

/** The version of the trial's protocol from here on. */
export const Protocol = z.strictObject({ version: z.string().min(1), date: Day.optional() });
export type Protocol = z.infer<typeof Protocol>;
