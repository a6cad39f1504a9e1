/** All states that a design can be in, step by step, and the ways from each step to the next. */
import type { ExactRule, State } from './rules.ts';

/** The ways from the states before a participant to those after. One element per way. */
export interface Ways {
  readonly from: Int32Array;
  readonly arm: Uint8Array;
  readonly to: Int32Array;
  readonly chance: Float64Array;
  /** How many states the next layer has. */
  readonly reached: number;
}

export interface Layer {
  readonly states: readonly State[];
  /** The ways to the next layer. Undefined for the last. */
  readonly ways: Ways | undefined;
}

/**
 * @param participants how many are allocated; there is one layer before each of them, and one at the end
 * @param branches the most states that one draw of an arm may lead to
 */
export function* layersOf(
  rule: ExactRule,
  arms: number,
  participants: number,
  branches: number,
): Generator<Layer> {
  const keyOf = keyOfStates(arms, participants);
  let states: State[] = [{ counts: Array.from({ length: arms }, () => 0), block: 0, filled: 0 }];
  for (let step = 0; step < participants; step++) {
    const room = states.length * arms * branches;
    const from = new Int32Array(room);
    const arm = new Uint8Array(room);
    const to = new Int32Array(room);
    const chance = new Float64Array(room);
    const next: State[] = [];
    const places = new Map<number, number>();
    let ways = 0;
    for (const [place, state] of states.entries())
      for (const [drawn, p] of rule.chances(state).entries()) {
        if (p === 0) continue;
        const reached = rule.after(state, drawn);
        for (const one of reached) {
          const key = keyOf(one);
          let index = places.get(key);
          if (index === undefined) {
            index = next.push(one) - 1;
            places.set(key, index);
          }
          from[ways] = place;
          arm[ways] = drawn;
          to[ways] = index;
          chance[ways++] = p / reached.length;
        }
      }
    yield {
      states,
      ways: {
        from: from.subarray(0, ways),
        arm: arm.subarray(0, ways),
        to: to.subarray(0, ways),
        chance: chance.subarray(0, ways),
        reached: next.length,
      },
    };
    states = next;
  }
  yield { states, ways: undefined };
}

/** Encodes a state of a layer as one number. The last arm's count follows from the others; none exceeds `participants`. */
function keyOfStates(arms: number, participants: number): (state: State) => number {
  const base = participants + 1;
  return ({ counts, block, filled }) => {
    let key = filled;
    for (let k = 0; k < arms - 1; k++) key = key * base + (counts[k] as number);
    return block === 0 ? key : key + block * base ** arms;
  };
}
