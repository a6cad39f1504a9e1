/** The findings about a design, in words. Each sentence rests on its own figures: nothing is said that was not simulated. */
import { counted } from '../../base/wording.ts';
import type { Comparator } from '../simulation/plan.ts';
import type { Figure } from '../simulation/result.ts';
import type { Assessment } from './assessment.ts';
import { hasRatio } from './describe.ts';
import { among, figuresByName } from './names.ts';
import { figureText, shownValue } from './shown.ts';

export interface Finding {
  readonly about: string;
  readonly sentences: readonly string[];
}

type Figures = ReadonlyMap<string, Figure>;

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

/** Only if this design has the figures: others would leave a gap. */
function sentence(figures: Figures, names: readonly string[], text: (...values: string[]) => string): string {
  const found = names.map((name) => [name, figures.get(name)] as const);
  if (found.some(([, figure]) => figure === undefined)) return '';
  return text(...found.map(([name, figure]) => figureText(name, figure as Figure)));
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
