/** The labels of a time axis. */
const DAY_MS = 86_400_000;

/** Depends on the length of time that the chart shows: hours, days, months or years. */
export function dateFormat(
  [from, to]: readonly [Date, Date],
  language: string,
  timeZone?: string,
): (date: Date) => string {
  const days = (to.getTime() - from.getTime()) / DAY_MS;
  const form = new Intl.DateTimeFormat(language, { ...partsFor(days), ...(timeZone && { timeZone }) });
  return (date) => form.format(date);
}

function partsFor(days: number): Intl.DateTimeFormatOptions {
  if (days < 2) return { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  if (days < 300) return { day: 'numeric', month: 'short' };
  return { month: 'short', year: 'numeric' };
}
