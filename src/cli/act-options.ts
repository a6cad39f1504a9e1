/**
 * What the commands that ask for acts share: their options (of which participant, what is asked, and why), what such a command
 * is made of besides its act, and how a refusal is put in the words of these options.
 */
import { type Command, Option } from 'commander';
import { freeTextProblem, quote } from '../base/text.ts';
import type { ActName } from '../core/acts/acts.ts';
import { activeFactors, askedLevel, type Design, type Factor } from '../core/model/design.ts';
import { patternProblem } from '../core/model/id-pattern.ts';
import { noSuchLevel } from '../core/model/limits.ts';
import { type Members, refusalOf, type StudyOutcome } from '../core/model/outcomes.ts';
import { newIdProblem, problemsOfId } from '../core/model/participant-id.ts';
import { currentId, currentLevels, type Participants } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import type { Study } from '../core/study/studies.ts';
import type { CodeBreakReason } from '../service/code-break/code-breaks.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { APPROVAL_EXAMPLE } from './approvals.ts';
import { type LogOptions, option, UsageError, unknownPack, unknownParticipant } from './options.ts';

// Of whom, and why

/** Unlike `option`, these are not read from the environment, which is no place for what is decided case by case. */
export function caseOption(flags: string, description: string): Option {
  return new Option(flags, description);
}

export function choice(flags: string, description: string, choices: readonly string[]): Option {
  return caseOption(flags, description)
    .choices([...choices])
    .makeOptionMandatory();
}

export function studyOption(): Option {
  return option('--study <name>', 'name of the study').makeOptionMandatory();
}

export interface ParticipantOptions extends LogOptions {
  readonly study: string;
  readonly id: string;
}

export function withParticipant(command: Command): Command {
  return command
    .addOption(studyOption())
    .addOption(caseOption('--id <id>', 'an id that the participant has or had').makeOptionMandatory());
}

export interface ReasonOptions extends LogOptions {
  readonly study: string;
  readonly reason: string;
  readonly requestedBy?: string;
  readonly dryRun?: boolean;
}

export function withReason(command: Command): Command {
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

const LEAST_REASON = 3;

/** @throws UsageError */
export function reasonOf({ reason, requestedBy }: ReasonOptions): CodeBreakReason {
  const problem = freeTextProblem(reason, LEAST_REASON);
  if (problem !== undefined) throw new UsageError(`--reason ${problem}`);
  const unfit = requestedBy === undefined ? undefined : freeTextProblem(requestedBy, 1);
  if (unfit !== undefined) throw new UsageError(`--requested-by ${unfit}`);
  return { reason, requestedBy };
}

// What is asked

/** What a command that asks for an act needs besides the act. */
export interface ActRow {
  readonly group: 'participants' | 'codes' | 'unblindings' | 'studies';
  readonly verb: string;
  readonly summary: string;
  /** Besides those that name the study and the participant. Each has the name of a member, unless `read` says otherwise. */
  readonly options: readonly Option[];
  readonly help: string;
  /** @throws ImportError */
  read?(given: OptionValues, log: OpenLog, study: Study): MembersRead;
  /** In the imperative: what a person is asked to confirm. Default: the verb, and the id in use. */
  order?(asked: Members, id: string): string;
  /** What follows. @param moves whether later allocations count otherwise */
  effect?(moves: boolean): string;
  /** Whether a live study is changed without asking: a report is not a decision. */
  readonly isReport?: boolean;
  /** For --json. */
  json?(asked: Members, options: ActOptions, outcome: StudyOutcome, revision: number): object;
}

/** Options by their names, as commander gives them. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** Members that options give in other words. */
export interface MembersRead {
  readonly members?: Members;
  /** Members that could not be read, and what is wrong with their options. */
  readonly unread?: Readonly<Record<string, readonly string[]>>;
  /** Why there is nothing to do. */
  readonly nothing?: string;
}

/** What any such command is run with. */
export interface ActOptions extends LogOptions {
  readonly study: string;
  readonly id?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** An act that is asked for at the command line. */
export interface RequestedAct {
  readonly name: ActName;
  readonly row: ActRow;
  readonly options: ActOptions;
  readonly log: OpenLog;
  readonly study: Study;
}

/** The levels to change, each with what it is now, or that all are so already. */
export function changesIn(given: OptionValues, log: OpenLog, { design, stream }: Study): MembersRead {
  const options = given as unknown as EntryOptions;
  const participant = log.runner.state(participants, stream).find(options.id);
  if (!participant) return { unread: { changes: [unknownParticipant(options.study, options.id).message] } };
  const reader = new EntryReader(options, design);
  const named = reader.levels();
  if (reader.problems.length > 0) return { unread: { changes: reader.problems } };
  const current = currentLevels(participant);
  const changes = named.map(({ index, factor, level }) => ({
    factor,
    from: current[index] ?? '',
    to: level,
  }));
  const wanted = changes.filter(({ from, to }) => from !== to);
  if (wanted.length > 0) return { members: { changes: wanted } };
  const id = currentId(participant);
  const nothing = changes.map(({ factor, to }) => `${factor} of ${id} is already ${to}`).join(', ');
  return { unread: { changes: [] }, nothing };
}

export interface EntryOptions extends ParticipantOptions {
  readonly level?: readonly string[];
  readonly cause?: string;
  readonly note?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** What a `--level factor=level` names. */
interface NamedLevel {
  /** Index of the factor, in the order of the study. */
  readonly index: number;
  readonly factor: string;
  readonly level: string;
}

/** Reads options about a participant, under the design in force. */
export class EntryReader<O extends EntryOptions = EntryOptions> {
  readonly design: Design;
  readonly problems: string[] = [];
  protected readonly given: O;

  constructor(given: O, design: Design) {
    this.given = given;
    this.design = design;
  }

  /** Undefined for a value that is not allowed. */
  oneOf<T extends string>(name: keyof O & string, allowed: readonly T[]): T | undefined {
    const value = this.given[name];
    const found = allowed.find((one) => one === value);
    if (found === undefined)
      this.problems.push(`--${name} ${quote(String(value ?? ''))} is not one of ${allowed.join(', ')}`);
    return found;
  }

  note(): string {
    const { note = '' } = this.given;
    const problem = freeTextProblem(note, 1);
    if (problem !== undefined) this.problems.push(`--note ${problem}`);
    return note;
  }

  /**
   * An id that the service would give to somebody.
   * @param known everybody in the study
   */
  newId(option: string, id: string, known: Participants): string {
    const unfit = [...problemsOfId(id)].map((problem) => problem.replace(/^id /, ''));
    // The other checks need a well-formed id.
    const ofNewId = known.find(id) ? undefined : newIdProblem(id);
    const more = unfit.length > 0 ? [] : [ofNewId, patternProblem(id, this.design)];
    for (const problem of [...unfit, ...more])
      if (problem !== undefined) this.problems.push(`${option} ${quote(id)} ${problem}`);
    return id;
  }

  /** The levels that are given, one per factor, under their current names. */
  levels(): NamedLevel[] {
    const seen = new Set<number>();
    return (this.given.level ?? []).flatMap((text) => {
      const index = this.#factorOf(text);
      const factor = this.design.factors[index];
      if (!factor) return [];
      const { name } = factor;
      if (factor.isRetired) {
        this.problems.push(
          `--level ${quote(text)}: the factor ${quote(name)} is retired: its levels are no longer entered or corrected (hint: leave it out)`,
        );
        return [];
      }
      if (seen.has(index)) this.problems.push(`--level ${quote(text)}: ${name} is given more than once`);
      seen.add(index);
      const asked = text.slice(name.length + 1);
      const level = askedLevel(factor, asked);
      if (level === undefined) this.problems.push(this.#noLevel(text, factor, asked));
      return [{ index, factor: name, level: level ?? asked }];
    });
  }

  /** Index of the factor, or -1 and a problem. Names may contain `=`, so the longest match is taken. */
  #factorOf(text: string): number {
    const { factors } = this.design;
    const length = (index: number) => factors[index]?.name.length ?? 0;
    const found = factors
      .flatMap(({ name }, i) => (text.startsWith(`${name}=`) ? [i] : []))
      .reduce((longest, i) => (length(i) > length(longest) ? i : longest), -1);
    if (found < 0) {
      const names = activeFactors(this.design)
        .map(({ name }) => quote(name))
        .join(', ');
      const why = text.includes('=')
        ? `the study has no factor ${quote(text.slice(0, text.indexOf('=')))}`
        : 'it is not FACTOR=LEVEL';
      this.problems.push(`--level ${quote(text)}: ${why} (factors: ${names})`);
    }
    return found;
  }

  #noLevel(text: string, factor: Factor, level: string): string {
    const other = activeFactors(this.design).find((one) => one.levels.includes(level));
    return [
      `--level ${quote(text)}: ${noSuchLevel(factor, level)}`,
      ...(other ? [`it is a level of ${other.name}`] : []),
    ].join('; ');
  }
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z$/;

/** An instant that is not in the future, with milliseconds. Adds any problem to the list. */
export function instantOption(name: string, text: string, problems: string[]): string {
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  // Date reads 2027-02-31 as a day in March, and 24:00 as the next day.
  const isDay =
    !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 'YYYY-MM-DDTHH:MM'.length));
  if (!isDay) {
    problems.push(`${name} ${quote(text)} is not an instant in UTC, such as 2026-03-02T21:40Z`);
    return '';
  }
  if (time > Date.now()) problems.push(`${name} ${text} is in the future`);
  return new Date(time).toISOString();
}

// What a refusal says

/** What a command is about: a participant, a pack, or packs. */
interface Subject {
  readonly study: string;
  readonly id?: string | undefined;
  readonly code?: string | undefined;
}

/** How to write what is lacking. */
const FORM_HINTS: Readonly<Record<string, string>> = {
  approvals: ` (hint: --approved-by '${APPROVAL_EXAMPLE}', for each person who decided it)`,
};

/**
 * The error for a command that was refused; undefined if it was not.
 * @param nothing a clause, for one of several commands
 */
export function refusalError(
  outcome: StudyOutcome,
  { study, id, code = '' }: Subject,
  nothing = 'nothing was recorded',
): UsageError | undefined {
  if (outcome.type === 'no-such-participant')
    return id === undefined ? unknownPack(study, code) : unknownParticipant(study, id);
  const refusal = refusalOf(outcome);
  if (!refusal) return undefined;
  const { problems, says, commands = lookAgain(outcome, id) } = refusal;
  if (problems)
    return new UsageError(
      problems
        .map(({ field, why }) => `${optionOf(field)}: ${why}${FORM_HINTS[field] ?? ''}`)
        .join('\n     '),
    );
  return new UsageError(`${nothing}: ${says}${commands === undefined ? '' : ` (hint: ${commands})`}`);
}

/** What shows how it is now. Of a study, that is what the same command finds, if it began with something that has changed. */
function lookAgain(outcome: StudyOutcome, id: string | undefined): string | undefined {
  if (outcome.type !== 'stale') return undefined;
  if (id !== undefined) return 'urn participants history';
  return outcome.field === undefined ? undefined : 'run it again';
}

/** The option that gives a member, or part of one. Most have its name. */
export function optionOf(field: string): string {
  const [member = ''] = field.split(/[.[]/);
  const option =
    OPTION_NAMES[member] ??
    member.replaceAll(/[A-Z]|_./g, (found) => `-${found.replace('_', '').toLowerCase()}`);
  return `--${option}`;
}

const OPTION_NAMES: Readonly<Record<string, string>> = {
  participantId: 'id',
  levels: 'level',
  changes: 'level',
  codes: 'code',
  approvals: 'approved-by',
};
