/** urn studies pause, resume, close and reopen: whether a study takes participants. */
import { type Command, Option } from 'commander';
import type { StudyFact } from '../../events/catalogue.ts';
import { ClosingCause } from '../../events/study-state.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { LifeCommand, StudyOutcome } from '../study/commands.ts';
import type { Study } from '../study/studies.ts';
import {
  APPROVAL_EXAMPLE,
  approvedByOption,
  type DecisionOptions,
  decisionOf,
  decisionRows,
  IN_THE_CLEAR,
  protocolOption,
} from './approvals.ts';
import { mayChange } from './confirm.ts';
import { choice } from './grounds.ts';
import { cliActor, type LogOptions, logCommand, option, UsageError, unknownStudy } from './options.ts';
import { note, result, table } from './output.ts';
import { described, withStudies } from './studies-log.ts';

type Verb = 'pause' | 'resume' | 'close' | 'reopen';
type StateCommand = Extract<LifeCommand, { type: Verb }>;

const DONE: Readonly<Record<Verb, string>> = {
  pause: 'paused',
  resume: 'resumed',
  close: 'closed',
  reopen: 'reopened',
};
const EVENTS: Readonly<Record<Verb, StudyFact['type']>> = {
  pause: 'StudyPaused',
  resume: 'StudyResumed',
  close: 'StudyClosed',
  reopen: 'StudyReopened',
};
const EFFECTS: Readonly<Record<Verb, string>> = {
  pause: 'no new participants until it is resumed',
  resume: 'it takes participants again',
  close: 'no new participants; codes can still be broken',
  reopen: 'it takes participants again, with the urns as they were',
};

interface Options extends LogOptions, DecisionOptions {
  readonly reason: string;
  readonly cause?: ClosingCause;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const COMMON_HELP = `
${IN_THE_CLEAR}

For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked.`;

const CLOSE_HELP = `${COMMON_HELP}

A closed study takes no participants. Codes can still be broken, and everything can still be read. Only urn studies reopen can
reopen it, with an approval if the study is live. To stop for a while, pause it.

Causes: target (enough participants), sponsor, safety, regulator, end (of the trial), other.

Example:
  urn studies close "CHS JCOIN" --cause target --reason "300 randomized" --approved-by "${APPROVAL_EXAMPLE}"`;

const REOPEN_HELP = `${COMMON_HELP}

A live study needs at least one approval: who decided it outside this system. It is recorded as you state it. The urns
continue as they were.

Example:
  urn studies reopen "CHS JCOIN" --reason "target raised" --approved-by "Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3" \\
    --protocol 3.0,2027-09-12`;

export function stateCommands(): Command[] {
  return [
    stateCommand(
      'pause',
      'stop taking participants, in every process that serves this log, within a second',
    ).addHelpText('after', COMMON_HELP),
    stateCommand('resume', 'let a paused study take participants again').addHelpText('after', COMMON_HELP),
    stateCommand('close', 'stop taking participants for good, in every process that serves this log')
      .addOption(choice('--cause <cause>', 'why it is closed', ClosingCause.options))
      .addOption(approvedByOption())
      .addHelpText('after', CLOSE_HELP),
    stateCommand('reopen', 'let a closed study take participants again')
      .addOption(approvedByOption())
      .addOption(protocolOption())
      .addHelpText('after', REOPEN_HELP),
  ];
}

function stateCommand(verb: Verb, description: string): Command {
  return logCommand(verb)
    .argument('<name>', 'name of a study')
    .description(description)
    .addOption(
      option('--reason <text>', 'recorded in the clear, 1 to 2,000 characters').makeOptionMandatory(),
    )
    .addOption(option('--dry-run', 'show what would be recorded, and write nothing'))
    .addOption(new Option('--yes', 'do not ask before a live study is changed'))
    .action((name: string, options: Options) => setState(verb, name, options));
}

async function setState(verb: Verb, name: string, options: Options): Promise<void> {
  const actor = cliActor();
  const command = commandOf(verb, options, actor.user);
  await withStudies(options, async (log) => {
    const study = log.studies.find(name);
    if (!study) throw unknownStudy(name);
    const { outcome } = await log.studies.tryOut(study.stream, command);
    if (outcome.type !== DONE[verb]) return note(sentenceOf(name, verb, outcome));
    if (options.dryRun) return result(asRecorded(log, study, command));
    const question = `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${described(log, study)}?`;
    if (!(await mayChange(study.design, options, question))) return;
    const done = await log.studies.submit(study.stream, command, actor);
    note(sentenceOf(name, verb, done.outcome));
  });
}

/** @throws UsageError listing every problem */
function commandOf(verb: Verb, options: Options, user: string): StateCommand {
  const { reason, cause = 'other' } = options;
  const { approvals, protocol } = decisionOf(options);
  const asked = { reason, user, askedAt: new Date().toISOString() };
  if (verb === 'close')
    return { type: verb, ...asked, cause, approvals: approvals.length > 0 ? approvals : undefined };
  if (verb === 'reopen') return { type: verb, ...asked, approvals, protocol };
  return { type: verb, reason, user };
}

/** @throws UsageError when the state of the study does not allow it */
function sentenceOf(name: string, verb: Verb, outcome: StudyOutcome): string {
  const refused = (why: string) => new UsageError(`${name} ${why}`);
  switch (outcome.type) {
    case 'paused':
      return `${name} is paused`;
    case 'already-paused':
      return `${name} was already paused`;
    case 'resumed':
    case 'reopened':
      return `${name} takes participants again`;
    case 'not-paused':
      return `${name} was not paused`;
    case 'closed':
      return `${name} is closed`;
    case 'already-closed':
      return `${name} was already closed`;
    case 'not-closed':
      return `${name} was not closed`;
    case 'refused':
      if (outcome.because === 'importing')
        throw refused(`cannot be ${DONE[verb]} while a history is being imported`);
      throw refused(
        outcome.because === 'paused'
          ? 'is paused, not closed (hint: urn studies resume lets it take participants again)'
          : `is closed, so it cannot be ${DONE[verb]} (hint: urn studies reopen lets it take participants again)`,
      );
    case 'impossible':
      throw refused(
        outcome.field === 'approvals'
          ? `is live, so it is reopened only with an approval (hint: --approved-by '${APPROVAL_EXAMPLE}', for each person who decided it)`
          : `cannot be ${DONE[verb]}: ${outcome.field}: ${outcome.why}`,
      );
    default:
      throw new Error(`${verb} gave ${outcome.type}`);
  }
}

function asRecorded(log: OpenLog, study: Study, command: StateCommand): string {
  const approvals = 'approvals' in command ? (command.approvals ?? []) : [];
  const protocol = command.type === 'reopen' ? command.protocol : undefined;
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', EVENTS[command.type]],
    ['study', described(log, study)],
    ...(command.type === 'close' ? [['cause', command.cause]] : []),
    ['reason', command.reason],
    ...decisionRows({ approvals, protocol }),
    ['effect', EFFECTS[command.type]],
  ])}`;
}
