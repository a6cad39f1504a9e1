/** urn reveal: breaks the code of one participant, or of one pack. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { RevealCategory } from '../../events/unblinding.ts';
import { currentId, heldCodes } from '../core/model/participants.ts';
import { breakCommand } from '../core/study/decide.ts';
import type { Subject } from '../service/code-break/code-breaks.ts';
import { PENDING_REVEALS } from '../service/code-break/pending-reveals.ts';
import { caseOption, choice, type GroundsOptions, groundsOf, refusalOf, withGrounds } from './grounds.ts';
import { cliActor, jsonOption, logCommand, namedStudy, option, UsageError } from './options.ts';
import { note, result } from './output.ts';
import { withNamedLog } from './studies-log.ts';

interface Options extends GroundsOptions {
  readonly id?: string;
  readonly code?: string;
  readonly category: RevealCategory;
  readonly json?: boolean;
}

const HELP = `
Works whether or not the service is running. The code-break is recorded first: who, when, which participant, the
category; the reason under seal. Everybody who may read the study sees that the code was broken, but not the arm.

In an emergency the arm is shown even if the log cannot be written. The code-break then waits in the file
${PENDING_REVEALS} of the data folder, and the service or the next command will record it. The same happens without the
log's signing key: then a process that has the key records it. Other categories need the log, and its key.

It works from any folder if --data or URN_DATA says where the log is. urn code-breaks page prints the page for an emergency, with
the whole command line for this machine.

With --code, the code on the pack is enough: for a pack that was given out, the code-break is about the participant who
has or had it; for any other pack, about the pack alone.

Examples:
  urn reveal --study 'CHS JCOIN' --id 001-0007 --category emergency --reason 'anaphylaxis, ICU' --requested-by 'Dr. K.'
  urn reveal --study 'CHS JCOIN' --code AF5-0017 --category emergency --reason 'a child swallowed tablets'`;

export function revealCommand(): Command {
  return withGrounds(logCommand('reveal'))
    .description('break the code of one participant, or of one pack: record it, and show the arm')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(caseOption('--id <id>', 'an id that the participant has or had'))
    .addOption(caseOption('--code <code>', 'what is printed on the pack').conflicts('id'))
    .addOption(choice('--category <category>', 'why the code is broken', RevealCategory.options))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { study: name, id: participantId, code, category, dryRun, json } = options;
  if (participantId === undefined && code === undefined)
    throw new UsageError('say whose code to break: --id, or --code of a pack');
  const grounds = groundsOf(options);
  // The patient must not wait for somebody who finds the key.
  const opened = { ...options, mayLackKey: category === 'emergency' && !dryRun };
  await withNamedLog(opened, async ({ studies, codeBreaks, identity }) => {
    const study = namedStudy(studies, name);
    const actor = cliActor();
    if (dryRun) {
      const { user } = actor;
      const asked = { participantId, code, category, ...grounds };
      const { outcome } = await studies.tryOut(study.stream, breakCommand(asked, { user }));
      const refused = refusalOf(outcome, options);
      if (refused) throw refused;
      return note(`the code of ${participantId ?? `the pack ${code}`} would be broken; nothing was recorded`);
    }
    const revealed = await codeBreaks.reveal(study, { participantId, code, category, grounds }, actor);
    if (revealed.type === 'not-revealed')
      throw refusalOf(revealed.outcome, options) ?? new Error(`unexpected outcome ${revealed.outcome.type}`);
    const { subject, recordedIn, revision } = revealed;
    const { id, treatment, text } = answerOf(subject, options);
    if (json) result(JSON.stringify({ study: name, id, code, treatment, recordedIn, revision }, null, 2));
    else result(`${text}${recordedIn === 'log' ? ` (code-break recorded at revision ${revision})` : ''}`);
    if (recordedIn === 'pending') {
      const why = identity.hasSigningKey ? 'the log could not be written' : 'the signing key is not here';
      const who = identity.hasSigningKey
        ? 'the service or the next command'
        : 'a process that has the key: the service, or a command with --signing-key';
      note(
        `warning: ${why}, so this is NOT recorded yet. It waits in ${resolve(options.data, PENDING_REVEALS)} for ${who}`,
      );
    }
    if (recordedIn === 'none')
      note(
        'warning: this code-break could be recorded NOWHERE. Write it down now, and record it later: urn unblindings add',
      );
  });
}

/** Names the participant by the id that was asked for or, if found by the pack, by the id in use. */
function answerOf(subject: Subject, { id, code }: Options) {
  if ('pack' in subject) {
    const { code: of, treatment } = subject.pack;
    return {
      id: undefined,
      treatment,
      text: `the pack ${of} holds ${treatment}; nobody is known to have it`,
    };
  }
  const { participant } = subject;
  const { treatment } = participant;
  const of = id ?? currentId(participant);
  const whose = code === undefined || heldCodes(participant).includes(code) ? 'has' : 'had';
  const found = code === undefined ? '' : `, who ${whose} the pack ${code},`;
  return { id: of, treatment, text: `${of}${found} is on ${treatment}` };
}
