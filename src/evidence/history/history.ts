/**
 * The past of a stream: its events from the first up to a moment, folded by the same projections that show the present.
 * Nothing is kept between questions, so each answer costs as much as reading that part of the stream. Commands read it
 * themselves (`foldUntil`); the running service asks one question at a time (`History`). How people write a moment is at the
 * end.
 */
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import {
  nextEvent,
  type Projection,
  projectionOf,
  type Readable,
  shownIn,
} from '../../../projections/runner.ts';
import { DomainError, RecordError } from '../../base/errors.ts';
import { type EventStore, type StoredRecord, StoreError } from '../../store/event-store.ts';

/**
 * A moment in a stream's history: a revision or an instant.
 *
 * Revisions define the order of the log. `at` comes from a clock, and clocks are set back and forth. An instant therefore
 * means the stream up to the first event, in order of revision, with a later `at`. No event dated after the instant is
 * shown, and the result is always a beginning of the stream, as it once was. The price: if a clock ran ahead, the events
 * after it stay hidden until the instant passes that time. A revision is never ambiguous.
 */
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

/** Where to read from. */
interface LogSource {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly logId: string;
}

type Readables = Readonly<Record<string, Readable<unknown>>>;
type StateOf<R> = R extends Readable<infer Shown> ? Shown : never;

export interface Past<P extends Readables> {
  /** Revision of the last folded event; -1 if there is none. */
  readonly revision: number;
  /** `at` of that event. */
  readonly at: string | undefined;
  /** By the names given. */
  readonly states: { readonly [Name in keyof P]: StateOf<P[Name]> };
  /** The first event that was not folded; undefined if the stream ends first. */
  readonly next: LogEvent | undefined;
}

/**
 * Folds a stream from its beginning up to the first event beyond the moment. That event and all later ones are left out.
 * Every record is checked. Other work gets its turn after every few of them.
 *
 * @param isBeyond called for each event in order of revision
 * @param onProgress gets the number of records read so far
 * @throws StoreError; RecordError for a record that is not what it claims to be
 */
export async function foldUntil<P extends Readables>(
  { store, logId }: LogSource,
  stream: string,
  wanted: P,
  isBeyond: (event: LogEvent) => boolean,
  onProgress: (records: number) => void = () => undefined,
): Promise<Past<P>> {
  const states = new Map(
    Object.values(wanted).map((readable) => [projectionOf(readable), projectionOf(readable).initial()]),
  );
  const shown = () =>
    Object.entries(wanted).map(([name, readable]) => [
      name,
      shownIn(readable, states.get(projectionOf(readable))),
    ]);
  let last: { readonly revision: number; readonly at?: string } = { revision: -1 };
  const past = (next: LogEvent | undefined): Past<P> => ({
    revision: last.revision,
    at: last.at,
    states: Object.fromEntries(shown()) as Past<P>['states'],
    next,
  });
  for await (const page of store.readStream(stream, 0, FOLDED_AT_ONCE)) {
    for (const stored of page) {
      const event = nextEvent(logId, last.revision, stored, () => decodeRecord(stored));
      if (isBeyond(event)) return past(event);
      for (const [projection, state] of states)
        states.set(projection, applied(projection, state, event, stored));
      last = event;
    }
    onProgress(last.revision + 1);
    await new Promise(setImmediate);
  }
  return past(undefined);
}

function applied<S>(projection: Projection<S>, state: S, event: LogEvent, stored: StoredRecord): S {
  try {
    return projection.apply(state, event);
  } catch (error) {
    // A fold throws on events that contradict earlier ones. Its messages name no arm.
    throw new RecordError('malformed', `${stored.stream}/${stored.revision}`, (error as Error).message);
  }
}

/** The most questions that may be open, including the one being answered. More are refused. */
const MAX_QUESTIONS = 8;

/** Records that are folded before others get a turn: a millisecond's worth. */
const FOLDED_AT_ONCE = 50;
/** Records that are decoded before others get a turn: half a millisecond's worth. */
const DECODED_AT_ONCE = 25;

/** Looks back in the running service, one question at a time, so that questions about the present are still answered. */
export class History {
  readonly #source: LogSource;
  #questions = 0;
  #lastAnswered: Promise<unknown> = Promise.resolve();

  constructor(source: LogSource) {
    this.#source = source;
  }

  /**
   * Like the function `foldUntil`, when its turn comes.
   * @throws DomainError `overloaded` when too many questions are waiting; `unavailable` when the store does not answer;
   *   `halted` when a record cannot be understood
   */
  foldUntil<P extends Readables>(
    stream: string,
    projections: P,
    isBeyond: (event: LogEvent) => boolean,
  ): Promise<Past<P>> {
    return this.#ask(() => foldUntil(this.#source, stream, projections, isBeyond));
  }

  /**
   * One page of a stream's records, from a revision on.
   * @throws DomainError as above
   */
  page(stream: string, fromRevision: number): Promise<readonly StoredRecord[]> {
    return this.#ask(async () => {
      for await (const page of this.#source.store.readStream(stream, fromRevision)) return page;
      return [];
    });
  }

  /**
   * Like `page`, with each record checked and decoded.
   * @throws DomainError as above
   */
  events(stream: string, fromRevision: number): Promise<readonly LogEvent[]> {
    return this.#ask(async () => {
      const events: LogEvent[] = [];
      for await (const page of this.#source.store.readStream(stream, fromRevision)) {
        await eachInTurns(page, (event) => events.push(event));
        break;
      }
      return events;
    });
  }

  /**
   * Gives every event of a stream from a revision on, each checked and decoded.
   * @throws DomainError as above
   */
  eachEvent(stream: string, fromRevision: number, take: (event: LogEvent) => void): Promise<void> {
    return this.#ask(async () => {
      for await (const page of this.#source.store.readStream(stream, fromRevision))
        await eachInTurns(page, take);
    });
  }

  /**
   * One record of a stream, checked and decoded; undefined if there is none at this revision.
   * @throws DomainError as above
   */
  event(stream: string, revision: number): Promise<LogEvent | undefined> {
    return this.#ask(async () => {
      for await (const [first] of this.#source.store.readStream(stream, revision, 1))
        return first && decodeRecord(first);
      return undefined;
    });
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    if (this.#questions >= MAX_QUESTIONS)
      throw new DomainError('overloaded', 'too many others ask about the past just now; ask again');
    this.#questions++;
    const answer = this.#lastAnswered.then(question);
    this.#lastAnswered = answer.catch(() => undefined);
    try {
      return await answer;
    } catch (error) {
      if (error instanceof StoreError)
        throw new DomainError('unavailable', 'the log cannot be read just now', error);
      if (error instanceof RecordError)
        throw new DomainError(
          'halted',
          'a record of this stream cannot be read (ask the operator, who finds it by verifying the log)',
          error,
        );
      throw error;
    } finally {
      this.#questions--;
    }
  }
}

/** The store may have answered without waiting for anything. Requests come first. */
async function eachInTurns(page: readonly StoredRecord[], take: (event: LogEvent) => void): Promise<void> {
  for (let from = 0; from < page.length; from += DECODED_AT_ONCE) {
    for (const stored of page.slice(from, from + DECODED_AT_ONCE)) take(decodeRecord(stored));
    await new Promise(setImmediate);
  }
}

export const REVISION_FORM = 'a whole number from 0 on';

/** Parses a whole number in decimal digits; undefined if it is not one. */
export function parseRevision(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined;
}

export const INSTANT_FORM = 'an instant in UTC, such as 2027-06-30T12:00:00Z';
const UTC_INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z$/;

/**
 * Parses an ISO 8601 instant in UTC, to the minute or finer. A day alone is not an instant: it has a beginning and an end.
 * @returns the instant in the format of an event's `at`, cut to milliseconds; undefined if it is not valid
 */
export function parseInstant(text: string): string | undefined {
  const [, minute, second = '00', fraction = ''] = UTC_INSTANT.exec(text) ?? [];
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
