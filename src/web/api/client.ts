/** Asks the service. Requests and answers are typed from its OpenAPI document. */
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from '../../../dist/api-types/openapi.d.ts';

export type Schemas = components['schemas'];

/** A refusal or failure that the service explained. `message` is its own, in English. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly results: unknown;
  /** Seconds after which to try again. */
  readonly retryAfter: number | undefined;
  /** Why, in a word of src/base/refusals.ts, such as `paused`. Undefined if it was not the service that answered. */
  readonly reason: string | undefined;

  constructor({ status, headers }: Response, message: string, results: unknown) {
    super(message);
    const wait = headers.get('Retry-After');
    this.status = status;
    this.results = results;
    this.retryAfter = wait === null ? undefined : Number(wait);
    this.reason = headers.get('Urn-Refused') ?? undefined;
  }
}

/** No answer came. Whether the service received the request is not known. */
export class ConnectionLost extends Error {}

/** Marks a request that no person made just now, so that it does not prolong the session. */
export const AUTOMATIC = { 'Urn-Automatic': 'true' } as const;

/** What the client tells the rest of the page about its requests. */
interface Listener {
  /** There is no session, or it has ended. */
  onNoSession(message: string): void;
  onAct(): void;
}

let listener: Listener | undefined;

export function listenToRequests(to: Listener): void {
  listener = to;
}

const session: Middleware = {
  onRequest({ request }) {
    if (!request.headers.has('Urn-Automatic')) listener?.onAct();
    return request;
  },
};

/** How many requests that may record something are under way. */
let unanswered = 0;

export function isActUnanswered(): boolean {
  return unanswered > 0;
}

/** `window.fetch` is looked up at each request, not once at the start. */
async function send(request: Request): Promise<Response> {
  if (request.method === 'GET') return window.fetch(request);
  unanswered++;
  try {
    return await window.fetch(request);
  } finally {
    unanswered--;
  }
}

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: send,
  querySerializer: serialize,
});
api.use(session);

/** The members of an object, such as the levels of the factors, become parameters of their own. */
function serialize(query: Record<string, unknown>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? Object.entries(value) : [[name, value] as const],
  );
  const params = new URLSearchParams();
  for (const [name, value] of given) if (value !== undefined) params.set(name, String(value));
  return params.toString();
}

interface CallResult<D> {
  data?: D | undefined;
  error?: unknown;
  response: Response;
}

interface Envelope<T> {
  results: T;
  message: string;
}

export interface Answer<T> {
  readonly results: T;
  readonly message: string;
  /** The revision of the study that the answer shows. */
  readonly revision: number | undefined;
  readonly headers: Headers;
}

/** @throws ApiProblem, ConnectionLost */
export async function answer<T>(call: Promise<CallResult<Envelope<T> | string>>): Promise<Answer<T>> {
  const { data, response } = await answered(call);
  // The types know that a list may be CSV, but not which header asks for it.
  if (typeof data === 'string') throw new Error('an answer that is not JSON');
  const revision = response.headers.get('Urn-Revision');
  return {
    results: data.results,
    message: data.message,
    revision: revision === null ? undefined : Number(revision),
    headers: response.headers,
  };
}

/** Like `answer`, when only the results matter. */
export async function results<T>(call: Promise<CallResult<Envelope<T> | string>>): Promise<T> {
  return (await answer(call)).results;
}

/** A file, which is in no envelope: the call has `parseAs: 'blob'`. @throws ApiProblem, ConnectionLost */
export async function file(call: Promise<CallResult<Blob>>): Promise<Blob> {
  return (await answered(call)).data;
}

async function answered<D>(call: Promise<CallResult<D>>): Promise<{ data: D; response: Response }> {
  let called: CallResult<D>;
  try {
    called = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ConnectionLost('No answer from the service', { cause: error });
  }
  const { data, error, response } = called;
  if (data === undefined) throw problemOf(response, error);
  return { data, response };
}

function problemOf(response: Response, body: unknown): ApiProblem {
  const { message = `The service answered ${response.status}`, results } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as { message?: string; results?: unknown };
  if (response.status === 401) listener?.onNoSession(message);
  return new ApiProblem(response, message, results);
}
