/** The rule of each design, and which designs fit a study. */
import { MAX_WEIGHT } from '../../../events/study.ts';
import { biasedCoin, bigStick, TwoArms } from './by-stratum.ts';
import { blocks, complete, minimization, urns } from './method-rule.ts';
import type { Comparator, SimulatedDesign } from './plan.ts';
import type { Participants, Rule } from './rule.ts';

export function ruleOf(
  { rule, within }: Comparator,
  ratio: readonly number[],
  participants: Participants,
): Rule {
  switch (rule.kind) {
    case 'urn':
      return urns(rule, ratio, participants, within);
    case 'complete':
      return complete(ratio, participants);
    case 'block':
      return blocks(rule.sizes, ratio, participants, within);
    case 'minimization':
      return minimization(rule, ratio, participants, within);
    case 'efron':
      return new TwoArms(biasedCoin(rule.p), participants, within);
    case 'bigstick':
      return new TwoArms(bigStick(rule.limit), participants, within);
  }
}

/** Why a comparator does not fit the study; undefined if it does. The text follows its name and a colon. */
export function comparatorProblem(
  { rule, within }: Pick<Comparator, 'rule' | 'within'>,
  { ratio, factors }: Pick<SimulatedDesign, 'ratio' | 'factors'>,
): string | undefined {
  const sum = ratio.reduce((total, share) => total + share, 0);
  const hasRatio = sum > ratio.length;
  if (new Set(within).size < within.length) return 'a factor is named twice';
  if (within.some((factor) => factors[factor] === undefined)) return 'the study has no such factor';
  const isForTwo = rule.kind === 'efron' || rule.kind === 'bigstick';
  if (isForTwo && ratio.length !== 2) return `it is for two arms, and the study has ${ratio.length}`;
  if (isForTwo && hasRatio) return 'it is not for a study with a ratio';
  switch (rule.kind) {
    case 'urn':
      return (
        weightProblem('w', rule.w, 1) ??
        weightProblem('alpha', rule.alpha, 0) ??
        weightProblem('beta', rule.beta, 0)
      );
    case 'complete':
      return within.length > 0 ? 'it has no factors' : undefined;
    case 'block':
      return blockProblem(rule.sizes, sum, hasRatio);
    case 'minimization':
      if (!Number.isInteger(Math.round(rule.p * 1e9) / 1e6)) return 'p has at most three decimals';
      return chanceProblem(rule.p, 1 / sum, `1/${sum} (the share of ${hasRatio ? 'a slot' : 'an arm'})`);
    case 'efron':
      return chanceProblem(rule.p, 0.5, '0.5');
    case 'bigstick':
      return Number.isSafeInteger(rule.limit) && rule.limit >= 1
        ? undefined
        : 'the largest difference must be a whole number of at least 1';
  }
}

function weightProblem(name: string, value: number, min: number): string | undefined {
  if (Number.isSafeInteger(value) && value >= min && value <= MAX_WEIGHT) return undefined;
  return `${name} must be a whole number from ${min} to ${MAX_WEIGHT}`;
}

/** Blocks above this would not fit the counts. */
const MAX_BLOCK = 1_000_000;

function blockProblem(sizes: readonly number[], sum: number, hasRatio: boolean): string | undefined {
  if (sizes.length === 0) return 'it has no size';
  const isWrong = (size: number) =>
    !Number.isSafeInteger(size) || size < sum || size > MAX_BLOCK || size % sum !== 0;
  const wrong = sizes.find(isWrong);
  if (wrong === undefined) return undefined;
  return `the size ${wrong} is not a multiple of ${sum}, ${hasRatio ? 'the sum of the ratio' : 'the number of arms'}, up to ${MAX_BLOCK}`;
}

function chanceProblem(p: number, min: number, shown: string): string | undefined {
  return p >= min && p <= 1 ? undefined : `p must be from ${shown} to 1`;
}
