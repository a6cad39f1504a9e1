/**
 * From what is asked for to the plan of a re-randomization test: which arms are compared, whose outcomes count, and the score of
 * each. Outcomes can be adjusted for factors: then their residuals of least squares take their place.
 */
import { counted } from '../../base/wording.ts';
import type { Outcome } from './outcomes.ts';
import type { PastStudy } from './past-study.ts';
import { type Plan, Tally } from './plan.ts';
import {
  type Alternative,
  isOfManyArms,
  logrankScores,
  midranks,
  type Statistic,
  type StatisticName,
  tValue,
} from './statistic.ts';

export interface TestRequest {
  readonly statistic: StatisticName;
  readonly alternative: Alternative | undefined;
  /** Names of factors. */
  readonly adjust: readonly string[];
  /** Names of the two arms to compare, in any order; undefined: all. */
  readonly arms: readonly string[] | undefined;
}

export interface PlannedTest {
  readonly plan: Plan;
  /** T of the study itself. */
  readonly value: number;
  /** The arms that are compared, in order, with the number of participants who have an outcome. */
  readonly arms: readonly { readonly name: string; readonly analysed: number }[];
  /** Outcomes of participants on other arms, which are not used. */
  readonly onOtherArms: number;
}

/** @throws TestError */
export function plannedTest(study: PastStudy, outcomes: readonly Outcome[], asked: TestRequest): PlannedTest {
  const compared = armsToCompare(study, asked);
  const { treatments, factors } = study.design;
  const used = outcomes.filter(({ person }) => compared.includes(study.arms[person] as number));
  const arms = compared.map((arm) => ({
    name: treatments[arm] as string,
    analysed: used.filter(({ person }) => study.arms[person] === arm).length,
  }));
  const without = arms.find(({ analysed }) => analysed === 0);
  if (without)
    throw new TestError(
      `nobody on arm ${JSON.stringify(without.name)} has an outcome, so there is no statistic`,
    );
  if (asked.statistic === 'F' && used.length <= arms.length)
    throw new TestError(`F needs more than ${counted(arms.length, 'outcome')}`);
  const places = asked.adjust.map((name) => factors.findIndex((factor) => factor.name === name));
  const statistic: Statistic = {
    name: asked.statistic,
    alternative: asked.alternative ?? 'two-sided',
    scores: scoresOf(asked.statistic, used, places),
  };
  const plan: Plan = {
    steps: study.steps,
    compared,
    hasOthers: compared.length < treatments.length,
    analysed: Int32Array.from(used, ({ person }) => person),
    recorded: study.arms,
    statistic,
  };
  const tally = new Tally(plan);
  tally.count((person) => study.arms[person] as number);
  const value = tValue(statistic, tally.numbers, tally.sums);
  return { plan, value, arms, onOtherArms: outcomes.length - used.length };
}

/** Statistics that can use the residuals of an outcome in its place. */
const ADJUSTABLE: readonly StatisticName[] = ['mean', 'ranksum', 'F', 'kruskal'];

/**
 * The arms to compare, as indexes in the treatments. Checks what can be checked without an outcome.
 * @throws TestError
 */
export function armsToCompare(study: Pick<PastStudy, 'design'>, asked: TestRequest): number[] {
  const { statistic, adjust, alternative = 'two-sided' } = asked;
  const { factors, treatments } = study.design;
  const named = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(', ');
  if (isOfManyArms(statistic) && alternative !== 'two-sided')
    throw new TestError(`${statistic} has no direction (hint: leave out --alternative)`);
  if (adjust.length > 0 && !ADJUSTABLE.includes(statistic))
    throw new TestError(`--adjust is for ${ADJUSTABLE.join(', ')}, not for ${statistic}`);
  for (const name of adjust)
    if (!factors.some((factor) => factor.name === name))
      throw new TestError(
        `the study has no factor ${JSON.stringify(name)} (it has: ${named(factors.map((one) => one.name))})`,
      );
  const { arms } = asked;
  if (arms === undefined) {
    if (treatments.length > 2 && !isOfManyArms(statistic))
      throw new TestError(
        `the study has ${treatments.length} arms, and ${statistic} compares two (hint: --arms A,B, or --statistic F or kruskal)`,
      );
    return [...treatments.keys()];
  }
  for (const arm of arms)
    if (!treatments.includes(arm))
      throw new TestError(`the study has no arm ${JSON.stringify(arm)} (it has: ${named(treatments)})`);
  if (arms.length !== 2 || arms[0] === arms[1]) throw new TestError('--arms takes two arms, such as A,B');
  return arms.map((arm) => treatments.indexOf(arm)).sort((a, b) => a - b);
}

/** The test is not possible, or would not be a test. The message says why. */
export class TestError extends Error {
  override readonly name = 'TestError';
}

/**
 * What the statistic adds up for each participant.
 * @param adjust indexes of factors
 */
function scoresOf(name: StatisticName, used: readonly Outcome[], adjust: readonly number[]): Float64Array {
  const values = used.map(({ value }) => value);
  if (name === 'logrank')
    return logrankScores(
      values,
      used.map(({ event }) => event),
    );
  const levels = adjust.map((factor) => used.map((one) => one.levels[factor] as string));
  const { values: rest, tiedWithin } =
    adjust.length === 0 ? { values, tiedWithin: 0 } : residuals(values, levels);
  return name === 'ranksum' || name === 'kruskal' ? midranks(rest, tiedWithin) : Float64Array.from(rest);
}

interface Residuals {
  readonly values: number[];
  /** Residuals that differ by no more are equal. */
  readonly tiedWithin: number;
}

/** A column that shrinks to this share of its length once the earlier ones are taken out says nothing new. */
const COLLINEAR_SHARE = 1e-9;
/** Equal outcomes of different levels can have residuals that differ in their last digits. */
const TIED_SHARE = 1e-10;

/**
 * What is left of outcomes once the levels of factors have explained what they can.
 * @param factors for each factor, the level of each participant
 * @returns outcomes minus those fitted by an intercept and an indicator for each level
 */
export function residuals(outcomes: readonly number[], factors: readonly (readonly string[])[]): Residuals {
  const columns = [
    outcomes.map(() => 1),
    ...factors.flatMap((levels) =>
      [...new Set(levels)].map((level) => levels.map((one) => (one === level ? 1 : 0))),
    ),
  ];
  const basis: number[][] = [];
  for (const column of columns) {
    // Twice, because a single pass leaves an error where columns are nearly dependent.
    const rest = residualOf(residualOf(column, basis), basis);
    const length = Math.sqrt(product(rest, rest));
    if (length > COLLINEAR_SHARE * Math.sqrt(product(column, column)))
      basis.push(rest.map((value) => value / length));
  }
  const largest = outcomes.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const tiedWithin = TIED_SHARE * largest;
  const values = residualOf(residualOf(outcomes, basis), basis);
  return { values: values.map((value) => (Math.abs(value) <= tiedWithin ? 0 : value)), tiedWithin };
}

/**
 * What is left of a vector at right angles to all of the basis.
 * @param basis vectors of length 1, at right angles to each other
 */
function residualOf(vector: readonly number[], basis: readonly (readonly number[])[]): number[] {
  return basis.reduce<number[]>(
    (rest, direction) => {
      const share = product(rest, direction);
      return rest.map((value, i) => value - share * (direction[i] as number));
    },
    [...vector],
  );
}

function product(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}
