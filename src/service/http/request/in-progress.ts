/**
 * How requests share this process, so that nobody can take it away from the others. Whatever works for somebody does so in turn
 * with what others want, in small pieces. What one key may have in progress at a time is limited, too: each route applies those
 * limits itself, and a route that must always answer does not. Long work ends when its client disconnects.
 */
import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { DomainError } from '../../../base/errors.ts';
import { withinMs } from '../../../base/waiting.ts';
import type { Participants } from '../../../core/model/participants.ts';
import { tooMany } from './problem.ts';

/** How many requests of one key to write may wait for the log. */
const MAX_POSTS = 512;
/** How many lists of one key may wait for the one in progress, and for how long. */
const MAX_LISTS_WAITING = 8;
const LIST_WAIT_MS = 30_000;
/** How many lists of the past may be in progress, for all keys together. Each is folded separately, and in memory until sent. */
const MAX_PAST_LISTS = 8;

export class InProgress {
  readonly turns = new Turns();
  readonly posts = new Posts();
  readonly lists = new Lists();
}

/** How long requests are worked on in one turn of the event loop, in ms, before the loop sees what else has come. */
const TURN_MS = 10;
/** Node accepts one connection in each turn. While connections arrive, turns are short, so that none waits for long. */
const TURN_OF_ARRIVAL_MS = 1;

/**
 * The one door to the processor. Requests wait here until those before them have had their turn, and each caller (a key, or an
 * address where there is no key) has one let in before any has its second. Of what takes longer, one slice is worked on in each
 * turn of the event loop: neither do requests wait for whole lists, nor lists until nobody asks for anything else.
 */
class Turns {
  readonly #requests = new CallerQueue();
  readonly #slices = new CallerQueue();
  /** By caller: the end of what they do one after the other. */
  readonly #inOrder = new Map<string, Promise<unknown>>();
  /** When work began in this turn of the event loop. Undefined: not yet. */
  #began: number | undefined;
  #hasSliced = false;
  #hasArrival = false;
  #limitMs = TURN_MS;

  /** A connection was accepted. */
  readonly connectionArrived = (): void => {
    this.#hasArrival = true;
  };

  /** Resolves when it is the turn of a request of the caller. Undefined: it is now. */
  next(caller: string): Promise<void> | undefined {
    return this.#wait(this.#requests, caller, this.#mayServe);
  }

  /** The turns of one caller. */
  of(caller: string): Turn {
    return {
      next: () => this.next(caller),
      slice: async (work) => {
        const wait = this.#wait(this.#slices, caller, this.#maySlice);
        if (wait) await wait;
        return work();
      },
      inOrder: (work) => this.#afterOthersOf(caller, work),
    };
  }

  #wait(queue: CallerQueue, caller: string, may: () => boolean): Promise<void> | undefined {
    if (queue.isEmpty && may()) return undefined;
    return new Promise((resolve) => {
      queue.add(caller, resolve);
      const admit = () => {
        if (may()) queue.admitNext();
        else setImmediate(admit);
      };
      // One immediate for each: Node does all that follows from one without waiting for input before it runs the next.
      setImmediate(admit);
    });
  }

  readonly #mayServe = (): boolean => {
    return this.#elapsed() < this.#limitMs;
  };

  readonly #maySlice = (): boolean => {
    this.#elapsed();
    const may = !this.#hasSliced;
    this.#hasSliced = true;
    return may;
  };

  /** How long this turn of the event loop has worked, in ms. */
  #elapsed(): number {
    const now = performance.now();
    if (this.#began === undefined) {
      this.#began = now;
      this.#limitMs = this.#hasArrival ? TURN_OF_ARRIVAL_MS : TURN_MS;
      this.#hasArrival = false;
      this.#hasSliced = false;
      // It comes before the immediates that are set from now on, which the next turn of the loop runs.
      setImmediate(() => {
        this.#began = undefined;
      });
    }
    return now - this.#began;
  }

  #afterOthersOf<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const before = this.#inOrder.get(caller);
    // A store may answer without waiting for input: then all of them would be done at once.
    const result = before ? before.then(() => this.next(caller)).then(work) : work();
    const end = result
      .catch(() => undefined)
      .then(() => {
        if (this.#inOrder.get(caller) === end) this.#inOrder.delete(caller);
      });
    this.#inOrder.set(caller, end);
    return result;
  }
}

/** What waits, by caller, in the order of their turns. */
class CallerQueue {
  readonly #waiting = new Map<string, (() => void)[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(caller: string, enter: () => void): void {
    const own = this.#waiting.get(caller);
    if (own) own.push(enter);
    else this.#waiting.set(caller, [enter]);
  }

  admitNext(): void {
    const [first] = this.#waiting;
    if (!first) return;
    const [caller, own] = first;
    const enter = own.shift();
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    enter?.();
  }
}

/** The turns of one caller. */
export interface Turn {
  /** Resolves when it is this caller's turn. Undefined: it is now. */
  next(): Promise<void> | undefined;
  /** Does a piece of long work when its turn has come. It should take no more than 2 ms. */
  slice<T>(work: () => T): Promise<T>;
  /** Does what few can do at a time, after all else that this caller does in this way: for example, reads the past. */
  inOrder<T>(work: () => Promise<T>): Promise<T>;
}

/** How many items are looked at in one turn. */
const PIECE = 2_000;

/** Like `forEach`, in turns. The list must not change meanwhile. */
export async function inTurns<T>(
  items: readonly T[],
  look: (item: T, index: number) => void,
  turn: Pick<Turn, 'slice'>,
): Promise<void> {
  for (let from = 0; from < items.length; from += PIECE)
    await turn.slice(() => {
      for (const [i, item] of items.slice(from, from + PIECE).entries()) look(item, from + i);
    });
}

/** Like `filter`, in turns. The list must not change meanwhile. */
export async function filteredInTurns<T>(
  items: readonly T[],
  isWanted: (item: T) => boolean,
  turn: Pick<Turn, 'slice'>,
): Promise<T[]> {
  const wanted: T[] = [];
  const look = (item: T) => {
    if (isWanted(item)) wanted.push(item);
  };
  await inTurns(items, look, turn);
  return wanted;
}

/** How many results of a study are kept: as many as there may be kinds of keys whose holders look at once. */
const MAX_KEPT = 16;

/**
 * Keeps, for each study, what was made from its participants until the study changes. So everybody who asks meanwhile shares one
 * result.
 */
export class OfRevision<T> {
  readonly #kept = new WeakMap<Participants, { revision: number; byName: Map<string, Promise<T>> }>();

  /**
   * @param revision of the study at the time of the call
   * @param name of the result; different results have different names
   */
  of(participants: Participants, revision: number, name: string, make: () => Promise<T>): Promise<T> {
    let kept = this.#kept.get(participants);
    if (kept?.revision !== revision || (kept.byName.size >= MAX_KEPT && !kept.byName.has(name))) {
      kept = { revision, byName: new Map() };
      this.#kept.set(participants, kept);
    }
    const { byName } = kept;
    const made = byName.get(name) ?? make();
    byName.set(name, made);
    made.catch(() => byName.delete(name));
    return made;
  }
}

class Posts {
  readonly #counts = new Map<string, number>();

  /** Must be followed by `leave`. @throws HttpProblem 429 when the key has too many in progress */
  enter(keyId: string): void {
    const count = this.#counts.get(keyId) ?? 0;
    if (count >= MAX_POSTS)
      throw tooMany(
        `This API key already has the maximum of ${MAX_POSTS} requests to write in progress, so this one was not taken (hint: send the same request again)`,
        1,
      );
    this.#counts.set(keyId, count + 1);
  }

  leave(keyId: string): void {
    const left = (this.#counts.get(keyId) ?? 0) - 1;
    if (left > 0) this.#counts.set(keyId, left);
    else this.#counts.delete(keyId);
  }
}

/**
 * A key has one list in progress at a time, from its first participant to its last byte. So a client that does not read
 * delays only those who share its key.
 */
class Lists {
  /** For each key that ever asked for a list: its lists in progress and waiting. Each promise is kept when the list has ended. */
  readonly #ofKey = new Map<string, Set<Promise<void>>>();
  #past = 0;

  /**
   * Resolves when the key's list may start. The list is in progress until the response is closed, for whatever reason.
   * @throws HttpProblem 429 when too many lists of the key are waiting, or this one has waited too long
   * @throws DomainError `unavailable` when the client has disconnected
   */
  async begin(keyId: string, response: ServerResponse): Promise<void> {
    if (response.destroyed) throw disconnected();
    const lists = this.#ofKey.get(keyId) ?? new Set();
    if (lists.size > MAX_LISTS_WAITING) throw tooManyLists();
    this.#ofKey.set(keyId, lists);
    const earlier = Promise.all(lists);
    const ended = new Promise<void>((resolve) => {
      response.once('close', () => {
        lists.delete(ended);
        resolve();
      });
    });
    lists.add(ended);
    await withinMs(LIST_WAIT_MS, Promise.race([earlier, ended]), tooManyLists);
    if (response.destroyed) throw disconnected();
  }

  /**
   * Must also be called for a list of the past. The list is in progress until the response is closed.
   * @throws DomainError `overloaded` when too many are in progress
   */
  beginPast(response: ServerResponse): void {
    if (response.destroyed) throw disconnected();
    if (this.#past >= MAX_PAST_LISTS)
      throw new DomainError('overloaded', 'too many lists of the past are being read; try again');
    this.#past++;
    response.once('close', () => {
      this.#past--;
    });
  }
}

function tooManyLists(): Error {
  return tooMany(
    'This API key has a list in progress, and others are waiting for it (hint: try again, or ask for pages with urn.limit)',
    1,
  );
}

function disconnected(): DomainError {
  return new DomainError('unavailable', 'the client has disconnected');
}

/** @param run receives a signal that is aborted when the client disconnects */
export async function whileConnected<T>(
  { socket }: Request,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (socket.destroyed) abort();
  socket.once('close', abort);
  try {
    return await run(controller.signal);
  } finally {
    socket.off('close', abort);
  }
}
