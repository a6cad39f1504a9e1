/**
 * A command that asks for an act: the operation of its route, done in this process by the person at the command line. The
 * same form, the same checks, the same decision; and one way to say what came of it.
 */
import type { Command, Option } from 'commander';
import type { LevelChange } from '../../events/corrections.ts';
import { currentId } from '../../projections/enrolled.ts';
import { type ActName, actOf } from '../acts/acts.ts';
import { onOneLine } from '../base/text.ts';
import { type ActEvent, actText, changeText } from '../bundle/act-texts.ts';
import { bodyName, bodyOf, askedIn as membersIn } from '../http/request/act-form.ts';
import { checkedBody } from '../http/request/body-problems.ts';
import type { Members, StudyOutcome } from '../model/outcomes.ts';
import type { OpenLog } from '../open/open-log.ts';
import { performAct } from '../study/perform-act.ts';
import type { Study } from '../study/studies.ts';
import { participants } from '../study/views.ts';
import type { Written } from '../write/writer-parts.ts';
import { mayChange } from './confirm.ts';
import { eventAt } from './event-at.ts';
import { withFileProblems } from './file-problems.ts';
import { caseOption, optionOf, refusalOf, studyOption, withParticipant } from './grounds.ts';
import { cliActor, type LogOptions, logCommand, UsageError, unknownStudy } from './options.ts';
import { note, result, table } from './output.ts';
import { described, withStudies } from './studies-log.ts';

/** Options by their names, as commander gives them. */
export type Given = Readonly<Record<string, unknown>>;

/** What a command needs besides its act. */
export interface ActRow {
  readonly group: 'participants' | 'codes' | 'unblindings' | 'studies';
  readonly verb: string;
  readonly summary: string;
  /** Beside those that name the study and the participant. Each has the name of a member, unless `read` says otherwise. */
  readonly options: readonly Option[];
  readonly help: string;
  /**
   * Members that options give in other words, or why there is nothing to do.
   * @throws UsageError, ImportError
   */
  read?(given: Given, log: OpenLog, study: Study): Members | string;
  /** In the imperative: what a person is asked to confirm. Default: the verb, and the id in use. */
  order?(asked: Members, id: string): string;
  /** What follows. @param moves whether the urns count otherwise from here on */
  effect?(moves: boolean): string;
  /** Whether a live study is changed without asking: a report is not a decision. */
  readonly isReport?: boolean;
  /** For --json. */
  json?(asked: Members, options: Options, outcome: StudyOutcome, revision: number): object;
}

export interface Options extends LogOptions {
  readonly study: string;
  readonly id?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

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

/** An act that is asked for at the command line. */
interface Asking {
  readonly name: ActName;
  readonly row: ActRow;
  readonly options: Options;
  readonly log: OpenLog;
  readonly study: Study;
}

async function run(name: ActName, row: ActRow, options: Options): Promise<void> {
  await withFileProblems('nothing was recorded', () =>
    withStudies(options, async (log) => {
      const study = log.studies.find(options.study);
      if (!study) throw unknownStudy(options.study);
      const asking = { name, row, options, log, study };
      const asked = askedIn(asking);
      const tried = asked && (await perform(asking, asked, true));
      if (!asked || !tried) return;
      if (options.dryRun) return (options.json ? note : result)(dryRun(asking, asked, tried.outcome));
      const question = questionOf(asking, asked);
      if (!row.isReport && !(await mayChange(study.design, options, question))) return;
      const done = await perform(asking, asked, false);
      if (done) await say(asking, asked, done);
    }),
  );
}

/** What is asked for, in the form of the act's route. Undefined if there is nothing to do. @throws UsageError naming every problem */
function askedIn(asking: Asking): Members | undefined {
  const { name, options } = asking;
  const act = actOf(name);
  const { read, problems } = readBy(asking);
  const members: Members = { ...options, participantId: options.id, ...(typeof read === 'object' && read) };
  const given = Object.keys(act.asks).filter((member) => members[member] !== undefined);
  const body = Object.fromEntries(given.map((member) => [bodyName(member), members[member]]));
  const checked = checkedBody({ study: options.study, ...body }, bodyOf(act));
  if ('problems' in checked) {
    // What could not be read is missing here, or wrong, which has been said.
    const isRead = (problem: string) => Object.keys(body).some((member) => problem.startsWith(member));
    const found = typeof read === 'object' ? checked.problems : checked.problems.filter(isRead);
    const said = problems.join();
    problems.push(...found.map(ofOption).filter((problem) => !said.includes(problem.split(':', 1).join())));
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n     '));
  if (typeof read === 'string') note(`${options.study}: ${read}; nothing was recorded`);
  return 'data' in checked ? membersIn(act, checked.data) : undefined;
}

function readBy({ row, options, log, study }: Asking): {
  readonly read: Members | string | undefined;
  readonly problems: string[];
} {
  try {
    return { read: row.read?.({ ...options }, log, study) ?? {}, problems: [] };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { read: undefined, problems: [error.message] };
  }
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
  asking: Asking,
  asked: Members,
  isDry: boolean,
): Promise<Written<StudyOutcome> | undefined> {
  const { name, options, log, study } = asking;
  const actor = cliActor();
  const by = { user: actor.user, isSupply: true, mayRead: true };
  // The form has checked that these are the members of the act.
  const request = { act: name, asked: asked as never, by, isDry };
  const { outcome, revision } = await performAct(log, study, request, actor);
  if (outcome.type === undefined) throw new UsageError(outcome.problems.map(ofOption).join('\n     '));
  if (outcome.type === 'already' || (outcome.type === 'stale' && outcome.isSo)) {
    note(`${options.study}: ${outcome.why}; nothing was recorded`);
    return undefined;
  }
  const refused = refusalOf(outcome, options);
  if (refused) throw refused;
  return { outcome, revision };
}

/** What the log says of the act. It is the result of a command that gives something to read. */
async function say(
  asking: Asking,
  asked: Members,
  { outcome, revision }: Written<StudyOutcome>,
): Promise<void> {
  const { row, options, log, study } = asking;
  if (options.json && row.json)
    return result(JSON.stringify(row.json(asked, options, outcome, revision), null, 2));
  const event = await eventAt(log, study.stream, revision);
  const text = onOneLine(actText(event as ActEvent, (id) => idInUse(asking, id)));
  const effect = effectOf(row, outcome).map((words) => `; ${words}`);
  const line = `${options.study}: ${text} (revision ${revision})${effect.join('')}`;
  if (row.json) result(line);
  else note(line);
}

function questionOf(asking: Asking, asked: Members): string {
  const { row, log, study } = asking;
  const verb = `${row.verb.charAt(0).toUpperCase()}${row.verb.slice(1)}`;
  const { participantId } = asked;
  const where = described(log, study);
  if (participantId === undefined && !row.order) return `${verb} ${where}?`;
  const id = idInUse(asking, String(participantId));
  return `${row.order?.(asked, id) ?? `${verb} ${id}`} in ${where}?`;
}

function dryRun(asking: Asking, asked: Members, outcome: StudyOutcome): string {
  const { name, row, log, study } = asking;
  const rows = Object.entries(asked).flatMap(([member, value]) => {
    if (value === undefined) return [];
    if (member === 'participantId') return [['participant', bothIds(asking, String(value))]];
    return [[optionOf(member).slice('--'.length), shown(value)]];
  });
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', name],
    ['study', described(log, study)],
    ...rows,
    ...effectOf(row, outcome).map((words) => ['effect', words]),
  ])}`;
}

function bothIds(asking: Asking, id: string): string {
  const { log, study } = asking;
  const now = idInUse(asking, id);
  const { participantId = now } = log.runner.state(participants, study.stream).find(id) ?? {};
  return now === participantId ? now : `${now} (randomized as ${participantId})`;
}

/** @param id that the participant has or had */
function idInUse({ log, study }: Asking, id: string): string {
  const participant = log.runner.state(participants, study.stream).find(id);
  return participant ? currentId(participant) : id;
}

/** How many of a list are shown. */
const SHOWN = 10;

function shown(value: unknown): string {
  if (Array.isArray(value)) {
    const more = value.length > SHOWN ? [`and ${value.length - SHOWN} more`] : [];
    return [...value.slice(0, SHOWN).map(shown), ...more].join('; ');
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return 'factor' in value ? changeText(value as LevelChange) : Object.values(value).map(String).join(', ');
}

function effectOf({ effect }: ActRow, outcome: StudyOutcome): string[] {
  return effect && outcome.type === 'recorded' ? [effect(outcome.moves)] : [];
}
