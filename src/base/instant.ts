/** Instants as other systems write them. */

const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,6}))?)?(Z|[+-]\d{2}:?\d{2})?$/;

/**
 * Microseconds since 1970 of an instant such as `2026-11-22 05:38:14.477949` or `2026-11-22T05:38:14Z`; undefined if the
 * text is none. Without an offset it is in UTC.
 */
export function microsecondsOf(text: string): number | undefined {
  const [, day, time = '00:00', fraction = '', offset = 'Z'] = INSTANT.exec(text) ?? [];
  if (day === undefined) return undefined;
  const milliseconds = Date.parse(`${day}T${time}${offset}`);
  const isThatDay = new Date(`${day}T00:00Z`).toJSON()?.startsWith(day);
  if (Number.isNaN(milliseconds) || !isThatDay) return undefined;
  return milliseconds * 1000 + Number(fraction.padEnd(6, '0'));
}
