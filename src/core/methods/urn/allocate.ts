/**
 * One allocation: which treatment a participant gets, and the evidence with which anyone can repeat the draw. The method
 * itself is in kernel.ts.
 */
import { type BgState, Pcg64 } from '../../random/pcg64.ts';
import type { Counts } from '../counts.ts';
import { listOf } from '../draw.ts';
import { kernelOf, type UrnDesign, type UrnDraw } from './kernel.ts';

export interface UrnAllocation {
  /** Index of the slot in the counts. */
  readonly slot: number;
  readonly treatment: string;
  readonly draw: UrnDraw;
}

/** The urn of one of the participant's levels, and how far it is from holding equally many balls for every slot. */
export interface Urn {
  /** n_k of the participant's level before this participant, in the order of the slots. */
  readonly counts: readonly number[];
  /** b_k, in the same order. */
  readonly balls: number[];
  /** d, by the study's measure. */
  readonly imbalance: number;
}

/** Every number on the way to an allocation. Indexes are those of the design's factors and slots. */
export interface Working {
  /** One per factor. */
  readonly urns: readonly Urn[];
  /** Indexes of the factors whose urns are most imbalanced, sorted by name by code point. */
  readonly candidates: readonly number[];
  /** Index of the candidate chosen by lot. If there is only one candidate, it is 0 and there is no draw. */
  readonly lot: number;
  /** Index of the factor whose urn is drawn from. */
  readonly selected: number;
  /** The uniform is u = uniform53 * 2^-53. */
  readonly uniform53: number;
  /** p_k of the selected urn. */
  readonly probabilities: readonly number[];
  /** cdf_k of the selected urn; the last is 1. */
  readonly cumulative: readonly number[];
  /** Index of the first slot whose cdf_k is above u, among all slots of the study. */
  readonly slot: number;
  readonly treatment: string;
  /** What of all this is recorded. */
  readonly draw: UrnDraw;
}

/**
 * The method, step by step. A pure function; `counts` is only read.
 *
 * @param counts of the earlier participants, made for the same design
 * @param levelIndexes the participant's level of each factor, in the order of the counts' factors
 * @param bgStateBefore the study's generator state after the previous allocation
 * @throws RangeError when an index is out of range, the counts belong to another design, the state is malformed,
 *   or an urn would hold more than 2^53 - 1 balls
 */
export function workOut(
  design: UrnDesign,
  counts: Counts,
  levelIndexes: readonly number[],
  bgStateBefore: BgState,
): Working {
  const { factors, slots } = design;
  const kernel = kernelOf(design);
  kernel.look({ counts }, levelIndexes);
  const generator = Pcg64.restore(bgStateBefore);
  const slot = kernel.draw(generator);
  const urnOf = (_: unknown, factor: number): Urn => {
    const [start, end] = [factor * slots.length, (factor + 1) * slots.length];
    return {
      counts: listOf(kernel.counts, start, end),
      balls: listOf(kernel.balls, start, end),
      imbalance: at(kernel.imbalances, factor),
    };
  };
  return {
    urns: factors.map(urnOf),
    candidates: listOf(kernel.candidates, 0, kernel.candidateCount),
    lot: kernel.lot,
    selected: kernel.selected,
    uniform53: kernel.uniform53,
    probabilities: listOf(kernel.probabilities),
    cumulative: listOf(kernel.cumulative),
    slot,
    treatment: at(slots, kernel.drawn),
    ...kernel.evidence(bgStateBefore, generator.snapshot()),
  };
}

/** n_k of one level of the counts, of the slots that the design sees. */
export function rowSeen(
  { places }: UrnDesign,
  counts: Counts,
  factor: number,
  level: number,
): readonly number[] {
  const row = counts.of(factor, level);
  return places ? places.slots.map((slot) => at(row, slot)) : row;
}

/** The results of `workOut` that are recorded. Parameters and errors are the same. */
export function allocate(
  design: UrnDesign,
  counts: Counts,
  levelIndexes: readonly number[],
  bgStateBefore: BgState,
): UrnAllocation {
  const { slot, treatment, draw } = workOut(design, counts, levelIndexes, bgStateBefore);
  return { slot, treatment, draw };
}

/** An element that must exist. An index out of range is a bug in this file. */
function at<T>(list: ArrayLike<T>, index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} among ${list.length}`);
  return element;
}
