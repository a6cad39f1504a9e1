/**
 * Parameters of a POST that are neither its own nor factors of the study. As in the contract, they are not read. One that
 * could be meant for the service is refused instead: a misspelt dry run would randomize somebody.
 */
import { nearestTo } from '../../base/nearest.ts';
import { PREFIX, SERVICE_PARAMETERS } from './parameters.ts';
import type { Query } from './query.ts';

/** The right spelling by the form that all its misspellings share, with and without the prefix. */
const SPELLINGS = new Map(
  [...SERVICE_PARAMETERS].flatMap((name): [string, string][] => {
    const bare = formOf(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name);
    return [
      [bare, name],
      [`${formOf(PREFIX)}${bare}`, name],
    ];
  }),
);
const IDEMPOTENCY_KEY = formOf('Idempotency-Key');

/** @param factors the names of all factors of the study, retired ones too */
export function unreadParameters(
  query: Query,
  own: ReadonlySet<string>,
  factors: readonly string[],
): { readonly ignored: readonly string[]; readonly problems: string[] } {
  const ignored: string[] = [];
  const problems: string[] = [];
  for (const name of query.keys()) {
    if (own.has(name) || factors.includes(name)) continue;
    const problem = SERVICE_PARAMETERS.has(name) ? undefined : misspelling(name);
    if (problem !== undefined) problems.push(problem);
    else if (name !== '') ignored.push(name);
  }
  return { ignored, problems };
}

function misspelling(name: string): string | undefined {
  const form = formOf(name);
  if (form === IDEMPOTENCY_KEY) return `${name} is not a parameter (hint: send the header Idempotency-Key)`;
  const meant = SPELLINGS.get(form);
  if (meant === undefined && !name.toLowerCase().startsWith(PREFIX)) return undefined;
  const nearest = meant ?? nearestTo(name, [...SERVICE_PARAMETERS]);
  const hint = nearest === undefined ? `names with ${PREFIX} are the service's` : `did you mean ${nearest}?`;
  return `${name} is not a parameter (hint: ${hint})`;
}

/** People write the same name in upper or lower case, and with different marks between its words. */
function formOf(name: string): string {
  return name.toLowerCase().replaceAll(/[._-]/g, '');
}

const MAX_NAMES = 10;
const MAX_BYTES = 500;
const MORE = encodeURIComponent('…');

/** The value of the header `Urn-Ignored`: the names, percent-encoded, and an ellipsis if some are left out. */
export function ignoredHeader(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => encodeURIComponent(name));
  const text = () => [...shown, ...(shown.length < names.length ? [MORE] : [])].join(', ');
  while (text().length > MAX_BYTES) shown.pop();
  return text();
}

/** For the OpenAPI document. */
export const URN_IGNORED = {
  'Urn-Ignored': {
    description: `Parameters that were not read, percent-encoded and separated by commas: at most ${MAX_NAMES} names and ${MAX_BYTES} bytes, then \`${MORE}\`. Absent if there are none.`,
    schema: { type: 'string', maxLength: MAX_BYTES },
  },
};
