/** Options of the commands about one participant, and their checks. */
import { type Command, Option } from 'commander';
import { freeTextProblem } from '../base/text.ts';
import type { Status, StudyOutcome } from '../core/model/outcomes.ts';
import type { Grounds } from '../service/code-break/code-breaks.ts';
import { APPROVAL_EXAMPLE } from './approvals.ts';
import { type LogOptions, option, UsageError, unknownPack, unknownParticipant } from './options.ts';

export interface ParticipantOptions extends LogOptions {
  readonly study: string;
  readonly id: string;
}

export interface GroundsOptions extends LogOptions {
  readonly study: string;
  readonly reason: string;
  readonly requestedBy?: string;
  readonly dryRun?: boolean;
}

const LEAST_REASON = 3;

/** Unlike `option`, these are not read from the environment, which is no place for what is decided case by case. */
export function caseOption(flags: string, description: string): Option {
  return new Option(flags, description);
}

export function studyOption(): Option {
  return option('--study <name>', 'name of the study').makeOptionMandatory();
}

export function withParticipant(command: Command): Command {
  return command
    .addOption(studyOption())
    .addOption(caseOption('--id <id>', 'an id that the participant has or had').makeOptionMandatory());
}

export function withGrounds(command: Command): Command {
  return command
    .addOption(
      caseOption(
        '--reason <text>',
        'recorded under seal: blinded readers do not see it',
      ).makeOptionMandatory(),
    )
    .addOption(caseOption('--requested-by <name>', 'who asked for it; also sealed'))
    .addOption(caseOption('--dry-run', 'only check whether it would be recorded'));
}

export function choice(flags: string, description: string, choices: readonly string[]): Option {
  return caseOption(flags, description)
    .choices([...choices])
    .makeOptionMandatory();
}

/** @throws UsageError */
export function groundsOf({ reason, requestedBy }: GroundsOptions): Grounds {
  const problem = freeTextProblem(reason, LEAST_REASON);
  if (problem !== undefined) throw new UsageError(`--reason ${problem}`);
  const unfit = requestedBy === undefined ? undefined : freeTextProblem(requestedBy, 1);
  if (unfit !== undefined) throw new UsageError(`--requested-by ${unfit}`);
  return { reason, requestedBy };
}

/** What a command is about: a participant, a pack, or packs. */
interface Subject {
  readonly study: string;
  readonly id?: string | undefined;
  readonly code?: string | undefined;
}

/** What to do about the state of a study. */
const HINTS: Readonly<Record<Status | 'suspended', string>> = {
  open: 'urn studies pause, urn studies close',
  paused: 'urn studies resume',
  closed: 'urn studies reopen',
  importing: 'a history is being imported: wait until it is in',
  suspended: 'urn studies check',
};

/** How to write what is lacking. */
const FORMS: Readonly<Record<string, string>> = {
  approvals: ` (hint: --approved-by '${APPROVAL_EXAMPLE}', for each person who decided it)`,
};

/** The error for a command that was refused; undefined if it was not. */
export function refusalOf(outcome: StudyOutcome, { study, id, code = '' }: Subject): UsageError | undefined {
  if (outcome.type === 'no-such-participant')
    return id === undefined ? unknownPack(study, code) : unknownParticipant(study, id);
  if (outcome.type === 'no-code')
    return new UsageError(
      `no pack is left that this participant could have: nothing was recorded (hint: urn codes list, urn codes add)`,
    );
  if (outcome.type === 'dispensed-already')
    return new UsageError(
      `${outcome.participantId} has a pack for ${outcome.visit} already: nothing was recorded (hint: urn participants correct-dispensation, urn codes replace)`,
    );
  if (outcome.type === 'impossible')
    return new UsageError(`${optionOf(outcome.field)}: ${outcome.why}${FORMS[outcome.field] ?? ''}`);
  if (outcome.type === 'unfit')
    return new UsageError(
      outcome.problems.map(({ field, why }) => `${optionOf(field)}: ${why}`).join('\n     '),
    );
  if (outcome.type === 'stale')
    return new UsageError(`nothing was recorded: ${outcome.why} (hint: urn participants history)`);
  if (outcome.type === 'amended-meanwhile')
    return new UsageError(`${study} was amended meanwhile: nothing was recorded (hint: run it again)`);
  if (outcome.type === 'refused')
    return new UsageError(
      `${study} is ${outcome.because}: nothing was recorded (hint: ${HINTS[outcome.because]})`,
    );
  return undefined;
}

/** The option that gives a member, or part of one. Most have its name. */
export function optionOf(field: string): string {
  const [member = ''] = field.split(/[.[]/);
  const option =
    OPTIONS[member] ?? member.replaceAll(/[A-Z]|_./g, (found) => `-${found.replace('_', '').toLowerCase()}`);
  return `--${option}`;
}

const OPTIONS: Readonly<Record<string, string>> = {
  participantId: 'id',
  levels: 'level',
  changes: 'level',
  codes: 'code',
  approvals: 'approved-by',
};
