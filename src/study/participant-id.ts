/** What a participant's id may be, whatever it is called in a request, an event or a filter. */
import { createContext, Script } from 'node:vm';

/** Ids have 1 to 128 code points, no control characters, and no white space at either end. */
export function* problemsOfId(id: string): Iterable<string> {
  if (id === '') yield 'id is empty';
  // A code point has at most two units.
  if (id.length > 128 && [...id].length > 128) yield 'id has more than 128 characters';
  if (/\p{Cc}/u.test(id)) yield 'id contains a control character';
  if (/^\s|\s$/u.test(id)) yield 'id begins or ends with white space';
}

/** Even a pattern such as (a+)+ is through with an id of this length in some milliseconds. */
const SHORT = 20;
const TIMEOUT_MS = 1000;

/**
 * The regular expression (ECMAScript, flag `u`) that whole ids of a study must match. Patterns come from studies files,
 * and from logs that somebody may have tampered with; some take longer than anybody can wait, so they get a second.
 */
export class IdPattern {
  readonly #regExp: RegExp;
  readonly #context: { regExp: RegExp; id: string };
  readonly #script: Script;

  /** @throws SyntaxError */
  constructor(pattern: string) {
    this.#regExp = new RegExp(`^(?:${pattern})$`, 'u');
    this.#context = { regExp: this.#regExp, id: '' };
    this.#script = new Script('regExp.test(id)');
    createContext(this.#context);
  }

  /** Undefined when it could not be told in time. */
  matches(id: string): boolean | undefined {
    if (id.length <= SHORT) return this.#regExp.test(id);
    this.#context.id = id;
    try {
      return this.#script.runInContext(this.#context, { timeout: TIMEOUT_MS }) as boolean;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
      throw error;
    }
  }
}
