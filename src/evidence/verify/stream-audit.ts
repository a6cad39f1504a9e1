/** Audits one stream: each record is decoded, added to the tree, and decided again until one diverges. */
import type { MoveFact } from '../../../events/log.ts';
import type { PartialEvent } from '../../../events/record.ts';
import {
  isMoveEvent,
  type Movement,
  movementAfter,
  NEVER_MOVED,
  outOfPlace,
} from '../../../projections/runner.ts';
import { CLOCK_TOLERANCE_MS } from '../../base/time.ts';
import { type Decode, type Decoded, nameOf } from './decoding.ts';
import { timeRemark } from './event-time.ts';
import type { SignedCheckpoint } from './evidence.ts';
import { mismatch } from './replay/differences.ts';
import type { Replay } from './replay/replay.ts';
import type { Divergence, LifeReport, LostCheckpoint, Mismatch, StreamReport } from './report/report.ts';
import type { Warnings } from './report/warnings.ts';
import { hasTextThatHttpRefuses } from './sealed-texts.ts';
import { isNew, type Sealing } from './sealing.ts';
import type { SourceRecord } from './source.ts';
import { StreamTree } from './stream-tree.ts';

export class StreamAudit<E extends PartialEvent> {
  readonly #stream: string;
  readonly #logId: string | undefined;
  readonly #decode: Decode<E>;
  readonly #replay: Replay<E>;
  readonly #warnings: Warnings;
  readonly #tree: StreamTree;
  readonly #lost: readonly LostCheckpoint[];
  /** In lower case, since a UUID may be written in either. */
  readonly #ids = new Set<string>();
  #records = 0;
  /** Records before the first that diverges. */
  #passed = 0;
  #withheld = 0;
  #divergence: Divergence | undefined;
  #lastAt: string | undefined;
  #movement: Movement = NEVER_MOVED;
  readonly #moves: ReadonlySet<string> | undefined;
  readonly #sealing: Sealing;

  /** @param logId undefined when the log does not say its id; then a record may name any log */
  constructor(parts: {
    stream: string;
    logId: string | undefined;
    decode: Decode<E>;
    replay: Replay<E>;
    warnings: Warnings;
    checkpoints: readonly SignedCheckpoint[];
    lost: readonly LostCheckpoint[];
    /** The moves in `log`, by `moveName`; undefined when auditing `log` itself. */
    moves: ReadonlySet<string> | undefined;
    /** Shared by all streams. */
    sealing: Sealing;
  }) {
    this.#stream = parts.stream;
    this.#logId = parts.logId;
    this.#decode = parts.decode;
    this.#replay = parts.replay;
    this.#warnings = parts.warnings;
    this.#tree = new StreamTree(parts.checkpoints);
    this.#lost = parts.lost;
    this.#moves = parts.moves;
    this.#sealing = parts.sealing;
  }

  /** Revision of the first diverging record. */
  get divergesAt(): number | undefined {
    return this.#divergence?.revision;
  }

  /** Number of records so far. */
  get records(): number {
    return this.#records;
  }

  /** Number of records of which the source provides only the place. */
  get withheld(): number {
    return this.#withheld;
  }

  take(stored: SourceRecord): void {
    const expected = this.#records++;
    if (stored.revision !== expected) {
      // After a gap, there is neither a tree that could have been signed nor a state to decide from.
      this.#tree.break();
      this.#diverge(stored, [gap(expected, stored.revision)]);
      return;
    }
    if (stored.isWithheld) {
      this.#tree.append(stored.leaf);
      this.#withheld++;
      if (!this.#divergence) this.#passed++;
      return;
    }
    const decoded = this.#decode(stored);
    this.#tree.append(decoded.leaf);
    if (this.#divergence) return;
    const mismatches = 'mismatch' in decoded ? [decoded.mismatch] : this.#judge(decoded);
    if (mismatches.length > 0) this.#diverge(stored, mismatches);
    else this.#passed++;
  }

  /** The source can provide no more records. @param why with a hint */
  breakOff(why: string): void {
    this.#tree.break();
    this.#divergence ??= {
      revision: this.#records,
      alsoDiffer: [],
      ...mismatch('revision', this.#records, undefined, why),
    };
  }

  /** @param more what else is known about the stream */
  finish(more: {
    readonly study?: string | undefined;
    readonly participants?: number;
    readonly life?: LifeReport | undefined;
  }): StreamReport {
    if (this.#records === 0) {
      const none = mismatch('revision', 0, undefined, 'the stream has no record');
      this.#divergence ??= { revision: 0, alsoDiffer: [], ...none };
    }
    const evidence = { ...this.#tree.finish(this.#records), lost: this.#lost };
    if (this.#tree.twoHistoriesSigned)
      this.#warnings.add(
        'two-histories-signed',
        'the given checkpoints contradict one another: the signing key has signed two histories of this stream',
      );
    this.#warnOfMove();
    const root = this.#tree.root();
    return {
      stream: this.#stream,
      ...(more.study !== undefined && { study: more.study }),
      sound: this.#divergence === undefined && evidence.failing === 0 && this.#lost.length === 0,
      records: this.#records,
      ...(more.participants !== undefined && { participants: more.participants }),
      ...(more.life && { life: more.life }),
      ...(root !== undefined && { root }),
      ...(this.#divergence && { divergence: this.#divergence }),
      notReplayed: this.#records - this.#passed,
      ...(this.#withheld > 0 && { withheld: this.#withheld }),
      evidence,
      warnings: this.#warnings.list(),
    };
  }

  #judge({
    event,
    withheldSeals,
    version,
  }: Exclude<Decoded<E>, { mismatch: Mismatch }>): readonly Mismatch[] {
    if (this.#logId !== undefined && event.log !== this.#logId)
      return [mismatch('log', this.#logId, event.log, 'the record belongs to another log')];
    if (!isNew(this.#ids, event.id.toLowerCase()))
      return [mismatch('id', 'an id of its own', event.id, 'an earlier event of this stream has it')];
    let mismatches: readonly Mismatch[];
    try {
      mismatches = this.#judgeMove(event) ?? this.#replay.take(event, withheldSeals, version);
    } catch (error) {
      // A decider throws on input that it should never see, such as an impossible generator state or an oversized urn.
      const why = `it cannot be decided again: ${(error as Error).message}`;
      return [mismatch('data', 'an event that can be decided again', event.type, why)];
    }
    if (mismatches.length > 0) return mismatches;
    const unsalted = this.#sealing.mismatch(event.sections, withheldSeals);
    if (unsalted) return [unsalted];
    this.#replay.passed?.(event);
    this.#watchClock(event);
    this.#watchTexts(event);
    return [];
  }

  /** Undefined: this event is not about a move of the log, and no move forbids it here. */
  #judgeMove(event: E): readonly Mismatch[] | undefined {
    const wrong = outOfPlace(this.#movement, event);
    if (wrong) return [mismatch(wrong.field, wrong.expected, wrong.found, wrong.why)];
    if (!isMoveEvent(event)) return undefined;
    const { actor, type, data } = event;
    if (!('cli' in actor))
      return [mismatch('actor', 'a person at the command line', actor.keyId, 'no key can do this')];
    if (this.#moves && !this.#moves.has(moveName(event)))
      return [
        mismatch('data.move', `a move for which log has ${type}`, data.move, 'log does not mention it'),
      ];
    this.#movement = movementAfter(this.#movement, event);
    return [];
  }

  /** Only for `log`, which speaks for all streams: this copy may not be the current one. */
  #warnOfMove(): void {
    if (this.#moves || this.#movement.status === 'open' || this.#divergence) return;
    this.#warnings.add(
      'moved',
      this.#movement.status === 'dead'
        ? 'this copy of the log was given up: the log goes on where it was copied from'
        : `the log was moved to ${this.#movement.to}: if that move has arrived, the log goes on there`,
      this.#records - 1,
    );
  }

  #watchClock({ id, at, revision }: PartialEvent): void {
    const otherTime = timeRemark(id, at);
    if (otherTime !== undefined) this.#warnings.add('id-of-another-time', otherTime, revision);
    const before = this.#lastAt;
    this.#lastAt = at;
    // These texts sort like the times, so most events need no parsing.
    if (before !== undefined && before > at && Date.parse(before) - Date.parse(at) > CLOCK_TOLERANCE_MS)
      this.#warnings.add('clock-stepped-back', `the clock stepped back from ${before} to ${at}`, revision);
  }

  #watchTexts({ id, revision, sections }: PartialEvent): void {
    if (id !== id.toLowerCase())
      this.#warnings.add(
        'id-in-upper-case',
        'its id is in upper case, which this software never writes',
        revision,
      );
    if (hasTextThatHttpRefuses(sections))
      this.#warnings.add(
        'text-refused-by-http',
        'a sealed text has control characters or more than 2,000 characters, which no request may have',
        revision,
      );
  }

  #diverge(stored: SourceRecord, mismatches: readonly Mismatch[]): void {
    const [first, ...others] = mismatches;
    if (this.#divergence || !first) return;
    this.#divergence = { ...nameOf(stored), ...first, alsoDiffer: others.map(({ field }) => field) };
  }
}

/** Identifies a step of a move. Each step happens in `log` first, then in every other stream. */
export function moveName({ type, data }: Extract<PartialEvent, MoveFact>): string {
  return `${type} ${data.move}`;
}

function gap(expected: number, found: number): Mismatch {
  if (!Number.isSafeInteger(found) || found < 0)
    return mismatch('revision', expected, found, 'no record can have this revision');
  if (found < expected)
    return mismatch('revision', expected, found, 'a record occurs twice, or was inserted');
  const missing =
    found - 1 === expected ? `revision ${expected} is` : `revisions ${expected} to ${found - 1} are`;
  return mismatch('revision', expected, found, `${missing} missing`);
}
