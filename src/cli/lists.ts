/** urn lists add, status and skip: allocations that were made elsewhere. */

import type { Command } from 'commander';
import { approvedByOption, IN_THE_CLEAR } from './approvals.ts';
import { withFileProblems } from './file-problems.ts';
import { caseOption, studyOption } from './grounds.ts';
import { strataOf } from './list-strata.ts';
import { type AddOptions, addEntries } from './lists-add.ts';
import { type ListOptions, listedState, SKIP_OWED } from './lists-parts.ts';
import { skipEntries } from './lists-skip.ts';
import { jsonOption, logCommand, namedStudy } from './options.ts';
import { note, result, table } from './output.ts';
import { withStudies } from './studies-log.ts';

const WRITE_HELP = `
For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit code 2: not possible, so nothing was recorded. A running service picks up the
change within a second.`;

const ADD_HELP = `
For a study with method: {name: list, by: [...]}. The file is CSV in UTF-8 with the columns treatment and the factors in by; the
order of its rows is the order of use, each stratum on its own. Other columns need --ignore. Entries are recorded under seal: no
blinded reader sees them, nor how the list goes on. The log proves that the list was followed, not that it was random.

All problems in the file are listed together, by line. If the command is interrupted, run it again with the same file: it goes
on behind the last row. A file that was saved anew is another file: all its rows are added. A further file continues the list.
After an amendment with which the list begins anew, earlier entries are void: add a new file. Register the study with start:
paused, and resume it once its list is in.

A live study needs --approved-by. ${IN_THE_CLEAR}
${WRITE_HELP}

Examples:
  urn lists add --study ABC-4 --from list.csv --dry-run
  urn lists add --study ABC-4 --from list.csv --approved-by 'Dr. K. Ode, statistician, 2027-02-01' --ignore block,size`;

const STATUS_HELP = `
How many entries of each stratum were used (given to a participant, or skipped), and how many are left. Where none is left,
nobody is randomized. Of more than 1,000 strata, only those that have entries are shown. No arm is shown.

--json is an object: study, lists (how many there were), skip_owed, and strata, a list with levels (factor, level), used, left.

Example:
  urn lists status --study ABC-4`;

const SKIP_HELP = `
Behind a recovery of the log, and behind an import, nobody in the study is randomized until you say which entries were used
by participants whom the log does not have: sites know their arms, and each entry is used once. Ask the sites. Count also those
of them whom you enter by hand (urn participants force): that takes no entry. The next entries of each stratum are passed over,
for good. --none says that none were used. If lists were lost too, register them again first, in their order.

--used names a stratum as urn lists status shows it and a number: 'local_site=11:2', or 'sex=F,local_site=11:2', or just 2 if
the list is for the whole study. ${IN_THE_CLEAR}
${WRITE_HELP}

Examples:
  urn lists skip --study ABC-4 --used 'local_site=11:2' --used 'local_site=30:1' --reason 'recovery 1; lists of the sites'
  urn lists skip --study ABC-4 --none --reason 'recovery 1; no site has a participant whom the log lacks'`;

export function listsCommand(): Command[] {
  return [
    listCommand('add', 'register the entries of a file, in their order')
      .addOption(
        caseOption('--from <file>', 'CSV: treatment and the factors of the strata').makeOptionMandatory(),
      )
      .addOption(approvedByOption())
      .addOption(
        caseOption('--ignore <columns>', 'columns of the file that are not read, with commas between'),
      )
      .addOption(caseOption('--dry-run', 'check the file, and write nothing'))
      .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
      .addOption(jsonOption())
      .addHelpText('after', ADD_HELP)
      .action((options: AddOptions) => withFileProblems('nothing was registered', () => addEntries(options))),
    listCommand('status', 'how many entries of each stratum are used and left, without arms')
      .addOption(jsonOption())
      .addHelpText('after', STATUS_HELP)
      .action(status),
    listCommand('skip', 'pass over entries that participants have whom the log lacks')
      .addOption(
        caseOption(
          '--used <stratum:number>',
          'that many entries of the stratum were used (repeatable)',
        ).argParser((value: string, earlier: readonly string[] = []) => [...earlier, value]),
      )
      .addOption(caseOption('--none', 'no entries were used').conflicts('used'))
      .addOption(caseOption('--reason <text>', 'recorded in the clear').makeOptionMandatory())
      .addOption(caseOption('--dry-run', 'only check whether it would be recorded'))
      .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
      .addOption(jsonOption())
      .addHelpText('after', SKIP_HELP)
      .action(skipEntries),
  ];
}

function listCommand(name: string, description: string): Command {
  return logCommand(name).description(description).addOption(studyOption());
}

async function status({ study: name, json, ...options }: ListOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const state = listedState(log, namedStudy(log.studies, name));
    const { isSkipOwed, lists } = state.entries;
    const strata = strataOf(state);
    if (json) {
      const shown = strata.map(({ levels, used, left }) => ({ levels, used, left }));
      return result(JSON.stringify({ study: name, lists, skip_owed: isSkipOwed, strata: shown }, null, 2));
    }
    if (isSkipOwed) note(SKIP_OWED);
    if (strata.every(({ used, left }) => used + left === 0))
      return note(`${name} has no entries (hint: urn lists add)`);
    result(
      table([
        ['stratum', 'used', 'left'],
        ...strata.map(({ text, used, left }) => [text, String(used), String(left)]),
      ]),
    );
  });
}
