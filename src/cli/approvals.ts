/** Decisions made about a study outside this system, as the user states them: --reason, --approved-by and --protocol. */
import { Option } from 'commander';
import type { Approval, Protocol } from '../../events/define.ts';
import { freeTextProblem, quote } from '../base/text.ts';
import { isDay } from '../base/time.ts';
import { UsageError } from './options.ts';

/** What was read, or what is wrong with the text, one sentence per problem. */
type Parsed<T> = { readonly value: T } | { readonly problems: readonly string[] };

export const APPROVAL_FORM = 'NAME, ROLE, DATE[, REFERENCE]';
export const APPROVAL_EXAMPLE = 'Dr. A. Ruiz, sponsor, 2026-09-01';
/** For the help of a command. */
export const IN_THE_CLEAR =
  "What you write is recorded in the clear: blinded readers see it, in the log, in bundles and in the feed. Name nobody's arm.";
/** For a dry run, which may come before the approval. */
export const PLACEHOLDER_APPROVAL: Approval = { name: 'somebody', role: 'somebody', on: '2000-01-01' };
const MAX_LENGTH = 200;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

export interface DecisionOptions {
  readonly reason?: string | undefined;
  readonly approvedBy?: readonly string[] | undefined;
  readonly protocol?: string | undefined;
}

export interface Decision {
  readonly approvals: readonly Approval[];
  readonly protocol?: Protocol | undefined;
}

/** Not read from the environment, because it is decided case by case. */
export function approvedByOption(): Option {
  return new Option(
    '--approved-by <approval>',
    `who decided it outside this system: '${APPROVAL_FORM}' (repeatable)`,
  ).argParser((value: string, earlier: readonly string[] = []) => [...earlier, value]);
}

export function protocolOption(): Option {
  return new Option(
    '--protocol <version>',
    "the protocol's version from now on, and its date: VERSION[,DATE]",
  );
}

/** @throws UsageError listing every problem */
export function decisionOf(options: DecisionOptions): Decision {
  const { reason } = options;
  const unfit = reason === undefined ? undefined : freeTextProblem(reason, 1);
  const { unread, ...decision } = readDecision(options);
  const problems = [...(unfit === undefined ? [] : [`--reason ${unfit}`]), ...Object.values(unread).flat()];
  if (problems.length > 0) throw new UsageError(problems.join('\n     '));
  return decision;
}

/** What could be read, and what is wrong with the rest. */
export function readDecision({ approvedBy = [], protocol }: DecisionOptions) {
  const found = approvedBy.map(parseApproval);
  const version = protocol === undefined ? undefined : parseProtocol(protocol);
  const approvals = found.flatMap((one) => ('value' in one ? [one.value] : []));
  const wrong = found.flatMap((one) => ('problems' in one ? one.problems : []));
  return {
    approvals,
    protocol: version && 'value' in version ? version.value : undefined,
    unread: {
      ...(wrong.length > 0 && { approvals: wrong }),
      ...(version && 'problems' in version && { protocol: version.problems }),
    },
  };
}

/** The decision as rows of a table. */
export function decisionRows({ approvals, protocol }: Decision): string[][] {
  return [
    ...approvals.map(({ name, role, on, reference }) => ['approved by', joined(name, role, on, reference)]),
    ...(protocol ? [['protocol', joined(protocol.version, protocol.date)]] : []),
  ];
}

function joined(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(', ');
}

/** @param text `NAME, ROLE, DATE[, REFERENCE]`; only the reference may contain commas */
export function parseApproval(text: string): Parsed<Approval> {
  const parts = text.split(',').map((part) => part.trim());
  const found = parts.findIndex((part) => DAY.test(part));
  // Even without a date, name and role come first.
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
export function parseProtocol(text: string): Parsed<Protocol> {
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
