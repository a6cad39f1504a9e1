/**
 * Problems with a request, as HTTP statuses. What statuses errors of the domain have is in src/base/refusals.ts.
 *
 * One problem cannot be thrown to whoever reads the request: that its body ends before it is complete, which Node reports of the
 * connection (server.ts). It is handed over here (`cutShort`), because a server of metrics alone must not load what reads bodies.
 */
import type { IncomingMessage } from 'node:http';
import { BudgetError, DomainError } from '../../../base/errors.ts';
import { type RefusalWord, refusalRow, wordOfStatus } from '../../../base/refusals.ts';

export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** For `Urn-Refused`. */
  readonly word: RefusalWord;
  constructor(
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    word = wordOfStatus(status),
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.word = word;
  }
}

/** The problem to show to the client, or undefined for an unexpected error, whose message must not be shown. */
export function problemOf(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (error instanceof BudgetError) return tooMany(error.message, Math.ceil(error.renewsInMs / 1000));
  if (!(error instanceof DomainError)) return undefined;
  const word = error.code;
  const { says = error.message, hint } = refusalRow(word);
  // Of what is unavailable, some may be done all the same, as the message then says.
  if (word === 'unavailable') return serviceProblem(word, says.charAt(0).toUpperCase() + says.slice(1));
  return serviceProblem(word, `Not done: ${withHint(says, hint)}`);
}

/** The service cannot do it now, whoever asks. */
export function serviceProblem(word: RefusalWord, message: string): HttpProblem {
  const { retryAfter = 1 } = refusalRow(word);
  return new HttpProblem(503, message, { 'Retry-After': String(retryAfter) }, word);
}

export function withHint(says: string, hint: string | undefined): string {
  return hint === undefined ? says : `${says} (hint: ${hint})`;
}

/** The header that says why, on every answer of 400 or more. */
export function refusedHeader(word: RefusalWord) {
  return { 'Urn-Refused': word };
}

/** The problem of a key that asks for more than it may have at a time. */
export function tooMany(message: string, retryAfterSeconds: number): HttpProblem {
  return new HttpProblem(429, message, { 'Retry-After': String(Math.max(1, retryAfterSeconds)) });
}

/** How many problems of a request are named. Otherwise a small request could ask for a large answer. */
export const MAX_NAMED = 20;

/** The problems of a request in one message. */
export function problemList(problems: readonly string[]): string {
  const named = problems.slice(0, MAX_NAMED).join('; ');
  return problems.length > MAX_NAMED
    ? `${named}; and so on (the first ${MAX_NAMED} of ${problems.length} problems)`
    : named;
}

const CUT_SHORT = 'cut-short';
const cutShortProblems = new WeakMap<IncomingMessage, HttpProblem>();

/**
 * Nothing more of the request will be read: the rest of its body is not HTTP, or does not arrive in time. Whoever waits for the
 * body would wait forever.
 */
export function cutShort(request: IncomingMessage, problem: HttpProblem): void {
  cutShortProblems.set(request, problem);
  request.emit(CUT_SHORT);
}

/** Calls back once nothing more will be read of a request that is not complete, even if that was said before. */
export function onceCutShort(request: IncomingMessage, tell: (problem: HttpProblem) => void): void {
  const check = () => {
    const problem = cutShortProblems.get(request);
    if (problem && !request.complete) tell(problem);
  };
  check();
  request.once(CUT_SHORT, check);
}
