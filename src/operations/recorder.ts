/**
 * What the running service records in the stream `operations`.
 *
 * - A disclosure is durable before the answer is sent, and one that cannot be recorded is not made. Only a log that was
 *   rolled back, which takes no record at all, is read on: how else would anyone find out what it lacks. The same
 *   disclosure to the same key, made again, is counted.
 * - A refusal is written beside the answer, which does not wait for it.
 *
 * Sums that are not written yet are lost when the process is killed: at the most a minute of repetitions.
 */
import { randomUUID } from 'node:crypto';
import type { Disclosure, OperationsFact } from '../../events/operations.ts';
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../errors.ts';
import type { Operations } from './operations.ts';
import { type KeyActor, Refusals, type Refused, type RefusedBy, WINDOW_MS } from './refusals.ts';
import { type Occurred, once, Repetitions } from './repetitions.ts';

/** What a disclosure says besides its number. */
export interface Disclosed {
  readonly what: Disclosure;
  /** Name of the study. */
  readonly study: string;
  readonly participant?: string;
  readonly fromRevision?: number;
  readonly toRevision?: number;
}

interface DisclosedTo {
  readonly actor: KeyActor;
  readonly said: Disclosed;
}

export interface RecorderParts {
  readonly operations: Pick<Operations, 'record'>;
  /** Who runs the service. */
  readonly actor: Actor;
  readonly version: string;
  readonly clock?: Clock;
  /** Something could not be recorded. It is tried again, unless the log was rolled back. */
  onFailure(fact: OperationsFact, actor: Actor, error: Error): void;
}

export interface Clock {
  /** An instant, as events have it. */
  at(): string;
  /** Of a clock that only goes forward. */
  ms(): number;
}

const SYSTEM_CLOCK: Clock = { at: () => new Date().toISOString(), ms: () => performance.now() };
const TICK_MS = 1000;

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #clock: Clock;
  readonly #run: { runId: string; version: string; nodeVersion: string };
  readonly #refusals = new Refusals();
  readonly #disclosures = new Repetitions<DisclosedTo>(WINDOW_MS);
  /** Disclosures that are being recorded for the first time: those that repeat them wait for it. */
  readonly #firsts = new Map<string, Promise<void>>();
  readonly #writing = new Set<Promise<void>>();
  #isStartRecorded = false;
  /** Reported once: a log that was moved or rolled back may be opened again after days. */
  #isStartFailureTold = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? SYSTEM_CLOCK;
    this.#run = { runId: randomUUID(), version: parts.version, nodeVersion: process.version };
  }

  /** Records that the service runs. When that cannot be written, the service runs all the same, and it is tried again. */
  async start(): Promise<void> {
    await this.#recordStart();
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** Of a key that is known; `actor` names the revision of `access` at which it was looked up. */
  refused(actor: KeyActor, said: Refused): void {
    if (this.#isStopped) return;
    const { at, ms } = this.#now();
    this.#writeRefusals(this.#refusals.note(actor, said, once(at), ms));
  }

  /**
   * To be awaited before the answer is sent.
   * @throws DomainError when it cannot be recorded, and so must not be made
   */
  async disclosed(actor: KeyActor, said: Disclosed): Promise<void> {
    const { at, ms } = this.#now();
    const kind = JSON.stringify([actor.keyId, Object.entries(said).sort()]);
    const first = this.#disclosures.note({ kind, what: { actor, said }, tally: once(at) }, ms);
    if (!first) {
      await this.#firsts.get(kind);
      return;
    }
    const recorded = this.#recordFirst(first);
    this.#firsts.set(kind, recorded);
    try {
      await recorded;
    } catch (error) {
      this.#disclosures.forget(kind);
      throw error;
    } finally {
      this.#firsts.delete(kind);
    }
  }

  /** Writes the sums that are due. */
  tick(): void {
    const { ms } = this.#now();
    if (!this.#isStartRecorded) this.#keep(this.#recordStart());
    this.#writeRefusals(this.#refusals.due(ms));
    this.#writeDisclosures(this.#disclosures.due(ms));
  }

  /** Writes all sums, then that the service stops. To be called when all requests are answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#written();
    this.#writeRefusals(this.#refusals.all(this.#now().ms));
    this.#writeDisclosures(this.#disclosures.all());
    await this.#written();
    const { actor, operations } = this.#parts;
    const fact = { type: 'ServiceStopped', data: this.#run, sections: {} } as const;
    await operations.record(fact, actor).catch((error) => this.#parts.onFailure(fact, actor, error));
  }

  async #recordStart(): Promise<void> {
    const { actor, operations } = this.#parts;
    const fact = { type: 'ServiceStarted', data: this.#run, sections: {} } as const;
    this.#isStartRecorded = true;
    try {
      await operations.record(fact, actor);
    } catch (error) {
      this.#isStartRecorded = false;
      const mayLast =
        error instanceof DomainError && (error.code === 'moved' || error.code === 'rolled-back');
      if (!mayLast || !this.#isStartFailureTold) this.#parts.onFailure(fact, actor, error as Error);
      this.#isStartFailureTold ||= mayLast;
    }
  }

  async #recordFirst(first: Occurred<DisclosedTo>): Promise<void> {
    const { actor } = first.what;
    const fact = disclosure(first);
    try {
      await this.#parts.operations.record(fact, actor);
    } catch (error) {
      this.#parts.onFailure(fact, actor, error as Error);
      if (isRolledBack(error)) return;
      if (!(error instanceof DomainError)) throw error;
      throw new DomainError(error.code, `it cannot be recorded that you see this: ${error.message}`, error);
    }
  }

  #writeRefusals(sums: readonly Occurred<RefusedBy>[]): void {
    for (const sum of sums)
      this.#write(refusal(sum), sum.what.actor, (ms) => this.#refusals.giveBack(sum, ms));
  }

  #writeDisclosures(sums: readonly Occurred<DisclosedTo>[]): void {
    for (const sum of sums)
      this.#write(disclosure(sum), sum.what.actor, (ms) => this.#disclosures.giveBack(sum, ms));
  }

  #write(fact: OperationsFact, actor: Actor, giveBack: (ms: number) => void): void {
    const { operations, onFailure } = this.#parts;
    this.#keep(
      operations.record(fact, actor).catch((error: Error) => {
        onFailure(fact, actor, error);
        if (!isRolledBack(error)) giveBack(this.#now().ms);
      }),
    );
  }

  #keep(writing: Promise<void>): void {
    this.#writing.add(writing);
    void writing.finally(() => this.#writing.delete(writing));
  }

  async #written(): Promise<void> {
    await Promise.all(this.#writing);
  }

  #now() {
    return { at: this.#clock.at(), ms: this.#clock.ms() };
  }
}

function refusal({ what, tally }: Occurred<RefusedBy>): OperationsFact {
  return { type: 'RequestRefused', data: { ...what.said, ...tally }, sections: {} };
}

function disclosure({ what, tally }: Occurred<DisclosedTo>): OperationsFact {
  return { type: 'EvidenceDisclosed', data: { ...what.said, ...tally }, sections: {} };
}

/** Such a log takes nothing until somebody recovers it. */
function isRolledBack(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'rolled-back';
}
