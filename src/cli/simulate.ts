/**
 * urn simulate: what a study's design does, and what others would, before the first participant. The command reads what to
 * simulate from its options and files, simulates, and writes the figures, with the command line that repeats them.
 */
import type { Command } from 'commander';
import { quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import { formatFinding } from '../core/configuration/finding.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { suggest } from '../core/configuration/yaml.ts';
import { activeFactors, methodIn } from '../core/model/design.ts';
import { NONE } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import { csvLine } from '../evidence/export/columns.ts';
import { bytesOf, type CsvRow, csvRows, ImportError, textOf } from '../evidence/import/csv-file.ts';
import {
  type Assessment,
  assessmentOf,
  type JudgedRequirement,
  judge,
  judgedText,
  type Requirement,
  RequirementError,
  readRequirement,
  refuseUnknown,
} from '../statistics/assessment/assessment.ts';
import { ComparatorError, readComparator, usualComparators } from '../statistics/assessment/comparator.ts';
import {
  textOf as assessmentText,
  CSV_HEAD,
  csvRowsOf,
  jsonOf,
  sharesOf,
} from '../statistics/assessment/text.ts';
import { among, figureNames, figuresByName } from '../statistics/assessment/words.ts';
import { replicateProblem } from '../statistics/replicate/replicate.ts';
import { exactly, exactProblem } from '../statistics/simulation/exact.ts';
import type { Arrivals, Comparator, SimulatedDesign, SimulationPlan } from '../statistics/simulation/plan.ts';
import { parseShare, parseSharesFile } from '../statistics/simulation/shares-file.ts';
import { simulate } from '../statistics/simulation/simulate.ts';
import type { DesignResult } from '../statistics/simulation/summary.ts';
import { refuseUnfit, writeNew } from './files.ts';
import { withFileProblems } from './lists-from-file.ts';
import { withStudies } from './named-studies.ts';
import {
  DEFAULT_DATA,
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  repeatedOption,
  UsageError,
  unknownStudy,
  wholeNumber,
} from './options.ts';
import { note, progressOf, result, table } from './output.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { VERSION } from './version.ts';

interface SimulateOptions extends ArrivalOptions {
  readonly studies?: string;
  readonly study?: string;
  readonly participants?: string;
  readonly reps: string;
  readonly seed: string;
  readonly threads?: string;
  readonly against?: readonly string[];
  readonly siteFactor?: string;
  readonly at?: string;
  readonly require?: readonly string[];
  readonly exact?: boolean;
  readonly csv?: string;
  readonly html?: string;
  readonly json?: boolean;
}

interface ArrivalOptions extends LogOptions {
  readonly levels?: string;
  readonly profiles?: string;
  readonly like?: string;
  readonly independent?: boolean;
}

const DEFAULTS = { reps: '10000', seed: '1' } as const;

const HELP = `
Runs the service's own allocation many times on simulated participants, from the first one on, and reports how far apart the arms
get, overall and within levels, and how often a guess is right. It reads only the studies file, opens no log (except for
--like), and does not use the seed of a study. Every figure is defined in docs/statistics.md.

How participants arrive: with equal shares for the levels of each factor, or
  --levels    YAML: local_site: {Cook: 120, Kane: 30}, and opens: {local_site: {Kane: 100}} for a site that opens with the
              100th participant
  --profiles  CSV: a column for each factor, and weight; whole rows are drawn, so levels may be correlated
  --like      the participants of a study in the log, only their levels

Designs to compare with, each on the same participants; @ and factors after a design apply it within their levels:
  --against complete                 --against urn:w=5,D=range         --against minimization:0.8
  --against block:4@local_site       --against block:4+6@sex,site      --against efron:0.667    --against bigstick:4

Exit code 1: a requirement is not met. No file is overwritten.

Examples:
  urn simulate --study "CHS JCOIN" --against complete --against block:3+6@local_site --html design.html
  urn simulate --study "CHS JCOIN" --at 50,100,300 --require 'overall.range.p95 <= 20'`;

export function simulateCommand(): Command {
  return logCommand('simulate')
    .description(
      "simulate a study's design before it begins: balance, guessing, drift, compared with other designs",
    )
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(
      option('--study <name>', 'name of the study in the file (may be left out if it is the only one)'),
    )
    .addOption(
      option('--participants <number>', "participants of a trial (default: the study's target_enrollment)"),
    )
    .addOption(option('--reps <number>', 'trials to simulate').default(DEFAULTS.reps))
    .addOption(option('--seed <number>', 'seed of the simulation, from 1 to 2^63 - 1').default(DEFAULTS.seed))
    .addOption(
      option('--threads <number>', 'threads to use; they do not affect the results (default: one per core)'),
    )
    .addOption(option('--levels <file>', 'shares of the levels (YAML)'))
    .addOption(option('--profiles <file>', 'profiles of participants with their weights (CSV)'))
    .addOption(option('--like <study>', 'draw from the participants of this study in the log'))
    .addOption(option('--independent', 'take only the shares of levels from --profiles or --like'))
    .addOption(repeatedOption('--against <design>', 'compare with this design (repeatable)'))
    .addOption(
      option(
        '--site-factor <name>',
        'the factor whose levels are sites, for guesses from the counts of one site',
      ),
    )
    .addOption(
      option(
        '--at <numbers>',
        'report imbalance after these numbers of participants, such as 20,50,100 (default: at the end)',
      ),
    )
    .addOption(
      repeatedOption(
        '--require <requirement>',
        "'NAME OP NUMBER': judge the design by a figure (repeatable)",
      ),
    )
    .addOption(option('--exact', 'compute instead of simulating (for one factor with one level)'))
    .addOption(option('--csv <file>', 'write all figures as CSV'))
    .addOption(
      option(
        '--html <file>',
        'write a page with pictures, and a paragraph for the protocol (without --against: compared with complete, blocks of the --site-factor and minimization:0.8)',
      ),
    )
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: SimulateOptions): Promise<void> {
  refuseUnfit([options.csv, options.html].filter((file) => file !== undefined));
  const { plan, threads } = await planFrom(options);
  const requirements = requirementsOf(options, plan);
  const designs = await designsOf(plan, options, threads);
  const parts = { version: VERSION, plan, isExact: options.exact ?? false, designs };
  const command = commandLine(options, plan);
  const assessment = assessmentOf({ ...parts, judged: judgedBy(requirements, plan, designs), command });
  await writeAssessment(assessment, options);
  if (assessment.judged.some(({ met }) => !met)) process.exitCode = 1;
}

// What to simulate

/** A trial is held in memory while it is simulated. */
const MAX_PARTICIPANTS = 1_000_000;
const MAX_REPS = 1_000_000_000;
const MAX_THREADS = 1024;

async function planFrom(
  options: SimulateOptions,
): Promise<{ readonly plan: SimulationPlan; readonly threads: number | undefined }> {
  const study = await studyInFile(options);
  const { configuration, urn } = study;
  refuseList(configuration);
  const { name, treatments, factors, ratio, targetEnrollment } = configuration;
  const design: SimulatedDesign = {
    ...{ treatments, factors, ...urn },
    ratio: ratio ?? treatments.map(() => 1),
    own: ownMethod(study),
  };
  const participants = options.participants ?? targetEnrollment?.toString();
  if (participants === undefined)
    throw new UsageError(
      `study ${quote(name)} has no target_enrollment (hint: say how many participants: --participants 300)`,
    );
  const size = wholeNumber('--participants', participants, 1, MAX_PARTICIPANTS);
  const threads =
    options.threads === undefined ? undefined : wholeNumber('--threads', options.threads, 1, MAX_THREADS);
  const reps = wholeNumber('--reps', options.reps, 1, MAX_REPS);
  const seed = seedFrom(options.seed);
  const at = pointsFrom(options.at, size);
  const siteFactor = siteFactorFrom(options.siteFactor, design);
  const comparators = comparatorsFrom(options, design, siteFactor);
  const { arrivals, source } = await arrivalsFrom(options, design);
  const plan = { study: name, design, arrivals, arrivalsSource: source, comparators, siteFactor };
  return { plan: { ...plan, participants: size, reps, seed, at }, threads };
}

async function studyInFile({ studies: file, study: name }: SimulateOptions): Promise<ConfiguredStudy> {
  const { studies } = await readStudiesFile(file ?? DEFAULT_STUDIES_FILE);
  const names = studies.map(({ configuration }) => configuration.name);
  if (name === undefined) {
    const [only, second] = studies;
    if (only && !second) return only;
    throw new UsageError(`there are several studies: choose one with --study: ${among(names.map(quote))}`);
  }
  const found = studies.find(({ configuration }) => configuration.name === name);
  if (!found)
    throw new UsageError(
      `the studies file has no study ${quote(name)}, only ${among(names.map(quote))} (hint: ${suggest(name, names)})`,
    );
  return found;
}

/** @throws UsageError */
function refuseList(configuration: ConfiguredStudy['configuration']): void {
  const problem = replicateProblem({ method: methodIn(configuration) });
  if (problem !== undefined)
    throw new UsageError(
      `study ${quote(configuration.name)} cannot be simulated: ${problem} (hint: give a copy of the file the method by which the list was made, such as {name: blocks, …})`,
    );
}

/** Undefined for the urn. */
function ownMethod({ configuration, parameters = {} }: ConfiguredStudy): SimulatedDesign['own'] {
  if (!('method' in configuration)) return undefined;
  const { method, factors, treatments, ratio } = configuration;
  const { blocks, minimization } = parameters;
  const slots = ratio?.reduce((sum, share) => sum + share, 0) ?? treatments.length;
  if (method.name === 'blocks' && blocks) {
    const within = method.by.map((name) => factors.findIndex((factor) => factor.name === name));
    const sizes = blocks.perSlot.map((places) => places * slots);
    return { rule: { kind: 'block', sizes }, within };
  }
  if (method.name !== 'minimization' || !minimization) return { rule: { kind: 'complete' }, within: [] };
  const { measure, pThousandths, weights } = minimization;
  return { rule: { kind: 'minimization', p: pThousandths / 1000, measure, weights }, within: [] };
}

const MAX_SEED = 2n ** 63n - 1n;

function seedFrom(text: string): bigint {
  const seed = /^[1-9]\d{0,18}$/.test(text) ? BigInt(text) : 0n;
  if (seed >= 1n && seed <= MAX_SEED) return seed;
  throw new UsageError(`--seed ${quote(text)} is not a whole number from 1 to ${MAX_SEED} (2^63 - 1)`);
}

/** The end is always included. */
function pointsFrom(text: string | undefined, participants: number): number[] {
  const points =
    text === undefined ? [] : text.split(',').map((one) => wholeNumber('--at', one.trim(), 1, participants));
  return [...new Set([...points, participants])].toSorted((a, b) => a - b);
}

function siteFactorFrom(name: string | undefined, { factors }: SimulatedDesign): number | undefined {
  if (name === undefined) return undefined;
  const names = factors.map((factor) => factor.name);
  const site = names.indexOf(name);
  if (site >= 0) return site;
  throw new UsageError(
    `--site-factor: the study has no factor ${quote(name)}, only ${among(names.map(quote))} (hint: ${suggest(name, names)})`,
  );
}

/** A page with nothing to compare with would say little, so it gets the usual comparators. */
function comparatorsFrom(
  { against, html }: SimulateOptions,
  design: SimulatedDesign,
  siteFactor: number | undefined,
): Comparator[] {
  const texts = against ?? (html === undefined ? [] : usualComparators(design, siteFactor));
  const twice = texts.find((text, i) => texts.indexOf(text) < i);
  if (twice !== undefined) throw new UsageError(`--against ${quote(twice)} is given twice`);
  return asUsageErrors('--against', () => texts.map((text) => readComparator(text, design)));
}

function asUsageErrors<T>(optionName: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ComparatorError || error instanceof RequirementError)
      throw new UsageError(`${optionName} ${error.message}`);
    throw error;
  }
}

// Where the levels of simulated participants come from

type Factors = SimulatedDesign['factors'];

interface SourcedArrivals {
  readonly arrivals: Arrivals;
  /** Where they come from, in words. */
  readonly source: string;
}

const NOTHING_SIMULATED = 'nothing was simulated';

/** Equal shares, a file, or the participants of a study. @throws UsageError listing every problem in a file */
async function arrivalsFrom(options: ArrivalOptions, { factors }: SimulatedDesign): Promise<SourcedArrivals> {
  const { levels, profiles, like, independent } = options;
  const given = Object.entries({ '--levels': levels, '--profiles': profiles, '--like': like }).flatMap(
    ([name, value]) => (value === undefined ? [] : [name]),
  );
  if (given.length > 1) throw new UsageError(`${given.join(' and ')}: give only one of them`);
  const drawn =
    profiles !== undefined
      ? await arrivalsFromProfiles(profiles, factors)
      : like !== undefined
        ? await arrivalsFromStudy(like, options, factors)
        : undefined;
  if (independent && !drawn)
    throw new UsageError(
      '--independent is for --profiles and --like: otherwise levels are already independent',
    );
  if (drawn) return independent ? independently(drawn, factors) : drawn;
  if (levels !== undefined) return arrivalsFromShares(levels, factors);
  const shares = factors.map((factor) => factor.levels.map(() => 1));
  return {
    arrivals: { kind: 'shares', shares, opens: [] },
    source: 'equal shares for the levels of each factor, independent of each other',
  };
}

async function arrivalsFromProfiles(file: string, factors: Factors): Promise<SourcedArrivals> {
  let arrivals: Extract<Arrivals, { kind: 'rows' }> | undefined;
  await withFileProblems(`${NOTHING_SIMULATED}, because of ${file}`, async () => {
    arrivals = readProfiles(bytesOf(file), factors);
  });
  // Anything else was thrown.
  if (!arrivals) throw new UsageError(NOTHING_SIMULATED);
  const { length } = arrivals.rows;
  return { arrivals, source: `drawing with replacement from the ${counted(length, 'profile')} in ${file}` };
}

const WEIGHT = 'weight';

/** Profiles are CSV with a column for each factor and `weight`. @throws ImportError listing every problem in the file */
function readProfiles(bytes: Buffer, factors: Factors): Extract<Arrivals, { kind: 'rows' }> {
  const [header, ...rows] = csvRows(bytes);
  const columns = profileColumns(header, factors);
  const problems: string[] = [];
  if (rows.length === 0) problems.push('the file has no profiles');
  const levelsOf = factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
  const read = rows.map(({ line, cells }) => {
    const refuse = (why: string) => problems.push(`line ${line}: ${why}`);
    if (cells.length !== factors.length + 1)
      refuse(`${counted(cells.length, 'field')} instead of ${factors.length + 1}`);
    const weight = parseShare(cells[columns.weight] ?? '');
    if (weight === undefined)
      refuse(`the weight ${quote(cells[columns.weight] ?? '')} is not a number from 0 to 1e15`);
    const levels = factors.map(({ name, levels: all }, f) => {
      const cell = cells[columns.factors[f] ?? -1] ?? '';
      const level = levelsOf[f]?.get(cell);
      if (level === undefined)
        refuse(`factor ${quote(name)} has no level ${quote(cell)}, only ${among(all.map(quote))}`);
      return level ?? 0;
    });
    return { levels, weight: weight ?? 0 };
  });
  if (problems.length === 0 && read.every(({ weight }) => weight === 0)) problems.push('all weights are 0');
  if (problems.length > 0) throw new ImportError(problems);
  return { kind: 'rows', rows: read.map(({ levels }) => levels), weights: read.map(({ weight }) => weight) };
}

/** @throws ImportError unless the first line has each column once, and no other */
function profileColumns(header: CsvRow | undefined, factors: Factors): { weight: number; factors: number[] } {
  const found = header?.cells ?? [];
  const wanted = [...factors.map(({ name }) => name), WEIGHT];
  const isUnfit = found.length !== wanted.length || wanted.some((name) => !found.includes(name));
  if (isUnfit)
    throw new ImportError([
      `line 1: the columns are ${quote(found.join(','))} (expected, in any order: ${among(wanted.map(quote))})`,
    ]);
  return { weight: found.indexOf(WEIGHT), factors: factors.map(({ name }) => found.indexOf(name)) };
}

/** Levels as randomized, since allocation saw those. Voided participants should not have been in the trial, so they are out. */
async function arrivalsFromStudy(
  name: string,
  options: LogOptions,
  factors: Factors,
): Promise<SourcedArrivals> {
  const rows = await withStudies(options, async (log) => {
    const study = log.studies.list().find(({ design }) => design.name === name);
    if (!study) throw unknownStudy(name);
    const places = factors.map((factor) => {
      const place = study.design.factors.findIndex((one) => one.name === factor.name);
      if (place >= 0) return place;
      const there = activeFactors(study.design).map((one) => quote(one.name));
      throw new UsageError(
        `--like: study ${quote(name)} has no factor ${quote(factor.name)}, only ${there.join(', ')}`,
      );
    });
    const everybody = log.runner.state(participants, study.stream).inOrder;
    return everybody
      .filter(({ corrected }) => !corrected?.voided)
      .map(({ levels }) => places.map((place) => levels[place] ?? NONE));
  });
  if (rows.length === 0) throw new UsageError(`--like: study ${quote(name)} has no participants yet`);
  const levelsOf = factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
  const indexes = rows.map((row) =>
    row.map((level, f) => {
      const index = levelsOf[f]?.get(level);
      if (index !== undefined) return index;
      const what =
        level === NONE ? 'participants without a level' : `participants with the level ${quote(level)}`;
      throw new UsageError(
        `--like: study ${quote(name)} has ${what} of ${quote(factors[f]?.name ?? '')}, which the studies file does not have`,
      );
    }),
  );
  return {
    arrivals: { kind: 'rows', rows: indexes, weights: indexes.map(() => 1) },
    source: `drawing with replacement from the ${counted(rows.length, 'participant')} of ${name}`,
  };
}

function independently({ arrivals, source }: SourcedArrivals, factors: Factors): SourcedArrivals {
  return {
    arrivals: { kind: 'shares', shares: sharesOf(arrivals, factors), opens: [] },
    source: `the shares of levels among ${source.replace(/^drawing with replacement from /, '')}, independent of each other`,
  };
}

async function arrivalsFromShares(file: string, factors: Factors): Promise<SourcedArrivals> {
  let text = '';
  await withFileProblems(`${NOTHING_SIMULATED}, because of ${file}`, async () => {
    text = textOf(bytesOf(file));
  });
  const read = parseSharesFile(text, file, factors);
  if ('findings' in read)
    throw new UsageError(
      `${NOTHING_SIMULATED}:\n${read.findings.map((one) => `  ${formatFinding(one)}`).join('\n')}`,
    );
  return { arrivals: read.shares, source: `the shares in ${file}, independent of each other` };
}

// Simulating, judging and writing

/** @throws UsageError for an unknown figure, before anything is simulated */
function requirementsOf({ require = [] }: SimulateOptions, plan: SimulationPlan): Requirement[] {
  const names = figureNames(plan);
  return asUsageErrors('--require', () => {
    const requirements = require.map(readRequirement);
    for (const requirement of requirements) refuseUnknown(requirement, names, plan.design);
    return requirements;
  });
}

async function designsOf(
  plan: SimulationPlan,
  { exact }: SimulateOptions,
  threads: number | undefined,
): Promise<readonly DesignResult[]> {
  if (exact) {
    const problem = exactProblem(plan);
    if (problem !== undefined) throw new UsageError(`--exact: ${problem}`);
    return exactly(plan);
  }
  const shown = progressOf('trials', plan.reps);
  try {
    return await simulate(plan, { threads, onProgress: shown.show });
  } finally {
    shown.end();
  }
}

/**
 * The command line that repeats a simulation, quoted for a shell. Leaves out what does not affect the figures: threads, and where
 * the result is written.
 */
function commandLine(options: SimulateOptions, plan: SimulationPlan): string {
  const {
    studies = DEFAULT_STUDIES_FILE,
    levels,
    profiles,
    like,
    independent,
    siteFactor,
    at,
    exact,
    data,
  } = options;
  const given = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
  const words = [
    ...['urn', 'simulate', '--studies', studies, '--study', plan.study],
    ...['--participants', String(plan.participants)],
    ...(exact ? ['--exact'] : ['--reps', String(plan.reps), '--seed', String(plan.seed)]),
    ...given('--levels', levels),
    ...given('--profiles', profiles),
    ...given('--like', like),
    // Where the log is, unless it is in the usual place. The URL of a store may hold a password, so it is left out.
    ...(like === undefined || data === DEFAULT_DATA ? [] : ['--data', data]),
    ...(independent ? ['--independent'] : []),
    ...plan.comparators.flatMap(({ name }) => ['--against', name]),
    ...given('--site-factor', siteFactor),
    ...given('--at', at),
  ];
  return words.map(quoted).join(' ');
}

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function judgedBy(
  requirements: readonly Requirement[],
  plan: SimulationPlan,
  [own]: readonly DesignResult[],
): JudgedRequirement[] {
  const figures = own ? figuresByName(own, plan) : new Map();
  return asUsageErrors('--require', () => requirements.map((one) => judge(one, figures, plan.design)));
}

async function writeAssessment(assessment: Assessment, { csv, html, json }: SimulateOptions): Promise<void> {
  for (const warning of assessment.warnings) note(`warning: ${warning}`);
  if (csv !== undefined)
    writeNew(csv, [CSV_HEAD, ...csvRowsOf(assessment)].map((row) => csvLine(row)).join(''));
  if (html !== undefined) {
    // The charts are large, and only this page needs them.
    const { pageOf } = await import('../statistics/assessment/page.tsx');
    writeNew(html, pageOf(assessment));
  }
  if (!json) result(assessmentText(assessment, table));
  else {
    result(jsonOf(assessment));
    for (const one of assessment.judged) note(judgedText(one));
  }
}
