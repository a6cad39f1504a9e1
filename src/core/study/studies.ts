/**
 * The studies of the running service: finds them by name, tells whether each recruits, tries commands out and submits them.
 * It holds the one writer of each study. What the design alone refuses is decided before (`performAct`); the rest is the
 * decider's.
 */
import { randomBytes } from 'node:crypto';
import { v5 } from 'uuid';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { Actor } from '../../../events/record.ts';
import type { MethodParameters, StudyConfiguration } from '../../../events/study.ts';
import { logHistory, type Recovery } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { DomainError, type DomainErrorCode } from '../../base/errors.ts';
import { StoreError } from '../../store/event-store.ts';
import type { Requester } from '../acts/act.ts';
import { type ActCommand, type ActName, type ActValues, actOf } from '../acts/acts.ts';
import { LOG_STREAM } from '../log/log-stream.ts';
import type { Design } from '../model/design.ts';
import type { RegisteredStudy } from '../model/model.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import { foldedStream, type LogParts, type WriteResult, Writer } from '../write/writer.ts';
import type { StudyCommand } from './commands.ts';
import { studyDecider, type TriableCommand, tryOut } from './decide.ts';
import { design, designs, type StudyState, studyConfig, studyState } from './fold.ts';

export interface Study {
  readonly stream: string;
  readonly registered: RegisteredStudy;
  /** In force after the last event. */
  readonly design: Design;
  /** Revision up to which `registered`, `design` and every projection of this study are folded. */
  readonly revision: number;
}

type StudyWriter = Writer<StudyState, StudyCommand, StudyFact, StudyOutcome>;

const FILE_DIFFERS =
  'the studies file differs from the design in force (hint: urn studies check shows the differences)';

export class Studies {
  readonly #parts: LogParts;
  readonly #writers = new Map<string, StudyWriter>();
  /** By name. Contains only studies that exist: names that clients make up must not fill the memory. */
  readonly #streams = new Map<string, string>();
  /** By stream: whether the studies file of this process differs from the design that is then in force. */
  readonly #differs = new Map<string, () => boolean>();

  constructor(parts: LogParts) {
    this.#parts = parts;
  }

  /** The stream of the study with this name. A name can be registered only once; every name gives a valid stream. */
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

  /** Whether the log has no records of the study with this name. A study that cannot be read is not new. */
  isNew(name: string): boolean {
    const stream = this.streamOf(name);
    return !this.#at(stream) && !this.#parts.runner.halted(stream);
  }

  /** All studies in the log, in order of registration. */
  list(): Study[] {
    const { runner } = this.#parts;
    return runner
      .streams()
      .flatMap((stream) => (stream.startsWith('study-') ? (this.#at(stream) ?? []) : []));
  }

  /** Every design that the study has had, in order. The last one is in force. */
  designs(stream: string): readonly Design[] {
    return this.#parts.runner.state(designs, stream);
  }

  /** Whether the study takes participants in this process. */
  recruitment(stream: string): Recruitment {
    const { gate, runner } = this.#parts;
    const refusal = gate.refusal(stream, 'write') ?? this.#awaitsRecovery(stream);
    const suspension = this.isSuspended(stream) ? FILE_DIFFERS : undefined;
    return recruitmentOf(runner, stream, refusal, suspension);
  }

  /** By stream, for all studies in the log, including those that cannot be read. */
  recruitments(): Map<string, Recruitment> {
    const streams = this.#parts.runner.streams().filter((stream) => stream.startsWith('study-'));
    return new Map(streams.map((stream) => [stream, this.recruitment(stream)]));
  }

  /**
   * The study takes no participants in this process while its studies file differs. This is checked for every
   * participant, because an amendment, even one by another process, can end it.
   */
  suspendWhile(stream: string, differs: () => boolean): void {
    this.#differs.set(stream, differs);
  }

  isSuspended(stream: string): boolean {
    return this.#differs.get(stream)?.() ?? false;
  }

  /** @throws DomainError `overloaded`, `unavailable`, and the refusals of the write gate */
  submit(stream: string, command: StudyCommand, actor: Actor): Promise<WriteResult<StudyOutcome>> {
    const isFirst = command.type === 'register' || command.type === 'recover';
    const awaits = isFirst ? undefined : this.#awaitsRecovery(stream);
    if (awaits) return Promise.reject(awaits);
    return this.#writer(stream).submit(command, actor);
  }

  /**
   * What the outcome of a command would be now. Nothing is written, and nothing is drawn. No append proves that the state is
   * up to date, so the tail is read first, unless the outcome cannot change.
   * @throws DomainError as `submit`
   */
  async tryOut(stream: string, command: TriableCommand): Promise<WriteResult<StudyOutcome>> {
    const { gate, runner, tools } = this.#parts;
    const refusal = gate.refusal(stream, 'write') ?? this.#awaitsRecovery(stream);
    if (refusal) throw refusal;
    const tried = () => ({
      outcome: tryOut(runner.state(studyState, stream), command, tools.now().toISOString()),
      revision: runner.revision(stream),
    });
    const known = tried();
    if (!studyDecider.mayChange(known.outcome)) return known;
    await this.#readTail(stream);
    return tried();
  }

  /**
   * Registers a study unless it is already in the log. Without a seed, draws one of 128 bits.
   * @throws DomainError as `submit`
   */
  async register(
    configuration: StudyConfiguration,
    seed: bigint | undefined,
    actor: Actor,
    parameters: MethodParameters = {},
  ): Promise<StudyOutcome['type']> {
    const stream = this.streamOf(configuration.name);
    const command = {
      type: 'register',
      studyId: stream.slice('study-'.length),
      configuration,
      parameters,
      seed: seed ?? drawnSeed(),
      seedSource: seed === undefined ? 'drawn' : 'configured',
    } as const;
    const { outcome } = await this.submit(stream, command, actor);
    return outcome.type;
  }

  /**
   * Restarts the generator of every study that a recovery of the log names, unless that has been done. Until then, the
   * study takes no participants.
   * @returns the names of the studies
   * @throws DomainError `unavailable`
   */
  async renewGenerators(actor: Actor): Promise<string[]> {
    const renewed: string[] = [];
    for (const { stream, registered } of this.list()) {
      const recovery = this.#awaitedRecovery(stream);
      const code = this.#parts.gate.refusal(stream, 'write')?.code;
      // Such a study takes no participants anyway, and the others must not wait for it.
      if (!recovery || code === 'halted' || code === 'endangered') continue;
      const { kept = 0, signed } = recovery.streams.get(stream) ?? {};
      const command = {
        type: 'recover',
        recovery: recovery.recovery,
        kept,
        signed,
        seed: drawnSeed(),
      } as const;
      await this.submit(stream, command, actor);
      renewed.push(registered.configuration.name);
    }
    return renewed;
  }

  async drain(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.drain()));
  }

  #at(stream: string): Study | undefined {
    const { runner } = this.#parts;
    const registered = runner.state(studyConfig, stream);
    const inForce = runner.state(design, stream);
    if (!registered || !inForce) return undefined;
    return { stream, registered, design: inForce, revision: runner.revision(stream) };
  }

  #writer(stream: string): StudyWriter {
    const existing = this.#writers.get(stream);
    if (existing) return existing;
    const folded = foldedStream(this.#parts, studyState, stream);
    const writer: StudyWriter = new Writer({ ...this.#parts, stream, decider: studyDecider, folded });
    this.#writers.set(stream, writer);
    return writer;
  }

  /** @throws DomainError `unavailable` */
  async #readTail(stream: string): Promise<void> {
    try {
      await this.#parts.runner.catchUp(stream);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new DomainError('unavailable', 'the log cannot be read at the moment', error);
    }
  }

  #awaitsRecovery(stream: string): DomainError | undefined {
    const awaited = this.#awaitedRecovery(stream);
    return (
      awaited &&
      new DomainError(
        'rolled-back',
        `recovery ${awaited.recovery} of the log was declared, but the generator of this study has not been restarted yet (hint: run urn recover again, or restart the service)`,
      )
    );
  }

  /** The last recovery that names this study, if its generator has not been restarted since. */
  #awaitedRecovery(stream: string): Recovery | undefined {
    const { runner } = this.#parts;
    const { recoveries } = runner.state(logHistory, LOG_STREAM);
    if (recoveries.length === 0) return undefined;
    const last = recoveries.findLast(({ streams }) => streams.has(stream));
    const state = runner.state(studyState, stream);
    const done = state.status === 'unregistered' ? 0 : state.recovery;
    return last && done < last.recovery ? last : undefined;
  }
}

/** 128 bits from the operating system. */
export function drawnSeed(): bigint {
  return BigInt(`0x${randomBytes(16).toString('hex')}`);
}

/**
 * Whether a study takes participants in this process, and why not: it is in exactly one of these states. Commands, readiness
 * and metrics all use this answer.
 */
export const RECRUITMENT_STATES = [
  'open',
  'paused', // by a StudyPaused in the log
  'closed', // by a StudyClosed in the log
  'importing', // a history is coming in, by a HistoryImported in the log
  'suspended', // in this process: the studies file differs from the design in force, or the signing key is missing
  'rolled-back', // the log does not extend what it has signed, or the study is waiting for its recovery
  'moved', // the log continues in another store
  'halted', // the stream cannot be read completely
  'endangered', // the store may remove records of the stream
] as const;

export interface Recruitment {
  readonly state: (typeof RECRUITMENT_STATES)[number];
  /** Why it takes no participants. */
  readonly reason: string | undefined;
  /** Since when, if the log says so. In the format of `at`. */
  readonly since: string | undefined;
}

const STATE_OF_ERROR: Readonly<Record<DomainErrorCode, Recruitment['state']>> = {
  'rolled-back': 'rolled-back',
  moved: 'moved',
  halted: 'halted',
  endangered: 'endangered',
  // The log has not been compared with what it signed last, or cannot be signed.
  identity: 'suspended',
  unavailable: 'suspended',
  overloaded: 'suspended',
};

/**
 * @param refusal why nothing may be written to the stream
 * @param suspension why this process has suspended the study
 */
function recruitmentOf(
  runner: LogParts['runner'],
  stream: string,
  refusal: DomainError | undefined,
  suspension: string | undefined,
): Recruitment {
  const halted = runner.halted(stream);
  if (refusal?.code === 'halted' && halted)
    return { state: 'halted', reason: halted.message, since: undefined };
  if (refusal) {
    const state = STATE_OF_ERROR[refusal.code];
    const since = state === 'moved' ? runner.lastAt(LOG_STREAM) : undefined;
    return { state, reason: refusal.message, since };
  }
  const recruitment = recruitmentInLog(runner.state(studyConfig, stream)?.halt);
  // As in the decider: a pause or a closing takes precedence over a suspension.
  if (recruitment.state !== 'open' || suspension === undefined) return recruitment;
  return { state: 'suspended', reason: suspension, since: undefined };
}

/** A study's state according to the log alone. */
export function recruitmentInLog(halt: RegisteredStudy['halt']): Recruitment {
  return halt
    ? { state: halt.state, reason: halt.reason, since: halt.at }
    : { state: 'open', reason: undefined, since: undefined };
}

interface ActRequest {
  readonly act: ActName;
  /** What this act asks: its form has been checked. */
  readonly asked: ActValues;
  readonly by: Requester;
  /** Whether only to try it: nothing is recorded, and nothing is chosen. */
  readonly isDry: boolean;
}

/**
 * Carries out what was asked for, by a program or at the command line: the same checks, the same decision, one answer.
 * @throws DomainError as `Studies.submit`
 */
export async function performAct(
  { studies, runner }: { readonly studies: Studies; readonly runner: Runner },
  study: Study,
  { act, asked, by, isDry }: ActRequest,
  actor: Actor,
): Promise<WriteResult<StudyOutcome>> {
  const { stream, design, revision } = study;
  const { fits, isJudgedOnce } = actOf(act);
  const amendment = isJudgedOnce ? design.amendment : undefined;
  // That the members are those of the act is lost where acts are treated alike.
  const command = { type: 'act', act, asked, by, amendment } as ActCommand;
  const state = runner.state(studyState, stream);
  const misfit = state.status === 'unregistered' ? undefined : fits?.(asked, state);
  if (misfit && !(await wasAnswered(studies, study, by.idempotencyKey, command)))
    return { outcome: misfit, revision };
  return isDry ? studies.tryOut(stream, command) : studies.submit(stream, command, actor);
}

/** An amendment does not change the answer to a request that was answered before it, by the same key. */
export async function wasAnswered(
  studies: Studies,
  { stream, design }: Study,
  idempotencyKey: string | undefined,
  command: TriableCommand,
): Promise<boolean> {
  if (idempotencyKey === undefined || design.amendment === 0) return false;
  const { type } = (await studies.tryOut(stream, command)).outcome;
  return type === 'done-before' || type === 'idempotency-key-reused';
}
