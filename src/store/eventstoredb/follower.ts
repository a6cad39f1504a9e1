/**
 * Follows EventStoreDB live:
 *
 *   1. read what is there, to the end;
 *   2. subscribe from there, and hand over what arrives;
 *   3. check twice a second whether something is there that did not arrive. A subscription can end with an error, end
 *      without one, or stay open and silent. What it misses is read, and everything starts over at 1.
 *
 * Nothing is delivered twice or out of order, because only what comes after the last position is handed over, and the
 * revisions of each stream must follow one another.
 *
 * A log that ends before what was read from it is not believed at once: a new leader of a cluster serves reads for a
 * moment before it knows everything. The store counts as unavailable until this has lasted (`Suspicion`) and the leader
 * confirms it on a new line.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  PAGE_RECORDS,
  type StoredRecord,
  StoreError,
  type Subscriber,
  type Subscription,
} from '../event-store.ts';
import type { LogClient } from './client.ts';
import { type CallError, readFailure } from './errors.ts';
import { ChangedLog, type Intake, type LogReader } from './reader.ts';
import { isAfter, type LogPosition, placeOf, type ReadEvent, type ServerMessage } from './wire.ts';

/** Times in ms. */
export interface FollowerTimes {
  /** How often to check whether anything was missed. */
  readonly probeMs: number;
  /** How long a subscription may take to deliver what has already been read. */
  readonly graceMs: number;
  /** The pause after a failure; it doubles with every further one, up to the second number. */
  readonly pauseMs: readonly [first: number, longest: number];
  /** How long a changed log must stay so before it is believed. */
  readonly settleMs: number;
}

interface FollowerParts {
  readonly client: LogClient;
  readonly reader: LogReader;
  readonly prefix: string;
  readonly server: string;
  readonly times: FollowerTimes;
}

/** How often to check whether the subscription has delivered what was read, in ms. */
const LOOK_MS = 25;

export class Follower implements Subscription {
  readonly #parts: FollowerParts;
  readonly #subscriber: Subscriber;
  readonly #intake: Intake;
  /** Everything of this log up to here has been delivered. */
  #position: LogPosition | undefined;
  /** The record that was delivered last. */
  #last: StoredRecord | undefined;
  /** Arrived over the live subscription, and delivered in the next turn: many at once instead of one by one. */
  #arrived: ReadEvent[] = [];
  #flush: NodeJS.Immediate | undefined;
  #stopLive: (() => void) | undefined;
  #liveFailure: StoreError | undefined;
  readonly #suspicion: Suspicion;
  readonly #closed = new AbortController();

  /** @param last the record at that position, if known */
  constructor(
    parts: FollowerParts,
    after: LogPosition | undefined,
    subscriber: Subscriber,
    last?: StoredRecord,
  ) {
    this.#parts = parts;
    this.#position = after;
    this.#last = last;
    this.#intake = parts.reader.intake(after, subscriber);
    this.#subscriber = subscriber;
    this.#suspicion = new Suspicion(parts.times.settleMs);
    setImmediate(() => this.#run());
  }

  close(): void {
    this.#closed.abort();
    this.#endLive();
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  async #run(): Promise<void> {
    const [firstPauseMs, longestPauseMs] = this.#parts.times.pauseMs;
    for (let pauseMs = firstPauseMs; !this.#isClosed; ) {
      try {
        await this.#readToTheEnd();
        pauseMs = firstPauseMs;
        await this.#followLive();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#endLive();
        if (this.#isClosed) return;
        if (!(error instanceof ChangedLog)) this.#suspicion.drop();
        else if (await this.#isConfirmed(error)) return;
        this.#subscriber.onError(error instanceof ChangedLog ? notBelievedYet(error) : error);
        await this.#pause(pauseMs);
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      }
    }
  }

  /** @returns whether it has lasted; if so, the subscriber has been told and the follower has stopped */
  async #isConfirmed(error: ChangedLog): Promise<boolean> {
    if (!this.#suspicion.hasLasted()) return false;
    this.#parts.client.renew();
    try {
      await this.#expectSameLog();
      await this.#readOnce();
      return false;
    } catch (again) {
      if (!(again instanceof ChangedLog) || this.#isClosed) return this.#isClosed;
    }
    this.close();
    if (this.#subscriber.onRolledBack) this.#subscriber.onRolledBack(error.why);
    else this.#subscriber.onError(error);
    return true;
  }

  async #readToTheEnd(): Promise<void> {
    await this.#expectSameLog();
    while (!this.#isClosed) {
      if (await this.#readOnce()) return;
    }
  }

  /** @throws ChangedLog */
  async #expectSameLog(): Promise<void> {
    await this.#head();
    if (this.#last) await this.#parts.reader.expect(this.#last);
  }

  /** Reads a page. @returns whether it was the last one, so that everything of this log has been delivered */
  async #readOnce(): Promise<boolean> {
    const head = await this.#head();
    const { events, isEnd } = await this.#parts.reader.pageAfter(this.#position);
    if (this.#isClosed) return true;
    this.#take(events);
    this.#suspicion.drop();
    if (isEnd) this.#caughtUp(events.length === 0 ? head : undefined);
    return isEnd;
  }

  async #followLive(): Promise<void> {
    this.#startLive();
    while (!this.#isClosed) {
      await this.#pause(this.#parts.times.probeMs);
      if (this.#liveFailure) throw this.#liveFailure;
      if (!this.#isClosed) await this.#probe();
    }
  }

  /** @throws StoreError if the subscription has missed something, after delivering it */
  async #probe(): Promise<void> {
    const { reader, server, times } = this.#parts;
    const head = await this.#head();
    const { events, isEnd } = await reader.pageAfter(this.#position);
    const end = events.at(-1)?.position;
    if (!end) {
      if (!this.#isClosed) this.#caughtUp(head);
      return;
    }
    for (let waitedMs = 0; waitedMs < times.graceMs && isAfter(end, this.#position); waitedMs += LOOK_MS)
      await this.#pause(LOOK_MS);
    if (this.#isClosed) return;
    const isMissed = isAfter(end, this.#position);
    this.#take(events);
    if (isEnd) this.#caughtUp(undefined);
    if (isMissed)
      throw (
        this.#liveFailure ??
        new StoreError(
          'unavailable',
          'not-written',
          `the subscription to EventStoreDB at ${server} fell silent; what it missed was read, and it is started again`,
        )
      );
  }

  /** @throws ChangedLog if the log ends before what was already read from it */
  async #head(): Promise<LogPosition | undefined> {
    const head = await this.#parts.reader.head();
    if (this.#position && !(head && !isAfter(this.#position, head)))
      throw new ChangedLog(this.#parts.server, 'ends before what was read from it');
    return head;
  }

  #startLive(): void {
    const { client, prefix, server } = this.#parts;
    this.#liveFailure = undefined;
    const fail = (error: StoreError) => {
      this.#liveFailure ??= error;
    };
    this.#stopLive = client.follow(this.#position, prefix, {
      onMessage: (message: ServerMessage) => {
        if (message.type !== 'event' || this.#liveFailure || !placeOf(prefix, message.event)) return;
        this.#arrived.push(message.event);
        this.#flush ??= setImmediate(() => this.#deliverArrived(fail));
      },
      onEnd: (error?: CallError) =>
        fail(
          error
            ? readFailure(error, server)
            : new StoreError(
                'unavailable',
                'not-written',
                `EventStoreDB at ${server} ended the subscription; it is started again`,
              ),
        ),
    });
  }

  #deliverArrived(fail: (error: StoreError) => void): void {
    this.#flush = undefined;
    const arrived = this.#arrived.splice(0);
    try {
      for (let i = 0; i < arrived.length; i += PAGE_RECORDS)
        this.#take(arrived.slice(i, i + PAGE_RECORDS), 'subscription');
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      fail(error);
    }
  }

  #endLive(): void {
    this.#stopLive?.();
    this.#stopLive = undefined;
    clearImmediate(this.#flush);
    this.#flush = undefined;
    this.#arrived = [];
  }

  /** Hands over what comes after the last position. @throws StoreError, as `Intake.take` does */
  #take(events: readonly ReadEvent[], source: 'read' | 'subscription' = 'read'): void {
    if (this.#isClosed) return;
    const news = events.filter(({ position }) => isAfter(position, this.#position));
    const records = this.#intake.take(news, source);
    this.#position = news.at(-1)?.position ?? this.#position;
    this.#last = records.at(-1) ?? this.#last;
    if (records.length > 0) this.#subscriber.onRecords(records);
    // The subscriber may have closed the subscription in the callback.
    if (this.#isClosed) return;
    this.#intake.reportBreaks();
    this.#intake.reportDangers();
  }

  /** @param head a position before which nothing of this log is left: in a busy cluster this saves reading it again */
  #caughtUp(head: LogPosition | undefined): void {
    if (head && isAfter(head, this.#position)) this.#position = head;
    // The subscriber may have closed the subscription in the callback.
    if (!this.#isClosed) this.#subscriber.onCaughtUp();
  }

  /** Also ends when the subscription is closed. */
  #pause(ms: number): Promise<void> {
    return delay(ms, undefined, { ref: false, signal: this.#closed.signal }).catch(() => undefined);
  }
}

/** How often the log must have been found changed: a process that slept in between has not seen that it lasted. */
const LEAST_READINGS = 4;

/** Decides when to believe that a log has changed: while a cluster elects its leader, it can look so for a moment. */
class Suspicion {
  readonly #settleMs: number;
  #seen: { readonly since: number; readings: number } | undefined;

  /** @param settleMs how long it must last */
  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Call it whenever a reading finds the log changed. @returns whether this has lasted */
  hasLasted(): boolean {
    this.#seen ??= { since: performance.now(), readings: 0 };
    this.#seen.readings++;
    const { since, readings } = this.#seen;
    return performance.now() - since >= this.#settleMs && readings >= LEAST_READINGS;
  }

  /** The log was unchanged, or could not be read. */
  drop(): void {
    this.#seen = undefined;
  }
}

/** The error for a change that is not believed yet. */
function notBelievedYet({ why }: ChangedLog): StoreError {
  const hint = 'hint: while a cluster elects its leader, this passes; the log is read again';
  return new StoreError('unavailable', 'not-written', `${why}, or does not know all of it yet (${hint})`);
}
