/** Calls to the leader, each with a time-out. */
import type { EventStoreDbAddress } from './address.ts';
import { Connection, type ConnectionTimes, type Line } from './connection.ts';
import { CallError, CUT_OFF, callError } from './errors.ts';
import {
  type Answer,
  type AppendAnswer,
  appendAnswer,
  appendRequests,
  type BoundedReading,
  enoughEvents,
  type Listener,
  type LogEventData,
  type LogPosition,
  messageOf,
  readRequest,
  type ServerMessage,
} from './wire.ts';

/** How long to wait for a call after gRPC's own deadline, in ms. */
const MARGIN_MS = 250;

/** The part of a gRPC call that is used here. */
interface CancellableCall {
  cancel(): void;
}

/** What a call that ends by itself reports. */
interface Ending<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
  /** The server has sent something. */
  alive(): void;
}

export class LogClient {
  readonly #connection: Connection;

  /** Connects when first needed. @throws StoreError if a file that the address names cannot be read */
  constructor(address: EventStoreDbAddress, times: ConnectionTimes) {
    this.#connection = new Connection(address, times);
  }

  /**
   * Appends after an exact revision, -1 for a stream that does not exist.
   * @throws CallError
   */
  append(
    stream: string,
    expectedRevision: number,
    events: readonly LogEventData[],
    timeoutMs: number,
  ): Promise<AppendAnswer> {
    return this.#call(timeoutMs, (line, deadline, ending: Ending<AppendAnswer>) => {
      const call = line.streams.append(this.#connection.metadata(), { deadline }, (error, response) => {
        try {
          if (error) throw error;
          ending.resolve(appendAnswer(response));
        } catch (failure) {
          ending.reject(failure);
        }
      });
      call.on('error', ending.reject);
      for (const request of appendRequests(stream, expectedRevision, events)) call.write(request);
      call.end();
      return call;
    });
  }

  /** Reads to the end of what was asked for, or as far as it came before it was cut off. @throws CallError if no event came */
  read(reading: BoundedReading, timeoutMs: number): Promise<Answer> {
    const messages: ServerMessage[] = [];
    const enough = enoughEvents(reading);
    let events = 0;
    const called = this.#call(timeoutMs, (line, deadline, ending: Ending<Answer>) => {
      const call = line.streams.read(readRequest(reading), this.#connection.metadata(), { deadline });
      // An error that nobody listens for would end the process.
      call.on('error', (error) => {
        // The line is not in doubt if it is only slow.
        if (callError(error).kind === 'timeout' && events > 0) ending.resolve({ messages, isWhole: false });
        else ending.reject(error);
      });
      call.on('end', () => ending.resolve({ messages, isWhole: true }));
      call.on('data', (response) => {
        ending.alive();
        const message = messageOf(response);
        if (!message) return;
        messages.push(message);
        if (message.type !== 'event' || ++events < enough) return;
        ending.resolve({ messages, isWhole: true });
        call.cancel();
      });
      return call;
    });
    // Otherwise a page that takes longer than connections last would be begun again and again.
    return called.catch((error: CallError) => {
      if (events > 0 && CUT_OFF.includes(error.kind)) return { messages, isWhole: false };
      throw error;
    });
  }

  /** Follows the log. @returns how to stop; nothing is called after that */
  follow(from: LogPosition | undefined, prefix: string, listener: Listener): () => void {
    let held: CancellableCall | undefined;
    let untrack = () => undefined as unknown;
    let isOver = false;
    const stop = () => {
      isOver = true;
      untrack();
      held?.cancel();
    };
    const end = (error?: CallError) => {
      if (isOver) return;
      stop();
      listener.onEnd(error);
    };
    const begin = (line: Line) => {
      if (isOver) return;
      const request = readRequest({ of: 'live', prefix, from });
      const call = line.streams.read(request, this.#connection.metadata(), {
        deadline: Number.POSITIVE_INFINITY,
      });
      held = call;
      untrack = line.track({ isEndless: true, abort: end });
      call.on('error', (error) => {
        if (!isOver) this.#connection.failed(line, callError(error));
        end(callError(error));
      });
      call.on('end', () => end());
      call.on('data', (response) => {
        const message = isOver ? undefined : messageOf(response);
        if (message) listener.onMessage(message);
      });
    };
    this.#connection
      .line()
      .then(begin)
      .catch((error) => end(callError(error)));
    return stop;
  }

  /** The next call goes over a new connection, to whichever node leads then. */
  renew(): void {
    this.#connection.renew();
  }

  close(): void {
    this.#connection.close();
  }

  /** @param begin makes the call on a line */
  async #call<T>(
    timeoutMs: number,
    begin: (line: Line, deadline: number, ending: Ending<T>) => CancellableCall,
  ): Promise<T> {
    const due = performance.now() + timeoutMs;
    const line = await this.#connection.line(timeoutMs);
    const leftMs = Math.max(due - performance.now(), 1);
    const done: (() => unknown)[] = [];
    const after = (ms: number, act: () => void) => {
      const timer = setTimeout(act, ms);
      done.push(() => clearTimeout(timer));
      return timer;
    };
    try {
      return await new Promise<T>((resolve, reject) => {
        const silence = after(this.#connection.silentMs, () => this.#connection.silent(line));
        const alive = () => clearTimeout(silence);
        const call = begin(line, Date.now() + leftMs, { resolve, reject, alive });
        const abort = (error: CallError) => {
          reject(error);
          call.cancel();
        };
        done.push(line.track({ isEndless: false, abort }));
        after(leftMs + MARGIN_MS, () => abort(new CallError('timeout', `no answer within ${timeoutMs} ms`)));
      });
    } catch (error) {
      const failure = callError(error);
      this.#connection.failed(line, failure);
      throw failure;
    } finally {
      for (const end of done) end();
    }
  }
}
