/** Reads the JSON body of a request. Free text does not belong in a URL, which proxies and browsers keep. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { jsonProblem } from '../../../base/json.ts';
import { checkedBody } from './body-form.ts';
import { type Query, refuseApiKey } from './parameters.ts';
import { HttpProblem, onceCutShort, problemList } from './problem.ts';

/** The largest body that is read, in KiB, where a route has no limit of its own. */
export const JSON_BODY_KIB = 16;
/** How many objects and arrays of a body may be inside one another; what takes a body from here on is recursive. */
const MAX_DEPTH = 20;
const CLOSE = { Connection: 'close' };

/** What can be checked before the key. @throws HttpProblem 400, 413, 415 */
export function expectJson({ headers }: IncomingMessage, query: Query, kib = JSON_BODY_KIB): void {
  const [misplaced] = [...query.keys()].filter((name) => name !== 'api_key');
  if (misplaced !== undefined)
    throw new HttpProblem(400, `${misplaced} belongs in the JSON body, not in the query string`);
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json')
    throw new HttpProblem(
      415,
      'The body must be JSON (send Content-Type: application/json; with curl: --json or -H)',
    );
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity')
    throw new HttpProblem(415, 'The body must not be compressed (leave Content-Encoding out)');
  if (Number(headers['content-length'] ?? 0) > kib * 1024) throw tooLarge(kib);
}

/**
 * The body as JSON, read as far as the limit.
 * @param keyMember the one member that may hold an API key
 * @throws HttpProblem 400, 413
 */
export async function readJson(
  request: IncomingMessage,
  { kib = JSON_BODY_KIB, keyMember }: { readonly kib?: number; readonly keyMember?: string } = {},
): Promise<unknown> {
  const bytes = await readBytes(request, kib);
  if (!isUtf8(bytes)) throw new HttpProblem(400, 'The body is not UTF-8');
  const text = bytes.toString('utf8');
  const json = parseJson(text);
  const problem = jsonProblem(text, MAX_DEPTH);
  if (problem !== undefined) throw new HttpProblem(400, `The body ${problem}`);
  // Serialized again, so that no escaped character can hide a key.
  const again = JSON.stringify(json, (name, value) => (name === keyMember ? undefined : value)) ?? '';
  refuseApiKey(again);
  if (LONE_SURROGATE.test(again))
    throw new HttpProblem(400, 'The body contains a lone surrogate (half a character)');
  return json;
}

/** As JSON.stringify writes it. It doubles the backslashes of a text. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** @throws HttpProblem 400 naming the problems */
export function conforming<T>(json: unknown, schema: z.ZodType<T>): T {
  const checked = checkedBody(json, schema);
  if ('problems' in checked) throw new HttpProblem(400, problemList(checked.problems));
  return checked.data;
}

function readBytes(request: IncomingMessage, kib: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Nobody is there to read the answer.
    const giveUp = () => reject(new HttpProblem(400, 'The body is not complete', CLOSE));
    if (request.destroyed) giveUp();
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= kib * 1024) {
        chunks.push(chunk);
        return;
      }
      request.off('data', take);
      reject(tooLarge(kib));
    };
    request.on('data', take);
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('close', giveUp);
    onceCutShort(request, reject);
  });
}

/** @throws HttpProblem 400 */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which may be about a participant.
    throw new HttpProblem(400, 'The body is not JSON');
  }
}

function tooLarge(kib: number): HttpProblem {
  return new HttpProblem(413, `The body is longer than ${kib} KiB`, CLOSE);
}
