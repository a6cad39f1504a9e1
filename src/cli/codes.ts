/**
 * urn codes: packs of medication. They are registered from a file, listed with the arm that each holds, and accounted for
 * without arms, to print or as a list. The acts on packs come from the table of acts.
 */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { fileNameAbout } from '../base/files.ts';
import { counted } from '../base/wording.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import { currentId } from '../core/model/participants.ts';
import type { RegisterPacks } from '../core/study/commands.ts';
import { participants } from '../core/study/fold.ts';
import { packAccountability } from '../core/study/pack-accountability.ts';
import { packMap, stockOf } from '../core/study/pack-map.ts';
import { accountabilityCsv, accountabilityPage } from '../evidence/export/accountability.ts';
import { csvLine } from '../evidence/export/columns.ts';
import { type CodeFile, type CodeList, readCodeFile } from '../evidence/import/pack-file.ts';
import { actCommands } from './act-commands.ts';
import { caseOption, refusalError } from './act-options.ts';
import { refuseUnfit, STDOUT, writeNew } from './files.ts';
import { mayRegister, tellFindings, withFileProblems, writeLists } from './lists-from-file.ts';
import { namedStudy, registeredState, studyText, withStudies } from './named-studies.ts';
import { recordDisclosure } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, option, UsageError } from './options.ts';
import { note, result, table } from './output.ts';

const ADD_HELP = `
The file is CSV in UTF-8 with the header code,treatment or code,treatment,<factor>. With a factor, only participants with
that level get the pack: a site, for instance. A code has 1 to 64 characters of A–Z a–z 0–9 - _ . / and says nothing
about the arm. No code is ever used twice in a study.

Once the first list is in, everybody who is randomized is given a pack of their arm. A participant is refused (no-code) while
any open arm has no pack left for them. Which treatment a pack holds is sealed.

All problems in the file are listed together, by line. If the command is interrupted, run it again with the same file: it
continues with the codes that are missing.

A code that can be taken for one of another arm is refused: k12 beside K12, K012 beside K12, O7 beside 07. Codes from which the
arm can be told are named, with the rule: odd numbers, say. In a live study, what chance does to less than one file in 10,000
needs --yes, without a terminal, too.

For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit code 2: not possible, so nothing was recorded. A running service picks up the
change within a second.

Examples:
  urn codes add --study 'CHS JCOIN' --from codes.csv --dry-run
  urn codes add --study 'CHS JCOIN' --from codes.csv`;

const LIST_HELP = `
The list names the ARM of every pack, and so of every participant who has one: reading it unblinds you, and is
recorded (urn operations). After the packs it shows how many are free, by arm and level.

--json is an object: packs, a list with code, treatment, where (factor, level; only for a pack of one level), state (free,
given or withdrawn), id (of the participant who has or had it) and visit (for which they have it); and stock, a list with
treatment, where, free and low. --csv has a row for each pack, and no stock.

low, in a study with visits: fewer are free than 3 and one for each participant who may get such a pack. Sites are refused packs
for visits while any arm has fewer than 3.

Examples:
  urn codes list --study 'CHS JCOIN'
  urn codes list --study 'CHS JCOIN' --csv > map.csv`;

export function codesCommand(): Command[] {
  return [
    withStudy('add', 'register packs of medication from a file')
      .addOption(new Option('--from <file>', 'CSV: code,treatment[,<factor>]').makeOptionMandatory())
      .addOption(caseOption('--dry-run', 'check the file, and write nothing'))
      .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
      .addOption(jsonOption())
      .addHelpText('after', ADD_HELP)
      .action((options: AddOptions) =>
        withFileProblems('nothing was registered', () => registerFile(options)),
      ),
    withStudy('list', 'list packs with the ARM that each one holds, and the stock')
      .addOption(jsonOption())
      .addOption(new Option('--csv', 'as CSV').conflicts('json'))
      .addHelpText('after', LIST_HELP)
      .action(listPacks),
    accountabilityCommand(),
    ...actCommands('codes'),
  ];
}

function withStudy(name: string, description: string): Command {
  return logCommand(name)
    .description(description)
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory());
}

interface StudyOptions extends LogOptions {
  readonly study: string;
  readonly json?: boolean;
}

interface AddOptions extends StudyOptions {
  readonly from: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function registerFile(options: AddOptions): Promise<void> {
  const { study: name, from, dryRun } = options;
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const state = registeredState(log, study);
    const file = readCodeFile(from, state);
    const isDoubted = tellFindings(file.findings);
    if (file.skipped > 0)
      note(`${countedPacks(file.skipped)} of the file: registered already, and left as they are`);
    const commands = file.lists.map((one, i) => registration(one, state.lists + 1 + i));
    // If one list is possible, all are.
    if (commands[0]) refuseUnregistered(name, (await log.studies.tryOut(study.stream, commands[0])).outcome);
    const asked = `Register ${countedPacks(file.added)} in ${studyText(log, study)}`;
    if (dryRun) {
      await mayRegister(study.design, options, asked, isDoubted);
      const text = `would register ${countedPacks(file.added)} of ${name}; nothing was recorded`;
      return tellRegistered(options, file, commands.map(registeredList), text);
    }
    if (commands.length === 0)
      return tellRegistered(options, file, [], `nothing new for ${name}: nothing was recorded`);
    if (!(await mayRegister(study.design, options, asked, isDoubted))) return;
    const all = countedPacks(file.added);
    const revisions = await writeLists(log, study, commands, {
      all,
      shownAs: 'packs registered',
      refuse: refuseUnregistered,
    });
    const lists = commands.map((command, i) => ({ ...registeredList(command), revision: revisions[i] ?? 0 }));
    tellRegistered(options, file, lists, `registered ${all} of ${name}`);
  });
}

function registration({ where, entries }: CodeList, number: number): RegisterPacks {
  return { type: 'register-packs', list: number, where, key: randomBytes(16).toString('hex'), entries };
}

/** @throws UsageError unless the list is taken */
function refuseUnregistered(study: string, outcome: StudyOutcome): void {
  if (outcome.type === 'codes-registered') return;
  if (outcome.type === 'impossible') throw new UsageError(`nothing more was registered: ${outcome.why}`);
  throw (
    refusalError(outcome, { study }, 'nothing more was registered') ??
    new Error(`unexpected outcome ${outcome.type}`)
  );
}

interface RegisteredList {
  readonly list: number;
  readonly where?: RegisterPacks['where'];
  readonly count: number;
  readonly revision?: number;
}

function registeredList({ list: number, where, entries }: RegisterPacks): RegisteredList {
  return { list: number, ...(where && { where }), count: entries.length };
}

function tellRegistered(
  { study, dryRun = false, json }: AddOptions,
  { added, skipped, findings }: CodeFile,
  lists: readonly RegisteredList[],
  text: string,
): void {
  if (json) {
    const warnings = findings.map((one) => one.text);
    const needsYes = findings.some((one) => one.needsYes);
    const told = { study, dryRun, registered: added, skipped, lists, warnings, needsYes };
    result(JSON.stringify(told, null, 2));
    return;
  }
  const rows = lists.map(({ list: number, where, count, revision }) => [
    `  list ${number}`,
    countedPacks(count),
    where ? `${where.factor} = ${where.level}` : 'all levels',
    revision === undefined ? '' : `revision ${revision}`,
  ]);
  note(`${dryRun ? 'dry run: ' : ''}${text}`);
  if (rows.length > 0) note(table(rows));
}

function countedPacks(count: number): string {
  return counted(count, 'pack');
}

interface ListOptions extends StudyOptions {
  readonly csv?: boolean;
}

async function listPacks({ study: name, json, csv, ...options }: ListOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const state = registeredState(log, study);
    const mapped = packMap(state);
    if (mapped.length === 0) return note(`${name} has no packs (hint: urn codes add)`);
    const everybody = log.runner.state(participants, study.stream);
    const rows = mapped.map(({ participantId, ...pack }) => {
      const holder = participantId === undefined ? undefined : everybody.find(participantId);
      return { ...pack, ...(holder && { id: currentId(holder) }) };
    });
    const stock = stockOf(state, mapped);
    await recordDisclosure(log, { what: 'codes', study: name, toRevision: study.revision });
    if (json) result(JSON.stringify({ packs: rows, stock }, null, 2));
    else if (csv) process.stdout.write(mapCsv(rows, state.hasVisits));
    else result(mapText(rows, stock, state.hasVisits));
  });
}

type PackRow = Omit<ReturnType<typeof packMap>[number], 'participantId'> & { readonly id?: string };

function mapCsv(rows: readonly PackRow[], hasVisits: boolean): string {
  return mapCells(rows, hasVisits)
    .map((cells) => csvLine(cells))
    .join('');
}

function mapText(rows: readonly PackRow[], stock: ReturnType<typeof stockOf>, hasVisits: boolean): string {
  const free = stock.map((one) => [
    one.treatment,
    one.where ? `${one.where.factor} = ${one.where.level}` : 'all levels',
    `${one.free} free`,
    ...(one.low ? ['low'] : []),
  ]);
  return `${table(mapCells(rows, hasVisits))}\n\nstock\n${table(free)}`;
}

/** With a column for visits, if the study ever had any. */
function mapCells(rows: readonly PackRow[], hasVisits: boolean): string[][] {
  const cells = rows.map(({ code, treatment, where, state, id = '', visit = '' }) => [
    ...[code, treatment, where?.factor ?? '', where?.level ?? '', state, id],
    ...(hasVisits ? [visit] : []),
  ]);
  return [[...MAP_COLUMNS, ...(hasVisits ? ['visit'] : [])], ...cells];
}

const MAP_COLUMNS = ['code', 'treatment', 'factor', 'level', 'state', 'id'];

const ACCOUNTABILITY_HELP = `
One HTML file to print, with a row for each pack in the order of registration, and empty columns to fill in by hand: received,
returned, destroyed, initials. It names NO arm. Reading it is recorded like the map of the packs (urn operations).

state      free       still to be given out
           held       the participant has it
           replaced   the participant has another one in its place
           void       it was recorded for the participant, who never got it; nobody gets it any more
           nobody     only a wrong entry had it, and that was replaced
           withdrawn  not to be given out

--csv has the columns code, visit, state, id, dispensed_at, user, on_behalf_of, replaced_by, cause. --json is a list of objects
with code, state and, where there is something to say, visit, id (in use), dispensedAt, user, onBehalfOf, replacedBy and cause.

Examples:
  urn codes accountability --study 'CHS JCOIN'
  urn codes accountability --study 'CHS JCOIN' --csv > packs.csv`;

function accountabilityCommand(): Command {
  return logCommand('accountability')
    .description('write what became of each pack as one HTML file, to print; without arms')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option(
        '--out <file>',
        'the file to write, or - for standard output (default: <study>-accountability.html; for a test <study>-TEST-…)',
      ),
    )
    .addOption(new Option('--csv', 'as CSV, to stdout').conflicts(['json', 'out']))
    .addOption(jsonOption().conflicts('out'))
    .addHelpText('after', ACCOUNTABILITY_HELP)
    .action(writeAccountability);
}

interface AccountabilityOptions extends StudyOptions {
  readonly out?: string;
  readonly csv?: boolean;
}

async function writeAccountability({
  study: name,
  out,
  csv,
  json,
  ...options
}: AccountabilityOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const { revision } = study;
    const packs = packAccountability(registeredState(log, study));
    if (packs.length === 0) return note(`${name} has no packs (hint: urn codes add)`);
    const isTest = study.registered.configuration.mode === 'test';
    const byDefault = fileNameAbout(name, { isTest, what: 'accountability', extension: '.html' });
    const file = csv || json || out === STDOUT ? undefined : resolve(out ?? byDefault);
    // Before it is recorded.
    if (file !== undefined) refuseUnfit([file]);
    await recordDisclosure(log, { what: 'codes', study: name, toRevision: revision });
    if (json) return result(JSON.stringify(packs, null, 2));
    if (csv) return void process.stdout.write([...accountabilityCsv(packs)].join(''));
    const at = new Date().toISOString();
    const page = accountabilityPage(packs, { study: name, isTest, revision, at });
    if (file === undefined) return void process.stdout.write(page);
    writeNew(file, page);
    result(file);
  });
}
