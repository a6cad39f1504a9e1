/**
 * A moment of a stream's history: a revision, or an instant.
 *
 * The revision is the order of the log; `at` is a clock, and clocks are set back and forth. An instant therefore means:
 * the stream up to the first event, in the order of revisions, that says it is later. Nothing is shown that the log
 * dates behind the instant, and what is shown is always a beginning of the stream, as it once stood. The price: behind
 * a clock that ran ahead, later events stay hidden until the instant passes that one; a revision has no such doubt.
 */
import type { LogEvent } from '../../events/record.ts';

export type Moment =
  | { readonly type: 'revision'; readonly revision: number }
  /** `at` as events write it: UTC with milliseconds. */
  | { readonly type: 'instant'; readonly at: string };

/** Whether an event is not yet part of the stream at the moment. */
export function isBeyond(moment: Moment): (event: Pick<LogEvent, 'revision' | 'at'>) => boolean {
  // Both instants have the same form, so their texts have their order.
  return moment.type === 'revision'
    ? ({ revision }) => revision > moment.revision
    : ({ at }) => at > moment.at;
}

export const REVISION_FORM = 'a whole number from 0 on';
/** A whole number of decimal digits, or undefined. */
export function parseRevision(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined;
}

export const INSTANT_FORM = 'an instant in UTC, such as 2027-06-30T12:00:00Z';
const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z$/;

/**
 * An ISO 8601 instant in UTC, to the minute or finer. A day alone is none: it has a beginning and an end.
 * @returns the instant as events write it, cut to milliseconds, or undefined
 */
export function parseInstant(text: string): string | undefined {
  const [, minute, second = '00', fraction = ''] = INSTANT.exec(text) ?? [];
  // Events have no finer times, so a finer instant comes behind the same ones as its millisecond.
  const cut = `${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const instant = new Date(cut);
  // Date reads 2027-02-31 as a day in March.
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === cut ? cut : undefined;
}

export const DAY_FORM = 'a day, or an instant in UTC, such as 2027-06-30 or 2027-06-30T12:00:00Z';

/** As `parseInstant`; a day in UTC stands for its first or its last millisecond. */
export function parseDay(text: string, edge: 'first' | 'last'): string | undefined {
  const time = edge === 'first' ? '00:00:00.000' : '23:59:59.999';
  return parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T${time}Z` : text);
}
