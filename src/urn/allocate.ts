/**
 * One allocation: which treatment a participant gets, and the evidence with which anyone can repeat the draw.
 *
 * Sources: Wei 1978 for the urn; the reference implementation for method 1 (draw from the participant's most imbalanced
 * urn, break ties by lot) and for the order of the two draws (the lot first).
 */
import type { ImbalanceMeasure } from '../../events/study.ts';
import { boundedInteger } from '../random/bounded.ts';
import { type BgState, Pcg64 } from '../random/pcg64.ts';
import { balls, type UrnWeights } from './balls.ts';
import { type Counts, NO_LEVEL } from './counts.ts';
import { cumulative, indexAt, probabilities } from './draw.ts';
import { imbalance } from './imbalance.ts';
import { mostImbalanced } from './selection.ts';

/** What of a study's design an allocation sees. */
export interface UrnDesign extends UrnWeights {
  /** The treatment of each slot that can be drawn. Unless the study has a ratio, each treatment has one. */
  readonly slots: readonly string[];
  /** Those whose urns can be drawn from. */
  readonly factors: readonly { readonly name: string }[];
  readonly D: ImbalanceMeasure;
  /** The indexes, in the counts, of the slots and factors above. Absent: they are all that there are. */
  readonly places?: { readonly slots: readonly number[]; readonly factors: readonly number[] } | undefined;
  /** Then the slot is recorded, and the imbalance does not depend on the order of the slots: version 2 of the algorithm. */
  readonly hasRatio: boolean;
}

export interface Allocation {
  /** Index of the slot in the counts. */
  readonly slot: number;
  readonly treatment: string;
  /** The evidence. The members are in the order in which they are recorded. */
  readonly draw: {
    /** b_k of the selected urn, in the order of the slots that can be drawn. */
    readonly balls: number[];
    readonly bgStateAfter: BgState;
    readonly bgStateBefore: BgState;
    /** Names of the factors whose urns were most imbalanced, sorted by code point. */
    readonly candidates: string[];
    /** n_k of the selected urn before this participant, in the same order. */
    readonly counts: number[];
    readonly selectedFactor: string;
    /** Only if the study has a ratio. */
    readonly slot?: number;
    /** The uniform is u = uniform53 * 2^-53. */
    readonly uniform53: number;
  };
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
  /** Index of the first slot whose cdf_k is above u. */
  readonly slot: number;
  readonly bgStateAfter: BgState;
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
  const { factors, slots, D, hasRatio } = design;
  const rows = rowsSeen(design, counts, levelIndexes);
  if (rows.length !== factors.length) {
    throw new RangeError(`${rows.length} levels given for ${factors.length} factors`);
  }
  // 1. and 2. The urns of the participant's levels, and how imbalanced they are.
  const urns = rows.map((row) => {
    if (row.length !== slots.length) throw new RangeError('counts of another design');
    const held = balls(design, row);
    return { counts: row, balls: held, imbalance: imbalance(D, hasRatio ? ascending(held) : held) };
  });

  // 3. The most imbalanced urns.
  const candidates = mostImbalanced(
    factors.map(({ name }) => name),
    urns.map((urn) => urn.imbalance),
  );

  // 4. One of them, by lot if there are several.
  const generator = Pcg64.restore(bgStateBefore);
  const lot = boundedInteger(generator, candidates.length);
  const selected = at(candidates, lot);

  // 5. A ball from it, and the state for the next participant.
  const uniform53 = generator.nextUniform53();
  const weights = probabilities(at(urns, selected).balls);
  const cdf = cumulative(weights);
  return {
    urns,
    candidates,
    lot,
    selected,
    uniform53,
    probabilities: weights,
    cumulative: cdf,
    slot: indexAt(cdf, uniform53),
    bgStateAfter: generator.snapshot(),
  };
}

/** n_k of the participant's levels, of the factors and slots that the design sees. */
function rowsSeen(design: UrnDesign, counts: Counts, levelIndexes: readonly number[]): (readonly number[])[] {
  const { places } = design;
  if (!places) return levelIndexes.map((level, factor) => counts.of(factor, level));
  return places.factors.map((factor) => rowSeen(design, counts, factor, levelIndexes[factor] ?? NO_LEVEL));
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

/** Sums of doubles depend on their order, and an urn must not depend on the order of the slots. */
function ascending(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b);
}

/**
 * Allocates a participant, and returns those results of `workOut` that are recorded. The caller adds the participant to
 * `counts`. Parameters and errors are those of `workOut`.
 */
export function allocate(
  design: UrnDesign,
  counts: Counts,
  levelIndexes: readonly number[],
  bgStateBefore: BgState,
): Allocation {
  return allocationOf(design, workOut(design, counts, levelIndexes, bgStateBefore), bgStateBefore);
}

/** The treatment and the evidence to record, from the working. */
export function allocationOf(
  { factors, slots, places, hasRatio }: UrnDesign,
  working: Working,
  bgStateBefore: BgState,
): Allocation {
  const urn = at(working.urns, working.selected);
  const slot = places ? at(places.slots, working.slot) : working.slot;
  const draw = {
    balls: urn.balls,
    bgStateAfter: working.bgStateAfter,
    bgStateBefore,
    candidates: working.candidates.map((factor) => at(factors, factor).name),
    counts: [...urn.counts],
    selectedFactor: at(factors, working.selected).name,
    uniform53: working.uniform53,
  };
  return { slot, treatment: at(slots, working.slot), draw: hasRatio ? { ...draw, slot } : draw };
}

/** An element that must exist. An index out of range is a bug in this file. */
function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} among ${list.length}`);
  return element;
}
