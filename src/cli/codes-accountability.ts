/** urn codes accountability: what became of each pack, to print or as a list, without arms. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { fileNameAbout } from '../base/files.ts';
import { packAccountability } from '../core/study/pack-accountability.ts';
import { accountabilityCsv, accountabilityPage } from '../evidence/export/accountability.ts';
import { recordDisclosure } from './disclosed.ts';
import { refuseUnfit, writeNew } from './new-files.ts';
import { jsonOption, type LogOptions, logCommand, namedStudy, option } from './options.ts';
import { note, result } from './output.ts';
import { registeredState, withStudies } from './studies-log.ts';

interface Options extends LogOptions {
  readonly study: string;
  readonly out?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
}

const HELP = `
One HTML file to print, with a row for each pack in the order of registration, and empty columns to fill in by hand: received,
returned, destroyed, initials. It names NO arm. Reading it is recorded like the map of the packs (urn operations).

state      free       still to be given out
           held       the participant has it
           replaced   the participant has another one in its place
           void       it was recorded for the participant, who never got it; nobody gets it any more
           nobody     only a wrong entry had it, and that was replaced
           withdrawn  not to be given out

--csv has the columns code, visit, state, id, dispensed_at, user, on_behalf_of, replaced_by, cause. --json is a list of objects
with code, state and, where there is something to say, visit, id (in use), dispensedAt, user, onBehalfOf, replacedBy and cause.

Examples:
  urn codes accountability --study 'CHS JCOIN'
  urn codes accountability --study 'CHS JCOIN' --csv > packs.csv`;

export function accountabilityCommand(): Command {
  return logCommand('accountability')
    .description('write what became of each pack as one HTML file, to print; without arms')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option(
        '--out <file>',
        'the file to write (default: <study>-accountability.html; for a test <study>-TEST-…)',
      ),
    )
    .addOption(new Option('--csv', 'as CSV, to stdout').conflicts(['json', 'out']))
    .addOption(jsonOption().conflicts('out'))
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ study: name, out, csv, json, ...options }: Options): Promise<void> {
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const { revision } = study;
    const packs = packAccountability(registeredState(log, study));
    if (packs.length === 0) return note(`${name} has no packs (hint: urn codes add)`);
    const isTest = study.registered.configuration.mode === 'test';
    const byDefault = fileNameAbout(name, { isTest, what: 'accountability', extension: '.html' });
    const file = csv || json ? undefined : resolve(out ?? byDefault);
    // Before it is recorded.
    if (file !== undefined) refuseUnfit([file]);
    await recordDisclosure(log, { what: 'codes', study: name, toRevision: revision });
    if (file !== undefined) {
      const at = new Date().toISOString();
      writeNew(file, accountabilityPage(packs, { study: name, isTest, revision, at }));
      result(file);
    } else if (json) result(JSON.stringify(packs, null, 2));
    else for (const piece of accountabilityCsv(packs)) process.stdout.write(piece);
  });
}
