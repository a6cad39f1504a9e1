/** The studies of the running service: finding them by name, and the one writer of each. */
import { randomBytes } from 'node:crypto';
import { v5 } from 'uuid';
import type { Actor } from '../../events/record.ts';
import type { StudyConfiguration, StudyFact } from '../../events/study.ts';
import type { Runner } from '../../projections/runner.ts';
import { type RegisteredStudy, studyConfig } from '../../projections/study-config.ts';
import type { EventStore } from '../store/event-store.ts';
import { foldedStream } from '../write/folded-stream.ts';
import { Writer, type WriterHooks, type WriterTools, type Written } from '../write/writer.ts';
import type { StudyCommand, StudyOutcome } from './commands.ts';
import { studyDecider } from './decide.ts';
import { type StudyState, studyState } from './state.ts';

export interface Study {
  readonly stream: string;
  readonly registered: RegisteredStudy;
  /** Revision that `registered` and every projection of this study show. */
  readonly revision: number;
}

type StudyWriter = Writer<StudyState, StudyCommand, StudyFact, StudyOutcome>;

export class Studies {
  readonly #parts: {
    store: EventStore;
    logId: string;
    runner: Runner;
    tools: WriterTools;
    hooks?: WriterHooks;
  };
  readonly #writers = new Map<string, StudyWriter>();
  /** By name; only of studies that exist, because names that clients make up must not fill the memory. */
  readonly #streams = new Map<string, string>();
  /** Streams of studies that take no new participants here, because the studies file says something else. */
  readonly #suspended = new Set<string>();

  constructor(parts: {
    store: EventStore;
    logId: string;
    runner: Runner;
    tools: WriterTools;
    hooks?: WriterHooks;
  }) {
    this.#parts = parts;
  }

  /** The stream of the study of that name: a name can be registered only once, and any name makes a legal stream. */
  streamOf(name: string): string {
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    const stream = `study-${v5(name, this.#parts.logId)}`;
    if (this.#parts.runner.revision(stream) >= 0) this.#streams.set(name, stream);
    return stream;
  }

  find(name: string): Study | undefined {
    return this.#at(this.streamOf(name));
  }

  /** All studies in the log, in the order of their registration. */
  list(): Study[] {
    const { runner } = this.#parts;
    return runner
      .streams()
      .flatMap((stream) => (stream.startsWith('study-') ? (this.#at(stream) ?? []) : []));
  }

  /** Registers a study unless it is in the log already. Without a seed, 128 bits are drawn. */
  async register(
    configuration: StudyConfiguration,
    seed: bigint | undefined,
    actor: Actor,
  ): Promise<StudyOutcome['type']> {
    const stream = this.streamOf(configuration.name);
    const { outcome } = await this.submit(
      stream,
      {
        type: 'register',
        studyId: stream.slice('study-'.length),
        configuration,
        seed: seed ?? BigInt(`0x${randomBytes(16).toString('hex')}`),
        seedSource: seed === undefined ? 'drawn' : 'configured',
      },
      actor,
    );
    return outcome.type;
  }

  suspend(stream: string): void {
    this.#suspended.add(stream);
  }

  isSuspended(stream: string): boolean {
    return this.#suspended.has(stream);
  }

  /** @throws DomainError `overloaded`, `unavailable`, `halted` */
  submit(stream: string, command: StudyCommand, actor: Actor): Promise<Written<StudyOutcome>> {
    return this.#writer(stream).submit(command, actor);
  }

  async drain(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.drain()));
  }

  #at(stream: string): Study | undefined {
    const { runner } = this.#parts;
    const registered = runner.state(studyConfig, stream);
    return registered && { stream, registered, revision: runner.revision(stream) };
  }

  #writer(stream: string): StudyWriter {
    const existing = this.#writers.get(stream);
    if (existing) return existing;
    const folded = foldedStream(this.#parts.runner, studyState, stream);
    const writer: StudyWriter = new Writer({ ...this.#parts, stream, decider: studyDecider, folded });
    this.#writers.set(stream, writer);
    return writer;
  }
}
