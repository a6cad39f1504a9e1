/** A body is ignored, as in the contract. A client that put the parameters there gets an error that says so. */
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './problem.ts';
import type { Query } from './query.ts';

const UNREAD = 'the body of the request is not read: parameters belong in the query string';
const HINT =
  "(POST /study_participants?study=…&id=…, percent-encoded; with curl: -G and --data-urlencode; with Python's requests: params=)";

/** @throws HttpProblem 400 when the query names no participant, and there is a body that might */
export function refuseBodyInstead(request: IncomingMessage, query: Query): void {
  if (hasBody(request) && !(query.has('study') && query.has('id')))
    throw new HttpProblem(400, `The parameters are missing, and ${UNREAD} ${HINT}`);
}

/** Adds to any problem with the parameters that the request has a body, which is not read. */
export function withBodyUnread<T>(request: IncomingMessage, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HttpProblem && hasBody(request))) throw error;
    throw new HttpProblem(error.status, `${error.message}; ${UNREAD} ${HINT}`, error.headers);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}
