/**
 * Limits what one key may have in progress at a time, so that no key can take the service away from the others. The limits
 * apply to this process. Each route applies them itself, and a route that must always answer does not. Long work ends when its
 * client disconnects.
 */
import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { DomainError } from '../../../base/errors.ts';
import { withinMs } from '../../../base/waiting.ts';
import { tooMany } from './problem.ts';

/** How many requests of one key to write may wait for the log. */
const MAX_POSTS = 512;
/** How many lists of one key may wait for the one in progress, and for how long. */
const MAX_LISTS_WAITING = 8;
const LIST_WAIT_MS = 30_000;
/** How many lists of the past may be in progress, for all keys together. Each is folded separately, and in memory until sent. */
const MAX_PAST_LISTS = 8;

export class InProgress {
  readonly posts = new Posts();
  readonly lists = new Lists();
}

class Posts {
  readonly #counts = new Map<string, number>();

  /** Must be followed by `leave`. @throws HttpProblem 429 when the key has too many in progress */
  enter(keyId: string): void {
    const count = this.#counts.get(keyId) ?? 0;
    if (count >= MAX_POSTS)
      throw tooMany(
        `This API key already has the maximum of ${MAX_POSTS} requests to write in progress: nothing was recorded (hint: send the same request again)`,
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
 * delays only those who share its key. All lists together are rendered slice by slice, one in each turn of the event loop.
 */
export class Lists {
  /** For each key that ever asked for a list: its lists in progress and waiting. Each promise is kept when the list has ended. */
  readonly #ofKey = new Map<string, Set<Promise<void>>>();
  #nextTurn: Promise<unknown> = Promise.resolve();
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

  /** Renders a slice of a list when its turn has come. */
  slice<T>(render: () => T): Promise<T> {
    const turn = this.#nextTurn;
    this.#nextTurn = turn.then(() => new Promise(setImmediate));
    return turn.then(render);
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
