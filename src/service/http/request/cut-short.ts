/**
 * Requests whose bodies end before they are complete: the rest is not HTTP, or does not arrive in time. Node reports that
 * about the connection, and whoever waits for the body would wait forever.
 */
import type { IncomingMessage } from 'node:http';
import type { HttpProblem } from './problem.ts';

const CUT_SHORT = 'cut-short';
const problems = new WeakMap<IncomingMessage, HttpProblem>();

/** Nothing more of the request will be read. */
export function cutShort(request: IncomingMessage, problem: HttpProblem): void {
  problems.set(request, problem);
  request.emit(CUT_SHORT);
}

/** Calls back once nothing more will be read of a request that is not complete, even if that was said before. */
export function onceCutShort(request: IncomingMessage, tell: (problem: HttpProblem) => void): void {
  const check = () => {
    const problem = problems.get(request);
    if (problem && !request.complete) tell(problem);
  };
  check();
  request.once(CUT_SHORT, check);
}
