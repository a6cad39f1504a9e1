/**
 * What one key may have under way at a time, so that no key takes the service away from the others. The limits are of
 * this process, and a route asks for them itself: one that must always be answered leaves them out.
 */
import type { ServerResponse } from 'node:http';
import { DomainError } from '../../base/errors.ts';
import { tooMany } from './problem.ts';

/** Allocations of a key that wait for the log. */
const POSTS_AT_WORK = 512;
/** Lists that are rendered at a time, of all keys. */
const LISTS_RENDERED = 2;
/** Lists of a key that wait for the one that is under way, and for how long. */
const LISTS_WAITING = 8;
const LIST_WAIT_MS = 30_000;
/** Lists of the past under way, of all keys: each is folded by itself, and kept in memory until it has left. */
const PAST_LISTS = 8;

export class KeyLimits {
  readonly posts = new PostsAtWork();
  readonly lists = new Lists();
}

class PostsAtWork {
  readonly #numbers = new Map<string, number>();

  /** To be followed by `leave`. @throws HttpProblem 429 when too many of the key's are at work */
  enter(keyId: string): void {
    const number = this.#numbers.get(keyId) ?? 0;
    if (number >= POSTS_AT_WORK)
      throw tooMany(
        `This API key has ${POSTS_AT_WORK} allocations under way, which is the most: nothing was recorded (hint: send the same request again)`,
        1,
      );
    this.#numbers.set(keyId, number + 1);
  }

  leave(keyId: string): void {
    const left = (this.#numbers.get(keyId) ?? 0) - 1;
    if (left > 0) this.#numbers.set(keyId, left);
    else this.#numbers.delete(keyId);
  }
}

/**
 * A key has one list under way at a time, from its first participant to its last byte; so a client that does not read
 * holds up nobody but those who share its key. Of the lists that are under way, two at a time are rendered, a slice each
 * between two turns of everything else.
 */
export class Lists {
  /** Of each key that has a list under way: how to let the next ones in that wait for it. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #rendered = 0;
  readonly #unrendered: (() => void)[] = [];
  #past = 0;

  /**
   * Resolves when the key's list may be under way. It is until the response is closed, however that comes about.
   * @throws HttpProblem 429 when too many of the key's wait already, or it has waited too long
   * @throws DomainError `unavailable` when the client has gone
   */
  async begin(keyId: string, response: ServerResponse): Promise<void> {
    if (response.destroyed) throw gone();
    const waiting = this.#waiting.get(keyId);
    if (!waiting) {
      this.#waiting.set(keyId, []);
      this.#hold(keyId, response);
    } else if (waiting.length < LISTS_WAITING) await this.#wait(keyId, waiting, response);
    else throw tooManyLists();
  }

  /**
   * To be asked besides for a list of the past. It is under way until the response is closed.
   * @throws DomainError `overloaded` when too many are
   */
  beginPast(response: ServerResponse): void {
    if (response.destroyed) throw gone();
    if (this.#past >= PAST_LISTS)
      throw new DomainError('overloaded', 'too many others read lists of the past just now; ask again');
    this.#past++;
    response.once('close', () => {
      this.#past--;
    });
  }

  /** Renders a slice of a list when it is its turn. */
  async slice<T>(render: () => T): Promise<T> {
    if (this.#rendered < LISTS_RENDERED) this.#rendered++;
    else await new Promise<void>((resolve) => this.#unrendered.push(resolve));
    // The turn ends when all else has had one: so a slice is what others wait for at most, and not a list.
    setImmediate(() => this.#nextSlice());
    return render();
  }

  #nextSlice(): void {
    const next = this.#unrendered.shift();
    if (next) next();
    else this.#rendered--;
  }

  #hold(keyId: string, response: ServerResponse): void {
    response.once('close', () => {
      const next = this.#waiting.get(keyId)?.shift();
      if (next) next();
      else this.#waiting.delete(keyId);
    });
  }

  #wait(keyId: string, waiting: (() => void)[], response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        response.off('close', leave);
      };
      const begin = () => {
        stop();
        this.#hold(keyId, response);
        resolve();
      };
      const giveUp = (why: Error) => {
        stop();
        waiting.splice(waiting.indexOf(begin), 1);
        reject(why);
      };
      const leave = () => giveUp(gone());
      const timer = setTimeout(() => giveUp(tooManyLists()), LIST_WAIT_MS);
      response.once('close', leave);
      waiting.push(begin);
    });
  }
}

function tooManyLists(): Error {
  return tooMany(
    'This API key has another list under way, and others wait for it (hint: ask again, or for pages with urn.limit)',
    1,
  );
}

function gone(): DomainError {
  return new DomainError('unavailable', 'nobody waits for this list any more');
}
