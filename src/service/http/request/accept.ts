/** Whether a client wants comma-separated values. JSON is the default, also for clients that name no type or accept any. */
import type { IncomingMessage } from 'node:http';
import { EXCEL } from './parameters.ts';
import type { Query } from './query.ts';
import { bare } from './reply.ts';

export const CSV = 'text/csv';
const JSON_TYPE = 'application/json';

/** Around a list without the envelope. */
export const BARE_CSV = bare(`${CSV}; charset=utf-8; header=present`);

/** Only a client that names `text/csv` gets it, unless it prefers JSON. */
export function wantsCsv({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { accept } = headers;
  if (accept === undefined || !accept.toLowerCase().includes(CSV)) return false;
  const weights = new Map<string, number>();
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    weights.set(type, Math.max(weightOf(parameters), weights.get(type) ?? 0));
  }
  const weight = weights.get(CSV) ?? 0;
  return weight > 0 && weight >= (weights.get(JSON_TYPE) ?? 0);
}

/**
 * Whether the texts of the list are for a spreadsheet. Adds any problem with the parameter to the list.
 */
export function isForExcel(
  { http, query }: { readonly http: IncomingMessage; readonly query: Query },
  problems: string[],
): boolean {
  const value = query.get(EXCEL);
  if (value === undefined) return false;
  if (value !== 'true') problems.push(`${EXCEL} must be true`);
  else if (!wantsCsv(http)) problems.push(`${EXCEL} needs the header Accept: ${CSV}`);
  return true;
}

/** RFC 9110, section 12.4.2. A weight that is not valid counts as none. */
function weightOf(parameters: readonly string[]): number {
  const [, value] = parameters.map((parameter) => parameter.split('=')).find(([name]) => name === 'q') ?? [
    '',
    '1',
  ];
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value ?? '') ? Number(value) : 0;
}
