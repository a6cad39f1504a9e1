/** urn unblindings add: reports that somebody learned an arm outside the service, or in error. */
import type { Command } from 'commander';
import { UnblindingWay } from '../../events/code-break.ts';
import {
  caseOption,
  choice,
  type GroundsOptions,
  groundsOf,
  refusalOf,
  withGrounds,
  withParticipant,
} from './grounds.ts';
import { instantOption } from './instant-option.ts';
import { cliActor, logCommand, UsageError, unknownStudy } from './options.ts';
import { note } from './output.ts';
import { withStudies } from './studies-log.ts';

interface Options extends GroundsOptions {
  readonly id: string;
  readonly how: UnblindingWay;
  readonly occurredAt: string;
  readonly inadvertent?: boolean;
  readonly revealedAt?: string;
}

const HELP = `
The report names no arm. It counts as a code-break in every list.

Example:
  urn unblindings add --study 'CHS JCOIN' --id 001-0007 --how envelope --occurred-at 2026-03-02T21:40Z --inadvertent \\
    --reason 'the envelope was torn in the post'`;

export function unblindingsCommand(): Command[] {
  return [
    withGrounds(withParticipant(logCommand('add')))
      .description(
        'report an unblinding: an opened envelope, a label, a patient who was told, a code broken in error',
      )
      .addOption(choice('--how <way>', 'how the arm became known', UnblindingWay.options))
      .addOption(
        caseOption('--occurred-at <instant>', 'when, in UTC: 2026-03-02T21:40Z').makeOptionMandatory(),
      )
      .addOption(caseOption('--inadvertent', 'the unblinding was unintentional'))
      .addOption(
        caseOption(
          '--revealed-at <revision>',
          'revision of a code-break that was a mistake (urn code-breaks)',
        ),
      )
      .addHelpText('after', HELP)
      .action(run),
  ];
}

async function run(options: Options): Promise<void> {
  const { study: name, id: participantId, how, inadvertent = false, dryRun } = options;
  const grounds = groundsOf(options);
  const occurredAt = instant(options.occurredAt);
  const revealedAt = options.revealedAt === undefined ? undefined : revision(options.revealedAt);
  await withStudies(options, async ({ studies }) => {
    const study = studies.find(name);
    if (!study) throw unknownStudy(name);
    const actor = cliActor();
    const command = {
      type: 'report-unblinding',
      ...{ participantId, how, inadvertent, occurredAt, revealedAt, grounds },
      user: actor.user,
    } as const;
    const { outcome, revision: at } = dryRun
      ? await studies.tryOut(study.stream, command)
      : await studies.submit(study.stream, command, actor);
    const refused = refusalOf(outcome, options);
    if (refused) throw refused;
    note(
      dryRun
        ? `the unblinding of ${participantId} would be recorded; nothing was recorded`
        : `the unblinding of ${participantId} is recorded (revision ${at})`,
    );
  });
}

/** @throws UsageError */
function instant(text: string): string {
  const problems: string[] = [];
  const at = instantOption('--occurred-at', text, problems);
  if (problems.length > 0) throw new UsageError(problems.join());
  return at;
}

/** @throws UsageError */
function revision(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--revealed-at "${text}" is not a revision`);
  return Number(text);
}
