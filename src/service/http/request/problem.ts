/**
 * Problems with a request, as HTTP statuses. This is the only place that maps errors of the domain to statuses.
 *
 * One problem cannot be thrown to whoever reads the request: that its body ends before it is complete, which Node reports of the
 * connection (server.ts). It is handed over here (`cutShort`), because a server of metrics alone must not load what reads bodies.
 */
import type { IncomingMessage } from 'node:http';
import { BudgetError, DomainError, type DomainErrorCode } from '../../../base/errors.ts';

export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of `results`. Undefined: the empty results of the route. */
  readonly results: string | undefined;
  constructor(
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    results?: string,
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.results = results;
  }
}

/** The problem to show to the client, or undefined for an unexpected error, whose message must not be shown. */
export function problemOf(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (error instanceof BudgetError) return tooMany(error.message, Math.ceil(error.renewsInMs / 1000));
  if (!(error instanceof DomainError)) return undefined;
  const { status, retryAfterSeconds } = STATUS_OF_DOMAIN_ERROR[error.code];
  const why = FOR_CLIENTS[error.code] ?? error.message;
  return new HttpProblem(status, `Not done: ${why}`, { 'Retry-After': retryAfterSeconds });
}

const STATUS_OF_DOMAIN_ERROR: Readonly<
  Record<DomainErrorCode, { status: number; retryAfterSeconds: string }>
> = {
  overloaded: { status: 503, retryAfterSeconds: '1' },
  unavailable: { status: 503, retryAfterSeconds: '5' },
  halted: { status: 503, retryAfterSeconds: '300' },
  moved: { status: 503, retryAfterSeconds: '30' },
  'rolled-back': { status: 503, retryAfterSeconds: '300' },
  endangered: { status: 503, retryAfterSeconds: '60' },
  identity: { status: 503, retryAfterSeconds: '300' },
};

/** These errors name hosts, files, streams and commands, which are for the operator and in the messages of the service. */
const FOR_CLIENTS: Readonly<Partial<Record<DomainErrorCode, string>>> = {
  moved:
    'The log is moved to another store, and nothing more is recorded here (ask the operator which service records now)',
  'rolled-back':
    'The log lacks records that it had, and nothing is recorded until that is settled (ask the operator; the messages of the service say what to do)',
  endangered:
    'Records of this study are in danger in the store, and nothing is recorded until that is undone (ask the operator; the messages of the service say how)',
  identity:
    'The service cannot sign records, and nothing is recorded until it can (ask the operator; the messages of the service say what to do)',
};

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
