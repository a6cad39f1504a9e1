/**
 * One allocation: which treatment a participant gets, and the evidence from which anyone can draw it again.
 *
 * Sources: Wei 1978 for the urn; the reference implementation for method 1 (the participant's most imbalanced urn is
 * drawn from, ties are broken by lot) and for the order of the two draws, lot first.
 */
import type { StudyConfiguration } from '../../events/study.ts';
import { boundedInteger } from '../random/bounded.ts';
import { type BgState, Pcg64 } from '../random/pcg64.ts';
import { balls } from './balls.ts';
import type { Counts } from './counts.ts';
import { cumulative, indexAt, probabilities } from './draw.ts';
import { imbalance } from './imbalance.ts';
import { mostImbalanced } from './selection.ts';

export interface Allocation {
  readonly treatmentIndex: number;
  readonly treatment: string;
  /** The evidence, its members in the order in which they are recorded. */
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
 * A pure function of its arguments; `counts` is only read. The caller adds the participant to it.
 *
 * @param counts of the participants before this one, made for the same configuration
 * @param levelIndexes the participant's level of each factor, in the order of the configuration's factors
 * @param bgStateBefore the study's generator as the allocation before left it
 * @throws RangeError when an index is out of range, the counts are another configuration's, the state is malformed,
 *   or an urn would hold more than 2^53 - 1 balls
 */
export function allocate(
  configuration: StudyConfiguration,
  counts: Counts,
  levelIndexes: readonly number[],
  bgStateBefore: BgState,
): Allocation {
  const { factors, treatments } = configuration;
  if (levelIndexes.length !== factors.length) {
    throw new RangeError(`${levelIndexes.length} levels given for ${factors.length} factors`);
  }
  // 1. The urns of the participant's levels.
  const urns = levelIndexes.map((level, factor) => {
    const row = counts.of(factor, level);
    if (row.length !== treatments.length) throw new RangeError('counts of another configuration');
    return { counts: row, balls: balls(configuration, row) };
  });

  // 2. and 3. The most imbalanced of them.
  const names = factors.map(({ name }) => name);
  const candidates = mostImbalanced(
    names,
    urns.map((urn) => imbalance(configuration.D, urn.balls)),
  );

  // 4. One of those, by lot if there are several.
  const generator = Pcg64.restore(bgStateBefore);
  const selected = at(candidates, boundedInteger(generator, candidates.length));
  const urn = at(urns, selected);

  // 5. A ball from it.
  const uniform53 = generator.nextUniform53();
  const treatmentIndex = indexAt(cumulative(probabilities(urn.balls)), uniform53);

  // 6. The treatment, and the state for the next participant.
  return {
    treatmentIndex,
    treatment: at(treatments, treatmentIndex),
    draw: {
      balls: urn.balls,
      bgStateAfter: generator.snapshot(),
      bgStateBefore,
      candidates: candidates.map((factor) => at(names, factor)),
      counts: [...urn.counts],
      selectedFactor: at(names, selected),
      uniform53,
    },
  };
}

/** An element that is there by construction: an index out of range is a fault of this file. */
function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} among ${list.length}`);
  return element;
}
