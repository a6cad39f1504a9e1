/** What goes wrong with a request, in HTTP's terms. The only place that maps the domain's errors to statuses. */
import { BudgetError, DomainError, type DomainErrorCode } from '../../base/errors.ts';

export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of `results`; undefined: the empty results of the route. */
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

const OF_DOMAIN: Readonly<Record<DomainErrorCode, { status: number; retryAfterSeconds: string }>> = {
  overloaded: { status: 503, retryAfterSeconds: '1' },
  unavailable: { status: 503, retryAfterSeconds: '5' },
  halted: { status: 503, retryAfterSeconds: '300' },
  moved: { status: 503, retryAfterSeconds: '30' },
  'rolled-back': { status: 503, retryAfterSeconds: '300' },
  endangered: { status: 503, retryAfterSeconds: '60' },
  identity: { status: 503, retryAfterSeconds: '300' },
};

/** A key asks for more than it may have at a time. */
export function tooMany(message: string, retryAfterSeconds: number): HttpProblem {
  return new HttpProblem(429, message, { 'Retry-After': String(Math.max(1, retryAfterSeconds)) });
}

/** The error itself names hosts and files, which are the operator's. */
const MOVED =
  'The log is moved to another store, and nothing more is recorded here (ask the service there; the operator finds where that is with: urn studies list)';

/** The problem to tell the client, or undefined for an unexpected error, whose words stay inside. */
export function problemOf(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (error instanceof BudgetError) return tooMany(error.message, Math.ceil(error.renewsInMs / 1000));
  if (!(error instanceof DomainError)) return undefined;
  const { status, retryAfterSeconds } = OF_DOMAIN[error.code];
  const why = error.code === 'moved' ? MOVED : error.message;
  return new HttpProblem(status, `Not done: ${why}`, { 'Retry-After': retryAfterSeconds });
}
