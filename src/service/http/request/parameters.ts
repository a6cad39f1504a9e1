/** Parameters other than factors: their names and their checks. */
import { z } from 'zod';
import { lookAlikeForm } from '../../../base/text.ts';
import { nearestTo } from '../../../base/wording.ts';
import { MIN_REVISION } from './min-revision.ts';
import { HttpProblem, MAX_NAMED, problemList } from './problem.ts';
import type { Query } from './query.ts';

/** They select a page of a list, and its order. */
export const PAGE_PARAMETERS: readonly string[] = [
  'urn.limit',
  'urn.from',
  'urn.offset',
  'urn.sort',
  'urn.order',
  'urn.search',
];
/** `omit` leaves the generator states out. */
export const BG_STATE = 'urn.bg_state';
/** Which levels a list shows; with it, each record gives its place. */
export const VIEW = 'urn.view';
/** `true` marks texts of a CSV that a spreadsheet would take for formulas. */
export const EXCEL = 'urn.excel';
/** `true` checks everything and records nothing. */
export const DRY_RUN = 'urn.dry_run';
/** They select a moment in the history of a study. */
export const MOMENT_PARAMETERS: readonly string[] = ['urn.revision', 'urn.at'];

/** The parameters of the service in the contract have bare names, and so have factors. All others begin with this. */
export const PREFIX = 'urn.';

/** The names of all parameters of all operations, as the OpenAPI document lists them. */
export const SERVICE_PARAMETERS: ReadonlySet<string> = new Set([
  ...['api_key', 'study', 'id', 'from', 'size', 'first', 'second', 'revision', 'checkpoint', 'content'],
  ...[BG_STATE, VIEW, EXCEL, DRY_RUN, MIN_REVISION, 'urn.for'],
  ...MOMENT_PARAMETERS,
  ...PAGE_PARAMETERS,
]);

/**
 * The form that a name shares with its misspellings: people write it in either case, with other marks or spaces, in other
 * forms of the letters, or without `urn.`.
 */
export function bareForm(name: string): string {
  return lookAlikeForm(name)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replace(/^urn/, '');
}

/**
 * Gives a hint, if one of the names was probably meant, for as many unknown names of a request as its answer can show: to
 * look for all of them would keep other requests waiting.
 */
export function hintsAmong(names: readonly string[]): (given: string) => string | undefined {
  let left = MAX_NAMED;
  return (given) => {
    if (left-- <= 0) return undefined;
    const form = bareForm(given);
    const meant = names.find((name) => bareForm(name) === form) ?? nearestTo(given, names);
    return meant === undefined ? undefined : `did you mean ${meant}?`;
  };
}

/** A problem for each parameter that the route does not know. Otherwise a misspelt one would be silently ignored. */
export function unknownParameters(query: Query, known: ReadonlySet<string>, route: string): string[] {
  const hintFor = hintsAmong([...known]);
  return [...query.keys()]
    .filter((name) => !known.has(name))
    .map((name) => {
      const hint = hintFor(name);
      return `${name} is not a parameter of ${route}${hint === undefined ? '' : ` (hint: ${hint})`}`;
    });
}

/** The problem when no study is named. @param given the names of what was given */
export function studyMissing(given: Iterable<string>): HttpProblem {
  const hintFor = hintsAmong(['study']);
  const misspelt = [...given].find((name) => hintFor(name) !== undefined);
  const hint = misspelt === undefined ? '' : ` (hint: ${misspelt} is given; did you mean study?)`;
  return new HttpProblem(400, `study is missing${hint}`);
}

/** @throws HttpProblem 400 naming every problem at once */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new HttpProblem(400, problemList(problems));
}

const Decimal = z.string().regex(/^(?:0|[1-9]\d{0,15})$/);

/**
 * The whole number in the parameter, from `minimum` to `maximum`, or `byDefault` (if any) when the parameter is not given.
 * @throws HttpProblem 400
 */
export function numberOf(
  query: Query,
  name: string,
  minimum: number,
  maximum: number,
  byDefault?: number,
): number {
  const text = query.get(name);
  if (text === undefined && byDefault !== undefined) return byDefault;
  const value = Decimal.safeParse(text).success ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new HttpProblem(
    400,
    `${name} ${text === undefined ? 'is missing' : `is ${JSON.stringify(text)}`} (it must be between ${minimum} and ${maximum})`,
  );
}
