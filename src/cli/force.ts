/** urn participants force: enters an allocation that was made outside the service. */
import type { Command } from 'commander';
import { ForcedCause } from '../../events/from-outside.ts';
import { PackCode } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import type { Design } from '../core/model/design.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import type { Participants } from '../core/model/participants.ts';
import { NONE } from '../core/model/participants.ts';
import type { Force } from '../core/study/commands.ts';
import { participants } from '../core/study/fold.ts';
import type { Study } from '../core/study/studies.ts';
import { CODE_FORM } from '../evidence/import/pack-file.ts';
import { isConfirmed } from './confirm.ts';
import { type EntryOptions, EntryReader } from './correction-options.ts';
import { caseOption, refusalOf } from './grounds.ts';
import { instantOption } from './instant-option.ts';
import { cliActor, logCommand, namedStudy, option, UsageError } from './options.ts';
import { note, result, table } from './output.ts';
import { drawsFromCounts, studyText, withStudies } from './studies-log.ts';

interface Options extends EntryOptions {
  readonly treatment: string;
  readonly occurredAt: string;
  readonly replaces?: string;
  /** False with --no-code. */
  readonly code?: string | false;
}

const HELP = `
Nothing is drawn: the participant has the arm that you name. The arm and the note are sealed; the rest stays in the clear.
The study's policy forced_counts decides whether later allocations count the participant. Participants stay in the order
of entry, not of --occurred-at. The arm must have been open at --occurred-at; it may be closed now. Give no level for a retired
factor, whenever the allocation was made. In a study with packs, --code says which one the participant was given: a free one
of this arm and for these levels, or, with --replaces, the one of the wrong entry. If it was none of them, say --no-code.

Causes: outage (the service could not be reached), elsewhere (another system allocates too), protocol (it prescribes
this), other. A wrong entry is voided first (urn participants void --cause entry) and then entered anew with --replaces and its
revision.

For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit code 2: not possible, so nothing was recorded.

Example:
  urn participants force --study 'CHS JCOIN' --id 001-0010 --level sex=Male --treatment MART \\
    --occurred-at 2026-03-02T21:40Z --cause outage --note 'envelope 12, during the power cut'`;

export function forceCommand(): Command {
  return logCommand('force')
    .description('enter an allocation that was made outside the service')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(caseOption('--id <id>', 'the id of the participant').makeOptionMandatory())
    .addOption(
      caseOption('--level <factor=level>', 'a level of the participant (repeatable: one for each factor)')
        .argParser((value: string, earlier: readonly string[] = []) => [...earlier, value])
        .makeOptionMandatory(),
    )
    .addOption(
      caseOption('--treatment <arm>', 'the arm that the participant was given').makeOptionMandatory(),
    )
    .addOption(caseOption('--occurred-at <instant>', 'when, in UTC: 2026-03-02T21:40Z').makeOptionMandatory())
    .addOption(caseOption('--cause <cause>', `why: ${ForcedCause.options.join(', ')}`).makeOptionMandatory())
    .addOption(
      caseOption('--replaces <revision>', 'revision of the wrong entry of this id, which has been voided'),
    )
    .addOption(caseOption('--code <code>', 'code of the pack that the participant was given'))
    .addOption(caseOption('--no-code', 'the participant was given none of the packs'))
    .addOption(
      caseOption(
        '--note <text>',
        'what happened, 1 to 2,000 characters; sealed: blinded readers do not see it',
      ).makeOptionMandatory(),
    )
    .addOption(caseOption('--dry-run', 'show what would be recorded, and write nothing'))
    .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: Options): Promise<void> {
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, options.study);
    const actor = cliActor();
    const everybody = log.runner.state(participants, study.stream);
    const command = commandOf(options, study, everybody, actor.user);
    const { outcome: tried } = await log.studies.tryOut(study.stream, command);
    const isCounted = (outcome: StudyOutcome) => movesOf(outcome, options) && drawsFromCounts(log, study);
    const moves = isCounted(tried);
    const where = studyText(log, study);
    if (options.dryRun) return result(dryRun(command, study.design, where, moves));
    const question = `Enter ${command.participantId} in ${where}?`;
    if (study.design.mode === 'live' && !options.yes && !(await isConfirmed(question))) {
      note('nothing was recorded');
      process.exitCode = 1;
      return;
    }
    const { outcome, revision } = await log.studies.submit(study.stream, command, actor);
    note(
      `${command.participantId} is entered (revision ${revision}); ${effect(command, isCounted(outcome))}`,
    );
  });
}

/** @throws UsageError listing every problem */
function commandOf(options: Options, study: Study, everybody: Participants, user: string): Force {
  const { design, registered } = study;
  const reader = new EntryReader(options, design);
  const { problems } = reader;
  const participantId = reader.newId('--id', options.id, everybody);
  const named = reader.levels();
  const levels = design.factors.map(({ name, isRetired }, index) => {
    if (isRetired) return NONE;
    const level = named.find((one) => one.index === index)?.level;
    if (level === undefined) problems.push(`--level is missing for ${name}`);
    return level ?? '';
  });
  const { treatment } = options;
  if (!design.treatments.includes(treatment))
    problems.push(
      `--treatment: the study has no treatment ${quote(treatment)} (allowed: ${design.treatments.map((one) => `${quote(one)}${isClosed(design, one) ? ' (closed now)' : ''}`).join(', ')})`,
    );
  const cause = reader.oneOf('cause', ForcedCause.options);
  const occurredAt = instantOption('--occurred-at', options.occurredAt, problems);
  if (occurredAt !== '' && occurredAt < registered.registeredAt)
    problems.push(`--occurred-at is before the study was registered (${registered.registeredAt})`);
  const replaces = replacedBy(options.replaces, problems);
  const code = options.code === false ? null : options.code;
  if (typeof code === 'string' && !PackCode.safeParse(code).success)
    problems.push(`--code ${quote(code)} is not a code: ${CODE_FORM}`);
  const text = reader.note();
  if (problems.length > 0 || !cause) throw new UsageError(problems.join('\n     '));
  return {
    ...{ type: 'force', user, amendment: design.amendment, participantId, levels, treatment },
    ...{ cause, occurredAt, replaces, code, note: text },
  };
}

function isClosed({ closedTreatments }: Design, treatment: string): boolean {
  return closedTreatments.includes(treatment);
}

function replacedBy(text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) problems.push(`--replaces ${quote(text)} is not a revision`);
  return Number(text);
}

/** @throws UsageError when it is not possible */
function movesOf(outcome: StudyOutcome, options: Options): boolean {
  const { study, id } = options;
  const refused = refusalOf(outcome, { study, id });
  if (refused) throw refused;
  if (outcome.type !== 'recorded') throw new Error(`unexpected outcome ${outcome.type}`);
  return outcome.moves;
}

function effect({ participantId }: Force, moves: boolean): string {
  return `later allocations ${moves ? 'count' : 'do not count'} ${participantId}`;
}

function dryRun(command: Force, design: Design, study: string, moves: boolean): string {
  const { participantId, levels, treatment, cause, occurredAt, replaces, code, note: text } = command;
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', 'AllocationForced'],
    ['study', study],
    ['participant', participantId],
    ['levels', levels.filter((level) => level !== NONE).join(', ')],
    ['treatment', `${treatment}${isClosed(design, treatment) ? ' (closed now, open then)' : ''}`],
    ['cause', cause],
    ['occurred at', occurredAt],
    ...(replaces === undefined ? [] : [['replaces', `the entry at revision ${replaces}`]]),
    ...(code === undefined
      ? []
      : [['pack', code === null ? 'none' : `${code} (not checked to be of this arm)`]]),
    ['note', text],
    ['effect', effect(command, moves)],
  ])}`;
}
