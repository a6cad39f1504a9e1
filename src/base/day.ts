/** Whether a text in the form `YYYY-MM-DD` is a day of the calendar. */
export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date reads 2027-02-31 as a day in March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
