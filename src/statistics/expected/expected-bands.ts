/**
 * The expected bands of the running service. Another process works out a band when somebody first asks for it, one study at a
 * time. After that it adds only what is new in the study.
 *
 * It is a process of its own because, unlike a thread, it can have a lower priority than the service everywhere.
 * `ExpectedBands` reads the studies and says what is to be done; `BandKeeper` has the process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { LogEvent } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';
import { threadFile } from '../../base/threads.ts';
import { defaultSeed } from '../replicate/replicate.ts';
import type { Step } from '../replicate/steps.ts';
import { replicatesFor } from './band.ts';
import type { BandOrder, BandReply } from './band-process.ts';
import { FollowedStudy } from './followed.ts';

/** Where the events of a study are read. */
interface EventSource {
  eachEvent(stream: string, fromRevision: number, take: (event: LogEvent) => void): Promise<void>;
}

/** A band that is ready. */
export interface ShownBand {
  /** Revision of the study's last event in it. */
  readonly revision: number;
  /** As JSON text. */
  readonly json: string;
}

/** How far along a band is that is not ready. */
interface BandProgress {
  readonly participants: number;
  readonly of: number;
}

interface KeptBand {
  readonly study: FollowedStudy;
  /** 0 before the process has begun it. */
  reps: number;
  /** How many participants the process has counted. */
  counted: number;
  shown?: ShownBand;
  askedAt: number;
}

/** How many bands are kept: those that were asked for last. */
const MAX_STUDIES = 8;

/** A band that nobody has asked for this long is dropped. */
const IDLE_MS = 3_600_000;
const IDLE_LOOK_MS = 60_000;

/** Steps per order. With 1,000 replicates they take the process a second at most, after which it notices that it must end. */
const STEPS_AT_ONCE = 64;

export class ExpectedBands {
  readonly #events: EventSource;
  readonly #keeper: BandKeeper;
  /** By stream. */
  readonly #bands = new Map<string, KeptBand>();
  /** The work that is under way or waits for its turn, by stream. */
  readonly #work = new Map<string, Promise<void>>();
  #lastWork: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param onEnd the process ended by itself; the next request starts another */
  constructor(events: EventSource, onEnd: (how: string) => void) {
    this.#events = events;
    this.#keeper = new BandKeeper((how) => {
      this.#bands.clear();
      if (!this.#isStopped) onEnd(how);
    });
  }

  /**
   * The band of a study at this revision or a later one.
   * @returns how far along it is, if it is not ready within the time; the work continues meanwhile
   * @throws DomainError
   */
  async of(
    study: { readonly stream: string; readonly studyId: string },
    revision: number,
    withinMs: number,
  ): Promise<ShownBand | BandProgress> {
    const { stream } = study;
    const end = performance.now() + withinMs;
    for (;;) {
      if (this.#isStopped) throw stopped();
      const kept = this.#bands.get(stream);
      if (kept) kept.askedAt = performance.now();
      if (kept?.shown && kept.shown.revision >= revision) return kept.shown;
      const left = end - performance.now();
      const isDone = left > 0 && (await isDoneWithin(left, this.#work.get(stream) ?? this.#begin(study)));
      if (!isDone) {
        const { counted, study: of } = this.#bands.get(stream) ?? {};
        return { participants: counted ?? 0, of: of?.participants ?? 0 };
      }
    }
  }

  /** Forgets all bands: the log no longer continues as it did. */
  forget(): void {
    this.#bands.clear();
    this.#keeper.stop();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.forget();
  }

  #begin(study: { readonly stream: string; readonly studyId: string }): Promise<void> {
    const { stream } = study;
    const work = this.#lastWork.then(() => this.#catchUp(study));
    this.#lastWork = work.catch(() => undefined);
    this.#work.set(stream, work);
    // Anyone still waiting gets the error.
    work.catch(() => undefined).finally(() => this.#work.delete(stream));
    this.#timer ??= setInterval(() => this.#dropIdle(), IDLE_LOOK_MS).unref();
    return work;
  }

  async #catchUp({ stream, studyId }: { readonly stream: string; readonly studyId: string }): Promise<void> {
    const kept = this.#kept(stream);
    try {
      await this.#events.eachEvent(stream, kept.study.revision + 1, (event) => kept.study.take(event));
      // The process has ended meanwhile.
      if (this.#bands.get(stream) !== kept) return await this.#catchUp({ stream, studyId });
      const reps = replicatesFor(kept.study.participants);
      // The study has grown into a long one. All points must come from the same replicates.
      if (kept.reps !== 0 && kept.reps !== reps) {
        this.#bands.delete(stream);
        return await this.#catchUp({ stream, studyId });
      }
      const seed = defaultSeed(studyId);
      if (kept.study.sharesSeed(seed, reps))
        throw new DomainError(
          'halted',
          'the replicates would be drawn from the seed of the study itself (ask the operator for bands with another seed)',
        );
      const { steps, beginsAnew } = kept.study.takeSteps();
      if (beginsAnew) {
        kept.counted = 0;
        await this.#carryOut({ type: 'begin', key: stream, reps, seed });
      }
      kept.reps = reps;
      await this.#takeAll(stream, kept, steps);
      const json = (await this.#carryOut({ type: 'show', key: stream })) ?? '';
      kept.shown = { revision: kept.study.revision, json };
    } catch (error) {
      // The process may not have received what was read.
      if (this.#bands.get(stream) === kept) this.#bands.delete(stream);
      if (error instanceof KeeperEndedError) throw new DomainError('unavailable', error.message, error);
      throw error;
    }
    await this.#dropOthers();
  }

  #kept(stream: string): KeptBand {
    const known = this.#bands.get(stream);
    if (known) return known;
    const begun = { study: new FollowedStudy(), reps: 0, counted: 0, askedAt: performance.now() };
    this.#bands.set(stream, begun);
    return begun;
  }

  async #takeAll(key: string, kept: KeptBand, steps: readonly Step[]): Promise<void> {
    for (let from = 0; from < steps.length; from += STEPS_AT_ONCE) {
      const some = steps.slice(from, from + STEPS_AT_ONCE);
      await this.#carryOut({ type: 'steps', key, steps: some });
      kept.counted += some.filter(({ kind }) => kind === 'draw' || kind === 'fixed').length;
    }
  }

  /** Drops the bands that were asked for longest ago. */
  async #dropOthers(): Promise<void> {
    const byAge = [...this.#bands].sort(([, one], [, other]) => one.askedAt - other.askedAt);
    for (const [stream] of byAge.slice(0, Math.max(0, byAge.length - MAX_STUDIES))) await this.#drop(stream);
  }

  #dropIdle(): void {
    const since = performance.now() - IDLE_MS;
    const isIdle = (stream: string) => {
      const askedAt = this.#bands.get(stream)?.askedAt ?? since;
      return askedAt < since && !this.#work.has(stream);
    };
    const idle = [...this.#bands.keys()].filter(isIdle);
    // Without bands, the process is not needed either.
    if (idle.length > 0 && idle.length === this.#bands.size && this.#work.size === 0) this.forget();
    else
      for (const stream of idle)
        this.#lastWork = this.#lastWork.then(() => (isIdle(stream) ? this.#drop(stream) : undefined));
  }

  async #drop(stream: string): Promise<void> {
    this.#bands.delete(stream);
    // If the process has ended, it is gone anyway.
    await this.#carryOut({ type: 'drop', key: stream }).catch(() => undefined);
  }

  async #carryOut(order: BandOrder): Promise<BandReply> {
    if (this.#isStopped) throw stopped();
    return this.#keeper.carryOut(order);
  }
}

function stopped(): DomainError {
  return new DomainError('unavailable', 'the service is shutting down');
}

/** Whether the work is done in time. @throws what the work throws within that time */
async function isDoneWithin(ms: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Who waits for the reply to an order. */
interface WaitingOrder {
  resolve(reply: BandReply): void;
  reject(error: Error): void;
}

/** An order takes a second. A process that is stopped or hangs would hold up the bands of all studies forever. */
const HANGS_MS = 300_000;

/** Keeps bands in the other process, begins it when there is an order, and ends it. */
export class BandKeeper {
  readonly #onEnd: (how: string) => void;
  #child: ChildProcess | undefined;
  #waiting: WaitingOrder | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  /** @param onEnd the process ended although it was not stopped: all bands are gone, and the next order begins another */
  constructor(onEnd: (how: string) => void) {
    this.#onEnd = onEnd;
  }

  /** One order at a time. @throws KeeperEndedError */
  carryOut(order: BandOrder): Promise<BandReply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      const child = this.#child ?? this.#begin();
      this.#child = child;
      // A process that is gone reports its end.
      child.send(order, () => undefined);
      this.#watchdog = setTimeout(() => child.kill('SIGKILL'), HANGS_MS).unref();
    });
  }

  /** Ends the process immediately. The order in progress is rejected. */
  stop(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill('SIGKILL');
    this.#reject();
  }

  #begin(): ChildProcess {
    // It gets neither the secrets in the service's environment nor a debugger's port.
    const child = fork(threadFile('band-process'), {
      ...{ env: {}, execArgv: [], serialization: 'advanced' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', ({ reply }: { reply: BandReply }) => {
      clearTimeout(this.#watchdog);
      this.#waiting?.resolve(reply);
      this.#waiting = undefined;
    });
    // A process that could not be started emits no exit event.
    child.on('error', (error) => this.#ended(child, error.message));
    child.on('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
    // The service may end while it keeps bands.
    child.unref();
    child.channel?.unref();
    return child;
  }

  #ended(child: ChildProcess, how: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#onEnd(how);
    this.#reject();
  }

  #reject(): void {
    clearTimeout(this.#watchdog);
    this.#waiting?.reject(new KeeperEndedError('the process that works out expected bands has ended'));
    this.#waiting = undefined;
  }
}

/** The process ended during an order, and all bands are gone. */
export class KeeperEndedError extends Error {
  override readonly name = 'KeeperEndedError';
}
