/** urn reveal: breaks the code of one participant. */
import type { Command } from 'commander';
import { RevealCategory } from '../../events/code-break.ts';
import { PENDING_REVEALS } from '../code-break/pending-reveals.ts';
import { choice, type GroundsOptions, groundsOf, refusalOf, withGrounds } from './grounds.ts';
import { cliActor, jsonOption, logCommand, unknownStudy } from './options.ts';
import { note, result } from './output.ts';
import { withStudies } from './studies-log.ts';

interface Options extends GroundsOptions {
  readonly category: RevealCategory;
  readonly json?: boolean;
}

const HELP = `
Works beside a running service and without one. The code-break is recorded first: who, when, which participant, the
category; the reason under seal. Everybody who may read the study sees that the code was broken, and nobody the arm.

In an emergency the arm is shown even if the log cannot be written. The code-break then waits in the file
${PENDING_REVEALS} of the data folder, and the service or the next command will record it. Other categories need the log.

Example:
  urn reveal --study 'CHS JCOIN' --id 001-0007 --category emergency --reason 'anaphylaxis, ICU' --requested-by 'Dr. K.'`;

export function revealCommand(): Command {
  return withGrounds(logCommand('reveal'))
    .description("break the code of one participant: record it, and show the participant's arm")
    .addOption(choice('--category <category>', 'why the code is broken', RevealCategory.options))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { study: name, id: participantId, category, dryRun, json } = options;
  const grounds = groundsOf(options);
  await withStudies(options, async ({ studies, codeBreaks }) => {
    const study = studies.find(name);
    if (!study) throw unknownStudy(name);
    const actor = cliActor();
    if (dryRun) {
      const { user } = actor;
      const command = { type: 'reveal', participantId, category, grounds, reveal: 'dry run', user } as const;
      const { outcome } = await studies.tryOut(study.stream, command);
      const refused = refusalOf(outcome, options);
      if (refused) throw refused;
      return note(`the code of ${participantId} would be broken; nothing was recorded`);
    }
    const revealed = await codeBreaks.reveal(study, { participantId, category, grounds }, actor);
    if (revealed.type === 'not-revealed')
      throw refusalOf(revealed.outcome, options) ?? new Error(`unexpected outcome ${revealed.outcome.type}`);
    const { subject, recordedIn, revision } = revealed;
    const { treatment } = 'pack' in subject ? subject.pack : subject.participant;
    if (json)
      result(JSON.stringify({ study: name, id: participantId, treatment, recordedIn, revision }, null, 2));
    else
      result(
        `${participantId} is on ${treatment}${recordedIn === 'log' ? ` (code-break recorded at revision ${revision})` : ''}`,
      );
    if (recordedIn === 'pending')
      note(
        `warning: the log could not be written. The code-break waits in ${PENDING_REVEALS} of the data folder, and the service or the next command will record it`,
      );
    if (recordedIn === 'none')
      note(
        'warning: this code-break could be recorded NOWHERE. Write it down now, and record it later: urn unblindings add',
      );
  });
}
