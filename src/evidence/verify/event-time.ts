/**
 * When an event was made, according to its id: a UUID of version 7 begins with the milliseconds since 1970 (RFC 9562
 * §5.7).
 */

/** Id and `at` are made one right after the other, so they differ only if the clock was set in between. */
const TOLERANCE_MS = 5000;
const VERSION_AT = 14;

/** @returns the text of a warning if the two times differ; otherwise undefined */
export function timeRemark(id: string, at: string): string | undefined {
  if (id[VERSION_AT] !== '7') return `its id is not a UUID of version 7, which would say when it was made`;
  const made = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  if (Math.abs(Date.parse(at) - made) <= TOLERANCE_MS) return undefined;
  return `it says ${at}, and its id was made at ${timeOf(made)}: was it dated back?`;
}

/** 48 bits can hold more than a date. */
function timeOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString();
}
