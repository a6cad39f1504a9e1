/** The result of a test, in words. */
import { counted } from '../../base/wording.ts';
import type { StudyNumbers } from './past-study.ts';
import { MAX_REPS, type TestResult } from './run-test.ts';
import { isOfManyArms, type StatisticName } from './statistic.ts';

const DIGITS = 10;
/** With fewer, there is a hint. */
const FEW_REPLICATES = 100;

/** What T is, of arms A and B or of all arms. */
const WHAT: Readonly<Record<StatisticName, string>> = {
  mean: 'difference of means',
  ranksum: 'rank sum, centred at its mean',
  proportion: 'difference of proportions',
  logrank: 'sum of observed minus expected events',
  F: 'F of a one-way analysis of variance',
  kruskal: 'Kruskal-Wallis H, with ties',
};

interface Described {
  readonly statistic: StatisticName;
  readonly arms: readonly { readonly name: string; readonly analysed: number }[];
  readonly alternative: string;
  readonly adjust: readonly string[];
}

/** What is said of a test besides its result. */
interface About extends Described, StudyNumbers {
  readonly study: string;
  readonly mode: 'live' | 'test';
  readonly revision: number;
  readonly root: string;
  readonly interim?: string;
  readonly outcomes: { readonly sha256: string; readonly analysed: number };
  readonly withoutOutcome: number;
  readonly onOtherArms: number;
  readonly excluded: number;
  readonly T: number;
  /** Only if replicates are drawn. */
  readonly seed?: number;
  readonly version: string;
}

/** The rows of the table that the command prints. */
export function testRows(test: About & TestResult): string[][] {
  const { interim, seed, outcomes, withoutOutcome, onOtherArms, excluded } = test;
  const about = `${outcomes.analysed} analysed of ${counted(test.participants, 'participant')}`;
  const unused = [
    ...(withoutOutcome > 0 ? [`${withoutOutcome} without an outcome`] : []),
    ...(onOtherArms > 0 ? [`${onOtherArms} on other arms`] : []),
    ...(excluded > 0 ? [`${excluded} voided and not to be analysed`] : []),
  ];
  return [
    ['study', `${test.study}${test.mode === 'test' ? ' (a test)' : ''}, revision ${test.revision}`],
    ['root there', test.root],
    ...(interim === undefined ? [] : [['interim look', interim]]),
    ['outcomes', `SHA-256 ${outcomes.sha256}`],
    ['', [about, ...unused].join('; ')],
    ['arms', test.arms.map((arm) => `${arm.name}: ${arm.analysed}`).join(', ')],
    ['statistic', statisticText(test)],
    ['T', number(test.T)],
    ...resultRows(test),
    ...(seed === undefined ? [] : [['seed', `${seed}, replicate r from PCG64(2^100 + 2^32·${seed} + r)`]]),
    ['version', test.version],
  ];
}

/** The statistic, with what it compares and what was removed first. */
function statisticText({ statistic, arms, adjust, alternative }: Described): string {
  const names = arms.map(({ name }) => name);
  const of = isOfManyArms(statistic) ? names.join(', ') : `${names[0]} − ${names[1]}`;
  const adjusted = adjust.length === 0 ? '' : `, of residuals on ${adjust.join(', ')}`;
  const direction = isOfManyArms(statistic) ? '' : `, ${alternative}`;
  return `${statistic}: ${WHAT[statistic]} (${of})${adjusted}${direction}`;
}

export function resultRows(result: TestResult): string[][] {
  if (result.method === 'exact')
    return [
      ['p', `${number(result.p)} (exact)`],
      ['', `${result.states} states; P(an arm has no outcome, counted as extreme) = ${number(result.empty)}`],
    ];
  const { b, reps, from, empty, p, interval, effective } = result;
  const between = `${number(interval.low)} to ${number(interval.high)}`;
  return [
    ['replicates', `R = ${reps}${from > 0 ? `, from replicate ${from} on (those before decided on R)` : ''}`],
    ...(from > 0 && reps === MAX_REPS ? [['', 'the maximum number: the half-width may be larger']] : []),
    ['as extreme', `b = ${b}${empty > 0 ? `, ${empty} of them with an arm that has no outcome` : ''}`],
    ['p', number(p)],
    [
      '95 % interval',
      effective === undefined
        ? `${between}, of the exact p (Clopper–Pearson)`
        : `${between}, of the exact p (approximate); ${effective.toFixed(1)} effective replicates`,
    ],
    ...(effective !== undefined && effective < FEW_REPLICATES
      ? [['', 'few replicates carry the weight: p is imprecise (hint: more --reps, or --exact)']]
      : []),
  ];
}

/** What the test rests on, sentence by sentence. */
export function foundations(
  numbers: StudyNumbers,
  others: readonly string[],
  compared: readonly string[],
): string[] {
  const { corrected, voided, forced, redrawn, unproven, amendments } = numbers;
  const fixed = forced + unproven;
  return [
    'Participants, their order, levels and outcomes are held fixed; every arm that the service drew is drawn again by the same rules.',
    `The test assumes that, given the log, allocation did not depend on outcomes, and that corrections and voids were decided without regard to arms: ${corrected} with corrected levels, ${voided} voided, ${counted(amendments, 'amendment')}.`,
    `Allocations that nobody drew here keep their arm: ${forced} entered by hand, ${unproven} imported without proof of a draw${redrawn > 0 ? ` (${redrawn} imported ones are drawn again)` : ''}.${fixed > 0 ? ' They count in the statistic with the arm as recorded.' : ''}`,
    others.length === 0
      ? 'The null hypothesis is that the outcome of every participant is the same on every arm.'
      : `The null hypothesis is that the outcome of every participant on ${compared.join(' or ')} is the same on both. Participants on ${others.join(', ')} keep their arm, and replicates are weighted by its probability.`,
  ];
}

/** With enough digits to compare it with the result of another program. */
function number(value: number): string {
  return String(Number(value.toPrecision(DIGITS)));
}
