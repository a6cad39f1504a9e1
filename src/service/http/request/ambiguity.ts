/**
 * Refuses requests, to any path, that two programs could read differently, or that are not HTTP/1. A proxy, Node, Express and
 * this service must agree about where a request ends and what it asks for.
 */
import type { Request } from 'express';
import { JSON_BODY_KIB } from './json-body.ts';
import { refuseUnknownHeaders } from './parameters.ts';
import { HttpProblem } from './problem.ts';

/** A request that announces a larger body is refused. The routes with a JSON body read less (json-body.ts). */
const BODY_BYTES = 64 * 1024;
const TOO_LONG = `The body is longer than ${BODY_BYTES / 1024} KiB (hint: operations with a JSON body accept ${JSON_BODY_KIB} KiB; the others read only the query string)`;
const CLOSE = { Connection: 'close' };

/** @throws HttpProblem */
export function refuseAmbiguous(request: Request): void {
  const { headers, httpVersionMajor, httpVersion, originalUrl, rawHeaders } = request;
  // Node's parser also accepts 0.9 and 2.0.
  if (httpVersionMajor !== 1) throw new HttpProblem(400, 'The version of HTTP is not 1.0 or 1.1', CLOSE);
  if (headers.host === undefined && httpVersion === '1.1')
    throw new HttpProblem(400, 'The request has no Host header');
  if (hostHeaders(rawHeaders) > 1)
    throw new HttpProblem(400, 'The request has more than one Host header', CLOSE);
  refuseUnknownHeaders(request);
  // Express would end the path there, parseQuery would not end the query there, and proxies differ from each other.
  if (originalUrl.includes('#'))
    throw new HttpProblem(400, 'The URL contains a "#": percent-encode it as %23');
  if (Number(headers['content-length'] ?? 0) > BODY_BYTES) throw new HttpProblem(413, TOO_LONG, CLOSE);
}

/** How many Host headers there are. Node's `headers` drops all but the first. */
function hostHeaders(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}
