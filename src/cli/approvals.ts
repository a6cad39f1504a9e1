/** Reads --approved-by and --protocol. */
import type { Approval, Protocol } from '../../events/text.ts';
import { isDay } from '../base/day.ts';
import { quote } from '../base/text.ts';

/** What was read, or what is wrong with the text: each a sentence. */
export type Read<T> = { readonly value: T } | { readonly problems: readonly string[] };

export const APPROVAL_FORM = 'NAME, ROLE, DATE[, REFERENCE]';
export const APPROVAL_EXAMPLE = 'Dr. A. Ruiz, sponsor, 2027-09-01';
const MAX_LENGTH = 200;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** @param text `NAME, ROLE, DATE[, REFERENCE]`; only the reference may contain commas */
export function parseApproval(text: string): Read<Approval> {
  const parts = text.split(',').map((part) => part.trim());
  const found = parts.findIndex((part) => DAY.test(part));
  // Without a date, name and role are still what comes first.
  const before = parts.slice(0, found < 0 ? 2 : found);
  const [name = '', role = ''] = before;
  const on = found < 0 ? parts[2] : parts[found];
  const rest = parts.slice(found < 0 ? 3 : found + 1);
  const reference = rest.length === 0 ? undefined : rest.join(', ');
  const problems = [
    name === '' && 'the name is missing',
    role === '' && 'the role is missing',
    before.length > 2 && 'name and role cannot contain a comma',
    dayProblem(on),
    reference === '' && 'the reference is empty: leave out the last comma',
    ...[name, role, reference].map((one) => textProblem(one)),
  ].filter((problem) => typeof problem === 'string');
  if (problems.length > 0 || on === undefined)
    return {
      problems: problems.map(
        (problem) =>
          `--approved-by ${quote(text)}: ${problem} (write '${APPROVAL_FORM}', such as '${APPROVAL_EXAMPLE}')`,
      ),
    };
  return { value: { name, role, on, ...(reference !== undefined && { reference }) } };
}

/** @param text `VERSION[,DATE]` */
export function parseProtocol(text: string): Read<Protocol> {
  const [version = '', date, ...more] = text.split(',').map((part) => part.trim());
  const problems = [
    version === '' && 'the version is missing',
    date !== undefined && dayProblem(date),
    more.length > 0 && 'unexpected text after the date',
    textProblem(version),
  ].filter((problem) => typeof problem === 'string');
  if (problems.length > 0)
    return {
      problems: problems.map(
        (problem) =>
          `--protocol ${quote(text)}: ${problem} (write 'VERSION[,DATE]', such as '3.0,2027-02-20')`,
      ),
    };
  return { value: { version, ...(date !== undefined && { date }) } };
}

function dayProblem(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return 'the date is missing';
  if (!DAY.test(text)) return `${quote(text)} is not a date of the form YYYY-MM-DD`;
  return isDay(text) ? undefined : `${text} is not a day of the calendar`;
}

function textProblem(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (/\p{Cc}/u.test(text)) return `${quote(text)} contains a control character`;
  return [...text].length > MAX_LENGTH ? `a part has more than ${MAX_LENGTH} characters` : undefined;
}
