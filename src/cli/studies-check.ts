/** urn studies check: reports problems in the studies file, what would be registered, and how the log differs. */
import type { Command } from 'commander';
import type { StudyConfiguration } from '../../events/study.ts';
import { limitTexts, protocolText, ratioText } from '../../projections/describe-design.ts';
import { type Design, defaultLevelCounts } from '../../projections/design.ts';
import { quote } from '../base/text.ts';
import { type Comparison, compare, describeComparison } from '../configuration/differences.ts';
import { formatFinding } from '../configuration/finding.ts';
import { refuseNewStudies } from '../configuration/new-studies.ts';
import type { ConfiguredStudy } from '../configuration/studies-file.ts';
import type { OpenLog } from '../open/open-log.ts';
import { NoLogError } from '../open/store-location.ts';
import type { Study } from '../study/studies.ts';
import { unblindedBy } from './key-limits.ts';
import { jsonOption, type LogOptions, logCommand, option } from './options.ts';
import { note, result, table } from './output.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { withStudies } from './studies-log.ts';

interface Options extends LogOptions {
  studies?: string;
  json?: boolean;
}

const HELP = `
For each study it says whether it is new, as registered, as amended, behind (the file describes an earlier design: bring it up
to date), or differs from the design in force: then it takes no participants, and the exit code is 1. For a new study it
prints what the next urn serve would register for good: read it first. docs/studies-file.md describes the file.`;

export function checkCommand(): Command {
  return logCommand('check')
    .description('check the studies file, show what would be registered, and compare it with the log')
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(check);
}

interface Outcome {
  readonly study: string;
  readonly outcome: 'new' | 'as registered' | 'as amended' | 'behind' | 'differs';
  /** Number of the last amendment; left out if there is none. */
  readonly amendment?: number;
  readonly differences: readonly string[];
  /** As in the file, with defaults. */
  readonly configuration: StudyConfiguration;
  readonly seedSource: 'configured' | 'drawn';
  /** Whether the study is live because the file leaves the mode out. */
  readonly liveByDefault: boolean;
}

async function check(options: Options): Promise<void> {
  const { studies, warnings, liveByDefault } = await readStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  for (const warning of warnings) note(`warning: ${formatFinding(warning)}`);
  const recorded = await recordedStudies(options);
  const isNew = (name: string) => !recorded.has(name);
  const registered = [...recorded.values()].map((study) => study.registered);
  for (const warning of refuseNewStudies(studies, isNew, registered))
    note(`warning: ${formatFinding(warning)}`);
  const outcomes = studies.map((file): Outcome => {
    const { configuration, seed } = file;
    const { name } = configuration;
    return {
      study: name,
      ...compared(recorded.get(name), file),
      configuration,
      seedSource: seed === undefined ? 'drawn' : 'configured',
      liveByDefault: liveByDefault.includes(name),
    };
  });
  if (options.json) result(JSON.stringify({ studies: outcomes, warnings }, null, 2));
  else for (const outcome of outcomes) result(described(outcome));
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

function compared(
  study: Recorded | undefined,
  file: ConfiguredStudy,
): Pick<Outcome, 'outcome' | 'amendment' | 'differences'> {
  if (!study) return { outcome: 'new', differences: [] };
  const { registered, designs } = study;
  const comparison = compare(registered, designs, file);
  const amendment = designs.at(-1)?.amendment ?? 0;
  return {
    outcome: outcomeOf(comparison, amendment),
    ...(amendment > 0 && { amendment }),
    differences: describeComparison(comparison, { secrets: 'show' }),
  };
}

function outcomeOf({ standing }: Comparison, amendment: number): Outcome['outcome'] {
  if (standing !== 'agrees') return standing;
  return amendment > 0 ? 'as amended' : 'as registered';
}

interface Recorded extends Pick<Study, 'registered'> {
  readonly designs: readonly Design[];
}

/** The registered studies, by name. A file can be checked before there is a log. */
async function recordedStudies(options: Options): Promise<Map<string, Recorded>> {
  try {
    return await withStudies(options, async (log) => {
      warnOfArmsShown(log);
      return new Map(
        log.studies.list().map(({ registered, design, stream }) => {
          return [design.name, { registered, designs: log.studies.designs(stream) }];
        }),
      );
    });
  } catch (error) {
    if (!(error instanceof NoLogError)) throw error;
    note(`${error.message}; so every study in the file is new`);
    return new Map();
  }
}

function warnOfArmsShown({ keys, studies }: OpenLog): void {
  const designs = studies.list().map(({ design }) => design);
  for (const key of keys.list().filter(({ revoked }) => !revoked))
    for (const name of unblindedBy(key, designs))
      note(
        `warning: study ${quote(name)} is blinded, and key ${key.keyId} of ${key.user} shows the arm to anyone who randomizes with it (hint: issue one with --scope blinded,randomize, and revoke this one)`,
      );
}

function described(of: Outcome): string {
  const lines =
    of.outcome === 'new' ? ['would be registered as', ...registration(of).split('\n')] : of.differences;
  const heading = [
    `${of.study}: ${of.outcome}`,
    ...(of.amendment === undefined ? [] : [`amendment ${of.amendment}`]),
  ];
  return [heading.join(', '), ...lines.map((line) => `  ${line}`)].join('\n');
}

function registration({ configuration, seedSource, liveByDefault }: Outcome): string {
  const { mode, treatments, factors, D, w, alpha, beta, urnSelection, idPattern, targetEnrollment } =
    configuration;
  const {
    blinding = 'open (the sites know the arms)',
    start,
    limits,
    policies,
    protocol,
    ratio,
  } = configuration;
  const byDefault =
    ' (the file leaves mode out, so it registers as live; write "mode: test" for a rehearsal)';
  const names = (list: readonly string[]) => list.map(quote).join(', ');
  return table([
    ['mode', `${mode}${liveByDefault ? byDefault : ''}`],
    ['blinding', blinding],
    ...(start === undefined ? [] : [['start', 'paused: urn studies resume opens it']]),
    ['arms', names(treatments)],
    ...(ratio ? [['ratio', ratioText(treatments, ratio)]] : []),
    ...factors.map(({ name, levels }) => [`factor ${quote(name)}`, names(levels)]),
    ['urn', `D=${D} w=${w} alpha=${alpha} beta=${beta} urn_selection=${urnSelection}`],
    ['seed', seedSource === 'drawn' ? 'drawn from the operating system' : 'given in the file'],
    ...(idPattern === undefined ? [] : [['id pattern', idPattern]]),
    ...(targetEnrollment === undefined ? [] : [['target', `${targetEnrollment} participants`]]),
    ...limitLines(limits, policies?.stopAtLimit ?? false),
    ['policies', policiesIn(configuration)],
    ...(protocol ? [['protocol', protocolText(protocol)]] : []),
  ]);
}

/** As in the studies file. What corrections and forced allocations do to the urns is always shown. */
function policiesIn({ policies = {}, blinding }: StudyConfiguration): string {
  const {
    stopAtLimit,
    levelCounts = defaultLevelCounts(blinding),
    voidCounts = 'kept',
    forcedCounts = 'counted',
  } = policies;
  return [
    ...(stopAtLimit ? ['stop_at_limit true'] : []),
    `level_counts ${levelCounts}`,
    `void_counts ${voidCounts}`,
    `forced_counts ${forcedCounts}`,
  ].join(', ');
}

function limitLines(limits: StudyConfiguration['limits'], stops: boolean): string[][] {
  const remark = stops ? '' : ' (information only)';
  return limitTexts(limits).map((text) => ['limit', `${text}${remark}`]);
}
