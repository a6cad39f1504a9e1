/**
 * Warns of what a studies file may contain but should not: designs that people could predict or steer or that unbalance the
 * arms, and names that are likely typing errors. At the end: advice on what a file leaves out.
 * No warning shows the seed, names a treatment, or shows a parameter that nobody at a site may know.
 */
import type {
  MethodConfiguration,
  MethodParameters,
  StudyConfiguration,
  UrnConfiguration,
} from '../../../events/study.ts';
import { lookAlikeForm, lookAlikeProblem, quote } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import { isWeakSeed } from '../random/pcg64.ts';
import type { Finding, Note } from './finding.ts';
import type { ConfiguredStudy, ReadStudy } from './study.ts';

/** Notes every warning about an accepted study. */
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

/** Warns of a setting. */
type Warn = (setting: string, message: string) => void;

/** Names that must differ from one another. */
interface DistinctNames {
  readonly setting: string;
  readonly names: readonly string[];
  /** How a message refers to one of them. */
  readonly shown: (place: number) => string;
}

/** Of likely typing errors in the names of arms, factors and levels. Names are always used exactly as written. */
function warnAboutNames({ treatments, factors }: StudyConfiguration, warn: Warn): void {
  const setting = 'factors';
  const all: DistinctNames[] = [
    // Messages never name a treatment.
    { setting: 'treatments', names: treatments, shown: (i) => `treatment ${i + 1}` },
    {
      setting,
      names: factors.map(({ name }) => name),
      shown: (i) => `factor ${quote(factors[i]?.name ?? '')}`,
    },
    ...factors.map(({ name, levels }) => {
      return {
        setting,
        names: levels,
        shown: (i: number) => `level ${quote(levels[i] ?? '')} of ${quote(name)}`,
      };
    }),
  ];
  for (const names of all) {
    warnOfPairs(names, warn);
    warnOfInvisible(names, warn);
  }
  const hint =
    factors.length === 1
      ? 'right for a trial without stratification; otherwise list the levels that are missing'
      : 'list the levels that are missing, or remove the factor';
  for (const { name, levels } of factors)
    if (levels.length === 1)
      warn(setting, `factor ${quote(name)} has one level, which every participant has (hint: ${hint})`);
}

/** Compares each name with the first one that a person could mistake it for. */
function warnOfPairs({ setting, names, shown }: DistinctNames, warn: Warn): void {
  const first = new Map<string, number>();
  for (const [place, name] of names.entries()) {
    const form = lookAlikeForm(name).trim().toLowerCase();
    const before = first.get(form);
    if (before === undefined) first.set(form, place);
    else
      warn(
        setting,
        `${shown(before)} and ${shown(place)} differ only in case, leading or trailing blanks, or invisible characters (hint: remove one of them, unless both are intended)`,
      );
  }
}

function warnOfInvisible({ setting, names, shown }: DistinctNames, warn: Warn): void {
  for (const [place, name] of names.entries()) {
    const problem = lookAlikeProblem(name);
    if (problem !== undefined)
      warn(setting, `${shown(place)} ${problem} (hint: write it without, unless clients send exactly this)`);
  }
}

/** Schulz & Grimes 2002: below this, complete randomization often leaves arms of unequal size. */
const ENOUGH_FOR_COMPLETE = 200;

/** Of methods that sites could predict or steer, or that would balance little. */
function warnAboutMethod(
  configuration: MethodConfiguration,
  { blocks, minimization }: MethodParameters,
  warn: Warn,
): void {
  if (blocks) warnAboutBlocks(configuration, blocks.perSlot, warn);
  if (minimization) warnAboutMinimization(configuration, minimization.pThousandths, warn);
  const { method, mode, targetEnrollment = ENOUGH_FOR_COMPLETE } = configuration;
  if (method.name === 'complete' && mode === 'live' && targetEnrollment < ENOUGH_FOR_COMPLETE)
    warn(
      'method',
      `with complete randomization and ${counted(targetEnrollment, 'participant')}, the arms may well differ in size (hint: it is for ${ENOUGH_FOR_COMPLETE} and more; compare methods with urn simulate)`,
    );
}

function warnAboutBlocks(configuration: MethodConfiguration, perSlot: readonly number[], warn: Warn): void {
  const { blinding, factors, method, targetEnrollment } = configuration;
  if (blinding !== 'blinded')
    warn(
      'method',
      'the study has blocks and is open: who sees the arms of a site can tell the last ones of a block (hint: blinding: blinded, or the urn)',
    );
  if (perSlot.length === 1)
    warn('method', 'all blocks have one size, so their ends are easily guessed (hint: two or three sizes)');
  if (perSlot[0] === 1)
    warn(
      'method',
      'some blocks have a single place for each slot: its last participant is certain (hint: larger sizes)',
    );
  if (targetEnrollment === undefined || !('by' in method)) return;
  const strata = factors
    .filter(({ name }) => method.by.includes(name))
    .reduce((product, { levels }) => product * levels.length, 1);
  if (shareOfComplete(strata, slotsOf(configuration), perSlot, targetEnrollment) > 1 / 9)
    warn(
      'method',
      `${counted(strata, 'stratum', 'strata')}: the arms may differ by more than a third of what no blocks at all would give (hint: fewer factors in by)`,
    );
}

/**
 * With every stratum in the middle of a block: the variance of an arm's size, divided by that of complete randomization.
 * S Σ b (b + 1) / (6 n Σ b), over the sizes b. For one size and two arms: Hallstrom & Davis 1988.
 */
function shareOfComplete(strata: number, slots: number, perSlot: readonly number[], n: number): number {
  const sizes = perSlot.map((places) => places * slots);
  const sum = (of: (size: number) => number) => sizes.reduce((total, size) => total + of(size), 0);
  return (strata * sum((size) => size * (size + 1))) / (6 * n * sum((size) => size));
}

function slotsOf({ treatments, ratio }: MethodConfiguration): number {
  return ratio?.reduce((sum, share) => sum + share, 0) ?? treatments.length;
}

function warnAboutMinimization(
  { blinding, policies = {} }: MethodConfiguration,
  p: number,
  warn: Warn,
): void {
  if (p > 900)
    warn(
      'method',
      'p is above 0.9, so most allocations can be guessed (hint: 0.8, or 0.7 where sites see arms)',
    );
  if (blinding === 'blinded') return;
  const { levelCounts, voidCounts } = policies;
  if (levelCounts === 'as-corrected' || voidCounts === 'removed')
    warn(
      'policies',
      'the study is open, and a correction changes what is minimized: who sees the arms can steer the next one (hint: level_counts: as-randomized, void_counts: kept)',
    );
}

/**
 * Of chances that rounding makes unequal. A choice of the trial, not a mistake: with a ratio the algorithm computes the
 * imbalance in ascending order, and with two arms or one factor there is nothing to favour.
 */
function warnAboutRounding({ D, treatments, factors, ratio }: UrnConfiguration, warn: Warn): void {
  if (D === 'range' || ratio || treatments.length < 3 || factors.length < 2) return;
  warn(
    'D',
    `with ${treatments.length} arms and ${factors.length} factors, D: ${D} does not give the arms exactly equal chances: ` +
      'urns that are equally imbalanced may differ by rounding, which then decides between them instead of the lot, and ' +
      `favours the same arms each time (hint: write D: range for a new study; keep ${D} only to repeat or continue a study that already used it)`,
  );
}

/**
 * Advice on what a studies file leaves out, for whoever checks it. Nothing is wrong, but it is hard to change later.
 * @param hasPacks whether the study has lists of packs in the log
 */
export function adviceOn({ configuration, file, lineOf }: ConfiguredStudy, hasPacks: boolean): Finding[] {
  const { name, idPattern, blinding } = configuration;
  const advice = (setting: string, text: string): Finding => ({
    ...{ file, line: lineOf(setting) },
    message: `study ${quote(name)}: ${text}`,
  });
  return [
    ...(idPattern === undefined
      ? [
          advice(
            'id_pattern',
            'it has no id_pattern, so any text can become an id, a name or a date of birth too, and ids stay in the clear forever (hint: id_pattern: "[0-9]{3}-[0-9]{4}" takes ids such as 011-0042)',
          ),
        ]
      : []),
    ...(blinding === 'blinded' && !hasPacks
      ? [
          advice(
            'blinding',
            'it is blinded and has no packs: who hands out the treatment? (hint: with urn codes add, everybody gets a numbered pack and nobody at the site needs the arm; otherwise a person who is not blinded needs a key with the scope read)',
          ),
        ]
      : []),
  ];
}
