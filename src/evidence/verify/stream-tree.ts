/** Compares the Merkle tree of one stream with its signed checkpoints while the stream is read, in O(log n) memory. */

import type { Hash } from '../../core/log/formats.ts';
import { CompactRange } from '../../core/log/merkle-tree.ts';
import type { CheckpointOrigin, SignedCheckpoint } from './evidence.ts';
import type { FailedCheckpoint, StreamEvidence } from './report/report.ts';

/** How many failed checkpoints the report lists. */
const MAX_LISTED = 10;

export class StreamTree {
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
    if (this.#failed.length >= MAX_LISTED) return;
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
