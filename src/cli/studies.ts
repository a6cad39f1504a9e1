/** urn studies: check the file; list, show, pause and resume what is registered. */
import type { Command } from 'commander';
import type { RegisteredStudy } from '../../projections/study-config.ts';
import { configurationDifferences, describeDifferences } from '../configuration/differences.ts';
import { formatFinding } from '../configuration/finding.ts';
import { refuseNewStudies } from '../configuration/new-studies.ts';
import { NoLogError } from '../store-location.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  UsageError,
  unknownStudy,
} from './options.ts';
import { note, result, table } from './output.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { enrolled, studiesOption, summary, suspendAsServed, whyClosed, withStudies } from './studies-log.ts';
import { showCommand } from './studies-show.ts';

type Options = LogOptions & { json?: boolean };

export function studiesCommand(): Command[] {
  return [
    logCommand('check')
      .description('check the studies file, and compare it with what is registered in the log')
      .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
      .addOption(jsonOption())
      .action(check),
    logCommand('list')
      .description('the studies in the log, and which of them take participants')
      .addOption(studiesOption())
      .addOption(jsonOption())
      .action(list),
    showCommand(),
    stateCommand('pause', 'take no new participants, in every process that serves this log, within a second'),
    stateCommand('resume', 'take participants again'),
  ];
}

function stateCommand(verb: 'pause' | 'resume', description: string): Command {
  return logCommand(verb)
    .argument('<name>', 'name of a study')
    .description(description)
    .addOption(option('--reason <text>', 'recorded with the event').makeOptionMandatory())
    .action((name: string, options: LogOptions & { reason: string }) => setState(verb, name, options));
}

async function check(options: Options & { studies?: string }): Promise<void> {
  const { studies: configured, warnings } = readStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  for (const warning of warnings) note(`warning: ${formatFinding(warning)}`);
  const outcomes: { study: string; outcome: 'new' | 'as registered' | 'differs'; differences: string[] }[] =
    [];
  const registered = await registeredStudies(options);
  refuseNewStudies(configured, (name) => !registered.has(name));
  for (const { configuration, seed } of configured) {
    const study = registered.get(configuration.name);
    const differences = study ? configurationDifferences(study, { configuration, seed }) : [];
    outcomes.push({
      study: configuration.name,
      outcome: !study ? 'new' : differences.length > 0 ? 'differs' : 'as registered',
      differences: describeDifferences(differences, { secrets: 'show' }),
    });
  }
  if (options.json) result(JSON.stringify({ studies: outcomes, warnings }, null, 2));
  else
    for (const { study, outcome, differences } of outcomes)
      result([`${study}: ${outcome}`, ...differences.map((line) => `  ${line}`)].join('\n'));
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

/** By name. A file can be checked before there is a log. */
async function registeredStudies(options: Options): Promise<Map<string, RegisteredStudy>> {
  try {
    const studies = await withStudies(options, async (log) => log.studies.list());
    return new Map(studies.map(({ registered }) => [registered.configuration.name, registered]));
  } catch (error) {
    if (!(error instanceof NoLogError)) throw error;
    note(`${error.message}\nso each study of the file is new`);
    return new Map();
  }
}

async function list(options: Options & { studies?: string }): Promise<void> {
  await withStudies(options, async (log) => {
    suspendAsServed(log, options.studies);
    const rows = log.studies.list().map((study) => summary(log, study));
    if (options.json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0)
      note('no study is registered (hint: urn serve --studies FILE registers those of the file)');
    else
      result(
        table(
          rows.map((row) => [
            row.name,
            row.mode,
            row.state,
            enrolled(row.participants, row.target),
            whyClosed(row) ?? '',
          ]),
        ),
      );
  });
}

async function setState(
  verb: 'pause' | 'resume',
  name: string,
  options: LogOptions & { reason: string },
): Promise<void> {
  if (options.reason.trim() === '')
    throw new UsageError('--reason needs a text: it is recorded with the event');
  await withStudies(options, async (log) => {
    const study = log.studies.find(name);
    if (!study) throw unknownStudy(name);
    const { outcome } = await log.studies.submit(
      study.stream,
      { type: verb, reason: options.reason },
      cliActor(),
    );
    const said = {
      paused: 'is paused',
      'already-paused': 'was paused before',
      resumed: 'takes participants again',
      'not-paused': 'was not paused',
    };
    note(`${name} ${said[outcome.type as keyof typeof said]}`);
  });
}
