/** urn studies: check the file; list, show, pause and resume what is registered. */
import type { Command } from 'commander';
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
import { checkCommand } from './studies-check.ts';
import { enrolled, studiesOption, summary, suspendAsServed, whyClosed, withStudies } from './studies-log.ts';
import { showCommand } from './studies-show.ts';

type Options = LogOptions & { json?: boolean };

export function studiesCommand(): Command[] {
  return [
    checkCommand(),
    logCommand('list')
      .description('list the studies in the log, and which of them take participants')
      .addOption(studiesOption())
      .addOption(jsonOption())
      .action(list),
    showCommand(),
    stateCommand('pause', 'stop taking participants, in every process that serves this log, within a second'),
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

async function list(options: Options & { studies?: string }): Promise<void> {
  await withStudies(options, async (log) => {
    await suspendAsServed(log, options.studies);
    const rows = log.studies.list().map((study) => summary(log, study));
    if (options.json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0)
      note('no study is registered (hint: urn serve --studies FILE registers the studies in FILE)');
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
    throw new UsageError('--reason must not be empty: it is recorded with the event');
  await withStudies(options, async (log) => {
    const study = log.studies.find(name);
    if (!study) throw unknownStudy(name);
    const actor = cliActor();
    const { outcome } = await log.studies.submit(
      study.stream,
      { type: verb, reason: options.reason, user: actor.user },
      actor,
    );
    const sentences = {
      paused: 'is paused',
      'already-paused': 'was already paused',
      resumed: 'takes participants again',
      'not-paused': 'was not paused',
    };
    note(`${name} ${sentences[outcome.type as keyof typeof sentences]}`);
  });
}
