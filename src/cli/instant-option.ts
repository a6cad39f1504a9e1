import { quote } from '../base/text.ts';

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z$/;

/** An instant that is not in the future, with milliseconds. Adds any problem to the list. */
export function instantOption(name: string, text: string, problems: string[]): string {
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  // Date reads 2027-02-31 as a day in March, and 24:00 as the next day.
  const isDay =
    !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 'YYYY-MM-DDTHH:MM'.length));
  if (!isDay) {
    problems.push(`${name} ${quote(text)} is not an instant in UTC, such as 2026-03-02T21:40Z`);
    return '';
  }
  if (time > Date.now()) problems.push(`${name} ${text} is in the future`);
  return new Date(time).toISOString();
}
