/** Days and instants, as people and other systems write them, and how far clocks may differ. */

/** Whether a text in the form `YYYY-MM-DD` is a day of the calendar. */
export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date reads 2027-02-31 as a day in March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** How far ahead of UTC a clock on earth can be, in ms. */
const FIRST_ZONE_MS = 14 * 3_600_000;

/** Whether a day, `YYYY-MM-DD`, has begun anywhere on earth. @param at in ISO 8601 */
export function hasBegun(day: string, at: string): boolean {
  return Date.parse(`${day}T00:00:00Z`) - FIRST_ZONE_MS <= Date.parse(at);
}

/** Its parts: day, time, fraction, offset. */
const INSTANT_FORM =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,6}))?)?(Z|[+-]\d{2}:?\d{2})?$/;

/**
 * Microseconds since 1970 of an instant such as `2026-11-22 05:38:14.477949` or `2026-11-22T05:38:14Z`; undefined if the
 * text is none. Without an offset it is in UTC.
 */
export function microsecondsOf(text: string): number | undefined {
  const [, day, time = '00:00', fraction = '', offset = 'Z'] = INSTANT_FORM.exec(text) ?? [];
  if (day === undefined) return undefined;
  const milliseconds = Date.parse(`${day}T${time}${offset}`);
  const isThatDay = new Date(`${day}T00:00Z`).toJSON()?.startsWith(day);
  if (Number.isNaN(milliseconds) || !isThatDay) return undefined;
  return milliseconds * 1000 + Number(fraction.padEnd(6, '0'));
}

/** Tolerated difference, in ms, between the clocks of machines that write the same stream. */
export const CLOCK_TOLERANCE_MS = 1000;
