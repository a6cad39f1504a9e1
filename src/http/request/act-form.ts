/** The JSON body of an act, from what the act asks for: its members in the words of HTTP. */
import { z } from 'zod';
import type { Act } from '../../acts/acts.ts';
import { DryRun, StudyName } from '../../model/members.ts';
import type { Members } from '../../model/outcomes.ts';

export type ActBody = z.ZodType<{ readonly study: string; readonly dry_run?: boolean | undefined }>;

/** The name of a member in a body, or a path in it: `participantId` is `id`, and `occurredAt` is `occurred_at`. */
export function bodyName(member: string): string {
  return member.replace(/^participantId/, 'id').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** @param more members of the route */
export function bodyOf(act: Act, more: Readonly<Record<string, z.ZodType>> = {}): z.ZodObject {
  const members = Object.entries(act.asks).map(([name, form]) => [bodyName(name), form] as const);
  const body = z.strictObject({
    ...more,
    study: StudyName,
    ...Object.fromEntries(members),
    dry_run: DryRun,
  });
  const { together } = act;
  if (!together) return body;
  return body.superRefine((given, context) => {
    const wrong = together(askedIn(act, given));
    if (wrong) context.addIssue({ code: 'custom', path: [bodyName(wrong.member)], message: wrong.why });
  });
}

/** What the body asks of the act. */
export function askedIn(act: Act, body: Members): Members {
  return Object.fromEntries(Object.keys(act.asks).map((name) => [name, body[bodyName(name)]]));
}
