/**
 * JSON bodies: the form of one that asks for an act, made from what the act asks for; and what is wrong with a body, in words.
 * The command line checks what it asks by the same form, so nothing here may need Express.
 */
import { z } from 'zod';
import { counted } from '../../../base/wording.ts';
import { type ActName, type ActValues, actOf } from '../../../core/acts/acts.ts';
import { DryRun, StudyName } from '../../../core/model/members.ts';
import type { Members } from '../../../core/model/outcomes.ts';
import { hintsAmong } from './parameters.ts';

export type ActBody = z.ZodType<{ readonly study: string; readonly dry_run?: boolean | undefined }>;

/**
 * The form of a body that asks for the act: what the act asks for, in the words of HTTP.
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

/**
 * The name of a member in a body, or a path in it: `participantId` is `id`, and `occurredAt` is `occurred_at`. A body gives
 * levels by factor, not one after the other.
 */
export function bodyName(member: string): string {
  const named = member.replace(/^participantId/, 'id').replace(/^levels\[.*/, 'levels');
  return named.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What a body asks of the act, which has its form. */
export function askedIn<N extends ActName>(act: N, body: Members): ActValues<N> {
  const names = Object.keys(actOf(act).asks);
  // The types of the members are in the form.
  return Object.fromEntries(names.map((name) => [name, body[bodyName(name)]])) as ActValues<N>;
}

/** The result of a check, or every problem with what was checked. */
export function checkedBody<T>(json: unknown, schema: z.ZodType<T>): { data: T } | { problems: string[] } {
  const members = new Map<readonly string[], readonly string[]>();
  const parsed = schema.safeParse(json, {
    error: (issue) => {
      // What the object may have is not in the issue that is reported.
      if (issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject)
        members.set(issue.keys, Object.keys(issue.inst.shape));
      return wordsFor(issue);
    },
  });
  if (parsed.success) return { data: parsed.data };
  return {
    problems: parsed.error.issues.flatMap((issue) => {
      if (issue.code !== 'unrecognized_keys') return problemText(issue, json);
      const hintFor = hintsAmong(members.get(issue.keys) ?? []);
      return issue.keys.map((key) => unknownMember([...issue.path, key], hintFor(key)));
    }),
  };
}

function unknownMember(path: readonly PropertyKey[], hint: string | undefined): string {
  return `${placeOf(path)} is not a member of this request${hint === undefined ? '' : ` (hint: ${hint})`}`;
}

function problemText({ path, message }: z.core.$ZodIssue, json: unknown): string {
  if (path.length === 0) return `The body: ${message}`;
  return isMissing(json, path)
    ? `${placeOf(path)} is missing${choiceIn(message)}`
    : `${placeOf(path)}: ${message}`;
}

/** `.changes[0].kind`, without the first dot. */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

function isMissing(json: unknown, path: readonly PropertyKey[]): boolean {
  const held = path.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part],
    json,
  );
  return held === undefined;
}

const CHOICE = 'must be one of ';

/** What a member that is missing could be, if that is a choice. */
function choiceIn(message: string): string {
  return message.startsWith(CHOICE) ? ` (it ${message})` : '';
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** A sentence in place of zod's own; undefined where zod's will do. A schema's own words come before both. */
function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] && `must be ${KINDS[issue.expected]}`;
    case 'invalid_value':
      return `${CHOICE}${issue.values.join(', ')}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `${CHOICE}${issue.options.join(', ')}`
        : undefined;
    case 'too_big':
      return outsideLimit(issue.origin, issue.maximum, 'more', 'most');
    case 'too_small':
      return outsideLimit(issue.origin, issue.minimum, 'fewer', 'least');
    case 'invalid_format':
      return issue.pattern && `must match the pattern ${issue.pattern}`;
    default:
      return undefined;
  }
}

const COUNTED_UNITS: Readonly<Record<string, string>> = { array: 'item', string: 'character' };

function outsideLimit(origin: string, limit: number | bigint, than: string, at: string): string {
  const unit = COUNTED_UNITS[origin];
  return unit === undefined
    ? `must be at ${at} ${limit}`
    : `has ${than} than ${counted(Number(limit), unit)}`;
}
