/**
 * A simulated design with everything that is shown about it: warnings for whoever is about to use it, the findings in words, and
 * whether it meets what is required. Every figure is defined in docs/statistics.md.
 */
import { quote } from '../../base/text.ts';
import { counted, nearestTo } from '../../base/wording.ts';
import type { Comparator, SimulatedDesign, SimulationPlan } from '../simulation/plan.ts';
import type { DesignResult, Figure } from '../simulation/summary.ts';
import { among, figuresByName, figureText, hasRatio, shownValue } from './words.ts';

type Figures = ReadonlyMap<string, Figure>;

export interface Assessment {
  /** The version of this software. */
  readonly version: string;
  readonly plan: SimulationPlan;
  /** Computed, not simulated. */
  readonly isExact: boolean;
  readonly designs: readonly DesignResult[];
  /** Figures of the study's own design, those after all participants also without `@n`. */
  readonly own: Figures;
  readonly warnings: readonly string[];
  readonly judged: readonly JudgedRequirement[];
  /** The command line that gives the same. */
  readonly command: string;
}

export function assessmentOf(parts: Omit<Assessment, 'own' | 'warnings'>): Assessment {
  const { designs, plan, isExact } = parts;
  const [first] = designs;
  const own = first ? figuresByName(first, plan) : new Map<string, Figure>();
  return { ...parts, own, warnings: warningsOf({ plan, isExact, own }) };
}

/** With fewer trials, chance looks like a fault of the design. */
const FEWEST_TRIALS = 100;

/** An arm whose probability is this far from its share is worth a warning. */
const FAR_FROM_SHARE = 0.005;
/** The largest of thousands of chance deviations is some four standard errors from zero. */
const STANDARD_ERRORS = 5;

/** What people should see of a simulated design before they use it. Only about the study's own design, which comes first. */
function warningsOf({ plan, isExact, own }: Pick<Assessment, 'plan' | 'isExact' | 'own'>): string[] {
  if (!isExact && plan.reps < FEWEST_TRIALS) return [];
  const { factors } = plan.design;
  const warnings: string[] = [];
  for (const { name } of factors) {
    const drawn = own.get(`drawn.${name}`);
    if (factors.length > 1 && drawn && drawn.low > dominantShare(factors.length))
      warnings.push(
        `${shownValue('drawn.', drawn.value)} of the allocations are drawn from urns of the factor ${quote(name)}: they restore balance within its levels, rather than overall or within the other factors (hint: are there many levels, or very unequal ones?)`,
      );
  }
  const share = own.get('share');
  const error = share ? (share.high - share.low) / 3.92 : 0;
  if (share && share.value > FAR_FROM_SHARE && share.value > STANDARD_ERRORS * error)
    warnings.push(
      `at some step the chance of an arm, over all trials, is ${shownValue('share', share.value)} away from its share: rounding favours an arm (hint: with D: range no arm is favoured)`,
    );
  return warnings;
}

/** With two factors each is drawn in about half of the allocations, so it takes more to say that one dominates. */
function dominantShare(factors: number): number {
  return factors === 2 ? 0.75 : 0.5;
}

interface Finding {
  readonly about: string;
  readonly sentences: readonly string[];
}

/** The findings about a design, in words. Each sentence rests on its own figures: nothing is said that was not simulated. */
export function findingsOf(assessment: Assessment): Finding[] {
  const { own, designs, plan } = assessment;
  const alone = [
    { about: 'Balance of the arms', sentences: armsFound(assessment) },
    { about: 'Balance within levels', sentences: levelsFound(assessment) },
    { about: 'Guessing', sentences: guessesFound(own, plan.siteFactor !== undefined) },
    { about: 'Drift', sentences: [driftFound(own)] },
    { about: 'Efficiency', sentences: [lossFound(assessment)] },
  ];
  const beside = designs.slice(1).map((design, i) => ({
    about: `Beside ${design.name}`,
    sentences: [...besideText(own, figuresByName(design, plan)), sizesNote(plan.comparators[i])],
  }));
  return [...alone, ...beside]
    .map(({ about, sentences }) => ({ about, sentences: sentences.filter((one) => one !== '') }))
    .filter(({ sentences }) => sentences.length > 0);
}

function armsFound({ own, plan }: Assessment): string[] {
  const { participants: n, design } = plan;
  const unit = hasRatio(design)
    ? ' (numbers by their shares of the ratio, on the scale of equal shares)'
    : '';
  return [
    sentence(
      own,
      ['overall.range.mean', 'overall.range.p95'],
      (mean, p95) =>
        `After ${counted(n, 'participant')} the largest and the smallest arm differ by ${mean} on average${unit}, and in 95 % of the trials by at most ${p95}.`,
    ),
    sentence(
      own,
      ['overall.range.ge10'],
      (share) => `A difference of 10 % of the participants or more occurs in ${share} of the trials.`,
    ),
    sentence(
      own,
      ['course.range.mean', 'course.range.p95'],
      (mean, p95) =>
        `The largest difference along the way is ${mean} on average, and at most ${p95} in 95 % of the trials.`,
    ),
  ];
}

function levelsFound({ own, plan }: Assessment): string[] {
  const { factors } = plan.design;
  if (factors.every(({ levels }) => levels.length < 2)) return [];
  return [
    sentence(
      own,
      ['levels.range.mean', 'levels.range.p95'],
      (mean, p95) =>
        `Within the level where the arms differ most, they differ by ${mean} on average, and in 95 % of the trials by at most ${p95}.`,
    ),
    factors.length > 1
      ? sentence(
          own,
          ['strata.range.mean'],
          (mean) =>
            `The urns see one factor at a time: within the combination of levels where the arms differ most, they differ by ${mean} on average.`,
        )
      : '',
  ];
}

function guessesFound(own: Figures, hasSite: boolean): string[] {
  return [
    sentence(
      own,
      ['guess.naive', 'guess.blind'],
      (naive, blind) =>
        `Someone who always guesses the arm with the fewest participants is right in ${naive} of the allocations; a blind guess is right in ${blind}.`,
    ),
    hasSite
      ? sentence(
          own,
          ['guess.site'],
          (site) => `Someone who counts only the participants of their own site is right in ${site}.`,
        )
      : '',
    sentence(
      own,
      ['guess.known'],
      (known) => `Someone who sees all arms and knows the settings can be right in ${known}.`,
    ),
    sentence(
      own,
      ['certain.80', 'certain.100'],
      (likely, certain) =>
        `In ${likely} of the allocations one arm has a chance of 80 % or more; in ${certain} the arm is certain.`,
    ),
  ];
}

function driftFound(own: Figures): string {
  const drift = own.get('drift');
  if (!drift) return '';
  const much = `If outcomes rise or fall steadily over the trial, the variance that this adds to the difference of the arms is ${figureText('drift', drift)} times that under complete randomization`;
  if (drift.high < 1) return `${much}: the urns remove part of it, not all.`;
  if (drift.low > 1) return `${much}: the urns add to it.`;
  return `${much}: no protection was found.`;
}

function lossFound({ own, plan }: Assessment): string {
  return sentence(
    own,
    ['loss'],
    (loss) =>
      `In a linear model with treatment and all levels, imbalance costs as much precision as ${loss} of the ${counted(plan.participants, 'participant')}.`,
  );
}

/** Only if this design has the figures: others would leave a gap. */
function sentence(figures: Figures, names: readonly string[], text: (...values: string[]) => string): string {
  const found = names.map((name) => [name, figures.get(name)] as const);
  if (found.some(([, figure]) => figure === undefined)) return '';
  return text(...found.map(([name, figure]) => figureText(name, figure as Figure)));
}

/** For all of these, less is better. */
const COMPARED = [
  { name: 'overall.range.mean', words: 'the difference of the arms' },
  { name: 'levels.range.mean', words: 'the largest difference within a level' },
  { name: 'strata.range.mean', words: 'the largest difference within a combination of levels' },
  { name: 'guess.naive', words: 'right guesses of the arm with the fewest' },
  { name: 'guess.site', words: 'right guesses from counts of one site' },
  { name: 'guess.known', words: 'right guesses by someone who knows everything' },
  { name: 'drift', words: 'drift' },
  { name: 'loss', words: 'loss of efficiency' },
] as const;

function besideText(own: Figures, other: Figures): string[] {
  const less: string[] = [];
  const more: string[] = [];
  const same: string[] = [];
  for (const { name, words } of COMPARED) {
    const [mine, theirs] = [own.get(name), other.get(name)];
    if (!mine || !theirs) continue;
    const numbers = `${words} (${shownValue(name, mine.value)} against ${shownValue(name, theirs.value)})`;
    if (mine.high < theirs.low) less.push(numbers);
    else if (mine.low > theirs.high) more.push(numbers);
    else same.push(words);
  }
  return [
    less.length > 0 ? `Better with this study's urns: ${among(less)}.` : '',
    more.length > 0 ? `Worse: ${among(more)}.` : '',
    same.length > 0 ? `No difference beyond the Monte Carlo error: ${among(same)}.` : '',
  ];
}

function sizesNote(comparator: Comparator | undefined): string {
  const { rule } = comparator ?? {};
  if (rule?.kind !== 'block' || rule.sizes.length < 2) return '';
  return 'Someone who knows everything is assumed to know the size of each block as well: in a trial, there are fewer right guesses.';
}

/** What is required of a design: `overall.range.p95 <= 20`. */
export interface Requirement {
  /** As it was written. */
  readonly text: string;
  readonly figure: string;
  readonly operator: string;
  readonly number: number;
}

export class RequirementError extends Error {}

/** @throws RequirementError */
export function readRequirement(text: string): Requirement {
  const found = /^\s*(.+?)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$/s.exec(text);
  const [, figure = '', operator = '', number] = found ?? [];
  if (!found)
    throw new RequirementError(
      `${quote(text)} is not of the form 'NAME OP NUMBER', OP being <=, <, >= or > (hint: 'overall.range.p95 <= 20')`,
    );
  return { text, figure, operator, number: Number(number) };
}

const OPERATORS: Readonly<Record<string, (value: number, number: number) => boolean>> = {
  '<=': (value, number) => value <= number,
  '<': (value, number) => value < number,
  '>=': (value, number) => value >= number,
  '>': (value, number) => value > number,
};

/** @throws RequirementError when there is no such figure */
export function refuseUnknown(
  { figure }: Requirement,
  names: readonly string[],
  design: SimulatedDesign,
): void {
  if (!names.includes(figure)) throw new RequirementError(unknownFigure(figure, names, design));
}

export interface JudgedRequirement {
  readonly requirement: string;
  readonly met: boolean;
  readonly figure: Figure;
  /** If so, another seed could give a different verdict. */
  readonly withinError: boolean;
}

/** @throws RequirementError when there is no such figure */
export function judge(
  requirement: Requirement,
  figures: Figures,
  design: SimulatedDesign,
): JudgedRequirement {
  const { text, figure: name, operator, number } = requirement;
  const figure = figures.get(name);
  if (!figure) throw new RequirementError(unknownFigure(name, [...figures.keys()], design));
  const { value, low, high } = figure;
  const withinError = low < high && low <= number && number <= high;
  return { requirement: text, met: OPERATORS[operator]?.(value, number) ?? false, figure, withinError };
}

export function judgedText({ requirement, met, figure, withinError }: JudgedRequirement): string {
  const { value, low, high } = figure;
  const interval = low < high ? ` [${shortNumber(low)}, ${shortNumber(high)}]` : '';
  const remark = withinError ? '; the number is within the Monte Carlo error: use more --reps' : '';
  return `${met ? 'met' : 'NOT MET'}: ${requirement}; it is ${shortNumber(value)}${interval}${remark}`;
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(5)));
}

function unknownFigure(name: string, names: readonly string[], design: SimulatedDesign): string {
  const nearest = nearestTo(name, names);
  const meant = nearest === undefined ? '' : ` (hint: did you mean ${nearest}?)`;
  const hint = design.own && name.startsWith('drawn.') ? ', which has no urns' : meant;
  return `there is no figure ${quote(name)} of this design${hint}; it has:\n  ${figureList(names, design).join('\n  ')}`;
}

/** Each level, and each kind of range, has the same figures, so they are named once. */
function figureList(names: readonly string[], { factors }: SimulatedDesign): string[] {
  const first = factors[0];
  const ofFirst = `level.${first?.name}.${first?.levels[0]}.`;
  const all = names.flatMap((one) => {
    if (!one.startsWith('level.')) return [one];
    return one.startsWith(ofFirst) ? [`level.<factor>.<level>.${one.slice(ofFirst.length)}`] : [];
  });
  const together = new Map<string, string[]>();
  for (const one of all) {
    const [, range, what] = /^(.*)\.(mean|p\d\d|ge5|ge10)$/s.exec(one) ?? [];
    const [key, end] = range === undefined ? [one, []] : [range, [`.${what}`]];
    together.set(key, [...(together.get(key) ?? []), ...end]);
  }
  return [...together].map(([key, ends]) => `${key}${ends.join(' ')}`).toSorted();
}
