/** urn report: the report of a bundle by itself, to read and to print. */
import type { Command } from 'commander';
import { writeReport } from '../bundle/bundle.ts';
import type { OpenLog } from '../open/open-log.ts';
import { recordDisclosure } from './disclosed.ts';
import { note, result } from './output.ts';
import { type FileOptions, fileCommand, writeAbout } from './study-file.ts';

const HELP = `
One HTML file: configuration, enrolment, balance and events, as report.html of a bundle of this content has them (urn bundle).
  full, open  names treatments (unblinding material); that it was shown is recorded (urn operations)
  blinded     names none
It proves nothing by itself: a bundle does.`;

export function reportCommand(): Command {
  return fileCommand('report', '.html')
    .description('the report of a study as one HTML file, to read and to print')
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: FileOptions): Promise<void> {
  const { study, content, json } = options;
  const write = (_: OpenLog, request: Parameters<typeof writeReport>[0]) => writeReport(request);
  await writeAbout(options, '.html', write, async (log, { participants, revision }, file) => {
    if (content !== 'blinded') {
      await recordDisclosure(log, { what: 'balance', study, toRevision: revision });
      note('warning: this report is UNBLINDING MATERIAL: it names the treatment of every participant');
    }
    result(json ? JSON.stringify({ file, content, study, participants, revision }, null, 2) : file);
  });
}
