/** Parameters of routes that take no factor. */
import { z } from 'zod';
import { HttpProblem } from './problem.ts';
import type { Query } from './query.ts';

/** They name a part of a list. */
export const PAGE_PARAMETERS: readonly string[] = ['urn.limit', 'urn.from'];
/** `omit` leaves the generator states out. */
export const BG_STATE = 'urn.bg_state';
/** They name the moment of a study that is asked about. */
export const MOMENT_PARAMETERS: readonly string[] = ['urn.revision', 'urn.at'];

/** One line for each parameter that the route does not have: a misspelt one would silently be left out. */
export function unknownParameters(query: Query, known: ReadonlySet<string>, route: string): string[] {
  return [...query.keys()]
    .filter((name) => !known.has(name))
    .map((name) => `${name} is not a parameter of ${route}`);
}

/** @throws HttpProblem 400 naming every problem at once */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new HttpProblem(400, problems.join('; '));
}

const Decimal = z.string().regex(/^(?:0|[1-9]\d{0,15})$/);

/**
 * A whole number from `least` to `most`; `otherwise`, if there is one, where the parameter is not given.
 * @throws HttpProblem 400
 */
export function numberOf(
  query: Query,
  name: string,
  least: number,
  most: number,
  otherwise?: number,
): number {
  const text = query.get(name);
  if (text === undefined && otherwise !== undefined) return otherwise;
  const value = Decimal.safeParse(text).success ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new HttpProblem(
    400,
    `${name} ${text === undefined ? 'is missing' : `is ${JSON.stringify(text)}`} (there is ${least} to ${most})`,
  );
}
