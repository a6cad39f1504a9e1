/**
 * A command that asks for an act: the operation of its route, done in this process by the person at the command line. The
 * same form, the same checks, the same decision. It tries the act, asks before a live study is changed, does it, and prints what
 * the log says of it.
 */
import type { Command } from 'commander';
import type { LevelChange } from '../../events/corrections.ts';
import { onOneLine } from '../base/text.ts';
import { type ActName, type ActValues, actOf } from '../core/acts/acts.ts';
import type { Members, StudyOutcome } from '../core/model/outcomes.ts';
import { currentId } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import { performAct } from '../core/study/studies.ts';
import type { WriteResult } from '../core/write/writer.ts';
import { type ActEvent, actText, levelChangeText } from '../evidence/bundle/texts.ts';
import { askedIn, bodyName, bodyOf, checkedBody } from '../service/http/request/body-form.ts';
import {
  type ActOptions,
  type ActRow,
  caseOption,
  optionOf,
  type RequestedAct,
  refusalError,
  studyOption,
  withParticipant,
} from './act-options.ts';
import { withFileProblems } from './lists-from-file.ts';
import { drawsFromCounts, namedStudy, studyText, withStudies } from './named-studies.ts';
import { eventAt } from './open-log.ts';
import { cliActor, logCommand, UsageError } from './options.ts';
import { note, result, table } from './output.ts';
import { mayChange } from './precautions.ts';

export function actCommand(name: ActName, row: ActRow): Command {
  const command = logCommand(row.verb);
  if (row.group === 'studies')
    return withOptions(command.argument('<name>', 'name of a study'), row).action(
      (study: string, options: ActOptions) => runAct(name, row, { ...options, study }),
    );
  const about =
    actOf(name).about === 'participant' ? withParticipant(command) : command.addOption(studyOption());
  return withOptions(about, row).action((options: ActOptions) => runAct(name, row, options));
}

function withOptions(command: Command, { summary, options, help, isReport }: ActRow): Command {
  command.description(summary);
  for (const one of options) command.addOption(one);
  if (!options.some((one) => one.long === '--dry-run'))
    command.addOption(caseOption('--dry-run', 'show what would be recorded, and write nothing'));
  if (!isReport) command.addOption(caseOption('--yes', 'do not ask before a live study is changed'));
  return command.addHelpText('after', help);
}

async function runAct(name: ActName, row: ActRow, options: ActOptions): Promise<void> {
  await withFileProblems('nothing was recorded', () =>
    withStudies(options, async (log) => {
      const study = namedStudy(log.studies, options.study);
      const asking = { name, row, options, log, study };
      const asked = askedBy(asking);
      const tried = asked && (await perform(asking, asked, true));
      if (!asked || !tried) return;
      if (options.dryRun) return (options.json ? note : result)(dryRunText(asking, asked, tried.outcome));
      const question = questionOf(asking, asked);
      if (!row.isReport && !(await mayChange(study.design, options, question))) return;
      const done = await perform(asking, asked, false);
      if (done) await printAct(asking, asked, done);
    }),
  );
}

/**
 * What is asked for, in the form of the act's route.
 * @returns undefined if there is nothing to do, which it says
 * @throws UsageError naming every problem
 */
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
  const refused = refusalError(outcome, options);
  if (refused) throw refused;
  return { outcome, revision };
}

function nothingToDo({ study }: ActOptions, why: string): undefined {
  note(`${study}: ${why}; nothing was recorded`);
}

function dryRunText(asking: RequestedAct, asked: Members, outcome: StudyOutcome): string {
  const { name, log, study } = asking;
  const rows = Object.entries(asked).flatMap(([member, value]) => {
    if (value === undefined) return [];
    if (member === 'participantId') return [['participant', bothIds(asking, String(value))]];
    return [[optionOf(member).slice('--'.length), valueText(value)]];
  });
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', name],
    ['study', studyText(log, study)],
    ...rows,
    ...effectOf(asking, outcome).map((words) => ['effect', words]),
  ])}`;
}

function bothIds(asking: RequestedAct, id: string): string {
  const { log, study } = asking;
  const now = idInUse(asking, id);
  const { participantId = now } = log.runner.state(participants, study.stream).find(id) ?? {};
  return now === participantId ? now : `${now} (randomized as ${participantId})`;
}

/** @param id that the participant has or had */
function idInUse({ log, study }: RequestedAct, id: string): string {
  const participant = log.runner.state(participants, study.stream).find(id);
  return participant ? currentId(participant) : id;
}

/** How many of a list are shown. */
const VALUES_SHOWN = 10;

function valueText(value: unknown): string {
  if (Array.isArray(value)) {
    const more = value.length > VALUES_SHOWN ? [`and ${value.length - VALUES_SHOWN} more`] : [];
    return [...value.slice(0, VALUES_SHOWN).map(valueText), ...more].join('; ');
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return 'factor' in value
    ? levelChangeText(value as LevelChange)
    : Object.values(value).map(String).join(', ');
}

function effectOf({ row: { effect }, log, study }: RequestedAct, outcome: StudyOutcome): string[] {
  if (!effect || outcome.type !== 'recorded') return [];
  return [effect(outcome.moves && drawsFromCounts(log, study))];
}

function questionOf(asking: RequestedAct, asked: Members): string {
  const { row, log, study } = asking;
  const verb = `${row.verb.charAt(0).toUpperCase()}${row.verb.slice(1)}`;
  const { participantId } = asked;
  const where = studyText(log, study);
  if (participantId === undefined && !row.order) return `${verb} ${where}?`;
  const id = idInUse(asking, String(participantId));
  return `${row.order?.(asked, id) ?? `${verb} ${id}`} in ${where}?`;
}

/** What the log says of the act. It is the result of a command that gives something to read. */
async function printAct(
  asking: RequestedAct,
  asked: Members,
  { outcome, revision }: WriteResult<StudyOutcome>,
): Promise<void> {
  const { row, options, log, study } = asking;
  if (options.json && row.json)
    return result(JSON.stringify(row.json(asked, options, outcome, revision), null, 2));
  const event = await eventAt(log, study.stream, revision);
  const text = onOneLine(actText(event as ActEvent, (id) => idInUse(asking, id)));
  const effect = effectOf(asking, outcome).map((words) => `; ${words}`);
  const line = `${options.study}: ${text} (revision ${revision})${effect.join('')}`;
  if (row.json) result(line);
  else note(line);
}
