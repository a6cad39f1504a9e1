/**
 * Parameters of a POST that are neither its own nor factors of the study. As in the contract, they are not read. One that
 * could be meant for the service is refused instead: a misspelt dry run would randomize somebody.
 */
import { nearestTo } from '../../../base/wording.ts';
import { bareForm, DRY_RUN, hintsAmong, PREFIX, SERVICE_PARAMETERS } from './parameters.ts';
import type { Query } from './query.ts';

const SPELLINGS = new Map([...SERVICE_PARAMETERS].map((name) => [bareForm(name), name]));
const IDEMPOTENCY_KEY = bareForm('Idempotency-Key');
const BARE_DRY_RUN = bareForm(DRY_RUN);

/**
 * @param own the parameters of the route
 * @param factors the names of all factors of the study, retired ones too
 * @param required names without which the request is refused anyway
 */
export function unreadParameters(
  query: Query,
  own: ReadonlySet<string>,
  factors: readonly string[],
  required: readonly string[],
): { readonly ignored: readonly string[]; readonly problems: string[] } {
  const hintForOwn = hintsAmong([...SERVICE_PARAMETERS]);
  const hintForMissing = hintsAmong(required.filter((name) => !query.has(name)));
  const ignored: string[] = [];
  const problems: string[] = [];
  for (const name of query.keys()) {
    // Names with the prefix of records are reported elsewhere.
    if (own.has(name) || factors.includes(name) || name.startsWith('f_')) continue;
    const hint =
      (SERVICE_PARAMETERS.has(name) ? undefined : misspelling(name, hintForOwn)) ?? hintForMissing(name);
    if (hint !== undefined) problems.push(`${name} is not a parameter (hint: ${hint})`);
    else if (name !== '') ignored.push(name);
  }
  return { ignored, problems };
}

/** How to write a name that could be meant for the service; undefined if it could not. */
function misspelling(name: string, hintFor: ReturnType<typeof hintsAmong>): string | undefined {
  const form = bareForm(name);
  if (form === IDEMPOTENCY_KEY) return 'send the header Idempotency-Key';
  const meant = isLikeDryRun(form) ? DRY_RUN : SPELLINGS.get(form);
  if (meant !== undefined) return `did you mean ${meant}?`;
  if (!name.toLowerCase().startsWith(PREFIX)) return undefined;
  return hintFor(name) ?? `names with ${PREFIX} are the service's`;
}

/** Only this one is refused for being similar: if another parameter is not read, nobody is randomized by mistake. */
function isLikeDryRun(form: string): boolean {
  return form.includes(BARE_DRY_RUN) || nearestTo(form, [BARE_DRY_RUN]) !== undefined;
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
