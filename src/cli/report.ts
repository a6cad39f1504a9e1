/** urn report: the report of a bundle on its own, to read and print. */
import type { Command } from 'commander';
import { writeReport } from '../evidence/bundle/bundle.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { recordDisclosure } from './disclosed.ts';
import { note, result } from './output.ts';
import { type FileOptions, fileCommand, writeAbout } from './study-file.ts';

const HELP = `
One HTML file with configuration, enrolment, balance and events: the report.html of a bundle with this content (urn bundle).
  full, open  names treatments (unblinding material); showing it is recorded (urn operations)
  blinded     names no treatments
The report proves nothing. A bundle does.`;

export function reportCommand(): Command {
  return fileCommand('report', '.html')
    .description('write the report of a study as one HTML file, to read and print')
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
