/** How far ahead of UTC a clock on earth can be, in ms. */
const FIRST_ZONE_MS = 14 * 3_600_000;

/** The latest day that has begun anywhere at an instant, `YYYY-MM-DD`. @param at in ISO 8601 */
export function latestDay(at: string): string {
  return new Date(Date.parse(at) + FIRST_ZONE_MS).toISOString().slice(0, 10);
}

/** Whether a text in the form `YYYY-MM-DD` is a day of the calendar. */
export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date reads 2027-02-31 as a day in March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
