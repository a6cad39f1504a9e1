/** Parameters of routes that take no factor. */
import { HttpProblem } from './problem.ts';
import type { Query } from './query.ts';

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
