/**
 * Members that the requests of several acts and commands share: what each may be, as a schema with its description for the
 * OpenAPI document. What a schema cannot say, such as when an approval is enough, is checked by the functions at the end.
 */
import { z } from 'zod';
import type { Approval, Protocol } from '../../../events/define.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { freeTextProblem } from '../../base/text.ts';
import { hasBegun, isDay } from '../../base/time.ts';
import type { FieldProblem } from './outcomes.ts';
import { problemsOfId } from './participant-id.ts';

/** 1 to 128 code points, no control characters, no leading or trailing white space. */
export const ParticipantId = z
  .string({ error: ({ input }) => (input === undefined ? 'id is missing' : undefined) })
  .superRefine((id, context) => {
    for (const message of problemsOfId(id)) context.addIssue({ code: 'custom', message });
  })
  .meta({
    description:
      'The participant identifier, 1 to 128 characters. A new one must be in NFC, have no invisible characters, and not begin with `=`, `+`, `-` or `@`, because a spreadsheet would take it for a formula.',
  });

export const StudyName = z.string().meta({ description: "The study's name" });

export const DryRun = z
  .boolean()
  .optional()
  .meta({ description: 'Check everything, and record nothing. The answer has the header Urn-Dry-Run.' });

/** Why, about the study; it stays in the clear. */
export const StudyReason = freeText(
  1,
  'The reason. It is about the study and stays in the clear: name no participant.',
);

/** Why, about a participant; it is sealed. */
export const SealedReason = freeText(3, 'The reason. It is sealed: blinded readers do not see it.');

/** What happened, about a participant; it is sealed. */
export const Note = freeText(1, 'What happened. It is sealed: blinded readers do not see it.');

/** @param least how many characters */
function freeText(least: number, meaning: string) {
  return z
    .string()
    .superRefine((text, context) => {
      const problem = freeTextProblem(text, least);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .meta({ description: meaning, minLength: least, maxLength: 2000 });
}

/** A person, a role or a reference: a short text. */
const Person = z.string().refine((text) => /^[^\p{Cc}\p{Cs}]{1,128}$/u.test(text) && text.trim() === text, {
  error: 'must be 1 to 128 characters, without control characters and without white space at either end',
});

/** Why a code was broken, or an arm known otherwise. */
export const unblindingReason = {
  reason: SealedReason,
  requestedBy: Person.optional().meta({ description: 'Who asked for it. Sealed, like the reason' }),
};

/** An instant in UTC that is not in the future. */
export const PastInstant = z.iso
  .datetime({ error: 'is not an instant in UTC, such as 2026-03-02T21:40:00Z', abort: true })
  .refine((text) => Date.parse(text) <= Date.now(), { error: 'is in the future' });

const Day = z
  .string()
  .refine((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text), {
    error: 'is not a day of the calendar, such as 2027-03-01',
  })
  .meta({ format: 'date' });

export const Approvals = z
  .array(z.strictObject({ name: Person, role: Person, on: Day, reference: Person.optional() }))
  .max(50)
  .meta({ description: 'Who decided this outside the system' });

export const ProtocolVersion = z.strictObject({ version: Person, date: Day.optional() });

/**
 * What is wrong with approvals that were given outside the system, as far as that can be checked.
 * @param at when they must have been given at the latest, in ISO 8601
 * @param lacking why a live study needs an approval; without it, no approval is needed
 */
export function approvalProblems(
  approvals: readonly Approval[],
  at: string,
  mode?: StudyConfiguration['mode'],
  lacking = '',
): FieldProblem[] {
  if (mode === 'live' && approvals.length === 0) return [{ field: 'approvals', why: lacking }];
  return approvals.flatMap(({ on }, i) => {
    const field = `approvals[${i}].on`;
    if (!isDay(on)) return [{ field, why: NO_DAY }];
    return hasBegun(on, at) ? [] : [{ field, why: `${on} is in the future` }];
  });
}

export function protocolProblems(protocol: Protocol | undefined): FieldProblem[] {
  const date = protocol?.date;
  return date === undefined || isDay(date) ? [] : [{ field: 'protocol.date', why: NO_DAY }];
}

const NO_DAY = 'it is not a day of the calendar';
