/** A client that does with cookies and origins what a browser does, or what a hostile page would like it to do. */
import { readFileSync } from 'node:fs';
import { type Agent, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { type Answer, checked } from './client.ts';

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. A text is sent as it is. */
  readonly body?: unknown;
  /** Certificate of the service. */
  readonly ca?: string | undefined;
  /** By default, each request has a connection of its own. */
  readonly agent?: Agent;
}

/** One request; no header is added but those that HTTP needs. Rejects unless the whole answer arrives. */
export function sendRaw(url: string, { method = 'GET', headers = {}, body, ca, agent }: Sent = {}) {
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  const all = text === undefined ? headers : { 'Content-Type': 'application/json', ...headers };
  return new Promise<{ status: number; headers: Headers; text: string }>((resolve, reject) => {
    const options = { method, headers: all, agent: agent ?? false, ...(ca && { ca: readFileSync(ca) }) };
    const asked = (url.startsWith('https:') ? overHttps : overHttp)(url, options, (response) => {
      let received = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        received += chunk;
      });
      response.once('error', reject);
      response.once('end', () => {
        if (!response.complete) return reject(new Error('the answer was cut off'));
        const given = new Headers();
        const { rawHeaders } = response;
        for (let i = 0; i < rawHeaders.length; i += 2)
          given.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
        resolve({ status: response.statusCode ?? 0, headers: given, text: received });
      });
    });
    asked.once('error', reject);
    // Bytes: with a text, Node would encode the headers as it encodes the body.
    asked.end(text === undefined ? undefined : Buffer.from(text));
  });
}

/** Likewise, with the envelope of the contract. */
export async function send(url: string, sent: Sent = {}): Promise<Answer> {
  const { status, headers, text } = await sendRaw(url, sent);
  return checked(status, headers, text, /^(Success|You are signed out)/);
}

/** A browser that shows a page of the service. */
export class CookieClient {
  readonly #url: string;
  readonly #ca: string | undefined;
  readonly origin: string;
  /** What it would send. */
  cookie: string | undefined;

  /** @param origin of its page, if it is not the address of the service */
  constructor(url: string, ca?: string, origin = url) {
    this.#url = url;
    this.#ca = ca;
    this.origin = origin;
  }

  async ask(path: string, { headers = {}, ...sent }: Omit<Sent, 'ca'> = {}): Promise<Answer> {
    const answer = await send(`${this.#url}${path}`, {
      ...sent,
      ca: this.#ca,
      headers: {
        'Sec-Fetch-Site': 'same-origin',
        ...(sent.method === undefined ? {} : { Origin: this.origin }),
        ...(this.cookie !== undefined && { Cookie: this.cookie }),
        ...headers,
      },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      this.cookie = /Max-Age=0/.test(line) ? undefined : pair;
    }
    return answer;
  }

  signIn(
    key: string,
    headers: Readonly<Record<string, string>> = {},
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Answer> {
    return this.ask('/session', { method: 'POST', body: { key, ...more }, headers });
  }

  signOut(): Promise<Answer> {
    return this.ask('/session', { method: 'DELETE' });
  }
}
