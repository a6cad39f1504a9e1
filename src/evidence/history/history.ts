/**
 * Looks back in the running service, one question at a time, so that questions about the present are still answered.
 */
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import type { Readable } from '../../../projections/runner.ts';
import { DomainError, RecordError } from '../../base/errors.ts';
import { type StoredRecord, StoreError } from '../../store/event-store.ts';
import { foldUntil, type LogSource, type Past } from './past.ts';

/** The most questions that may be open, including the one being answered. More are refused. */
const MAX_QUESTIONS = 8;
/** Records that are decoded before others get a turn: half a millisecond's worth. */
const AT_ONCE = 25;

export class History {
  readonly #source: LogSource;
  #questions = 0;
  #lastAnswered: Promise<unknown> = Promise.resolve();

  constructor(source: LogSource) {
    this.#source = source;
  }

  /**
   * Like `foldUntil` in past.ts.
   * @throws DomainError `overloaded` when too many questions are waiting; `unavailable` when the store does not answer;
   *   `halted` when a record cannot be understood
   */
  foldUntil<P extends Readonly<Record<string, Readable<unknown>>>>(
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
      for await (const page of this.#source.store.readStream(stream, fromRevision))
        return page.map((stored) => decodeRecord(stored));
      return [];
    });
  }

  /**
   * Gives every event of a stream from a revision on, each checked and decoded.
   * @throws DomainError as above
   */
  eachEvent(stream: string, fromRevision: number, take: (event: LogEvent) => void): Promise<void> {
    return this.#ask(async () => {
      for await (const page of this.#source.store.readStream(stream, fromRevision))
        for (let from = 0; from < page.length; from += AT_ONCE) {
          for (const stored of page.slice(from, from + AT_ONCE)) take(decodeRecord(stored));
          // The store may have answered without waiting for anything. Requests come first.
          await new Promise(setImmediate);
        }
    });
  }

  /**
   * One record of a stream, checked and decoded; undefined if there is none at this revision.
   * @throws DomainError as above
   */
  event(stream: string, revision: number): Promise<LogEvent | undefined> {
    return this.#ask(async () => {
      for await (const [first] of this.#source.store.readStream(stream, revision))
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
