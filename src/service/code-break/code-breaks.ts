/**
 * Breaks the code of one participant, or of one pack. The code-break is in the log, on disk, before the arm is
 * given. An emergency does not wait for a log that cannot be written: after three seconds the code-break goes to a file,
 * and from there to the log as soon as that is possible. If the file cannot be written either, this process remembers the
 * code-break, and tries both until one takes it.
 */
import { randomUUID } from 'node:crypto';
import type { LevelLimit } from '../../../events/access.ts';
import type { Actor } from '../../../events/record.ts';
import type { RevealCategory } from '../../../events/unblinding.ts';
import { access } from '../../../projections/access.ts';
import type { Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../base/errors.ts';
import { EMERGENCY_WAIT_MS, withinMs } from '../../base/waiting.ts';
import type { Design } from '../../core/model/design.ts';
import { isPackWithin, mayReveal } from '../../core/model/key-limits.ts';
import type { StudyOutcome } from '../../core/model/outcomes.ts';
import { idByPack } from '../../core/model/packs.ts';
import type { Participant } from '../../core/model/participants.ts';
import { breakCommand } from '../../core/study/decide.ts';
import { participants, studyState } from '../../core/study/fold.ts';
import type { Studies, Study } from '../../core/study/studies.ts';
import { NOTHING_PENDING, type Pending, type PendingReveal, type PendingReveals } from './pending-reveals.ts';

/** How often the service tries to record what is pending, in ms. */
const RETRY_MS = 2000;

/** Why a code is broken. */
export interface CodeBreakReason {
  readonly reason: string;
  readonly requestedBy?: string | undefined;
}

interface RevealRequest {
  /** Absent if the code-break is asked for by the pack. */
  readonly participantId?: string | undefined;
  /** Of the pack. */
  readonly code?: string | undefined;
  readonly category: RevealCategory;
  readonly grounds: CodeBreakReason;
  /** The limits of the key. */
  readonly where?: readonly LevelLimit[] | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** What came of an attempt to record what is pending. */
export interface LateRecords {
  /** What is in the log now, from the file. */
  readonly recorded: readonly PendingReveal[];
  /** What is in the log now, from the memory of this process. */
  readonly remembered: readonly PendingReveal[];
  /** What stays in the file, or was written to it just now. */
  readonly left: readonly {
    readonly reveal: PendingReveal;
    /** Why it is not recorded, as the end of a sentence. */
    readonly why: string;
    /** Whether it will be recorded by itself. */
    readonly isWaiting: boolean;
  }[];
  /** How many lines of the file are not understood. */
  readonly damaged: number;
}

/** Whose arm is shown: that of a participant, or of a pack that nobody had. */
export type Subject =
  | { readonly participant: Participant }
  | { readonly pack: { readonly code: string; readonly treatment: string } };

/** Where the code-break is recorded. `none`: nowhere yet, because not even the file could be written. */
type RecordedIn = 'log' | 'pending' | 'none';

type RevealResult =
  | {
      readonly type: 'revealed';
      readonly subject: Subject;
      readonly recordedIn: RecordedIn;
      /** The revision of the code-break, if it is in the log; otherwise of the last event known. */
      readonly revision: number;
      /** It was asked for before, with the same idempotency key. */
      readonly isRepeated: boolean;
    }
  | { readonly type: 'not-revealed'; readonly outcome: StudyOutcome; readonly revision: number };

interface CodeBreakParts {
  readonly studies: Studies;
  readonly runner: Runner;
  /** Undefined for a log in memory. */
  readonly pending: PendingReveals | undefined;
  readonly now?: () => Date;
}

/** Whose arm was shown. */
export interface ShownArm {
  readonly study: string;
  readonly participant: string;
}

export interface CodeBreakHooks {
  /** The arm was shown, and this could be recorded nowhere: only this process knows of it. */
  onUnrecorded?(error: Error, shown: ShownArm): void;
  /** The arm was shown, and this waits in the file. */
  onPending?(error: Error, shown: ShownArm): void;
}

/** The parts of a reveal that do not change when it is tried again. */
interface RevealAttempt extends RevealRequest {
  readonly reveal: string;
  readonly shownAt?: string;
  /** Set when the participant is known from an earlier attempt: the revision of the enrolling event. */
  readonly randomizedAt?: number | undefined;
}

export class CodeBreaks {
  readonly #parts: CodeBreakParts;
  readonly #hooks: CodeBreakHooks;
  /** What could be recorded nowhere yet. */
  #onlyHere: readonly PendingReveal[] = [];
  #timer: NodeJS.Timeout | undefined;
  #attempt: Promise<void> = Promise.resolve();

  constructor(parts: CodeBreakParts, hooks: CodeBreakHooks = {}) {
    this.#parts = parts;
    this.#hooks = hooks;
  }

  /**
   * @throws DomainError when the log cannot be written, unless it is an emergency and the participant is known
   */
  async reveal(study: Study, request: RevealRequest, actor: Actor): Promise<RevealResult> {
    const asked = { ...request, reveal: randomUUID() };
    const recording = this.#record(study.stream, asked, actor);
    if (asked.category !== 'emergency') return await recording;
    // Its outcome does not matter here, but a rejection must not end the process.
    recording.catch(() => undefined);
    try {
      return await withinMs(EMERGENCY_WAIT_MS, recording);
    } catch (error) {
      return await this.#revealUnrecorded(study, asked, actor, error as Error);
    }
  }

  async #record(stream: string, { grounds, ...asked }: RevealAttempt, actor: Actor): Promise<RevealResult> {
    const { participantId, code, category, where, idempotencyKey, reveal, shownAt, randomizedAt } = asked;
    const by = { user: actor.user, where, idempotencyKey };
    const more = { brings: { reveal, shownAt }, randomizedAt, askedAt: this.#now().toISOString() };
    const command = breakCommand({ participantId, code, category, ...grounds }, by, more);
    const { outcome, revision } = await this.#parts.studies.submit(stream, command, actor);
    // Somebody may have got the pack since. Their arm must not be shown: the record does not name them.
    const isPackAlone = outcome.type === 'recorded' && outcome.participantId === undefined;
    const subject = isPackAlone ? this.#pack(stream, asked.code) : this.#subject(stream, asked);
    const isRepeated = outcome.type === 'done-before';
    if (subject && IS_RECORDED.has(outcome.type))
      return { type: 'revealed', subject, recordedIn: 'log', revision, isRepeated };
    return { type: 'not-revealed', outcome, revision };
  }

  /** @throws the given error if the participant is not known here, or the key is limited to others */
  async #revealUnrecorded(
    { stream, design, revision }: Study,
    asked: RevealAttempt,
    actor: Actor,
    error: Error,
  ): Promise<RevealResult> {
    const subject = this.#subject(stream, asked);
    // The same for both, so that the answer does not reveal who is outside the limits.
    if (!subject || !this.#isWithin(asked.where, subject, stream, design)) throw error;
    const about =
      'pack' in subject
        ? {}
        : {
            participantId: subject.participant.participantId,
            randomizedAt: subject.participant.revision,
          };
    const { grounds, reveal, idempotencyKey } = asked;
    const shownAt = this.#now().toISOString();
    const recordedIn = await this.#keep(
      {
        ...{ study: design.name, code: asked.code, ...about },
        ...{ category: 'emergency' as const, ...grounds, reveal, shownAt, actor, idempotencyKey },
      },
      error,
    );
    return { type: 'revealed', subject, recordedIn, revision, isRepeated: false };
  }

  #isWithin(where: RevealRequest['where'], subject: Subject, stream: string, design: Design): boolean {
    if ('participant' in subject) return mayReveal(where, subject.participant, design);
    const state = this.#parts.runner.state(studyState, stream);
    const pack = state.status === 'unregistered' ? undefined : state.packs.get(subject.pack.code);
    return pack !== undefined && isPackWithin(where, pack, design);
  }

  async #keep(reveal: PendingReveal, why: Error): Promise<RecordedIn> {
    const { pending } = this.#parts;
    const shown = shownIn(reveal);
    try {
      if (!pending) throw new Error('a log in memory has no folder');
      await pending.add(reveal);
      this.#hooks.onPending?.(why, shown);
      return 'pending';
    } catch (error) {
      this.#onlyHere = [...this.#onlyHere, reveal];
      this.#hooks.onUnrecorded?.(error as Error, shown);
      return 'none';
    }
  }

  /** Code-breaks that are not in the log yet. @throws Error if the file cannot be read */
  async pending(): Promise<Pending> {
    return (await this.#parts.pending?.list()) ?? NOTHING_PENDING;
  }

  /**
   * Records what is pending. Needs a folded log. One that cannot be recorded now does not stop the others.
   * @throws Error if the file cannot be read or written
   */
  async recordPending(): Promise<LateRecords> {
    const remembered = await this.#recordOnlyHere();
    const left: LateRecords['left'][number][] = [];
    const recorded: PendingReveal[] = [];
    const { reveals, damaged } = await this.pending();
    for (const reveal of reveals) {
      const why = await this.#recordLate(reveal);
      if (why) left.push({ reveal, ...why });
      else recorded.push(reveal);
    }
    const all = [...remembered, ...recorded];
    if (all.length > 0) await this.#parts.pending?.remove(new Set(all.map(({ reveal }) => reveal)));
    return { recorded, remembered, left, damaged };
  }

  /** What the log does not take goes to the file. @returns what is in the log now */
  async #recordOnlyHere(): Promise<PendingReveal[]> {
    const recorded: PendingReveal[] = [];
    for (const reveal of this.#onlyHere) {
      if (!(await this.#recordLate(reveal))) recorded.push(reveal);
      else if (!(await this.#isFiled(reveal))) continue;
      this.#onlyHere = this.#onlyHere.filter((one) => one !== reveal);
    }
    return recorded;
  }

  async #isFiled(reveal: PendingReveal): Promise<boolean> {
    try {
      await this.#parts.pending?.add(reveal);
      return this.#parts.pending !== undefined;
    } catch {
      return false;
    }
  }

  /** @returns why it was not recorded; undefined if it is in the log */
  async #recordLate(
    reveal: PendingReveal,
  ): Promise<{ readonly why: string; readonly isWaiting: boolean } | undefined> {
    const { study: name, actor, reason, requestedBy, idempotencyKey, ...asked } = reveal;
    const study = this.#parts.studies.find(name);
    if (!study) return { why: 'this log has no such study', isWaiting: false };
    if (!this.#isKnown(actor)) return { why: 'this log has no such key', isWaiting: false };
    // The clock was ahead then. A record dated before what it reports would never verify.
    const shownAt = this.#shownAt(study.stream, reveal);
    if (Date.parse(shownAt) > this.#now().getTime())
      return { why: `by this clock it is not yet ${shownAt}`, isWaiting: true };
    const request = { ...asked, shownAt, grounds: { reason, requestedBy } };
    try {
      const first = await this.#record(study.stream, { ...request, idempotencyKey }, actor);
      const isTaken = first.type === 'not-revealed' && first.outcome.type === 'idempotency-key-reused';
      const { type } = isTaken ? await this.#record(study.stream, request, actor) : first;
      return type === 'revealed' ? undefined : { why: 'this log has no such participant', isWaiting: false };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return { why: error.message, isWaiting: true };
    }
  }

  /** For a clock that was slow: no arm is shown before it is drawn, or the record would never verify. */
  #shownAt(stream: string, { participantId, shownAt }: PendingReveal): string {
    const { at: drawnAt = shownAt } = this.#find(stream, participantId ?? '') ?? {};
    return drawnAt > shownAt ? drawnAt : shownAt;
  }

  /** Whether the log knows the key, at the revision that the actor names: records may have been lost since. */
  #isKnown(actor: Actor): boolean {
    if ('cli' in actor) return true;
    const { runner } = this.#parts;
    const key = runner.state(access, 'access').byId.get(actor.keyId);
    return key?.user === actor.user && runner.revision('access') >= actor.accessRevision;
  }

  #now(): Date {
    return this.#parts.now?.() ?? new Date();
  }

  /**
   * Tries to record what is pending, now and every two seconds.
   * @param onFailed the file cannot be read or written
   */
  start(onTried: (late: LateRecords) => void, onFailed: (error: Error) => void): void {
    let isBusy = false;
    const attempt = async () => {
      isBusy = true;
      try {
        onTried(await this.recordPending());
      } catch (error) {
        onFailed(error as Error);
      } finally {
        isBusy = false;
      }
    };
    this.#attempt = attempt();
    this.#timer = setInterval(() => {
      if (!isBusy) this.#attempt = attempt();
    }, RETRY_MS).unref();
  }

  /** Tries once more. @returns what is recorded nowhere, and will be forgotten with this process */
  async stop(): Promise<readonly ShownArm[]> {
    clearInterval(this.#timer);
    await this.#attempt;
    await this.#recordOnlyHere();
    return this.#onlyHere.map(shownIn);
  }

  #subject(
    stream: string,
    { participantId, code }: Pick<RevealRequest, 'participantId' | 'code'>,
  ): Subject | undefined {
    const state = this.#parts.runner.state(studyState, stream);
    const isByPack = code !== undefined && state.status !== 'unregistered';
    const id = isByPack ? idByPack(state, code) : participantId;
    const participant = id === undefined ? undefined : this.#find(stream, id);
    if (participant) return { participant };
    return isByPack && id === undefined ? this.#pack(stream, code) : undefined;
  }

  #pack(stream: string, code = ''): Subject | undefined {
    const state = this.#parts.runner.state(studyState, stream);
    const pack = state.status === 'unregistered' ? undefined : state.packs.get(code);
    return pack && { pack: { code: pack.code, treatment: pack.treatment } };
  }

  #find(stream: string, participantId: string): Participant | undefined {
    return this.#parts.runner.state(participants, stream).find(participantId);
  }
}

function shownIn({ study, participantId, code }: PendingReveal): ShownArm {
  return { study, participant: participantId ?? `who has the pack ${code}` };
}

const IS_RECORDED: ReadonlySet<StudyOutcome['type']> = new Set([
  'recorded',
  'done-before',
  'already-recorded',
]);
