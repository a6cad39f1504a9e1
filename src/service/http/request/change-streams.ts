/**
 * The open streams of changes: server-sent events that give only the latest revision at which a study has changed. A stream
 * does not count as a request in progress: it is checked from time to time, and streams end first when the service stops.
 */
import type { ServerResponse } from 'node:http';
import { tooMany } from './problem.ts';

/** What a stream is about. */
export interface Watched {
  /** Whether the credential is still accepted and the study can still be read. */
  readonly isAllowed: () => boolean;
  /** Revision of the last change that the client may know of. */
  readonly latest: () => number;
  /** Revision of the last change that the client knows of; -1 for none. */
  readonly known: number;
}

export interface Holder {
  readonly keyId: string;
  /** Undefined for a program, which sends the key itself. */
  readonly sessionId: string | undefined;
}

const LIMITS = { perSession: 3, perKey: 30, all: 200 };
/** How often each stream is checked, in ms. */
const CHECK_MS = 250;
/** The least time between two events of a stream, and between two checks of its credential, in ms. */
const PACE_MS = 1000;
/** A stream is never silent for longer, so that proxies and browsers know that it is alive. */
const COMMENT_MS = 15_000;
const LONGEST_MS = 300_000;
/** When a browser connects again. By then a service that is stopping no longer listens. */
const RETRY_MS = 3000;
/** How long a client that reads nothing may keep its connection after the end. */
const CLOSE_MS = 1000;

interface Stream extends Watched {
  readonly response: ServerResponse;
  readonly openedAt: number;
  sent: number;
  sentAt: number;
  checkedAt: number;
  writtenAt: number;
}

export class ChangeStreams {
  readonly #streams = new Set<Stream>();
  /** Who holds each response, including those that are about to be opened. */
  readonly #holders = new Map<ServerResponse, Holder>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Reserves a place for a stream, until its response is closed.
   * @throws HttpProblem 429 when the session, its key or this process has too many
   */
  enter(response: ServerResponse, holder: Holder): void {
    const full = this.#full(holder);
    if (full !== undefined)
      throw tooMany(`${full} streams of changes open (hint: ask for the list every 10 s instead)`, 10);
    this.#holders.set(response, holder);
    response.once('close', () => this.#holders.delete(response));
  }

  /** Takes over a response whose head has been written. */
  open(response: ServerResponse, watched: Watched): void {
    const now = performance.now();
    const { known } = watched;
    const times = { openedAt: now, sentAt: Number.NEGATIVE_INFINITY, checkedAt: now, writtenAt: now };
    const stream: Stream = { ...watched, response, sent: known, ...times };
    response.write(`retry: ${RETRY_MS}\n\n`);
    if (this.#isClosed) {
      end(stream);
      return;
    }
    this.#streams.add(stream);
    response.once('close', () => this.#forget(stream));
    this.#check(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#streams) this.#check(one);
    }, CHECK_MS);
  }

  /** Ends all streams, and from now on every new one as soon as it is opened. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) this.#end(stream);
  }

  /** A key is limited over all its sessions: signing in again must not take the streams of others. */
  #full({ keyId, sessionId }: Holder): string | undefined {
    const held = [...this.#holders.values()];
    if (held.length >= LIMITS.all) return `This service has its maximum of ${LIMITS.all}`;
    const ofKey = held.filter((one) => one.keyId === keyId);
    if (ofKey.length >= LIMITS.perKey) return `This API key has its maximum of ${LIMITS.perKey}`;
    const ofSession = ofKey.filter((one) => one.sessionId === sessionId);
    return sessionId !== undefined && ofSession.length >= LIMITS.perSession
      ? `This session has its maximum of ${LIMITS.perSession}`
      : undefined;
  }

  #check(stream: Stream): void {
    const now = performance.now();
    const isNews = now - stream.sentAt >= PACE_MS && stream.latest() > stream.sent;
    if (isNews || now - stream.checkedAt >= PACE_MS) {
      stream.checkedAt = now;
      if (!stream.isAllowed()) {
        this.#end(stream);
        return;
      }
    }
    if (now - stream.openedAt >= LONGEST_MS) this.#end(stream);
    else if (isNews) {
      stream.sent = stream.latest();
      stream.sentAt = now;
      // Browsers drop an event without data.
      write(stream, `id: ${stream.sent}\ndata:\n\n`, now);
    } else if (now - stream.writtenAt >= COMMENT_MS) write(stream, ':\n\n', now);
  }

  #end(stream: Stream): void {
    this.#forget(stream);
    end(stream);
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function write(stream: Stream, text: string, now: number): void {
  stream.writtenAt = now;
  stream.response.write(text);
}

function end({ response }: Stream): void {
  const timer = setTimeout(() => response.destroy(), CLOSE_MS);
  response.once('close', () => clearTimeout(timer));
  response.end();
}
