/** Members that the JSON bodies of several routes share. */
import { z } from 'zod';
import { isDay } from '../../base/day.ts';
import { freeTextProblem } from '../../base/free-text.ts';

function freeText(least: number, meaning: string) {
  return z
    .string()
    .superRefine((text, context) => {
      const problem = freeTextProblem(text, least);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .meta({ description: meaning, minLength: least, maxLength: 2000 });
}

/** About the study; it stays in the clear. */
export const StudyReason = freeText(
  1,
  'The reason. It is about the study and stays in the clear: name no participant.',
);
/** About a participant; it is sealed. */
export const Grounds = freeText(3, 'The reason. It is sealed: blinded readers do not see it.');

/** About a participant; it is sealed. */
export const Note = freeText(1, 'What happened. It is sealed: blinded readers do not see it.');

export const Person = z
  .string()
  .refine((text) => /^[^\p{Cc}\p{Cs}]{1,128}$/u.test(text) && text.trim() === text, {
    error: 'must be 1 to 128 characters, without control characters and without white space at either end',
  });

export const Day = z
  .string()
  .refine((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text), {
    error: 'is not a day of the calendar, such as 2027-03-01',
  })
  .meta({ format: 'date' });

/** An instant in UTC that is not in the future. */
export const PastInstant = z.iso
  .datetime({ error: 'is not an instant in UTC, such as 2026-03-02T21:40:00Z' })
  .refine((text) => Date.parse(text) <= Date.now(), { error: 'is in the future' });

export const Approvals = z
  .array(z.strictObject({ name: Person, role: Person, on: Day, reference: Person.optional() }))
  .max(50)
  .meta({ description: 'Who decided this outside the system' });

export const ProtocolVersion = z.strictObject({ version: Person, date: Day.optional() });

export const StudyName = z.string().meta({ description: "The study's name" });

export const DryRun = z
  .boolean()
  .optional()
  .meta({ description: 'Check everything, and record nothing. The answer has the header Urn-Dry-Run.' });
