/**
 * What a method of allocation is: it sees the levels of the next participant and a memory of the earlier ones, draws a slot, and
 * leaves evidence of the draw. Each method has one implementation, for all that draw an arm or ask for the chances of one.
 */
import type { FactOf } from '../../../events/define.ts';
import type { BgState, ParticipantRandomized } from '../../../events/study.ts';
import { Pcg64 } from '../random/pcg64.ts';
import type { Counts, ListEntries, OpenBlocks } from './memory.ts';

/** Works on arrays that are used again for each participant. It changes the memory in `use` alone. */
export interface Method {
  /** Whether `look` reads the counts: then a correction can steer later draws. */
  readonly drawsFromCounts: boolean;
  /** The index of each slot that can be drawn, in all slots of the study. */
  readonly slots: ArrayLike<number>;
  /** p of each of these for the participant that `look` saw, before anything is drawn. */
  readonly chances: Float64Array;
  /**
   * Whether nobody with these levels can be allocated at present. Absent: it never runs out.
   * @param levels as for `look`
   */
  isSpent?(memory: Memory, levels: ArrayLike<number>): boolean;
  /**
   * Works out what the next participant is drawn from.
   * @param levels the participant's level of each factor of the study, by index
   */
  look(memory: Memory, levels: ArrayLike<number>): void;
  /**
   * @param perSlot places per slot, if a block begins: where this is given, no size is drawn
   * @returns the slot of the participant that `look` saw, by its index in all slots of the study
   */
  draw(generator: Pcg64, perSlot?: number): number;
  /** Of the last draw. @param before the state of its generator, and `after` it */
  evidence(before: BgState, after: BgState): Evidence;
  /**
   * A participant was drawn this slot. Absent: nothing is used up. Whoever draws also counts, if the policies say so.
   * @param perSlot of the block that the place was in; absent: that of the last draw
   */
  use?(memory: Memory, levels: ArrayLike<number>, slot: number, perSlot?: number): void;
}

/** What methods draw from: a study, and each replicate of it, has one. */
export interface Memory {
  /** Those whom the policies of the study count, whatever its method. */
  readonly counts: Counts;
  /** Of permuted blocks; empty for any other method. */
  readonly blocks: OpenBlocks;
  /** Of lists that were made elsewhere. A replicate has none: only who made a list could make another. */
  readonly entries?: ListEntries;
}

/** The sealed section of a record with which anyone can repeat the allocation. */
export type Evidence = Pick<FactOf<typeof ParticipantRandomized>['sections'], 'draw' | 'pick' | 'entry'>;

interface Allocation {
  /** The slot, by its index in all slots of the study. */
  readonly slot: number;
  readonly evidence: Evidence;
}

/**
 * Allocates a participant. The caller adds them to the memory.
 * @param bgStateBefore the study's generator state after the previous allocation
 * @throws RangeError when an index is out of range, the memory belongs to another design, or the state is malformed
 */
export function allocate(
  method: Method,
  memory: Memory,
  levels: readonly number[],
  bgStateBefore: BgState,
): Allocation {
  method.look(memory, levels);
  const generator = Pcg64.restore(bgStateBefore);
  const slot = method.draw(generator);
  return { slot, evidence: method.evidence(bgStateBefore, generator.snapshot()) };
}

/** The slots of a design that can be drawn. */
export interface OpenSlots {
  /** The treatment of each. Unless the study has a ratio, each treatment has one. */
  readonly slots: readonly string[];
  /** The indexes, among all of the study, of these slots, and of the factors that are not retired. Absent: all there are. */
  readonly places?: { readonly slots: readonly number[]; readonly factors: readonly number[] } | undefined;
  /** Then the drawn slot is recorded. */
  readonly hasRatio: boolean;
}

/** A stratum is all participants with the same levels of some factors. */
export interface Stratified {
  /** Indexes of these factors. None: the study is one stratum. */
  readonly by: readonly number[];
}

/** The name of a participant's stratum: by indexes, which no renaming changes. */
export function stratumOf({ by }: Stratified, levels: ArrayLike<number>): string {
  return by.map((factor) => levels[factor]).join();
}
