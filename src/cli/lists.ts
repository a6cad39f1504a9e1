/**
 * urn lists: allocations that were made elsewhere. add registers the entries of a file, status says how many of each stratum
 * are used and left, skip passes over those that participants have whom the log lacks. At the end: the strata of a
 * study's lists, as the command line names them. No arm is shown.
 */
import type { Command } from 'commander';
import type { Level } from '../../events/study.ts';
import { freeTextProblem, quote } from '../base/text.ts';
import { counted, plural } from '../base/wording.ts';
import type { Factor } from '../core/model/design.ts';
import type { Model } from '../core/model/model.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import type { RegisterList, SkipEntries } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import { csvRows } from '../evidence/import/csv-file.ts';
import { type ListFile, readListFile } from '../evidence/import/list-file.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { caseOption, refusalError, studyOption } from './act-options.ts';
import {
  APPROVAL_FORM,
  approvedByOption,
  decisionOf,
  IN_THE_CLEAR,
  PLACEHOLDER_APPROVAL,
} from './approvals.ts';
import { mayRegister, tellFindings, withFileProblems, writeLists } from './lists-from-file.ts';
import { namedStudy, registeredState, studyText, withStudies } from './named-studies.ts';
import { cliActor, jsonOption, type LogOptions, logCommand, UsageError } from './options.ts';
import { note, result, table } from './output.ts';
import { mayChange } from './precautions.ts';

export function listsCommand(): Command[] {
  return [
    listCommand('add', 'register the entries of a file, in their order')
      .addOption(
        caseOption('--from <file>', 'CSV: treatment and the factors of the strata').makeOptionMandatory(),
      )
      .addOption(approvedByOption())
      .addOption(
        caseOption('--ignore <columns>', 'columns of the file that are not read, with commas between'),
      )
      .addOption(caseOption('--dry-run', 'check the file, and write nothing'))
      .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
      .addOption(jsonOption())
      .addHelpText('after', ADD_HELP)
      .action((options: AddOptions) => withFileProblems('nothing was registered', () => addEntries(options))),
    listCommand('status', 'how many entries of each stratum are used and left, without arms')
      .addOption(jsonOption())
      .addHelpText('after', STATUS_HELP)
      .action(showStatus),
    listCommand('skip', 'pass over entries that participants have whom the log lacks')
      .addOption(
        caseOption(
          '--used <stratum:number>',
          'that many entries of the stratum were used (repeatable)',
        ).argParser((value: string, earlier: readonly string[] = []) => [...earlier, value]),
      )
      .addOption(caseOption('--none', 'no entries were used').conflicts('used'))
      .addOption(caseOption('--reason <text>', 'recorded in the clear').makeOptionMandatory())
      .addOption(caseOption('--dry-run', 'only check whether it would be recorded'))
      .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
      .addOption(jsonOption())
      .addHelpText('after', SKIP_HELP)
      .action(skipEntries),
  ];
}

function listCommand(name: string, description: string): Command {
  return logCommand(name).description(description).addOption(studyOption());
}

interface ListOptions extends LogOptions {
  readonly study: string;
  readonly json?: boolean;
}

interface ListWriteOptions extends ListOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const WRITE_HELP = `
For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit code 2: not possible, so nothing was recorded. A running service picks up the
change within a second.`;

interface AddOptions extends ListWriteOptions {
  readonly from: string;
  readonly approvedBy?: readonly string[];
  readonly ignore?: string;
}

const ADD_HELP = `
For a study with method: {name: list, by: [...]}. The file is CSV in UTF-8 with the columns treatment and the factors in by; the
order of its rows is the order of use, each stratum on its own. Other columns need --ignore. Entries are recorded under seal: no
blinded reader sees them, nor how the list goes on. The log proves that the list was followed, not that it was random.

All problems in the file are listed together, by line. If the command is interrupted, run it again with the same file: it goes
on behind the last row. A file that was saved anew is another file: all its rows are added. A further file continues the list.
After an amendment with which the list begins anew, earlier entries are void: add a new file. Register the study with start:
paused, and resume it once its list is in.

What an honest list of the same size seldom does is named: an arm missing from a stratum, strata that are sorted by arm, repeat
themselves or are alike, a list that another study has. In a live study, what it does less than once in 10,000 needs --yes,
without a terminal, too.

A live study needs --approved-by. ${IN_THE_CLEAR}
${WRITE_HELP}

Examples:
  urn lists add --study ABC-4 --from list.csv --dry-run
  urn lists add --study ABC-4 --from list.csv --approved-by 'Dr. K. Ode, statistician, 2027-02-01' --ignore block,size`;

async function addEntries(options: AddOptions): Promise<void> {
  const { study: name, from, dryRun, ignore } = options;
  const { approvals } = decisionOf({ approvedBy: options.approvedBy });
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const state = listedState(log, study);
    const studies = log.studies.list().map((one) => registeredState(log, one));
    const file = readListFile(from, ignoredColumns(ignore), state, studies);
    refuseOfOtherMode(log, study, file.sha256);
    const isDoubted = tellFindings(file.findings);
    if (file.known > 0)
      note(`${entriesText(file.known)} of the file: registered already, and left as they are`);
    const isUnapproved = study.design.mode === 'live' && approvals.length === 0;
    const commands = file.parts.map(({ first, entries: listed }, i) => ({
      ...{ type: 'register-list' as const, list: state.entries.lists + 1 + i, file: file.sha256, first },
      ...{ entries: listed, approvals: isUnapproved && dryRun ? [PLACEHOLDER_APPROVAL] : approvals },
    }));
    // If one list is possible, all are.
    if (commands[0]) refuseUnlessTaken(name, (await log.studies.tryOut(study.stream, commands[0])).outcome);
    const asked = `Register ${entriesText(file.added)} in ${studyText(log, study)}`;
    if (dryRun) {
      await mayRegister(study.design, options, asked, isDoubted);
      if (isUnapproved) note(`the study is live: the list needs --approved-by '${APPROVAL_FORM}'`);
      const text = `would register ${entriesText(file.added)} of ${name}; nothing was recorded`;
      return tellOfAdded(options, file, commands.map(registeredList), text);
    }
    if (commands.length === 0)
      return tellOfAdded(options, file, [], `nothing new for ${name}: nothing was recorded`);
    if (!(await mayRegister(study.design, options, asked, isDoubted))) return;
    const all = entriesText(file.added);
    const revisions = await writeLists(log, study, commands, {
      ...{ all, shownAs: 'entries registered', refuse: refuseUnlessTaken },
    });
    const lists = commands.map((command, i) => ({ ...registeredList(command), revision: revisions[i] ?? 0 }));
    tellOfAdded(options, file, lists, `registered ${all} of ${name}`);
  });
}

/** @param text names with commas between; one with a comma in it is in double quotes. @throws UsageError */
function ignoredColumns(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  try {
    return csvRows(Buffer.from(text))[0]?.cells ?? [''];
  } catch {
    throw new UsageError(
      `--ignore ${text} names no columns (hint: put a name with a comma or double quotes in it into double quotes, and write those in it twice)`,
    );
  }
}

/** @throws UsageError unless the study follows a list */
function listedState(log: OpenLog, study: Study): Model {
  const state = registeredState(log, study);
  if (state.methodDesign.method !== 'list')
    throw new UsageError(
      `${study.design.name} follows no list: it draws its allocations itself (hint: a study with a list is registered with method: {name: list, by: [...]})`,
    );
  return state;
}

/** Whoever runs a test sees its arms. @throws UsageError */
function refuseOfOtherMode(log: OpenLog, { design: { mode } }: Study, sha256: string): void {
  const other = log.studies
    .list()
    .find((one) => one.design.mode !== mode && registeredState(log, one).entries.knows(sha256));
  if (!other) return;
  const why = mode === 'test' ? 'a test would show its arms' : 'whoever tested it may know its arms';
  throw new UsageError(
    `the ${other.design.mode} study ${quote(other.design.name)} has this file, and ${why} (hint: have another list made)`,
  );
}

function entriesText(count: number): string {
  return counted(count, 'entry', 'entries');
}

/** @throws UsageError unless the list, or the skip, is taken */
function refuseUnlessTaken(study: string, outcome: StudyOutcome): void {
  if (outcome.type === 'list-registered' || outcome.type === 'entries-skipped') return;
  if (outcome.type === 'impossible' && !outcome.field.startsWith('approvals'))
    throw new UsageError(`nothing more was recorded: ${outcome.why}`);
  throw (
    refusalError(outcome, { study }, 'nothing more was recorded') ??
    new Error(`unexpected outcome ${outcome.type}`)
  );
}

interface RegisteredList {
  readonly list: number;
  readonly first: number;
  readonly count: number;
  readonly revision?: number;
}

function registeredList({ list, first, entries: { length } }: RegisterList): RegisteredList {
  return { list, first, count: length };
}

function tellOfAdded(
  { study, dryRun = false, json }: AddOptions,
  { added, known, sha256, findings }: ListFile,
  lists: readonly RegisteredList[],
  text: string,
): void {
  if (json) {
    const warnings = findings.map(({ text: warning }) => warning);
    const needsYes = findings.some((one) => one.needsYes);
    const told = { study, dryRun, file: sha256, registered: added, known, lists, warnings, needsYes };
    result(JSON.stringify(told, null, 2));
    return;
  }
  const rows = lists.map(({ list, first, count, revision }) => [
    `  list ${list}`,
    `rows ${first} to ${first + count - 1}`,
    revision === undefined ? '' : `revision ${revision}`,
  ]);
  note(`${dryRun ? 'dry run: ' : ''}${text}`);
  if (rows.length > 0) note(`${table(rows)}\n  of the file with the SHA-256 ${sha256}`);
}

const STATUS_HELP = `
How many entries of each stratum were used (given to a participant, or skipped), and how many are left. Where none is left,
nobody is randomized. Of more than 1,000 strata, only those that have entries are shown. No arm is shown.

--json is an object: study, lists (how many there were), skip_owed, and strata, a list with levels (factor, level), used, left.

Example:
  urn lists status --study ABC-4`;

async function showStatus({ study: name, json, ...options }: ListOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const state = listedState(log, namedStudy(log.studies, name));
    const { isSkipOwed, lists } = state.entries;
    const strata = strataOf(state);
    if (json) {
      const shown = strata.map(({ levels, used, left }) => ({ levels, used, left }));
      return result(JSON.stringify({ study: name, lists, skip_owed: isSkipOwed, strata: shown }, null, 2));
    }
    if (isSkipOwed) note(SKIP_OWED);
    if (strata.every(({ used, left }) => used + left === 0))
      return note(`${name} has no entries (hint: urn lists add)`);
    result(
      table([
        ['stratum', 'used', 'left'],
        ...strata.map(({ text, used, left }) => [text, String(used), String(left)]),
      ]),
    );
  });
}

const SKIP_OWED =
  'nobody is randomized until it is said which entries were used by participants whom the log does not have (hint: urn lists skip)';

interface SkipOptions extends ListWriteOptions {
  readonly used?: readonly string[];
  readonly none?: boolean;
  readonly reason: string;
}

const SKIP_HELP = `
Behind a recovery of the log, and behind an import, nobody in the study is randomized until you say which entries were used
by participants whom the log does not have: sites know their arms, and each entry is used once. Ask the sites. Count also those
of them whom you enter by hand (urn participants force): that takes no entry. The next entries of each stratum are passed over,
for good. --none says that none were used. If lists were lost too, register them again first, in their order.

--used names a stratum as urn lists status shows it and a number: 'local_site=11:2', or 'sex=F,local_site=11:2', or just 2 if
the list is for the whole study. ${IN_THE_CLEAR}
${WRITE_HELP}

Examples:
  urn lists skip --study ABC-4 --used 'local_site=11:2' --used 'local_site=30:1' --reason 'recovery 1; lists of the sites'
  urn lists skip --study ABC-4 --none --reason 'recovery 1; no site has a participant whom the log lacks'`;

async function skipEntries(options: SkipOptions): Promise<void> {
  const { study: name, used = [], none, reason, dryRun, json } = options;
  const unfit = freeTextProblem(reason, 1);
  if (unfit !== undefined) throw new UsageError(`--reason ${unfit}`);
  if (!none && used.length === 0)
    throw new UsageError('say which entries were used: --used for each stratum, or --none');
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const skipped = skippedIn(used, listedState(log, study));
    const command: SkipEntries = { type: 'skip-entries', reason, skipped };
    refuseUnlessTaken(name, (await log.studies.tryOut(study.stream, command)).outcome);
    const total = skipped.reduce((sum, { count }) => sum + count, 0);
    const what =
      total === 0 ? 'no entries' : `${entriesText(total)} of ${counted(skipped.length, 'stratum', 'strata')}`;
    if (!dryRun && !(await mayChange(study.design, options, `Skip ${what} in ${studyText(log, study)}?`)))
      return;
    const revision = dryRun ? undefined : (await submitSkip(log, study, command)).revision;
    if (json)
      return result(JSON.stringify({ study: name, dryRun: dryRun ?? false, skipped, revision }, null, 2));
    const were = plural(total, 'was', 'were');
    note(
      dryRun
        ? `dry run: would skip ${what}; nothing was recorded`
        : `${what} ${were} skipped in ${name} (revision ${revision})`,
    );
  });
}

/** @throws UsageError listing every problem */
function skippedIn(used: readonly string[], state: Model): SkipEntries['skipped'] {
  const strata = strataOf(state);
  const named = used.map((text) => {
    const [, name = '', digits = ''] = /^(?:(.*):)?\s*([1-9]\d{0,8})\s*$/s.exec(text) ?? [];
    return { text, name, count: Number(digits), found: strataNamed(name, strata) };
  });
  const problems = named.flatMap(({ text, name, count, found }, at) => {
    const why = usedProblem(name, count, found, strata);
    const isThere = named.slice(0, at).some((earlier) => earlier.found[0] === found[0]);
    const problem = why ?? (isThere ? 'the stratum is there twice (hint: add up its entries)' : undefined);
    return problem === undefined ? [] : [`--used ${quote(text)}: ${problem}`];
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n     '));
  return named.map(({ count, found }) => {
    const levels = (found[0]?.levels ?? []).map(({ level }) => level);
    return { ...(levels.length > 0 && { levels }), count };
  });
}

/** With or without blanks, as people copy the name. No name is enough for the whole study. */
function strataNamed(name: string, strata: readonly ListStratum[]): readonly ListStratum[] {
  const exactly = strata.filter(({ text, levels }) => text === name || (name === '' && levels.length === 0));
  return exactly.length > 0
    ? exactly
    : strata.filter(({ text }) => withoutBlanks(text) === withoutBlanks(name));
}

const withoutBlanks = (text: string) => text.replace(/\s*([=,])\s*/g, '$1').trim();

/** How many strata a hint names. */
const MAX_IN_HINT = 10;

/** @param found the strata with this name */
function usedProblem(
  name: string,
  count: number,
  found: readonly ListStratum[],
  strata: readonly ListStratum[],
): string | undefined {
  if (count === 0) return "no number of at least 1 at the end (hint: 'local_site=11:2')";
  const [stratum, other] = found;
  if (!stratum) {
    const names = strata.slice(0, MAX_IN_HINT).map((one) => one.text);
    const known = `${names.join('; ')}${strata.length > MAX_IN_HINT ? '; urn lists status shows all' : ''}`;
    const hint = strata.some(({ used, left }) => used + left > 0)
      ? known
      : 'register the list first, with urn lists add';
    return `no stratum ${quote(name)} has entries (hint: ${hint})`;
  }
  if (other) return 'several strata are called that (hint: rename a level, with urn studies amend)';
  return count > stratum.left
    ? `${entriesText(stratum.left)} of the stratum ${plural(stratum.left, 'is', 'are')} left (hint: if a list was lost too, register it first, with urn lists add)`
    : undefined;
}

async function submitSkip(log: OpenLog, { stream, design }: Study, command: SkipEntries) {
  const written = await log.studies.submit(stream, command, cliActor());
  refuseUnlessTaken(design.name, written.outcome);
  return written;
}

/** A stratum of a study's lists, as the command line names it. */
interface ListStratum {
  /** As the lists name it: by indexes. */
  readonly name: string;
  /** In the order of the factors that make it; none: the whole study is one. */
  readonly levels: readonly Level[];
  /** `local_site=11`, `sex=F,local_site=11`, or `the whole study`. */
  readonly text: string;
  readonly used: number;
  readonly left: number;
}

/** Of more strata than this, only those are shown that have entries. */
const MAX_STRATA_SHOWN = 1000;

/** Those that have entries, and those of open levels that have none, in the order of the levels. */
export function strataOf({ design, entries, methodDesign }: Model): ListStratum[] {
  const { by } = methodDesign.method === 'list' ? methodDesign : { by: [] };
  const names = new Set([...entries.strata.keys(), ...openStrata(by.map((at) => design.factors[at]))]);
  const strata = [...names].map((name) => {
    const { entries: listed, used } = entries.strata.get(name) ?? { entries: [], used: 0 };
    const indexes = by.length === 0 ? [] : name.split(',').map(Number);
    const levels = by.map((at, i) => {
      const factor = design.factors[at];
      return { factor: factor?.name ?? '', level: factor?.levels[indexes[i] ?? -1] ?? '' };
    });
    const text = levels.map(({ factor, level }) => `${factor}=${level}`).join(',') || 'the whole study';
    return { name, indexes, levels, text, used, left: listed.length - used };
  });
  return strata
    .sort(
      (a, b) =>
        a.indexes.map((index, i) => index - (b.indexes[i] ?? 0)).find((difference) => difference !== 0) ?? 0,
    )
    .map(({ indexes: _, ...stratum }) => stratum);
}

/** The names of all combinations of open levels. */
function openStrata(factors: readonly (Factor | undefined)[]): string[] {
  const open = factors.map((factor) =>
    (factor?.levels ?? []).flatMap((level, index) => (factor?.closed.includes(level) ? [] : [index])),
  );
  if (open.reduce((product, { length }) => product * length, 1) > MAX_STRATA_SHOWN) return [];
  return open
    .reduce<number[][]>((all, indexes) => all.flatMap((one) => indexes.map((index) => [...one, index])), [[]])
    .map((indexes) => indexes.join());
}
