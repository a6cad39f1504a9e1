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
import type { Counts } from './counts.ts';
import { cumulative, indexAt, probabilities } from './draw.ts';
import { imbalance } from './imbalance.ts';
import { mostImbalanced } from './selection.ts';

/** What of a study's design an allocation needs. */
export interface UrnDesign extends UrnWeights {
  readonly treatments: readonly string[];
  readonly factors: readonly { readonly name: string }[];
  readonly D: ImbalanceMeasure;
}

export interface Allocation {
  readonly treatmentIndex: number;
  readonly treatment: string;
  /** The evidence. The members are in the order in which they are recorded. */
  readonly draw: {
    /** b_k of the selected urn, in the order of the treatments. */
    readonly balls: number[];
    readonly bgStateAfter: BgState;
    readonly bgStateBefore: BgState;
    /** Names of the factors whose urns were most imbalanced, sorted by code point. */
    readonly candidates: string[];
    /** n_k of the selected urn before this participant, in the order of the treatments. */
    readonly counts: number[];
    readonly selectedFactor: string;
    /** The uniform is u = uniform53 * 2^-53. */
    readonly uniform53: number;
  };
}

/**
 * The urn of one of the participant's levels, and how far it is from holding equally many balls for every treatment.
 */
export interface Urn {
  /** n_k of the participant's level before this participant, in the order of the treatments. */
  readonly counts: readonly number[];
  /** b_k, in the same order. */
  readonly balls: number[];
  /** d, by the study's measure. */
  readonly imbalance: number;
}

/** Every number on the way to an allocation. Indexes are those of the design's factors and treatments. */
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
  /** Index of the first treatment whose cdf_k is above u. */
  readonly treatment: number;
  readonly bgStateAfter: BgState;
}

/**
 * The method, step by step. A pure function; `counts` is only read.
 *
 * @param counts of the earlier participants, made for the same design
 * @param levelIndexes the participant's level of each factor, in the order of the design's factors
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
  const { factors, treatments, D } = design;
  if (levelIndexes.length !== factors.length) {
    throw new RangeError(`${levelIndexes.length} levels given for ${factors.length} factors`);
  }
  // 1. and 2. The urns of the participant's levels, and how imbalanced they are.
  const urns = levelIndexes.map((level, factor) => {
    const row = counts.of(factor, level);
    if (row.length !== treatments.length) throw new RangeError('counts of another design');
    const held = balls(design, row);
    return { counts: row, balls: held, imbalance: imbalance(D, held) };
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
    treatment: indexAt(cdf, uniform53),
    bgStateAfter: generator.snapshot(),
  };
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
  { factors, treatments }: UrnDesign,
  working: Working,
  bgStateBefore: BgState,
): Allocation {
  const urn = at(working.urns, working.selected);
  return {
    treatmentIndex: working.treatment,
    treatment: at(treatments, working.treatment),
    draw: {
      balls: urn.balls,
      bgStateAfter: working.bgStateAfter,
      bgStateBefore,
      candidates: working.candidates.map((factor) => at(factors, factor).name),
      counts: [...urn.counts],
      selectedFactor: at(factors, working.selected).name,
      uniform53: working.uniform53,
    },
  };
}

/** An element that must exist. An index out of range is a bug in this file. */
function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} among ${list.length}`);
  return element;
}
