/** The JSON body of an act, from what the act asks for: its members in the words of HTTP. */
import { z } from 'zod';
import { type ActName, type ActValues, actOf } from '../../../core/acts/acts.ts';
import { DryRun, StudyName } from '../../../core/model/members.ts';
import type { Members } from '../../../core/model/outcomes.ts';

export type ActBody = z.ZodType<{ readonly study: string; readonly dry_run?: boolean | undefined }>;

/** The name of a member in a body, or a path in it: `participantId` is `id`, and `occurredAt` is `occurred_at`. */
export function bodyName(member: string): string {
  return member.replace(/^participantId/, 'id').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * @param more members of the route
 * @param unread members of the act that the body lacks
 */
export function bodyOf(
  act: ActName,
  more: Readonly<Record<string, z.ZodType>> = {},
  unread: readonly string[] = [],
): z.ZodObject & ActBody {
  const members = Object.entries(actOf(act).asks).filter(([name]) => !unread.includes(name));
  return z.strictObject({
    ...more,
    study: StudyName,
    ...Object.fromEntries(members.map(([name, form]) => [bodyName(name), form])),
    dry_run: DryRun,
  });
}

/** What a body asks of the act, which has its form. */
export function askedIn<N extends ActName>(act: N, body: Members): ActValues<N> {
  const names = Object.keys(actOf(act).asks);
  // The types of the members are in the form.
  return Object.fromEntries(names.map((name) => [name, body[bodyName(name)]])) as ActValues<N>;
}
