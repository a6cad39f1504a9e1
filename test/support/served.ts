/** A service in this process for all tests of a file, its keys, and requests with them. */
import { afterAll, beforeAll, expect } from 'vitest';
import type { ServiceSettings } from '../../src/service/start-service.ts';
import { type Answer, ask, clientOf } from './client.ts';
import { postJson } from './post-json.ts';
import { issueKeysIn, recordsOf, type ServiceHere, serveHere } from './service-here.ts';
import type { StoredText } from './stored-log.ts';

type Texts = Readonly<Record<string, string>>;

export class Served<N extends string> {
  service!: ServiceHere;
  keys!: Record<N, string>;

  get url(): string {
    return this.service.url;
  }

  /** The operations about a study. */
  as(name: N): ReturnType<typeof clientOf> {
    return clientOf(this.url, this.keys[name]);
  }

  get(name: N | undefined, path: string, parameters: Texts = {}, headers: Texts = {}): Promise<Answer> {
    const key = name && this.keys[name];
    return ask(this.url, path, { key, parameters, headers });
  }

  post(name: N | undefined, path: string, body: object | string, headers: Texts = {}): Promise<Answer> {
    return postJson(this.url, path, name && this.keys[name], body, headers);
  }

  /** Posts what must be done. */
  async done(name: N, path: string, body: object): Promise<Answer> {
    const answer = await this.post(name, path, body);
    expect(answer.status, answer.message).toBe(200);
    return answer;
  }

  /** What is answered without an envelope: a list as CSV, unless another form is asked for. */
  async text(name: N, path: string, parameters: Texts, accept = 'text/csv', method = 'GET') {
    const target = `${this.url}${path}?${new URLSearchParams(parameters)}`;
    const headers = { 'X-API-Key': this.keys[name], Accept: accept };
    const response = await fetch(target, { method, headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  records(): Promise<StoredText[]> {
    return recordsOf(this.service);
  }
}

interface Options<N extends string> {
  /** Its folder; without one, the log is in memory: no command can read it, and nothing outlives it. */
  readonly data?: string;
  /** Other settings than those of the tests. */
  readonly settings?: Partial<ServiceSettings>;
  /** What is done once it has started. */
  readonly filled?: (one: Served<N>) => Promise<unknown>;
}

/**
 * Started before the tests of the file or of the `describe` that calls this, and stopped after them.
 * @param studies text of the studies file
 * @param wanted its keys, with arguments of `urn keys add`
 */
export function served<N extends string>(
  studies: string,
  wanted: Readonly<Record<N, readonly string[]>>,
  { data, settings, filled = async () => undefined }: Options<N> = {},
): Served<N> {
  const one = new Served<N>();
  beforeAll(async () => {
    const memory = data === undefined ? { store: 'memory:' } : {};
    one.service = await serveHere(data ?? '', studies, { ...memory, ...settings });
    one.keys = await issueKeysIn(one.service.log, wanted);
    await filled(one);
  });
  // Not there if it could not be started.
  afterAll(() => (one.service as ServiceHere | undefined)?.stop());
  return one;
}
