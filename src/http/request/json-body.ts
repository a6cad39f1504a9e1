/** Reads the JSON body of a request. Free text does not belong in a URL, which proxies and browsers keep. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { HttpProblem } from './problem.ts';
import { type Query, refuseApiKey } from './query.ts';

/** The largest body that is read, in KiB. */
export const JSON_BODY_KIB = 16;
const BODY_BYTES = JSON_BODY_KIB * 1024;
const CLOSE = { Connection: 'close' };

/** What can be checked before the key. @throws HttpProblem 400, 413, 415 */
export function expectJson({ headers }: IncomingMessage, query: Query): void {
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
  if (Number(headers['content-length'] ?? 0) > BODY_BYTES) throw tooLarge();
}

/**
 * The body, checked against a schema.
 * @param keyMember the one member that may hold an API key
 * @throws HttpProblem 400 naming every problem, 413
 */
export async function readJson<T>(
  request: IncomingMessage,
  schema: z.ZodType<T>,
  keyMember?: string,
): Promise<T> {
  const bytes = await readBytes(request);
  if (!isUtf8(bytes)) throw new HttpProblem(400, 'The body is not UTF-8');
  const text = bytes.toString('utf8');
  const json = parseJson(text);
  // Serialized again, so that no escaped character can hide a key.
  refuseApiKey(JSON.stringify(json, (name, value) => (name === keyMember ? undefined : value)) ?? '');
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new HttpProblem(400, parsed.error.issues.map(describe).join('; '));
  // Last, because it takes longest, and what conforms to the schema is small.
  if (hasDuplicates(text)) throw new HttpProblem(400, 'The body contains a duplicate member');
  return parsed.data;
}

/** JSON.parse silently keeps the last of two members with one name. JSON is also YAML, whose parser reports duplicates. */
function hasDuplicates(json: string): boolean {
  const { errors } = parseDocument(json, { uniqueKeys: true, prettyErrors: false, logLevel: 'silent' });
  return errors.some(({ code }) => code === 'DUPLICATE_KEY');
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES) {
        chunks.push(chunk);
        return;
      }
      request.off('data', take);
      reject(tooLarge());
    };
    request.on('data', take);
    request.once('end', () => resolve(Buffer.concat(chunks)));
    // Nobody is there to read the answer.
    request.once('close', () => reject(new HttpProblem(400, 'The body is not complete', CLOSE)));
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

function tooLarge(): HttpProblem {
  return new HttpProblem(413, `The body is longer than ${JSON_BODY_KIB} KiB`, CLOSE);
}

function describe(issue: z.core.$ZodIssue): string {
  const { path, code, message } = issue;
  const where = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
  if (code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => [where, key].filter(Boolean).join('.'));
    return `${names.join(', ')} ${names.length === 1 ? 'is not a member' : 'are not members'} of this request`;
  }
  // zod's types do not have the member.
  if (code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return `${where}: must be one of ${issue.options.join(', ')}`;
  if (code === 'invalid_type' && issue.input === undefined && where !== '') return `${where} is missing`;
  return where === '' ? `The body: ${message}` : `${where}: ${message}`;
}
