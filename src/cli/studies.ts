/**
 * urn studies, with three of its commands: check compares a studies file with the log, register registers what is new in the
 * file, also while the service runs, and list shows the studies in the log. The other commands have files of their own.
 */
import { type Command, Option } from 'commander';
import { quote } from '../base/text.ts';
import { unblindedBy } from '../core/access/limited-keys.ts';
import { type FileOutcome, outcomeOf, type StudyInLog } from '../core/configuration/file-and-log.ts';
import { type Finding, formatFinding, StudiesFileError } from '../core/configuration/finding.ts';
import {
  type CheckedStudiesFile,
  judgeNewStudies,
  refuseNewStudies,
  type StudiesFile,
} from '../core/configuration/studies-file.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { adviceOn } from '../core/configuration/warnings.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { NoLogError } from '../service/open/store-location.ts';
import { actCommands } from './act-commands.ts';
import { outcomeText } from './design-text.ts';
import {
  enrolledText,
  registeredState,
  studiesOption,
  summary,
  suspendAsServed,
  whyClosed,
  withStudies,
} from './named-studies.ts';
import { cliActor, jsonOption, type LogOptions, logCommand, option } from './options.ts';
import { note, result, table } from './output.ts';
import { mayChange } from './precautions.ts';
import { amendCommand } from './studies-amend.ts';
import { expectedCommand } from './studies-expected.ts';
import { checkedStudiesFile, DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { showCommand } from './studies-show.ts';

export function studiesCommand(): Command[] {
  return [
    checkCommand(),
    registerCommand(),
    logCommand('list')
      .description('list the studies in the log, and which of them take participants')
      .addOption(studiesOption())
      .addOption(jsonOption())
      .action(listStudies),
    showCommand(),
    expectedCommand(),
    ...actCommands('studies'),
    amendCommand(),
  ];
}

interface CheckOptions extends LogOptions {
  readonly studies?: string;
  readonly json?: boolean;
}

const CHECK_HELP = `
For each study it says whether it is new, as registered, as amended, behind (the file describes an earlier design: bring it up
to date), or differs from the design in force: then it takes no participants, and the exit code is 1. For a new study it
prints what the next urn serve, or urn studies register, would register for good: read it first. docs/studies-file.md
describes the file. If the file is refused, all reasons are listed, each with its line; the exit code is 2.`;

function checkCommand(): Command {
  return logCommand('check')
    .description('check the studies file, show what would be registered, and compare it with the log')
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(jsonOption())
    .addHelpText('after', CHECK_HELP)
    .action(checkFile);
}

/** Reports problems in the studies file, what would be registered, and how the log differs. */
async function checkFile(options: CheckOptions): Promise<void> {
  const file = await checkedStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  const { studies, warnings } = file;
  noteFindings('warning', warnings);
  const recorded = await recordedStudies(options);
  const outcomes = studies.map((study) => outcomeOf(study, recorded.get(study.configuration.name), file));
  noteFindings('warning', warningsOf(file, recorded, outcomes));
  const advice = studies.flatMap((study) =>
    adviceOn(study, recorded.get(study.configuration.name)?.hasPacks ?? false),
  );
  noteFindings('advice', advice);
  if (options.json) result(JSON.stringify({ studies: outcomes, warnings, advice }, null, 2));
  else for (const outcome of outcomes) result(outcomeText(outcome));
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

function noteFindings(kind: 'warning' | 'advice', findings: readonly Finding[]): void {
  for (const finding of findings) note(`${kind}: ${formatFinding(finding)}`);
}

interface StudyInLogWithPacks extends StudyInLog {
  readonly hasPacks: boolean;
}

/** The registered studies, by name. A file can be checked before there is a log. */
async function recordedStudies(options: CheckOptions): Promise<Map<string, StudyInLogWithPacks>> {
  try {
    return await withStudies(options, async (log) => {
      warnOfArmsShown(log);
      return new Map(
        log.studies.list().map((study) => {
          const { registered, design, stream } = study;
          const hasPacks = registeredState(log, study).lists > 0;
          return [design.name, { registered, designs: log.studies.designs(stream), hasPacks }];
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

/**
 * @returns warnings about new studies
 * @throws StudiesFileError naming everything for which urn serve would refuse the file
 */
function warningsOf(
  { studies, unsound, refusals }: CheckedStudiesFile,
  recorded: ReadonlyMap<string, StudyInLogWithPacks>,
  outcomes: readonly FileOutcome[],
): readonly Finding[] {
  const isNew = (name: string) => !recorded.has(name);
  const registered = [...recorded.values()].map((study) => study.registered);
  const judgement = judgeNewStudies(studies, isNew, registered);
  const ofUnsound = unsound.flatMap(({ configuration: { name }, refusedIfNew }) =>
    isNew(name) ? refusedIfNew : [],
  );
  const all = [...refusals, ...judgement.refusals, ...ofUnsound];
  if (all.length === 0) return judgement.warnings;
  for (const outcome of outcomes) if (outcome.outcome === 'differs') note(outcomeText(outcome));
  throw new StudiesFileError(all);
}

interface RegisterOptions extends LogOptions {
  readonly studies?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const REGISTER_HELP = `
Each study of the file that is not in the log yet is registered for good, as urn serve would do at its next start. Every
service of this log serves it within a second, without a restart and whether or not its own studies file names it. Studies
that are registered stay as they are: if the file differs from one, that is reported, and the exit code is 1; the others are
registered all the same. To change a registered study, use urn studies amend.

If a new study is live, the command asks for confirmation on a terminal; --yes answers for you. Exit code 2: the file is
refused, so nothing was registered.

Example:
  urn studies check --studies studies.yaml
  urn studies register --studies studies.yaml`;

function registerCommand(): Command {
  return logCommand('register')
    .description('register the new studies of the studies file, also while the service runs')
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(option('--dry-run', 'show what would be registered, and write nothing'))
    .addOption(new Option('--yes', 'do not ask before a live study is registered'))
    .addOption(jsonOption())
    .addHelpText('after', REGISTER_HELP)
    .action(registerNewStudies);
}

async function registerNewStudies(options: RegisterOptions): Promise<void> {
  const file = await readStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  noteFindings('warning', file.warnings);
  await withStudies(options, async (log) => {
    const { studies } = log;
    const registered = studies.list().map((study) => study.registered);
    noteFindings(
      'warning',
      refuseNewStudies(file.studies, (name) => studies.isNew(name), registered),
    );
    const compared = readableIn(log, file.studies).map((study) => {
      return { study, outcome: comparedIn(log, study, file) };
    });
    const before = compared.map(({ outcome }) => outcome);
    if (options.dryRun) return reportOutcomes(before, options);
    if (!(await isRegistrationWanted(before, options))) return;
    const after: RegisterOutcome[] = [];
    for (const { study, outcome } of compared)
      after.push(outcome.outcome === 'new' ? await registeredIn(log, study, file) : outcome);
    reportOutcomes(after, options);
  });
}

/** The others must not suffer from a study whose records cannot be read or written. */
function readableIn(
  { runner, studies, gate }: OpenLog,
  configured: readonly ConfiguredStudy[],
): ConfiguredStudy[] {
  return configured.filter(({ configuration: { name } }) => {
    const stream = studies.streamOf(name);
    const why = runner.halted(stream)?.message ?? (studies.find(name) ? undefined : gate.danger(stream));
    if (why === undefined) return true;
    note(`warning: study ${quote(name)} is left alone: ${why}`);
    process.exitCode = 1;
    return false;
  });
}

function comparedIn({ studies }: OpenLog, file: ConfiguredStudy, all: StudiesFile): FileOutcome {
  const study = studies.find(file.configuration.name);
  const recorded = study && { registered: study.registered, designs: studies.designs(study.stream) };
  return outcomeOf(file, recorded, all);
}

/** Shows what would be registered, and asks if any of it is live. */
async function isRegistrationWanted(
  outcomes: readonly FileOutcome[],
  { yes = false }: RegisterOptions,
): Promise<boolean> {
  const added = outcomes.filter(({ outcome }) => outcome === 'new');
  for (const one of added) note(outcomeText(one));
  const live = added.filter(({ configuration }) => configuration.mode === 'live');
  if (live.length === 0) return true;
  const names = added.map(({ study, configuration }) => `${study} (${configuration.mode})`);
  return mayChange({ mode: 'live' }, { yes }, `Register ${names.join(', ')} for good?`);
}

type RegisterOutcome = Omit<FileOutcome, 'outcome'> & {
  readonly outcome: FileOutcome['outcome'] | 'registered';
  readonly studyId?: string;
  /** Proves what was registered. */
  readonly firstCheckpoint?: string | undefined;
};

async function registeredIn(log: OpenLog, file: ConfiguredStudy, all: StudiesFile): Promise<RegisterOutcome> {
  const { studies, ledger } = log;
  const { configuration, parameters, seed } = file;
  const done = await studies.register(configuration, seed, cliActor(), parameters);
  const outcome = comparedIn(log, file, all);
  const study = studies.find(configuration.name);
  // Another process was faster, perhaps with another design.
  if (done !== 'registered' || !study) return outcome;
  const { stream, registered } = study;
  const proof = ledger.maySign(stream) ? ledger.checkpoint(stream, 1).note : undefined;
  return { ...outcome, outcome: 'registered', studyId: registered.studyId, firstCheckpoint: proof };
}

function reportOutcomes(outcomes: readonly RegisterOutcome[], { json, dryRun }: RegisterOptions): void {
  if (json) result(JSON.stringify({ studies: outcomes }, null, 2));
  else for (const one of outcomes) result(registerOutcomeText(one));
  if (dryRun) note('dry run: nothing was registered');
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

function registerOutcomeText({ outcome, firstCheckpoint, ...of }: RegisterOutcome): string {
  if (outcome !== 'registered') return outcomeText({ ...of, outcome });
  const proof =
    firstCheckpoint === undefined
      ? []
      : [
          'first checkpoint (archive it outside this machine: it proves what was registered)',
          firstCheckpoint,
        ];
  return [`${of.study}: registered; services of this log serve it within a second`, ...proof].join('\n');
}

async function listStudies(options: LogOptions & { json?: boolean; studies?: string }): Promise<void> {
  await withStudies(options, async (log) => {
    await suspendAsServed(log, options.studies);
    const rows = log.studies.list().map((study) => summary(log, study));
    if (options.json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0)
      note(
        'no study is registered (hint: urn studies register --studies FILE registers the studies in FILE)',
      );
    else
      result(
        table(rows.map((row) => [row.name, row.mode, row.state, enrolledText(row), whyClosed(row) ?? ''])),
      );
  });
}
