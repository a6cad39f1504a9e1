/** The largest range over the steps of a trial. */
import type { Ways } from './layers.ts';

/** Larger limits are ignored when no more than this probability is left for them. */
const NEGLIGIBLE = 1e-12;

export interface Trail {
  /** For each state of a step, in units. */
  readonly ranges: Int32Array;
  /** The ways to the next step. Undefined for the last. */
  readonly ways: Ways | undefined;
}

/**
 * P(the largest is at most m) is the probability of the ways on which no range is above m. It is computed for one m after
 * another, and each increase is the probability of m.
 *
 * @param trails one for each step
 * @returns the probability of each largest range, in units
 */
export function largestRange(trails: readonly Trail[]): Map<number, number> {
  const limits = new Set<number>();
  let states = 0;
  for (const { ranges } of trails) {
    states = Math.max(states, ranges.length);
    for (const range of ranges) limits.add(range);
  }
  const found = new Map<number, number>();
  const room = [new Float64Array(states), new Float64Array(states)] as const;
  let below = 0;
  for (const limit of [...limits].sort((a, b) => a - b)) {
    const within = chanceWithin(limit, trails, room);
    found.set(limit, within - below);
    below = within;
    if (1 - below < NEGLIGIBLE) break;
  }
  return found;
}

function chanceWithin(
  limit: number,
  trails: readonly Trail[],
  [one, other]: readonly [Float64Array, Float64Array],
): number {
  let [before, after] = [one, other];
  before[0] = 1;
  let states = 1;
  for (const [step, { ways }] of trails.entries()) {
    if (ways === undefined) break;
    const ranges = (trails[step + 1] as Trail).ranges;
    states = ways.reached;
    after.fill(0, 0, states);
    for (let way = 0; way < ways.from.length; way++) {
      const chance = before[ways.from[way] as number] as number;
      const to = ways.to[way] as number;
      if (chance > 0 && (ranges[to] as number) <= limit)
        after[to] = (after[to] as number) + chance * (ways.chance[way] as number);
    }
    [before, after] = [after, before];
  }
  let total = 0;
  for (let state = 0; state < states; state++) total += before[state] as number;
  return total;
}
