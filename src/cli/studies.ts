/** urn studies: the studies file and what is registered from it, the studies in the log, and what becomes of them. */
import type { Command } from 'commander';
import { actCommands } from './act-commands.ts';
import { jsonOption, type LogOptions, logCommand } from './options.ts';
import { note, result, table } from './output.ts';
import { amendCommand } from './studies-amend.ts';
import { checkCommand } from './studies-check.ts';
import { expectedCommand } from './studies-expected.ts';
import {
  enrolledText,
  studiesOption,
  summary,
  suspendAsServed,
  whyClosed,
  withStudies,
} from './studies-log.ts';
import { registerCommand } from './studies-register.ts';
import { showCommand } from './studies-show.ts';

type Options = LogOptions & { json?: boolean };

export function studiesCommand(): Command[] {
  return [
    checkCommand(),
    registerCommand(),
    logCommand('list')
      .description('list the studies in the log, and which of them take participants')
      .addOption(studiesOption())
      .addOption(jsonOption())
      .action(list),
    showCommand(),
    expectedCommand(),
    ...actCommands('studies'),
    amendCommand(),
  ];
}

async function list(options: Options & { studies?: string }): Promise<void> {
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
