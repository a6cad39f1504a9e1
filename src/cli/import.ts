/**
 * urn import: continues here a history from the reference or another system. It first tries the import without writing it:
 * which rows can be drawn again, and what would be refused. Then it writes row by row, and can go on after an interruption.
 */
import { type Command, Option } from 'commander';
import { ImportedGenerator, SourceFormat, type UnprovenCause } from '../../events/from-outside.ts';
import { formulaProblem, freeTextProblem, lookAlikeForm, quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import { hasRatio } from '../core/model/design.ts';
import type { Model } from '../core/model/model.ts';
import { refusalOf, type StudyOutcome } from '../core/model/outcomes.ts';
import type { BeginImport, ImportParticipant } from '../core/study/commands.ts';
import { afterUnwritten, fork, participants } from '../core/study/fold.ts';
import { decideImport, ONLY_CSV } from '../core/study/import.ts';
import type { Study } from '../core/study/studies.ts';
import { type ImportOptions, type ImportPlan, planOf } from '../evidence/import/read-history.ts';
import { openSource } from '../evidence/import/source-file.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { APPROVAL_FORM, approvedByOption, decisionOf, PLACEHOLDER_APPROVAL } from './approvals.ts';
import { withFileProblems } from './lists-from-file.ts';
import { namedStudy, registeredState, withStudies } from './named-studies.ts';
import { cliActor, type LogOptions, logCommand, option, UsageError } from './options.ts';
import { note, progressOf, result } from './output.ts';
import { isConfirmed } from './precautions.ts';

interface ImportCommandOptions extends LogOptions, Omit<ImportOptions, 'treatmentMap'> {
  /** `THEIRS=OURS`. */
  readonly treatmentMap?: readonly string[];
  readonly study: string;
  readonly from?: string;
  readonly approvedBy?: readonly string[];
  readonly abort?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const HELP = `
The study must be registered and have no participants, and it takes nobody until the last row is in. If the command is
interrupted, run it again with the same file. Try it with --dry-run first.

Each row that has the generator's state is drawn again from the state of an earlier row. Rows that cannot be
drawn again are imported as they are, counted, and named.

A study that used several names for one arm to get a ratio (A1, A2, B for 2:1) is imported into a study with that ratio: with
--treatment-map A1=A,A2=A the names take the slots of the arm in the order given. Its rows are drawn again, and the
generator begins anew.

Generators:
  fresh      128 bits drawn now (default): nobody who has the old database can compute later arms
  continued  continues where the other system stopped, with the draw that it would have made next

Examples:
  urn import --study "CHS JCOIN" --from history.csv --dry-run
  urn import --study "CHS JCOIN" --from reference.db --approved-by "Dr. A. Ruiz, sponsor, 2026-03-01"
  urn import --study "Sleep 2:1" --from history.csv --treatment-map A1=A,A2=A --approved-by "Dr. A. Ruiz, sponsor, 2026-03-01"
  urn import --study "CHS JCOIN" --abort --reason "wrong file"`;

export function importCommand(): Command {
  return logCommand('import')
    .description('import the history of a study from the reference or another system')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(new Option('--from <file>', "CSV file, or the reference's SQLite database"))
    .addOption(
      new Option('--format <format>', 'csv: no generator states')
        .choices(SourceFormat.options)
        .default('reference'),
    )
    .addOption(
      new Option('--generator <kind>', 'how the draws continue')
        .choices(ImportedGenerator.options)
        .default('fresh'),
    )
    .addOption(new Option('--seed-known', "the other system began with this study's seed"))
    .addOption(
      new Option(
        '--treatment-map <theirs=ours>',
        'a treatment that has another name in the file (repeatable, or separated by commas)',
      ).argParser((value: string, earlier: readonly string[] = []) => [...earlier, ...pairsIn(value)]),
    )
    .addOption(approvedByOption())
    .addOption(new Option('--abort', 'give up an import that is under way').conflicts('from'))
    .addOption(new Option('--reason <text>', 'with --abort; recorded in the clear'))
    .addOption(option('--dry-run', 'show what would happen, and write nothing'))
    .addOption(new Option('--yes', 'do not ask before a live study is changed'))
    .addHelpText('after', HELP)
    .action((options: ImportCommandOptions) =>
      withFileProblems('nothing was imported', () =>
        options.abort ? abortImport(options) : importHistory(options),
      ),
    );
}

/** A name may contain a comma: then each pair has an option of its own. */
function pairsIn(value: string): string[] {
  const parts = value.split(',');
  return parts.every((part) => part.includes('=')) ? parts : [value];
}

async function importHistory(options: ImportCommandOptions): Promise<void> {
  const { study: name, from } = options;
  if (from === undefined) throw new UsageError('--from is missing (or --abort)');
  const { approvals } = decisionOf({ approvedBy: options.approvedBy });
  const file = openSource(from);
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const state = registeredState(log, study);
    const { format, generator, seedKnown } = options;
    if (study.design.method.name !== 'urn' && (format !== 'csv' || generator !== 'fresh' || seedKnown))
      throw new UsageError(`${ONLY_CSV} (hint: --format csv --generator fresh)`);
    if (options.generator === 'continued' && hasRatio(study.design))
      throw new UsageError(
        '--generator continued: the other system has no ratios and would draw differently, so the generator begins anew (hint: leave it out)',
      );
    const treatmentMap = treatmentPairs(options.treatmentMap ?? []);
    const plan = planOf(study.design, state, file, { ...options, treatmentMap }, approvals);
    await (state.importing
      ? continueImport(log, study, options, plan)
      : beginImport(log, study, options, plan));
  });
}

/** @param pairs `THEIRS=OURS`. @throws UsageError */
function treatmentPairs(pairs: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (const pair of pairs) {
    const [from = '', to, ...more] = pair.split('=');
    if (from === '' || to === undefined || to === '' || more.length > 0)
      throw new UsageError(`--treatment-map ${pair} (write THEIRS=OURS, such as ndard=standard)`);
    if (map.has(from))
      throw new UsageError(`--treatment-map: ${quote(from)} is mapped to several treatments`);
    map.set(from, to);
  }
  return map;
}

async function beginImport(
  log: OpenLog,
  study: Study,
  options: ImportCommandOptions,
  { begin, rows }: ImportPlan,
): Promise<void> {
  const shown = progressOf('rows checked', rows.length);
  const { mode } = study.registered.configuration;
  const isUnapproved = mode === 'live' && begin.approvals.length === 0;
  const approved = isUnapproved && options.dryRun ? { ...begin, approvals: [PLACEHOLDER_APPROVAL] } : begin;
  const rehearsal = rehearse(registeredState(log, study), approved, rows, shown.show);
  shown.end();
  if (rehearsal.refused) throw refusal(options.study, rehearsal.refused);
  note(rehearsalText(rehearsal, begin));
  for (const warning of [formulaWarning(rows), twinsWarning(rows)]) if (warning !== undefined) note(warning);
  if (options.dryRun) {
    if (isUnapproved) note(`the study is live: the import needs --approved-by '${APPROVAL_FORM}'`);
    return result('dry run: nothing was imported');
  }
  if (
    mode === 'live' &&
    !options.yes &&
    !(await isConfirmed(`Import ${counted(rows.length, 'participant')} into ${options.study}?`))
  ) {
    note('nothing was imported');
    process.exitCode = 1;
    return;
  }
  const proof = { redrawn: rehearsal.redrawn, unproven: rehearsal.unproven.length };
  const { outcome } = await log.studies.submit(study.stream, { ...begin, proof }, cliActor());
  if (outcome.type !== 'import-begun') throw refusal(options.study, { row: undefined, outcome });
  await writeRows(log, study, rows, 0);
}

interface Rehearsal {
  readonly redrawn: number;
  readonly unproven: readonly { readonly row: number; readonly cause: UnprovenCause }[];
  /** Why the import is not possible; undefined if it is. */
  readonly refused: { readonly row: number | undefined; readonly outcome: StudyOutcome } | undefined;
}

/** Tries an import without writing it. @param onRow gets the number of rows decided so far */
export function rehearse(
  original: Model,
  begin: Omit<BeginImport, 'proof'>,
  rows: readonly ImportParticipant[],
  onRow: (rows: number) => void = () => undefined,
): Rehearsal {
  let state = fork(original) as Model;
  const unproven: { row: number; cause: UnprovenCause }[] = [];
  const nothing = { redrawn: 0, unproven: [] };
  // How many can be drawn again is not known yet, and is compared only at the end of an import.
  const at = new Date().toISOString();
  const first = decideImport(state, { ...begin, proof: { redrawn: 0, unproven: rows.length } }, at);
  if (!first.fact) return { ...nothing, refused: { row: undefined, outcome: first.outcome } };
  state = afterUnwritten(state, first.fact, 0);
  for (const [i, command] of rows.entries()) {
    const { fact, outcome } = decideImport(state, command, at);
    if (fact?.type !== 'ParticipantImported') return { ...nothing, refused: { row: command.row, outcome } };
    const { cause } = fact.data;
    if (cause !== undefined) unproven.push({ row: command.row, cause });
    state = afterUnwritten(state, fact, 0);
    onRow(i + 1);
  }
  return { redrawn: rows.length - unproven.length, unproven, refused: undefined };
}

/** `300 rows: 298 redrawn, 2 unproven (17: override, 40: differs). The generator is fresh.` */
function rehearsalText({ redrawn, unproven }: Rehearsal, { source, generator }: ImportPlan['begin']): string {
  const which = unproven.length > 0 ? ` (${firstOf(unproven, ({ row, cause }) => `${row}: ${cause}`)})` : '';
  return `${counted(source.rows, 'row')}: ${redrawn} redrawn, ${unproven.length} unproven${which}. The generator is ${generator}.`;
}

/** New participants are refused such ids. Whoever is in the other system keeps theirs. */
function formulaWarning(rows: readonly ImportParticipant[]): string | undefined {
  const found = rows.filter(({ participantId }) => formulaProblem(participantId) !== undefined);
  if (found.length === 0) return undefined;
  return `warning: a spreadsheet takes these ids for formulas: ${firstOf(found, ({ row, participantId }) => `${quote(participantId)} (row ${row})`)} (hint: for a spreadsheet, use urn export --excel)`;
}

/** One participant with two spellings of their id is two participants here. */
function twinsWarning(rows: readonly ImportParticipant[]): string | undefined {
  const byForm = new Map<string, ImportParticipant[]>();
  for (const row of rows) {
    const form = lookAlikeForm(row.participantId)
      .toUpperCase()
      .replaceAll(/(?<!\d)0+(?=\d)/g, '');
    const same = byForm.get(form);
    if (same) same.push(row);
    else byForm.set(form, [row]);
  }
  const twins = [...byForm.values()].filter(({ length }) => length > 1);
  if (twins.length === 0) return undefined;
  const shown = firstOf(twins, (same) =>
    same
      .toSorted((a, b) => a.row - b.row)
      .map(({ row, participantId }) => `${quote(participantId)} (row ${row})`)
      .join(' and '),
  );
  return `warning: these ids differ only in how they are written, by case, width or leading zeros: ${shown} (hint: make sure that they are different people: each is imported as a participant of their own)`;
}

/** The first of them, and how many more there are. */
function firstOf<T>(all: readonly T[], shown: (one: T) => string): string {
  const LISTED = 20;
  const first = all.slice(0, LISTED).map(shown);
  if (all.length > LISTED) first.push(`and ${all.length - LISTED} more`);
  return first.join(', ');
}

/** @throws UsageError when it was begun with another file or other options */
async function continueImport(
  log: OpenLog,
  study: Study,
  options: ImportCommandOptions,
  { begin, rows }: ImportPlan,
): Promise<void> {
  const { imported, importing } = registeredState(log, study);
  const name = study.registered.configuration.name;
  if (!imported || imported.sha256 !== begin.sha256)
    throw new UsageError(
      `an import into ${name} is under way, from another file (hint: give the same file again, or --abort)`,
    );
  const begun = optionsIn({
    ...{ source: imported, generator: imported.isFresh ? 'fresh' : 'continued' },
    ...{ seedKnown: imported.isSeedKnown, treatmentMap: imported.treatmentMap },
  });
  if (begun !== optionsIn(begin))
    throw new UsageError(`the import into ${name} was begun with other options (hint: ${begun})`);
  const taken = importing?.taken ?? 0;
  if (options.dryRun)
    return result(`dry run: the import would continue after ${taken} of ${counted(rows.length, 'row')}`);
  note(`continuing after ${taken} of ${counted(rows.length, 'row')}`);
  await writeRows(log, study, rows, taken);
}

/** The options of the command that the rows and their proofs depend on, besides the file. */
function optionsIn({
  source: { format },
  generator,
  seedKnown,
  treatmentMap = [],
}: Pick<BeginImport, 'generator' | 'seedKnown' | 'treatmentMap'> & {
  readonly source: { readonly format: SourceFormat };
}): string {
  return [
    `--format ${format} --generator ${generator}`,
    ...(seedKnown ? ['--seed-known'] : []),
    ...treatmentMap.map(({ from, to }) => `--treatment-map ${quote(`${from}=${to}`)}`),
  ].join(' ');
}

/** Rows in a lot. One lot waits for the log while the previous one is written. */
const ROWS_IN_LOT = 500;

async function writeRows(
  log: OpenLog,
  study: Study,
  rows: readonly ImportParticipant[],
  taken: number,
): Promise<void> {
  const { name } = study.registered.configuration;
  const actor = cliActor();
  const shown = progressOf('rows imported', rows.length);
  const writeLot = async (from: number) => {
    const lot = rows.slice(from, from + ROWS_IN_LOT);
    const written = await Promise.all(lot.map((row) => log.studies.submit(study.stream, row, actor)));
    for (const [i, { outcome }] of written.entries())
      if (outcome.type !== 'imported' && !isComplete(log, study, rows, outcome))
        throw refusal(name, { row: lot[i]?.row, outcome });
    shown.show(from + lot.length);
  };
  try {
    let before = Promise.resolve();
    for (let from = taken; from < rows.length; from += ROWS_IN_LOT) {
      const lot = writeLot(from);
      // If the previous lot fails, so does this one, and nobody awaits it.
      lot.catch(() => undefined);
      await before;
      before = lot;
    }
    await before;
  } finally {
    shown.end();
  }
  const command = { type: 'end-import', import: rows[0]?.import ?? '' } as const;
  const { outcome, revision } = await log.studies.submit(study.stream, command, actor);
  if (outcome.type !== 'import-ended' && !isComplete(log, study, rows, outcome))
    throw refusal(name, { row: undefined, outcome });
  note(
    `${counted(rows.length, 'participant was', 'participants were')} imported into ${name} (revision ${revision})`,
  );
  const used = usedEntries(registeredState(log, study), rows);
  if (used !== undefined)
    note(
      `nobody is randomized until urn lists skip says which entries of the list these participants have (hint: if all were allocated from it: ${used})`,
    );
}

/** Whether another process that imports the same file was faster. */
function isComplete(
  { runner }: OpenLog,
  { stream }: Study,
  rows: readonly ImportParticipant[],
  { type }: StudyOutcome,
): boolean {
  const last = runner.state(participants, stream).find(rows.at(-1)?.participantId ?? '');
  return type === 'not-importing' && last?.original !== undefined;
}

/** Of a study with a list: what to say if each row has used an entry. */
function usedEntries(
  { design, methodDesign }: Model,
  rows: readonly ImportParticipant[],
): string | undefined {
  if (methodDesign.method !== 'list') return undefined;
  const numbers = new Map<string, number>();
  for (const { levels } of rows) {
    const stratum = methodDesign.by.map((at) => `${design.factors[at]?.name}=${levels[at]}`).join(',');
    numbers.set(stratum, (numbers.get(stratum) ?? 0) + 1);
  }
  return [...numbers]
    .map(([stratum, number]) => `--used ${quote([stratum, number].filter((part) => part !== '').join(':'))}`)
    .join(' ');
}

async function abortImport({
  study: name,
  reason,
  yes,
  dryRun,
  ...options
}: ImportCommandOptions): Promise<void> {
  const unfit = reason === undefined ? 'is missing' : freeTextProblem(reason, 1);
  if (unfit !== undefined) throw new UsageError(`--reason ${unfit}`);
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const { importing } = registeredState(log, study);
    if (!importing) return note(`no import into ${name} is under way`);
    const rows = `${importing.taken} of ${counted(importing.rows, 'row')}`;
    if (dryRun) return result(`dry run: nothing was recorded; the import of ${rows} would be given up`);
    if (!yes && !(await isConfirmed(`Give up the import into ${name} (${rows})?`))) {
      note('nothing was recorded');
      process.exitCode = 1;
      return;
    }
    const command = { type: 'end-import', import: importing.import, abortedBecause: reason } as const;
    const { outcome } = await log.studies.submit(study.stream, command, cliActor());
    if (outcome.type !== 'import-aborted') throw refusal(name, { row: undefined, outcome });
    note(`the import into ${name} was given up: the study has no participants, as before`);
  });
}

function refusal(name: string, { row, outcome }: NonNullable<Rehearsal['refused']>): UsageError {
  const where = row === undefined ? '' : `row ${row}: `;
  return new UsageError(`nothing more was imported into ${name}: ${where}${refusalText(outcome)}`);
}

function refusalText(outcome: StudyOutcome): string {
  if (outcome.type === 'impossible')
    return outcome.field === 'approvals'
      ? `${outcome.why} (hint: --approved-by '${APPROVAL_FORM}')`
      : `${outcome.field}: ${outcome.why}`;
  const { says = outcome.type, commands } = refusalOf(outcome) ?? {};
  return commands === undefined ? says : `${says} (hint: ${commands})`;
}
