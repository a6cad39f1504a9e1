/**
 * Breaks the code of one participant, or of one pack. The code-break is in the log, on disk, before the arm is
 * given. An emergency does not wait for a log that cannot be written: after three seconds the code-break goes to a file,
 * and from there to the log as soon as that is possible. If the file cannot be written either, this process remembers the
 * code-break, and tries both until one takes it.
 *
 * On a full disk an emergency gets room from the store's reserve, of which nobody may take so much that others find none. The
 * arm is shown all the same.
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
import type { Urgency } from '../../core/write/decider.ts';
import { isForWantOfRoom } from '../../store/event-store.ts';
import { Budget } from '../operations/recorder.ts';
import { NOTHING_PENDING, type Pending, type PendingReveal, type PendingReveals } from './pending-reveals.ts';

/** How often the service tries to record what is pending, in ms. */
const RETRY_MS = 2000;
/** How many pending code-breaks are submitted together, and so share an append: each alone would take more room and time. */
const AT_ONCE = 100;

/** How many appends a key gets from the reserve in an hour, and a user with all their keys. There is room for about forty. */
const RESERVE_APPENDS = { key: 8, user: 16 } as const;
/** Half of the reserve. What a key may not write from it goes to the file only while this much is left, in bytes. */
const LEFT_FOR_OTHERS = 512 * 1024;
/** On a full disk, a key that asks for the same participant again within this time makes no new code-break, in ms. */
const SAME_CASE_MS = 60_000;
/** How much is kept of a reason on a full disk, in code points. */
const REASON_CHARACTERS = 200;
const CUT = ' … (cut: disk full)';

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
  readonly left: readonly ({ readonly reveal: PendingReveal } & NotRecorded)[];
  /** How many lines of the file are not understood. */
  readonly damaged: number;
}

interface NotRecorded {
  /** The end of a sentence. */
  readonly why: string;
  /** Whether it will be recorded by itself. */
  readonly isWaiting: boolean;
  /** Whether the disk is full. */
  readonly isFull?: boolean;
}

/** Whose arm is shown: that of a participant, or of a pack that nobody had. */
export type Subject =
  | { readonly participant: Participant }
  | { readonly pack: { readonly code: string; readonly treatment: string } };

/** Where the code-break is recorded. `none`: nowhere yet, because not even the file could be written. */
type RecordedIn = 'log' | 'pending' | 'none';

interface Revealed {
  readonly type: 'revealed';
  readonly subject: Subject;
  readonly recordedIn: RecordedIn;
  /** The revision of the code-break, if it is in the log; otherwise of the last event known. */
  readonly revision: number;
  /** It was asked for before, with the same idempotency key or, on a full disk, just now. */
  readonly isRepeated: boolean;
  /** The disk is full, so the end of the reason is not recorded. */
  readonly isReasonCut?: boolean;
  /** The disk is full, and the key has had its share of the reserve. */
  readonly isShareUsed?: boolean;
}

type RevealResult =
  | Revealed
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
  readonly urgency?: Urgency;
}

/** What could be recorded nowhere yet. */
interface OnlyHere {
  readonly reveal: PendingReveal;
  /** How much room the file must leave on the disk, in bytes. */
  readonly leaving: number;
}

export class CodeBreaks {
  readonly #parts: CodeBreakParts;
  readonly #hooks: CodeBreakHooks;
  /** By case: no key can fill the memory, because it has one code-break of each participant here. */
  readonly #onlyHere = new Map<string, OnlyHere>();
  /** By case, the oldest first: what was shown on a full disk just now. */
  readonly #lately = new Map<string, { readonly since: number; readonly revealed: Promise<RevealResult> }>();
  readonly #shares = { key: new Budget(RESERVE_APPENDS.key), user: new Budget(RESERVE_APPENDS.user) };
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
    if (asked.category !== 'emergency') return await this.#record(study.stream, asked, actor);
    try {
      const recording = this.#record(study.stream, { ...asked, urgency: 'first' }, actor);
      return await withinMs(EMERGENCY_WAIT_MS, recording);
    } catch (error) {
      return isForWantOfRoom(error)
        ? await this.#revealOnFullDisk(study, asked, actor, error as Error)
        : await this.#revealUnrecorded(study, asked, actor, error as Error);
    }
  }

  async #record(stream: string, asked: RevealAttempt, actor: Actor): Promise<RevealResult> {
    const result = await this.#submit(stream, asked, actor);
    const short = withShortReason(asked);
    // The request may have been recorded on a full disk.
    const mayBeSame = result.type === 'not-revealed' && result.outcome.type === 'idempotency-key-reused';
    return mayBeSame && short !== asked ? await this.#submit(stream, short, actor) : result;
  }

  async #submit(stream: string, { grounds, ...asked }: RevealAttempt, actor: Actor): Promise<RevealResult> {
    const { participantId, code, category, where, idempotencyKey, reveal, shownAt, randomizedAt, urgency } =
      asked;
    const by = { user: actor.user, where, idempotencyKey };
    const more = { brings: { reveal, shownAt }, randomizedAt, urgency };
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

  /**
   * Requests of a key for the same participant are one code-break for a minute, and the first one's answer is given again.
   * @throws the given error as `#subjectWithin` does
   */
  async #revealOnFullDisk(
    study: Study,
    asked: RevealAttempt,
    actor: Actor,
    error: Error,
  ): Promise<RevealResult> {
    const subject = this.#subjectWithin(study, asked, error);
    const now = performance.now();
    for (const [key, { since }] of this.#lately) {
      if (now - since < SAME_CASE_MS) break;
      this.#lately.delete(key);
    }
    const key = caseOf(study.design.name, subject, asked, actor);
    const earlier = this.#lately.get(key);
    if (earlier) {
      const first = await earlier.revealed;
      return first.type === 'revealed' ? { ...first, isRepeated: true, isReasonCut: false } : first;
    }
    const revealed = this.#revealFromReserve(study, asked, actor, error);
    this.#lately.set(key, { since: now, revealed });
    const isShown = await revealed.then(
      ({ type }) => type === 'revealed',
      () => false,
    );
    // A refusal is not given again: an Idempotency-Key that belongs to another request must not keep the arm from the next.
    if (!isShown) this.#lately.delete(key);
    return await revealed;
  }

  async #revealFromReserve(
    study: Study,
    asked: RevealAttempt,
    actor: Actor,
    error: Error,
  ): Promise<RevealResult> {
    const short = withShortReason(asked);
    const isReasonCut = short !== asked;
    if (!this.#takeShare(actor)) {
      const pending = await this.#revealUnrecorded(study, short, actor, error, LEFT_FOR_OTHERS);
      return { ...pending, isReasonCut, isShareUsed: true };
    }
    try {
      const recording = this.#record(study.stream, { ...short, urgency: 'reserve' }, actor);
      const result = await withinMs(EMERGENCY_WAIT_MS, recording);
      return result.type === 'revealed' ? { ...result, isReasonCut } : result;
    } catch (failure) {
      return { ...(await this.#revealUnrecorded(study, short, actor, failure as Error)), isReasonCut };
    }
  }

  /** At the command line, each process would begin anew: whoever works on the machine is trusted. */
  #takeShare(actor: Actor): boolean {
    if ('cli' in actor) return true;
    const now = performance.now();
    return this.#shares.key.spend(actor.keyId, now) && this.#shares.user.spend(actor.user, now);
  }

  /** @throws the given error as `#subjectWithin` does */
  async #revealUnrecorded(
    study: Study,
    asked: RevealAttempt,
    actor: Actor,
    error: Error,
    leaving = 0,
  ): Promise<Revealed> {
    const subject = this.#subjectWithin(study, asked, error);
    const { name } = study.design;
    const key = caseOf(name, subject, asked, actor);
    const revealed = { type: 'revealed', subject, revision: study.revision } as const;
    if (this.#onlyHere.has(key)) return { ...revealed, recordedIn: 'none', isRepeated: true };
    const about =
      'pack' in subject
        ? {}
        : {
            participantId: subject.participant.participantId,
            randomizedAt: subject.participant.revision,
          };
    const { grounds, reveal, idempotencyKey } = asked;
    const shownAt = this.#now().toISOString();
    const kept = {
      ...{ study: name, code: asked.code, ...about },
      ...{ category: 'emergency' as const, ...grounds, reveal, shownAt, actor, idempotencyKey },
    };
    return { ...revealed, ...(await this.#keep(key, { reveal: kept, leaving }, error)) };
  }

  /** @throws the given error if the participant is not known here, or the key is limited to others */
  #subjectWithin({ stream, design }: Study, asked: RevealAttempt, error: Error): Subject {
    const subject = this.#subject(stream, asked);
    // The same for both, so that the answer does not reveal who is outside the limits.
    if (!subject || !this.#isWithin(asked.where, subject, stream, design)) throw error;
    return subject;
  }

  #isWithin(where: RevealRequest['where'], subject: Subject, stream: string, design: Design): boolean {
    if ('participant' in subject) return mayReveal(where, subject.participant, design);
    const state = this.#parts.runner.state(studyState, stream);
    const pack = state.status === 'unregistered' ? undefined : state.packs.get(subject.pack.code);
    return pack !== undefined && isPackWithin(where, pack, design);
  }

  async #keep(key: string, here: OnlyHere, why: Error): Promise<Pick<Revealed, 'recordedIn' | 'isRepeated'>> {
    const { pending } = this.#parts;
    const shown = shownIn(here.reveal);
    try {
      if (!pending) throw new Error('a log in memory has no folder');
      await pending.add(here.reveal, here.leaving);
      this.#hooks.onPending?.(why, shown);
      return { recordedIn: 'pending', isRepeated: false };
    } catch (error) {
      // Of requests that came together, the first is remembered.
      const isRepeated = this.#onlyHere.has(key);
      if (!isRepeated) this.#onlyHere.set(key, here);
      this.#hooks.onUnrecorded?.(error as Error, shown);
      return { recordedIn: 'none', isRepeated };
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
    const { reveals, damaged } = await this.pending();
    const { recorded, left } = await this.#recordAll(reveals);
    const all = [...remembered, ...recorded];
    if (all.length > 0) await this.#parts.pending?.remove(new Set(all.map(({ reveal }) => reveal)));
    return { recorded, remembered, left, damaged };
  }

  /** What the log does not take goes to the file. @returns what is in the log now */
  async #recordOnlyHere(): Promise<PendingReveal[]> {
    const all = [...this.#onlyHere];
    const { recorded } = await this.#recordAll(all.map(([, { reveal }]) => reveal));
    const inLog = new Set(recorded);
    for (const [key, here] of all)
      if (inLog.has(here.reveal) || (await this.#isFiled(here))) this.#onlyHere.delete(key);
    return recorded;
  }

  async #isFiled({ reveal, leaving }: OnlyHere): Promise<boolean> {
    try {
      await this.#parts.pending?.add(reveal, leaving);
      return this.#parts.pending !== undefined;
    } catch {
      return false;
    }
  }

  async #recordAll(reveals: readonly PendingReveal[]) {
    const recorded: PendingReveal[] = [];
    const left: LateRecords['left'][number][] = [];
    let noRoom: NotRecorded | undefined;
    for (let from = 0; from < reveals.length; from += AT_ONCE) {
      const some = reveals.slice(from, from + AT_ONCE);
      const whys = noRoom ? [] : await Promise.all(some.map((reveal) => this.#recordLate(reveal)));
      for (const [i, reveal] of some.entries()) {
        const why = noRoom ?? whys[i];
        if (why) left.push({ reveal, ...why });
        else recorded.push(reveal);
      }
      // The others would find none either.
      noRoom ??= whys.find((why) => why?.isFull);
    }
    return { recorded, left };
  }

  /** The reserve is not for what was shown before. @returns why it was not recorded; undefined if it is in the log */
  async #recordLate(reveal: PendingReveal): Promise<NotRecorded | undefined> {
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
      return { why: error.message, isWaiting: true, isFull: isForWantOfRoom(error) };
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
    return [...this.#onlyHere.values()].map(({ reveal }) => shownIn(reveal));
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

/** The same for all requests of a key for a participant, or for a pack that nobody had. At the command line, each is its own. */
function caseOf(study: string, subject: Subject, { reveal }: RevealAttempt, actor: Actor): string {
  if ('cli' in actor) return reveal;
  return JSON.stringify([
    ...[actor.keyId, study],
    'pack' in subject ? subject.pack.code : subject.participant.revision,
  ]);
}

/** @returns what was given if its reason is short enough */
function withShortReason<A extends Pick<RevealRequest, 'grounds'>>(asked: A): A {
  const characters = [...asked.grounds.reason];
  if (characters.length <= REASON_CHARACTERS) return asked;
  const reason = characters.slice(0, REASON_CHARACTERS - CUT.length).join('') + CUT;
  return { ...asked, grounds: { ...asked.grounds, reason } };
}

function shownIn({ study, participantId, code }: PendingReveal): ShownArm {
  return { study, participant: participantId ?? `who has the pack ${code}` };
}

const IS_RECORDED: ReadonlySet<StudyOutcome['type']> = new Set([
  'recorded',
  'done-before',
  'already-recorded',
]);
