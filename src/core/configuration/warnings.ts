/**
 * Warns of designs that a studies file may contain but should not: predictable ones, or ones that unbalance the arms.
 */

import type { UrnConfiguration } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { isWeakSeed } from '../random/weak-seed.ts';
import type { Note } from './finding.ts';
import { warnAboutMethod } from './method-warnings.ts';
import { warnAboutNames } from './name-warnings.ts';
import type { ReadStudy } from './study.ts';

/** Notes every warning about an accepted study. None of them contains the seed. */
export function warnAbout({ configuration, parameters, seed, lineOf, isGiven }: ReadStudy, note: Note): void {
  const warn = (setting: string, message: string) =>
    note(lineOf(setting), `study ${quote(configuration.name)}: ${message}`);

  if (seed !== undefined && isWeakSeed(seed)) {
    warn(
      'starting_seed',
      'starting_seed is below 2^96: such a seed can be found by search from published allocations (one of 32 bits ' +
        'from a hundred records, in minutes), and every later assignment is then known in advance; the study is ' +
        'recorded as having a weak seed (hint: leave starting_seed out of a new study, and the service draws 128 ' +
        'random bits; keep it only to repeat or continue a study that already used it)',
    );
  }

  const { treatments, ratio, limits, policies } = configuration;
  if (limits && !policies?.stopAtLimit)
    warn(
      'limits',
      'the limits are information only: nobody is stopped when one is reached ' +
        '(hint: write policies: {stop_at_limit: true} to refuse participants beyond them)',
    );
  warnAboutNames(configuration, warn);
  if ('method' in configuration) {
    warnAboutMethod(configuration, parameters ?? {}, warn);
    return;
  }
  const { w, alpha, beta } = configuration;
  if (alpha > beta) {
    warn(
      'alpha',
      `alpha (${alpha}) is greater than beta (${beta}): each assignment makes the same treatment more likely next ` +
        'time, which drives the arms apart instead of balancing them ' +
        '(hint: choose beta greater than alpha; alpha 0 and beta 1 are usual)',
    );
  }

  warnAboutRounding(configuration, warn);

  const slots = (ratio ?? treatments.map(() => 1)).reduce((sum, share) => sum + share, 0);
  const balls = w * slots + beta * (slots - 1);
  // w / balls < 0.05, in whole numbers.
  if (20 * w < balls) {
    const [one, all] = ratio ? ['slot', 'slots of the ratio'] : ['arm', 'arms'];
    warn(
      ['beta', 'w'].find(isGiven) ?? 'treatments',
      `after one assignment the ${one} just assigned keeps w = ${w} of w*K + beta*(K-1) = ${balls} balls (K = ${slots} ` +
        `${all}, ignoring alpha), fewer than 5 in 100: the next ${one} is nearly certain not to be the same one` +
        (ratio ? '' : ', and with two arms it can be predicted') +
        ' (hint: choose a larger w or a smaller beta)',
    );
  }
}

/**
 * A choice of the trial, not a mistake: with a ratio the algorithm computes the imbalance in ascending order, and with two
 * arms or one factor there is nothing to favour.
 */
function warnAboutRounding(
  { D, treatments, factors, ratio }: UrnConfiguration,
  warn: (setting: string, message: string) => void,
): void {
  if (D === 'range' || ratio || treatments.length < 3 || factors.length < 2) return;
  warn(
    'D',
    `with ${treatments.length} arms and ${factors.length} factors, D: ${D} does not give the arms exactly equal chances: ` +
      'urns that are equally imbalanced may differ by rounding, which then decides between them instead of the lot, and ' +
      `favours the same arms each time (hint: write D: range for a new study; keep ${D} only to repeat or continue a study that already used it)`,
  );
}
