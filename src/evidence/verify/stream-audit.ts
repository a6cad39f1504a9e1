/**
 * Audits one stream: each record is decoded, added to the tree, and decided again until one diverges. Meanwhile the stream's
 * tree is compared with its signed checkpoints, its sealed sections with those of all streams, and the time of each event with
 * that of the one before.
 */
import type { PartialEvent } from '../../../events/record.ts';
import { CLOCK_TOLERANCE_MS } from '../../base/time.ts';
import type { Hash } from '../../core/log/formats.ts';
import { CompactRange } from '../../core/log/merkle-tree.ts';
import type { CheckpointOrigin, SignedCheckpoint } from './kept-checkpoints.ts';
import { mismatch, type Replay } from './replay/replay.ts';
import type {
  Divergence,
  FailedCheckpoint,
  LifeReport,
  LostCheckpoint,
  Mismatch,
  StreamEvidence,
  StreamReport,
  Warnings,
} from './report/report.ts';
import { type Decode, type Decoded, nameOf, type SourceRecord } from './source.ts';

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
      this.#diverge(stored, [revisionMismatch(expected, stored.revision)]);
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

  #judge({ event, withheldSeals }: Exclude<Decoded<E>, { mismatch: Mismatch }>): readonly Mismatch[] {
    if (this.#logId !== undefined && event.log !== this.#logId)
      return [mismatch('log', this.#logId, event.log, 'the record belongs to another log')];
    if (!isNew(this.#ids, event.id.toLowerCase()))
      return [mismatch('id', 'an id of its own', event.id, 'an earlier event of this stream has it')];
    let mismatches: readonly Mismatch[];
    try {
      mismatches = this.#replay.take(event, withheldSeals);
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

function revisionMismatch(expected: number, found: number): Mismatch {
  if (!Number.isSafeInteger(found) || found < 0)
    return mismatch('revision', expected, found, 'no record can have this revision');
  if (found < expected)
    return mismatch('revision', expected, found, 'a record occurs twice, or was inserted');
  const missing =
    found - 1 === expected ? `revision ${expected} is` : `revisions ${expected} to ${found - 1} are`;
  return mismatch('revision', expected, found, `${missing} missing`);
}

/** Id and `at` are made one right after the other, so they differ only if the clock was set in between. */
const ID_TOLERANCE_MS = 5000;
const UUID_VERSION_AT = 14;

/**
 * When an event was made, according to its id: a UUID of version 7 begins with the milliseconds since 1970 (RFC 9562
 * §5.7).
 * @returns the text of a warning if that differs from `at`; otherwise undefined
 */
function timeRemark(id: string, at: string): string | undefined {
  if (id[UUID_VERSION_AT] !== '7')
    return `its id is not a UUID of version 7, which would say when it was made`;
  const made = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  if (Math.abs(Date.parse(at) - made) <= ID_TOLERANCE_MS) return undefined;
  return `it says ${at}, and its id was made at ${instantText(made)}: was it dated back?`;
}

/** 48 bits can hold more than a date. */
function instantText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString();
}

const MAX_REQUEST_TEXT_LENGTH = 2000;

/**
 * Sealed texts that a record may have and a request may not: who asked for a code-break, and the key of a request. Notes and
 * reasons are free texts, whose form is checked.
 */
function hasTextThatHttpRefuses(sections: object): boolean {
  const { grounds, request } = sections as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  return [grounds?.['requestedBy'], request?.['idempotencyKey']].some(
    (text) =>
      typeof text === 'string' && (/\p{Cc}/u.test(text) || [...text].length > MAX_REQUEST_TEXT_LENGTH),
  );
}

/** How many failed checkpoints the report lists. */
const MAX_FAILED_LISTED = 10;

/** Compares the Merkle tree of one stream with its signed checkpoints while the stream is read, in O(log n) memory. */
class StreamTree {
  readonly #checkpoints: readonly SignedCheckpoint[];
  readonly #range = new CompactRange();
  readonly #failed: FailedCheckpoint[] = [];
  #next = 0;
  /** Only checkpoints that were kept elsewhere prove anything. */
  readonly #matching: Readonly<Record<CheckpointOrigin, { matching: number; matchingSize: number }>> = {
    elsewhere: { matching: 0, matchingSize: 0 },
    bundle: { matching: 0, matchingSize: 0 },
    'data-folder': { matching: 0, matchingSize: 0 },
  };
  #failing = 0;
  /** How many of these the log saved itself. */
  #failingOwn = 0;
  #smallestMismatch: number | undefined;
  #isBroken = false;

  /** @param checkpoints signed by trusted keys, in ascending order of size */
  constructor(checkpoints: readonly SignedCheckpoint[]) {
    this.#checkpoints = checkpoints;
    this.#compare();
  }

  /** Adds the next record's leaf. */
  append(leaf: Hash): void {
    if (this.#isBroken) return;
    this.#range.append(leaf);
    this.#compare();
  }

  /** A revision is missing or occurs twice. From here on, there is no tree that could have been signed. */
  break(): void {
    this.#isBroken = true;
  }

  /** Base64; undefined after `break`. */
  root(): string | undefined {
    return this.#isBroken ? undefined : this.#range.root().toString('base64');
  }

  /** @param records the number of records in the stream */
  finish(records: number): Omit<StreamEvidence, 'lost'> {
    const beyond = this.#checkpoints.slice(this.#next);
    for (const checkpoint of beyond) this.#fail(checkpoint, this.#isBroken ? 'gap' : 'missing-tail');
    const signedSize = this.#isBroken ? undefined : beyond.at(-1)?.size;
    const { elsewhere, bundle, 'data-folder': dataFolder } = this.#matching;
    const proven = elsewhere.matchingSize;
    const rewrittenBy = this.#smallestMismatch;
    const signed = this.#signedSize;
    return {
      ...elsewhere,
      ...(bundle.matching > 0 && { cameAlong: bundle }),
      ...(dataFolder.matching + this.#failingOwn > 0 && {
        lastSigned: { ...dataFolder, failing: this.#failingOwn },
      }),
      failing: this.#failing,
      failed: this.#failed,
      ...(rewrittenBy !== undefined &&
        rewrittenBy > proven && {
          rewritten: { afterSize: rewrittenBy > signed ? signed : proven, upToSize: rewrittenBy },
        }),
      ...(signedSize !== undefined && { tailCutOff: { size: records, signedSize } }),
      ...(proven < records && { uncovered: { from: proven, to: records - 1 } }),
    };
  }

  /** No single history can match a checkpoint and fail a smaller one, or have two roots at the same size. */
  get twoHistoriesSigned(): boolean {
    return (
      // At size 0, all histories are the same.
      (this.#smallestMismatch !== undefined &&
        this.#signedSize > 0 &&
        this.#smallestMismatch <= this.#signedSize) ||
      this.#checkpoints.some((checkpoint, i) => {
        const before = this.#checkpoints[i - 1];
        return before?.size === checkpoint.size && Buffer.compare(before.root, checkpoint.root) !== 0;
      })
    );
  }

  /** The largest size at which any checkpoint matches. */
  get #signedSize(): number {
    return Math.max(...Object.values(this.#matching).map(({ matchingSize }) => matchingSize));
  }

  /** Compares the tree with each checkpoint of the current size. */
  #compare(): void {
    let root: Buffer | undefined;
    for (let next = this.#checkpoints[this.#next]; next?.size === this.#range.size; ) {
      root ??= this.#range.root();
      if (Buffer.compare(root, next.root) === 0) {
        const tally = this.#matching[next.from];
        tally.matching++;
        tally.matchingSize = next.size;
      } else {
        this.#smallestMismatch ??= next.size;
        this.#fail(next, 'other-root', root);
      }
      next = this.#checkpoints[++this.#next];
    }
  }

  #fail(checkpoint: SignedCheckpoint, because: FailedCheckpoint['because'], found?: Buffer): void {
    const { where, size, root, from } = checkpoint;
    this.#failing++;
    if (from === 'data-folder') this.#failingOwn++;
    if (this.#failed.length >= MAX_FAILED_LISTED) return;
    const signedRoot = Buffer.from(root).toString('base64');
    this.#failed.push({
      where,
      size,
      because,
      signedRoot,
      ...(found && { root: found.toString('base64') }),
    });
  }
}

/**
 * Checks that each sealed section has its own salt. Equal sections with equal salts have equal seals, so with a single
 * salt, a reader of the seals alone would see which participants got the same arm.
 *
 * If a section is included, its salt is compared with all earlier ones. If it is withheld, its seal is. Each takes 40 to
 * 80 bytes of memory.
 */
export class Sealing {
  readonly #salts = new Set<string>();
  readonly #seals = new Set<string>();

  /**
   * Adds the sections of one record.
   * @param sections the included sections, by name
   * @param withheld the seals of the withheld ones, by name
   */
  mismatch(
    sections: Readonly<Record<string, object | undefined>>,
    withheld: Readonly<Record<string, string>> = {},
  ): Mismatch | undefined {
    for (const name in sections) {
      const salt = (sections[name] as { readonly salt?: string } | undefined)?.salt;
      if (salt !== undefined && !isNew(this.#salts, salt))
        return mismatch(
          `${name}.salt`,
          'a salt of its own',
          salt,
          'another section has this salt, and sections that are equal would have equal seals',
        );
    }
    for (const name in withheld) {
      const seal = withheld[name] ?? '';
      if (!isNew(this.#seals, seal))
        return mismatch(
          `seals.${name}`,
          'a seal of its own',
          seal,
          'another section has this seal, so the two are equal, salt included: the seal conceals nothing',
        );
    }
    return undefined;
  }
}

/** Adds a text to those that were seen. @returns whether it was not among them */
function isNew(seen: Set<string>, text: string): boolean {
  return seen.size < seen.add(text).size;
}
