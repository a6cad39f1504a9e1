/**
 * Clients that randomize as fast as they get answers, and an account of what they sent and what they were told. After a
 * fault, the log must agree with this account.
 */
import { strict as assert } from 'node:assert';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import type { Choices } from './choices.ts';
import { sendRaw } from './cookie-client.ts';
import type { LogCheck } from './log-check.ts';

/** Studies of different shapes. The seed of the second is drawn. */
export const STUDIES = `
One:
  mode: test
  starting_seed: 340282366920938463463374607431768211457
  treatments: [A, B]
  factors: {sex: [F, M]}
Two:
  mode: test
  treatments: [A, B, C]
  factors: {sex: [F, M], site: ["11", "30", "45"]}
Three:
  mode: test
  starting_seed: 340282366920938463463374607431768211459
  w: 2
  alpha: 1
  beta: 3
  D: range
  treatments: [A, B]
  factors: {age: [young, old], smoker: ["yes", "no"], ward: [a, b, c, d]}
`;

const { studies } = parseStudiesFile(STUDIES, 'studies.yaml');
const FACTORS = new Map(studies.map(({ configuration: { name, factors } }) => [name, factors]));
export const STUDY_NAMES = [...FACTORS.keys()];

export interface Sent {
  readonly study: string;
  readonly id: string;
  readonly levels: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

export interface Answered {
  readonly status: number;
  readonly message: string;
  readonly results: readonly { readonly id: string; readonly trt: string }[];
  readonly retryAfter: string | null;
}

/** Posts one participant. Rejects if the connection is refused, or breaks before the whole answer has arrived. */
export async function post(agent: Agent, url: string, apiKey: string, sent: Sent): Promise<Answered> {
  const query = new URLSearchParams({ study: sent.study, id: sent.id, ...sent.levels });
  const headers = {
    'X-API-Key': apiKey,
    ...(sent.idempotencyKey === undefined ? {} : { 'Idempotency-Key': sent.idempotencyKey }),
  };
  const answer = await sendRaw(`${url}/study_participants?${query}`, { method: 'POST', agent, headers });
  const { status, message, results } = JSON.parse(answer.text) as Omit<Answered, 'retryAfter'>;
  assert.equal(status, answer.status);
  return { status, message, results, retryAfter: answer.headers.get('retry-after') };
}

/** What the clients sent, and what they were told. */
export class Account {
  readonly #choices: Choices;
  readonly #sent = new Map<string, Sent>();
  /** Treatments by id. */
  readonly #acknowledged = new Map<string, string>();
  readonly #open = new Map<string, Sent>();
  readonly #recent: Sent[] = [];
  #ids = 0;
  /** Requests whose answer repeated an earlier decision. */
  repeats = 0;

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  acknowledgedIn(study: string): number {
    return [...this.#acknowledged.keys()].filter((id) => this.#sent.get(id)?.study === study).length;
  }

  /** Requests that were never answered, or answered with 503. */
  get open(): readonly Sent[] {
    return [...this.#open.values()];
  }

  /** A request to send: most are new, some ask again for what was acknowledged before. */
  next(studies: readonly string[] = STUDY_NAMES): Sent {
    const again = this.#choices.chance(0.1) ? this.#recent.at(-this.#choices.between(1, 50)) : undefined;
    return again && studies.includes(again.study) ? again : this.fresh(this.#choices.pick(studies));
  }

  fresh(study: string): Sent {
    const id = `${study}-${++this.#ids}`;
    const levels = Object.fromEntries(
      FACTORS.get(study)?.map(({ name, levels }) => [name, this.#choices.pick(levels)]) ?? [],
    );
    return { study, id, levels, ...(this.#choices.chance(0.5) ? { idempotencyKey: `try-${id}` } : {}) };
  }

  sending(sent: Sent): void {
    this.#sent.set(sent.id, sent);
    if (!this.#acknowledged.has(sent.id)) this.#open.set(sent.id, sent);
  }

  /**
   * Enters an answer. 503 leaves the request open; everything else must be the participant's record: 200, or 400 as a
   * duplicate, but only if the client asked again without a key.
   * @throws AssertionError for any other answer, and for a record that differs from an earlier answer
   */
  told(sent: Sent, { status, message, results, retryAfter }: Answered): void {
    if (status === 503) {
      assert.ok(Number(retryAfter) > 0, `503 without Retry-After: ${message}`);
      assert.deepEqual(results, []);
      return;
    }
    const duplicate =
      status === 400 && sent.idempotencyKey === undefined && message.includes('already assigned');
    assert.ok(status === 200 || duplicate, `${sent.id}: ${status} ${message}`);
    const record = results[0];
    assert.equal(record?.id, sent.id);
    const before = this.#acknowledged.get(sent.id);
    if (before !== undefined) {
      this.repeats++;
      assert.equal(record.trt, before, `${sent.id} was told two treatments`);
      return;
    }
    this.#acknowledged.set(sent.id, record.trt);
    this.#open.delete(sent.id);
    this.#recent.push(sent);
    if (this.#recent.length > 50) this.#recent.shift();
  }

  /** Repeats all open requests until each is answered. */
  async settle(url: string, apiKey: string): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    const settleOne = async (sent: Sent) => {
      for (let attempt = 0; attempt < 100 && this.#open.has(sent.id); attempt++) {
        if (attempt > 0) await delay(100);
        this.told(sent, await post(agent, url, apiKey, sent));
      }
      assert.ok(!this.#open.has(sent.id), `${sent.id} is refused for too long`);
    };
    try {
      await Promise.all(this.open.map(settleOne));
    } finally {
      agent.destroy();
    }
  }

  /**
   * Compares a log with this account: every acknowledged participant must be in it with the treatment in the answer, and
   * nobody who was not requested. Returns how many are in it whose answer never arrived.
   * @throws AssertionError
   */
  agreesWith(log: LogCheck): number {
    const stored = new Map(STUDY_NAMES.flatMap((study) => [...log.participants(study)]));
    for (const [id, treatment] of this.#acknowledged)
      assert.equal(stored.get(id)?.sections.allocation.treatment, treatment, `${id} was acknowledged`);
    for (const id of stored.keys()) assert.ok(this.#sent.has(id), `nobody asked for ${id}`);
    return stored.size - this.#acknowledged.size;
  }

  /** The service must list every acknowledged participant of the study. @throws AssertionError */
  agreesWithList(study: string, results: readonly { readonly id: string; readonly trt: string }[]): void {
    const listed = new Map(results.map(({ id, trt }) => [id, trt]));
    assert.equal(listed.size, results.length, 'a participant is listed twice');
    for (const [id, treatment] of this.#acknowledged)
      if (this.#sent.get(id)?.study === study) assert.equal(listed.get(id), treatment);
  }
}

export interface Target {
  readonly url: string;
  readonly key: string;
}

/**
 * Runs clients until `stop` is called. Each leaves at its first broken or refused connection, and at a wrong answer. Each
 * keeps one connection, and now and then a second one asks for the same participant at the same time.
 */
export function startClients(
  account: Account,
  choices: Choices,
  targets: readonly Target[],
  count: number,
  options: {
    readonly studies?: readonly string[];
    /** Each client leaves when it is answered with 503. */
    readonly eachUntilRefused?: boolean;
    /** How long each client waits after an answer: load where only its presence counts, not its height. */
    readonly pauseMs?: number;
  } = {},
): { readonly done: Promise<Error[]>; stop(): void } {
  let stopped = false;
  const failures: Error[] = [];
  const client = async (target: Target) => {
    let refused = false;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const twinAgent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (by: Agent, sent: Sent) => {
      const answer = await post(by, target.url, target.key, sent);
      account.told(sent, answer);
      if (answer.status === 503 && options.eachUntilRefused) refused = true;
    };
    try {
      while (!stopped && !refused) {
        const sent = account.next(options.studies);
        account.sending(sent);
        const agents = choices.chance(0.05) ? [agent, twinAgent] : [agent];
        await Promise.all(agents.map((by) => send(by, sent)));
        if (options.pauseMs !== undefined) await delay(options.pauseMs);
      }
    } catch (error) {
      failures.push(error as Error);
    } finally {
      agent.destroy();
      twinAgent.destroy();
    }
  };
  const clients = Array.from({ length: count }, (_, i) => client(targets[i % targets.length] as Target));
  const done = Promise.all(clients).then(() => failures);
  return {
    done,
    stop: () => {
      stopped = true;
    },
  };
}

/** Whether a client failed because its connection broke, and not because of a wrong answer. */
export function isConnectionError(error: Error): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code) || error.message.includes('cut off');
}
