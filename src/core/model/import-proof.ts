/**
 * The proof of an imported row: a draw, from a state and counts that an earlier row left behind, that gives the row's arm
 * and state. Usually that is the row before. Two requests to the reference at once could read the same state, so earlier
 * rows, and the counts that were known between them and this row, are tried too.
 */
import type { UnprovenCause } from '../../../events/from-outside.ts';
import type { BgState } from '../../../events/study.ts';
import type { Counts } from '../methods/memory.ts';
import { allocate, type UrnAllocation, type UrnDesign } from '../methods/urn.ts';
import { Pcg64 } from '../random/pcg64.ts';

/** How many rows back a state is tried. */
export const ROWS_BACK = 32;

/** What is known after a row, or before the first one. */
interface Step {
  /** Undefined if it is not known. */
  readonly bgState: BgState | undefined;
  readonly counts: Counts;
}

/** In order: the beginning, then the last rows. */
export type Steps = readonly [Step, ...Step[]];

export function stepsAfter([beginning, ...rows]: Steps, step: Step): Steps {
  return [beginning, ...rows.slice(1 - ROWS_BACK), step];
}

type Proof = { readonly draw: UrnAllocation['draw'] } | { readonly cause: UnprovenCause };

/**
 * The first draw that gives the row's arm and state: from the newest state, with the counts that went with it, then with
 * later ones.
 * @param slots those of the row's arm, or the one that the file names
 * @param after the state that the row has; undefined if it has none
 * @throws RangeError when a PCG64 cannot have that state
 */
export function proofOf(
  design: UrnDesign,
  steps: Steps,
  {
    levelIndexes,
    slots,
    after,
  }: { levelIndexes: readonly number[]; slots: readonly number[]; after: BgState | undefined },
): Proof {
  if (!after) return { cause: 'no-state' };
  Pcg64.restore(after);
  let cause: UnprovenCause = 'first';
  for (let from = steps.length - 1; from >= 0; from--) {
    const bgState = steps[from]?.bgState;
    if (!bgState) continue;
    if (cause === 'first') cause = 'differs';
    for (const { counts } of steps.slice(from)) {
      const { draw, slot } = drawnElsewhere(design, counts, levelIndexes, bgState);
      if (!isSame(draw.bgStateAfter, after)) continue;
      if (slots.includes(slot)) return { draw };
      cause = 'override';
    }
  }
  return { cause };
}

/** The other system has no ratios: it treats slots as arms, in their order, like version 1 of the algorithm. */
function drawnElsewhere(design: UrnDesign, ...args: Rest): UrnAllocation {
  if (!design.hasRatio) return allocate(design, ...args);
  const allocation = allocate({ ...design, hasRatio: false }, ...args);
  return { ...allocation, draw: { ...allocation.draw, slot: allocation.slot } };
}

type Rest = [counts: Counts, levelIndexes: readonly number[], bgStateBefore: BgState];

export function isSame(a: BgState, b: BgState): boolean {
  return (
    a.state.state === b.state.state &&
    a.state.inc === b.state.inc &&
    a.has_uint32 === b.has_uint32 &&
    a.uinteger === b.uinteger
  );
}
