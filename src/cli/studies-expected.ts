/** urn studies expected: how far apart the arms of a study are, and how far apart they are in replicates of it. */
import type { Command } from 'commander';
import { toJson } from '../base/json.ts';
import { foldUntil } from '../evidence/history/history.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import {
  Band,
  type ExpectedBalance,
  type ExpectedRange,
  replicatesFor,
} from '../statistics/expected/band.ts';
import { type FollowedStudy, followedStudy } from '../statistics/expected/followed.ts';
import { defaultSeed, replicateProblem } from '../statistics/replicate/replicate.ts';
import { namedStudy, withStudies } from './named-studies.ts';
import { recordDisclosure } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, option, UsageError, wholeNumber } from './options.ts';
import { progress, progressOf, result, table } from './output.ts';

interface ExpectedOptions extends LogOptions {
  readonly reps?: string;
  readonly seed?: string;
  readonly json?: boolean;
}

const MAX_REPLICATES = 100_000;
const MAX_SEED = 2 ** 32 - 1;

const HELP = `
A replicate is the study with the same people, levels and decisions, and other random numbers. The range of the arms is
the number of participants between the arm with the most and that with the fewest; with a ratio, each arm's number is
divided by its share. Only arms that take participants are included, as the study counts them.

The band is where 95 of 100 replicates are, for each level by itself and at this moment. So 1 in 20 levels outside the
band is no cause for alarm. The percentile is the share of the replicates with a smaller range, plus half of those with the
same.

Examples:
  urn studies expected 'CHS JCOIN'
  urn studies expected 'CHS JCOIN' --reps 10000 --json`;

export function expectedCommand(): Command {
  return logCommand('expected')
    .argument('<name>', 'name of a study')
    .description(
      'show how far apart the arms of a study are, and how far apart they are in replicates of it; it is about arms, so it is not for blinded readers, and showing it is recorded',
    )
    .addOption(
      option(
        '--reps <n>',
        `how many replicates, up to ${MAX_REPLICATES} (default: 1000, or 200 from 10000 participants on)`,
      ),
    )
    .addOption(
      option(
        '--seed <n>',
        'seed of the replicates, below 2^32 (default: from the id of the study, as in the service)',
      ),
    )
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(expected);
}

async function expected(name: string, options: ExpectedOptions): Promise<void> {
  const reps =
    options.reps === undefined ? undefined : wholeNumber('--reps', options.reps, 1, MAX_REPLICATES);
  const seed = options.seed === undefined ? undefined : wholeNumber('--seed', options.seed, 0, MAX_SEED);
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const problem = replicateProblem(study.design);
    if (problem !== undefined)
      throw new UsageError(`${name} has no expected balance: ${problem} (hint: urn studies show)`);
    const followed = await readStudy(log, study.stream);
    const balance = expectedBalance(
      followed,
      reps ?? replicatesFor(followed.participants),
      seed ?? defaultSeed(study.registered.studyId),
    );
    const { revision } = followed;
    await recordDisclosure(log, { what: 'expected-balance', study: name, toRevision: revision });
    result(
      options.json
        ? toJson({ study: name, revision, ...balance })
        : asText(name, revision, followed.participants, balance),
    );
  });
}

async function readStudy({ store, identity }: OpenLog, stream: string): Promise<FollowedStudy> {
  const shown = progress('records read');
  const source = { store, logId: identity.logId };
  const { states } = await foldUntil(source, stream, { followed: followedStudy }, () => false, shown.show);
  shown.end();
  return states.followed;
}

/** @throws UsageError when a replicate would use the seed of the study */
function expectedBalance(study: FollowedStudy, reps: number, seed: number): ExpectedBalance {
  if (study.sharesSeed(seed, reps))
    throw new UsageError(
      `one of these replicates would use the seed of the study itself (hint: another --seed)`,
    );
  const band = new Band(reps, seed);
  const { steps } = study.takeSteps();
  const shown = progressOf('events', steps.length);
  for (const [done, step] of steps.entries()) {
    band.take(step);
    shown.show(done + 1);
  }
  shown.end();
  return band.result();
}

function asText(
  name: string,
  revision: number,
  participants: number,
  { reps, seed, overall, levels, course }: ExpectedBalance,
): string {
  const facts = [
    ['study', name],
    ['revision', String(revision)],
    ['participants', String(participants)],
    ['replicates', `${reps}, seed ${seed}`],
  ];
  const rows = [...levels].flatMap(([factor, ofFactor]) =>
    [...ofFactor].map(([level, range]) => [`${factor} = ${level}`, ...latestRange(range)]),
  );
  const head = ['range of the arms', 'now', 'expected middle', '95 % band', 'percentile'];
  return [
    table(facts),
    table([head, ['all', ...latestRange(overall)], ...rows]),
    `The largest range so far was ${number(course.actual)}: percentile ${percent(course.percentile)} among the replicates.`,
    '1 in 20 levels outside its band is no cause for alarm: a band is where 95 of 100 replicates are, for each level by itself.',
  ].join('\n\n');
}

/** A row at the last point. */
function latestRange({ expected: quantiles, actual, percentile }: ExpectedRange): string[] {
  const [low = 0, , middle = 0, , high = 0] = quantiles.at(-1) ?? [];
  return [
    number(actual.at(-1) ?? 0),
    number(middle),
    `${number(low)} to ${number(high)}`,
    percent(percentile.at(-1) ?? 0.5),
  ];
}

/** A ratio makes fractions; two digits are precise enough. */
function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
