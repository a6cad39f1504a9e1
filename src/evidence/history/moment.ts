/**
 * A moment in a stream's history: a revision or an instant.
 *
 * Revisions define the order of the log. `at` comes from a clock, and clocks are set back and forth. An instant therefore
 * means the stream up to the first event, in order of revision, with a later `at`. No event dated after the instant is
 * shown, and the result is always a beginning of the stream, as it once was. The price: if a clock ran ahead, the events
 * after it stay hidden until the instant passes that time. A revision is never ambiguous.
 */
import type { LogEvent } from '../../../events/record.ts';

export type Moment =
  | { readonly type: 'revision'; readonly revision: number }
  /** In the format of an event's `at`: UTC with milliseconds. */
  | { readonly type: 'instant'; readonly at: string };

/** Whether an event is not yet part of the stream at this moment. */
export function isBeyond(moment: Moment): (event: Pick<LogEvent, 'revision' | 'at'>) => boolean {
  // Both instants have the same format, so they compare as text.
  return moment.type === 'revision'
    ? ({ revision }) => revision > moment.revision
    : ({ at }) => at > moment.at;
}

export const REVISION_FORM = 'a whole number from 0 on';
/** Parses a whole number in decimal digits; undefined if it is not one. */
export function parseRevision(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined;
}

export const INSTANT_FORM = 'an instant in UTC, such as 2027-06-30T12:00:00Z';
const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z$/;

/**
 * Parses an ISO 8601 instant in UTC, to the minute or finer. A day alone is not an instant: it has a beginning and an end.
 * @returns the instant in the format of an event's `at`, cut to milliseconds; undefined if it is not valid
 */
export function parseInstant(text: string): string | undefined {
  const [, minute, second = '00', fraction = ''] = INSTANT.exec(text) ?? [];
  // Events have no finer times, so cutting to milliseconds does not change which events come before.
  const cut = `${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const instant = new Date(cut);
  // Date reads 2027-02-31 as a day in March.
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === cut ? cut : undefined;
}

export const DAY_FORM = 'a day, or an instant in UTC, such as 2027-06-30 or 2027-06-30T12:00:00Z';

/** Like `parseInstant`, but a day in UTC is also accepted: it stands for its first or last millisecond. */
export function parseDay(text: string, edge: 'first' | 'last'): string | undefined {
  const time = edge === 'first' ? '00:00:00.000' : '23:59:59.999';
  return parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T${time}Z` : text);
}
