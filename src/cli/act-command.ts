/**
 * A command that asks for an act: the operation of its route, done in this process by the person at the command line. The
 * same form, the same checks, the same decision.
 */
import type { Command } from 'commander';
import { type ActName, type ActValues, actOf } from '../core/acts/acts.ts';
import type { Members, StudyOutcome } from '../core/model/outcomes.ts';
import { performAct } from '../core/study/studies.ts';
import type { WriteResult } from '../core/write/writer.ts';
import { askedIn, bodyName, bodyOf, checkedBody } from '../service/http/request/body-form.ts';
import { dryRun, printAct, questionOf } from './act-printer.ts';
import type { ActRow, Options, RequestedAct } from './act-row.ts';
import { mayChange } from './confirm.ts';
import { withFileProblems } from './file-problems.ts';
import { caseOption, optionOf, refusalOf, studyOption, withParticipant } from './grounds.ts';
import { cliActor, logCommand, namedStudy, UsageError } from './options.ts';
import { note, result } from './output.ts';
import { withStudies } from './studies-log.ts';

export function actCommand(name: ActName, row: ActRow): Command {
  const command = logCommand(row.verb);
  if (row.group === 'studies')
    return withOptions(command.argument('<name>', 'name of a study'), row).action(
      (study: string, options: Options) => run(name, row, { ...options, study }),
    );
  const about =
    actOf(name).about === 'participant' ? withParticipant(command) : command.addOption(studyOption());
  return withOptions(about, row).action((options: Options) => run(name, row, options));
}

function withOptions(command: Command, { summary, options, help, isReport }: ActRow): Command {
  command.description(summary);
  for (const one of options) command.addOption(one);
  if (!options.some((one) => one.long === '--dry-run'))
    command.addOption(caseOption('--dry-run', 'show what would be recorded, and write nothing'));
  if (!isReport) command.addOption(caseOption('--yes', 'do not ask before a live study is changed'));
  return command.addHelpText('after', help);
}

async function run(name: ActName, row: ActRow, options: Options): Promise<void> {
  await withFileProblems('nothing was recorded', () =>
    withStudies(options, async (log) => {
      const study = namedStudy(log.studies, options.study);
      const asking = { name, row, options, log, study };
      const asked = askedBy(asking);
      const tried = asked && (await perform(asking, asked, true));
      if (!asked || !tried) return;
      if (options.dryRun) return (options.json ? note : result)(dryRun(asking, asked, tried.outcome));
      const question = questionOf(asking, asked);
      if (!row.isReport && !(await mayChange(study.design, options, question))) return;
      const done = await perform(asking, asked, false);
      if (done) await printAct(asking, asked, done);
    }),
  );
}

/** What is asked for, in the form of the act's route. Undefined if there is nothing to do. @throws UsageError naming every problem */
function askedBy({ name, row, options, log, study }: RequestedAct): ActValues | undefined {
  const { members, unread = {}, nothing } = row.read?.({ ...options }, log, study) ?? {};
  const given: Members = { ...options, participantId: options.id, ...members };
  const isGiven = (member: string) => given[member] !== undefined && !(member in unread);
  const names = Object.keys(actOf(name).asks).filter(isGiven);
  const body = Object.fromEntries(names.map((member) => [bodyName(member), given[member]]));
  const form = bodyOf(name, {}, Object.keys(unread));
  const checked = checkedBody({ study: options.study, ...body }, form);
  const wrong = 'problems' in checked ? checked.problems.map(ofOption) : [];
  const problems = [...Object.values(unread).flat(), ...wrong];
  if ('problems' in checked || problems.length > 0) throw new UsageError(problems.join('\n     '));
  return nothing === undefined ? askedIn(name, checked.data) : nothingToDo(options, nothing);
}

/** A problem of a member, as one of its option. */
function ofOption(problem: string): string {
  return problem.replace(/^[a-z_]+(\[\d+\])?(\.\w+)*/, (place) => optionOf(place));
}

/**
 * @returns undefined if there is nothing to do, which it says
 * @throws UsageError when it is not possible
 */
async function perform(
  { name, options, log, study }: RequestedAct,
  asked: ActValues,
  isDry: boolean,
): Promise<WriteResult<StudyOutcome> | undefined> {
  const actor = cliActor();
  const by = { user: actor.user, isSupply: true, mayRead: true };
  const { outcome, revision } = await performAct(log, study, { act: name, asked, by, isDry }, actor);
  if (outcome.type === 'already' || (outcome.type === 'stale' && outcome.isSo))
    return nothingToDo(options, outcome.why);
  const refused = refusalOf(outcome, options);
  if (refused) throw refused;
  return { outcome, revision };
}

function nothingToDo({ study }: Options, why: string): undefined {
  note(`${study}: ${why}; nothing was recorded`);
}
