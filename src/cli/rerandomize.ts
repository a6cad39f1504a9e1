/**
 * urn rerandomize: the test that the design of a study calls for. The study comes from the log or from a bundle. In a log, the
 * test is recorded before anything looks at arms; its result is not.
 */
import type { Command } from 'commander';
import { type Content, isSectionIncluded } from '../../events/record.ts';
import type { Projection } from '../../projections/runner.ts';
import { freeTextProblem, namesIn } from '../base/text.ts';
import { MerkleTree } from '../core/log/merkle-tree.ts';
import { BundleFiles } from '../evidence/bundle/bundle-files.ts';
import { BundleError } from '../evidence/bundle/zip-reader.ts';
import { foldUntil } from '../evidence/history/history.ts';
import { decodePartial } from '../evidence/verify/source.ts';
import { BundleSource } from '../evidence/verify/verify-bundle.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { defaultSeed, holdsSeed, replicateProblem } from '../statistics/replicate/replicate.ts';
import { ExactError } from '../statistics/rerandomize/exact.ts';
import { type Columns, type Outcomes, readOutcomes } from '../statistics/rerandomize/outcomes.ts';
import { type PastStudy, PastStudyFold } from '../statistics/rerandomize/past-study.ts';
import {
  DEFAULT_REPS,
  MAX_REPS,
  runTest,
  type TestMethod,
  type TestResult,
} from '../statistics/rerandomize/run-test.ts';
import {
  ALTERNATIVES,
  type Alternative,
  STATISTICS,
  type StatisticName,
} from '../statistics/rerandomize/statistic.ts';
import {
  armsToCompare,
  type PlannedTest,
  plannedTest,
  TestError,
  type TestRequest,
} from '../statistics/rerandomize/test-plan.ts';
import { foundations, testRows } from '../statistics/rerandomize/test-text.ts';
import { caseOption, choice } from './act-options.ts';
import { withFileProblems } from './lists-from-file.ts';
import { recordDisclosure, withLog } from './open-log.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  UsageError,
  unknownStudy,
  wholeNumber,
} from './options.ts';
import { progress, progressOf, result, table } from './output.ts';
import { VERSION } from './version.ts';

interface RerandomizeOptions extends LogOptions {
  readonly study?: string;
  readonly bundle?: string;
  readonly outcomes: string;
  readonly outcome?: string;
  readonly time?: string;
  readonly event?: string;
  readonly statistic: StatisticName;
  readonly adjust?: string;
  readonly arms?: string;
  readonly alternative?: Alternative;
  readonly reps?: string;
  readonly halfWidth?: string;
  readonly exact?: boolean;
  readonly seed?: string;
  readonly interim?: string;
  readonly json?: boolean;
}

const HELP = `
The file of outcomes is CSV with a column "id" (an id that the participant has or had) and others; an empty cell means no
outcome. The study is run again R times with different random numbers: p is the share of replicates with a statistic at least
as extreme, (b + 1)/(R + 1). T is the value for the arm that the study names first, minus that for the other.

  mean, ranksum, proportion, F, kruskal   --outcome <column>; for a proportion, 0 or 1
  logrank                                 --time <column> --event <column>, 1 for an event

F and kruskal compare all arms, or the two of --arms; the others compare two. A live study that is not closed needs --interim.
The test compares arms, so it is not for blinded readers. It is recorded (urn operations) with the file's digest before it
begins; the result is not recorded. With --bundle, nothing is recorded.

Example:
  urn rerandomize --study "CHS JCOIN" --outcomes y.csv --outcome change --statistic mean --adjust sex,local_site`;

export function rerandomizeCommand(): Command {
  return logCommand('rerandomize')
    .description('test a difference between arms by randomizing the study again (re-randomization test)')
    .addOption(option('--study <name>', 'name of the study (with --bundle it may be left out)'))
    .addOption(caseOption('--outcomes <file>', 'CSV with a column id and others').makeOptionMandatory())
    .addOption(choice('--statistic <name>', 'the statistic that compares the arms', STATISTICS))
    .addOption(caseOption('--outcome <column>', 'the column of the outcome'))
    .addOption(caseOption('--time <column>', 'logrank: the column of the time'))
    .addOption(
      caseOption('--event <column>', 'logrank: the column that is 1 for an event, 0 for none so far'),
    )
    .addOption(
      caseOption('--adjust <factors>', 'first remove what these factors explain, such as sex,"site, region"'),
    )
    .addOption(caseOption('--arms <A,B>', 'compare only these two arms'))
    .addOption(
      caseOption('--alternative <which>', 'default: two-sided; greater: T is above chance').choices([
        ...ALTERNATIVES,
      ]),
    )
    .addOption(caseOption('--reps <number>', `replicates (default: ${DEFAULT_REPS}; at most ${MAX_REPS})`))
    .addOption(
      caseOption('--half-width <number>', 'as many replicates as give the interval of p this half-width'),
    )
    .addOption(caseOption('--exact', 'enumerate every way in which the study could have gone'))
    .addOption(
      caseOption('--seed <number>', "0 to 4294967295 (default: from the study's UUID, the same everywhere)"),
    )
    .addOption(
      caseOption('--interim <reason>', 'compare arms while the study is under way; recorded in the clear'),
    )
    .addOption(caseOption('--bundle <file>', 'the study in this bundle (full or open), instead of a log'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: RerandomizeOptions, command: Command): Promise<void> {
  try {
    const settings = settingsOf(options);
    if (options.bundle === undefined) await testInLog(options, settings);
    else await testInBundle(options, options.bundle, settings, command);
  } catch (error) {
    if (error instanceof ExactError)
      throw new UsageError(`${error.message} (hint: leave out --exact, to draw replicates instead)`);
    if (!(error instanceof TestError || error instanceof BundleError)) throw error;
    throw new UsageError(error.message);
  }
}

/** What the options say, as far as that is clear without the study. */
interface TestSettings {
  readonly columns: Columns;
  readonly asked: TestRequest;
  readonly method: TestMethod;
  readonly seed: number | undefined;
  readonly interim: string | undefined;
}

/** @throws UsageError */
function settingsOf(options: RerandomizeOptions): TestSettings {
  const { statistic, alternative, adjust, arms, interim } = options;
  const problem = interim === undefined ? undefined : freeTextProblem(interim, 3);
  if (problem !== undefined) throw new UsageError(`--interim ${problem}`);
  return {
    columns: columnsOf(options),
    asked: {
      ...{ statistic, alternative },
      adjust: adjust === undefined ? [] : namesOf('--adjust', adjust),
      arms: arms === undefined ? undefined : namesOf('--arms', arms),
    },
    method: methodOf(options),
    seed: options.seed === undefined ? undefined : wholeNumber('--seed', options.seed, 0, 2 ** 32 - 1),
    interim,
  };
}

function columnsOf({ statistic, outcome, time, event }: RerandomizeOptions): Columns {
  if (statistic === 'logrank') {
    if (outcome !== undefined) throw new UsageError('logrank has no --outcome, but --time and --event');
    if (time === undefined || event === undefined) throw new UsageError('logrank needs --time and --event');
    return { kind: 'survival', time, event };
  }
  if (time !== undefined || event !== undefined)
    throw new UsageError('--time and --event are for --statistic logrank');
  if (outcome === undefined) throw new UsageError(`${statistic} needs --outcome`);
  return { kind: statistic === 'proportion' ? 'yes-or-no' : 'number', outcome };
}

function methodOf({ reps, halfWidth, exact }: RerandomizeOptions): TestMethod {
  const given = [reps, halfWidth, exact].filter((one) => one !== undefined);
  if (given.length > 1) throw new UsageError('--reps, --half-width and --exact cannot be combined');
  if (exact) return { kind: 'exact' };
  if (halfWidth === undefined)
    return { kind: 'reps', reps: wholeNumber('--reps', reps ?? String(DEFAULT_REPS), 1, MAX_REPS) };
  const width = Number(halfWidth);
  if (!/^[\d.eE-]+$/.test(halfWidth) || !(width > 0 && width < 0.5))
    throw new UsageError(`--half-width "${halfWidth}" is not a number between 0 and 0.5`);
  return { kind: 'half-width', halfWidth: width };
}

function namesOf(option: string, text: string): string[] {
  const names = namesIn(text);
  if (!names)
    throw new UsageError(`${option} ${JSON.stringify(text)} is not a list of names separated by commas`);
  return names;
}

async function testInLog(options: RerandomizeOptions, settings: TestSettings): Promise<void> {
  const { study } = options;
  if (study === undefined) throw new UsageError('--study is missing (hint: urn studies list)');
  await withLog(options, async (log) => {
    const shown = progress('records read');
    const sourced = await studyInLog(log, study, shown.show);
    shown.end();
    if (!sourced) throw unknownStudy(study);
    await testAndReport(options, settings, sourced, async (sha256) => {
      const { interim } = settings;
      await recordDisclosure(log, {
        ...{ what: 'rerandomization', study, toRevision: sourced.revision, sha256 },
        ...(interim !== undefined && { interim }),
      });
      return true;
    });
  });
}

async function testInBundle(
  options: RerandomizeOptions,
  file: string,
  settings: TestSettings,
  command: Command,
): Promise<void> {
  // Variables of the environment do not count: the machine may have them for its service.
  const other = command.options.find(
    (one) =>
      ['data', 'store', 'streamPrefix'].includes(one.attributeName()) &&
      command.getOptionValueSource(one.attributeName()) === 'cli',
  )?.long;
  if (other !== undefined)
    throw new UsageError(`--bundle and ${other} cannot be combined (hint: a bundle needs no log)`);
  const sourced = await studyInBundle(file);
  const { name } = sourced.study.design;
  if (command.getOptionValueSource('study') === 'cli' && options.study !== name)
    throw new UsageError(`the bundle is for the study ${JSON.stringify(name)}`);
  await testAndReport(options, settings, sourced, async () => false);
}

/** A study in a log or a bundle. */
interface SourcedStudy {
  readonly study: PastStudy;
  /** Revision of the last record. */
  readonly revision: number;
  /** Root hash of the study's stream up to there, in base64, as in a checkpoint of this size. */
  readonly root: string;
  /** Which sections a bundle includes; undefined for a log. */
  readonly content: Content | undefined;
}

/** @returns undefined if there is no such study */
async function studyInLog(
  { store, identity, studies, ledger, read }: OpenLog,
  name: string,
  onProgress: (records: number) => void,
): Promise<SourcedStudy | undefined> {
  const stream = studies.streamOf(name);
  const source = { store, logId: identity.logId };
  const { states, revision } = await foldUntil(source, stream, { pastStudy }, () => false, onProgress);
  const study = states.pastStudy.result();
  if (!study) return undefined;
  await read(stream);
  const root = ledger.tree(stream).root(revision + 1);
  return { study, revision, root: root.toString('base64'), content: undefined };
}

const pastStudy: Projection<PastStudyFold> = {
  name: 'past-study',
  stream: 'study',
  initial: () => new PastStudyFold(),
  apply(fold, event) {
    fold.take(event);
    return fold;
  },
};

/** @throws BundleError; TestError when a record is wrong, or arms are withheld */
export async function studyInBundle(file: string): Promise<SourcedStudy> {
  const files = await BundleFiles.open(file);
  try {
    const source = new BundleSource(files);
    const { content } = source;
    if (content === 'blinded')
      throw new TestError(`${file} is a blinded bundle: it holds no arms (hint: urn bundle --content open)`);
    const stream = files.manifest.study.stream;
    const fold = new PastStudyFold();
    const tree = new MerkleTree();
    for await (const page of source.read(stream))
      for (const record of page) {
        const decoded = decodePartial(record, (section) => isSectionIncluded(section, content));
        if ('mismatch' in decoded)
          throw new TestError(
            `record ${record.revision} of ${file} is not what it should be: ${decoded.mismatch.field} ${decoded.mismatch.why} (hint: urn verify --bundle)`,
          );
        tree.append(decoded.leaf);
        fold.take(decoded.event);
      }
    const study = fold.result();
    if (!study) throw new TestError(`${file} holds no study`);
    const { name } = study.design.method;
    if (content === 'open' && (name === 'blocks' || name === 'minimization'))
      throw new TestError(
        `${file} cannot be used: content open has no parameters of the method (hint: urn bundle --content full)`,
      );
    return { study, revision: tree.size - 1, root: tree.root().toString('base64'), content };
  } finally {
    await files.close();
  }
}

async function testAndReport(
  options: RerandomizeOptions,
  settings: TestSettings,
  sourced: SourcedStudy,
  record: (sha256: string) => Promise<boolean>,
): Promise<void> {
  const { study } = sourced;
  const { asked, method, interim, columns } = settings;
  const problem = replicateProblem(study.design);
  if (problem !== undefined)
    throw new UsageError(`${study.design.name} cannot be randomized again: ${problem}`);
  refuseInterim(sourced, interim);
  const seed = settings.seed ?? defaultSeed(study.studyId);
  refuseOwnSeed(sourced, seed, method);
  refuseWeights(sourced, settings);
  const outcomes = await outcomesIn(options.outcomes, columns, sourced);
  // Before anything looks at arms: even a refusal, or the number of replicates, says something about them.
  const isRecorded = await record(outcomes.sha256);
  const planned = plannedTest(study, outcomes.inOrder, asked);
  const found = await runTest(planned.plan, method, seed, progressOf);
  const facts = {
    ...factsOfSource(sourced, options.bundle),
    ...{ recorded: isRecorded, ...(interim !== undefined && { interim }) },
    ...factsOfOutcomes(sourced, columns, outcomes, planned),
    ...factsOfTest(asked, planned, found),
    ...(found.method === 'exact' ? {} : { seed }),
    ...study.numbers,
    restsOn: restsOn(sourced, planned),
  };
  if (options.json) return result(JSON.stringify(facts, null, 2));
  result(table(testRows(facts)));
  result(`\n${facts.restsOn.join('\n')}`);
  if (!isRecorded) result('Nothing is recorded for a bundle: make a note of what you tested, and why.');
}

/** @throws UsageError */
function refuseInterim({ study }: SourcedStudy, interim: string | undefined): void {
  const isOngoing = study.design.mode === 'live' && study.status !== 'closed';
  if (isOngoing && interim === undefined)
    throw new UsageError(
      `${study.design.name} is live and not closed: comparing its arms now is an interim analysis (hint: close the study first, or give a reason with --interim, which is recorded in the clear)`,
    );
}

/** @throws UsageError */
function refuseOwnSeed({ study }: SourcedStudy, seed: number, method: TestMethod): void {
  if (method.kind === 'exact') return;
  const most = method.kind === 'reps' ? method.reps : DEFAULT_REPS + MAX_REPS;
  if (study.seeds.some((own) => holdsSeed(seed, most, own)))
    throw new UsageError(
      `with --seed ${seed} a replicate would draw from the study's own seed (hint: another --seed)`,
    );
}

/** @throws UsageError, TestError */
function refuseWeights({ study, content }: SourcedStudy, { asked, method }: TestSettings): void {
  // Arms that are not compared keep their participants, so replicates have weights.
  const hasOthers = armsToCompare(study, asked).length < study.design.treatments.length;
  if (hasOthers && method.kind === 'half-width')
    throw new UsageError('--half-width cannot be combined with --arms, whose replicates have weights');
  if (hasOthers && content === 'open' && study.hadRatio)
    throw new UsageError(
      'in a study with a ratio, --arms needs what an open bundle withholds (hint: urn bundle --content full)',
    );
}

async function outcomesIn(path: string, columns: Columns, { study }: SourcedStudy): Promise<Outcomes> {
  let outcomes: Outcomes | undefined;
  await withFileProblems(`the outcomes in ${path} cannot be used`, async () => {
    outcomes = readOutcomes(path, columns, study);
  });
  if (!outcomes) throw new UsageError(`${path} holds no outcomes`);
  return outcomes;
}

function factsOfSource({ study, revision, root, content }: SourcedStudy, bundle: string | undefined) {
  const { design, studyId } = study;
  return {
    ...{ version: VERSION, study: design.name, studyId, mode: design.mode, revision, root },
    ...(content !== undefined && { bundle: { file: bundle, content } }),
  };
}

function factsOfOutcomes(
  { study }: SourcedStudy,
  columns: Columns,
  { sha256, excluded }: Outcomes,
  { plan, onOtherArms }: PlannedTest,
) {
  const analysed = plan.analysed.length;
  const withoutOutcome = study.numbers.participants - analysed - onOtherArms - excluded;
  return { outcomes: { sha256, ...columns, analysed }, withoutOutcome, onOtherArms, excluded };
}

function factsOfTest(
  { statistic, adjust, alternative = 'two-sided' }: TestRequest,
  { arms, value }: PlannedTest,
  found: TestResult,
) {
  return { statistic, adjust, alternative, arms, T: value, ...found };
}

function restsOn({ study }: SourcedStudy, { arms }: PlannedTest): string[] {
  const compared = arms.map(({ name }) => name);
  const others = study.design.treatments.filter((arm) => !compared.includes(arm));
  return foundations(study.numbers, others, compared);
}
