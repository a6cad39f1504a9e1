/**
 * The chances of each arm under each design, for one factor with one level. Written from the definitions, and separate from
 * the code that simulates and allocates, because the exact figures check that code.
 */
import type { ComparatorRule, MinimizationRule } from '../plan.ts';

/** What the next allocation depends on. */
export interface State {
  /** n_k of each arm. */
  readonly counts: readonly number[];
  /** The size of the current block; 0 between two blocks and without blocks. */
  readonly block: number;
  /** How many places of it are allocated. */
  readonly filled: number;
}

export interface ExactRule {
  /** p_k of each arm. */
  chances(state: State): number[];
  /** Where the draw of an arm may lead, all equally likely. */
  after(state: State, arm: number): State[];
}

export const sum = (terms: readonly number[]): number => terms.reduce((total, term) => total + term, 0);

export function ruleOf(ratio: readonly number[], rule: ComparatorRule): ExactRule {
  if (rule.kind === 'block') return blocks(ratio, rule.sizes);
  return { chances: ({ counts }) => chancesOf(rule, ratio, counts), after: counted };
}

function counted({ counts }: State, arm: number): State[] {
  return [{ counts: counts.map((count, k) => (k === arm ? count + 1 : count)), block: 0, filled: 0 }];
}

function chancesOf(
  rule: Exclude<ComparatorRule, { kind: 'block' }>,
  ratio: readonly number[],
  counts: readonly number[],
): number[] {
  switch (rule.kind) {
    case 'urn':
      return urn(rule, ratio, counts);
    case 'complete':
      return shares(ratio);
    case 'minimization':
      return minimization(rule, counts);
    case 'efron':
      return towardsSmaller(counts, rule.p);
    case 'bigstick': {
      const [a = 0, b = 0] = counts;
      return towardsSmaller(counts, Math.abs(a - b) >= rule.limit ? 1 : 1 / 2);
    }
  }
}

const shares = (ratio: readonly number[]): number[] => ratio.map((share) => share / sum(ratio));

/**
 * An arm with r_k slots has B_k = r_k·w + α·n_k + β·(r_k·N - n_k) balls: each of its slots has w, each participant in a slot
 * adds α to it and β to every other one. It does not matter how the n_k are spread over the arm's slots.
 */
function urn(
  { w, alpha, beta }: { w: number; alpha: number; beta: number },
  ratio: readonly number[],
  counts: readonly number[],
): number[] {
  const all = sum(counts);
  const balls = counts.map((count, k) => {
    const slots = ratio[k] as number;
    return slots * w + alpha * count + beta * (slots * all - count);
  });
  const total = sum(balls);
  // With w = 0 the urn is empty before the first participant.
  return total === 0 ? shares(ratio) : balls.map((held) => held / total);
}

/** Two arms: the one with fewer participants gets p. */
function towardsSmaller([a = 0, b = 0]: readonly number[], p: number): number[] {
  if (a === b) return [1 / 2, 1 / 2];
  return a < b ? [p, 1 - p] : [1 - p, p];
}

/**
 * Pocock & Simon 1975 with the range or the variance of one factor's level: of the F arms that would leave the least of it, one at
 * random has the probability p, and all other arms share the rest equally.
 */
function minimization({ p, measure }: MinimizationRule, counts: readonly number[]): number[] {
  const arms = counts.length;
  const ranges = counts.map((_, arm) => {
    if (measure === 'variance') return counts[arm] as number;
    const after = counts.map((count, k) => (k === arm ? count + 1 : count));
    return Math.max(...after) - Math.min(...after);
  });
  const least = Math.min(...ranges);
  const tied = ranges.filter((range) => range === least).length;
  return ranges.map((range) =>
    range === least ? (p * (arms - 1) + (tied - 1) * (1 - p)) / (tied * (arms - 1)) : (1 - p) / (arms - 1),
  );
}

/** Every block holds the arms in the ratio, in random order. Its size is one of `sizes`, by lot. */
function blocks(ratio: readonly number[], sizes: readonly number[]): ExactRule {
  const share = shares(ratio);
  return {
    chances({ counts, block, filled }) {
      if (block === 0) return share;
      const before = sum(counts) - filled;
      return counts.map((count, k) => {
        const [inBlock, already] = [block * (share[k] as number), count - before * (share[k] as number)];
        // Whole numbers, apart from rounding.
        return (Math.round(inBlock) - Math.round(already)) / (block - filled);
      });
    },
    after(state, arm) {
      const counts = state.counts.map((count, k) => (k === arm ? count + 1 : count));
      const begun = state.block === 0 ? sizes : [state.block];
      return begun.map((block) => {
        const filled = state.filled + 1;
        return filled === block ? { counts, block: 0, filled: 0 } : { counts, block, filled };
      });
    },
  };
}
