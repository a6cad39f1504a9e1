/** urn studies register: registers the new studies of a file while the service runs. */
import { type Command, Option } from 'commander';
import { quote } from '../base/text.ts';
import { type FileOutcome, outcomeOf } from '../core/configuration/file-and-log.ts';
import { type Finding, formatFinding } from '../core/configuration/finding.ts';
import type { StudiesFile } from '../core/configuration/studies-file.ts';
import { refuseNewStudies } from '../core/configuration/studies-file.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { mayChange } from './confirm.ts';
import { cliActor, jsonOption, type LogOptions, logCommand, option } from './options.ts';
import { outcomeText } from './outcome-text.ts';
import { note, result } from './output.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { withStudies } from './studies-log.ts';

interface Options extends LogOptions {
  readonly studies?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const HELP = `
Each study of the file that is not in the log yet is registered for good, as urn serve would do at its next start. Every
service of this log serves it within a second, without a restart and whether or not its own studies file names it. Studies
that are registered stay as they are: if the file differs from one, that is reported, and the exit code is 1; the others are
registered all the same. To change a registered study, use urn studies amend.

If a new study is live, the command asks for confirmation on a terminal; --yes answers for you. Exit code 2: the file is
refused, so nothing was registered.

Example:
  urn studies check --studies studies.yaml
  urn studies register --studies studies.yaml`;

export function registerCommand(): Command {
  return logCommand('register')
    .description('register the new studies of the studies file, also while the service runs')
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(option('--dry-run', 'show what would be registered, and write nothing'))
    .addOption(new Option('--yes', 'do not ask before a live study is registered'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(register);
}

async function register(options: Options): Promise<void> {
  const file = await readStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  noteAll(file.warnings);
  await withStudies(options, async (log) => {
    const { studies } = log;
    const registered = studies.list().map((study) => study.registered);
    noteAll(refuseNewStudies(file.studies, (name) => studies.isNew(name), registered));
    const compared = readableIn(log, file.studies).map((study) => {
      return { study, outcome: comparedIn(log, study, file) };
    });
    const before = compared.map(({ outcome }) => outcome);
    if (options.dryRun) return report(before, options);
    if (!(await isWanted(before, options))) return;
    const after: Outcome[] = [];
    for (const { study, outcome } of compared)
      after.push(outcome.outcome === 'new' ? await registeredIn(log, study, file) : outcome);
    report(after, options);
  });
}

function noteAll(warnings: readonly Finding[]): void {
  for (const warning of warnings) note(`warning: ${formatFinding(warning)}`);
}

type Outcome = Omit<FileOutcome, 'outcome'> & {
  readonly outcome: FileOutcome['outcome'] | 'registered';
  readonly studyId?: string;
  /** Proves what was registered. */
  readonly firstCheckpoint?: string | undefined;
};

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
async function isWanted(outcomes: readonly FileOutcome[], { yes = false }: Options): Promise<boolean> {
  const added = outcomes.filter(({ outcome }) => outcome === 'new');
  for (const one of added) note(outcomeText(one));
  const live = added.filter(({ configuration }) => configuration.mode === 'live');
  if (live.length === 0) return true;
  const names = added.map(({ study, configuration }) => `${study} (${configuration.mode})`);
  return mayChange({ mode: 'live' }, { yes }, `Register ${names.join(', ')} for good?`);
}

async function registeredIn(log: OpenLog, file: ConfiguredStudy, all: StudiesFile): Promise<Outcome> {
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

function report(outcomes: readonly Outcome[], { json, dryRun }: Options): void {
  if (json) result(JSON.stringify({ studies: outcomes }, null, 2));
  else for (const one of outcomes) result(asText(one));
  if (dryRun) note('dry run: nothing was registered');
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

function asText({ outcome, firstCheckpoint, ...of }: Outcome): string {
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
