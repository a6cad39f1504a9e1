/** urn studies amend: makes the design of a study what the studies file says, from here on. */
import { type Command, Option } from 'commander';
import type { DesignChange } from '../../events/amendment.ts';
import type { Protocol } from '../../events/text.ts';
import { amendedDesign } from '../../projections/design.ts';
import { currentLevels } from '../../projections/enrolled.ts';
import { participants } from '../../projections/participants.ts';
import { quote } from '../base/text.ts';
import { changesTo } from '../configuration/changes.ts';
import { compare, configurationDifferences, describeDifference } from '../configuration/differences.ts';
import type { ConfiguredStudy } from '../configuration/studies-file.ts';
import type { OpenLog } from '../open/open-log.ts';
import { amendmentOf, newNameProblems } from '../study/amendments.ts';
import type { Amend, FieldProblem, StudyOutcome } from '../study/commands.ts';
import type { Study } from '../study/studies.ts';
import {
  APPROVAL_EXAMPLE,
  APPROVAL_TO_COME,
  approvedByOption,
  type Decision,
  type DecisionOptions,
  decisionOf,
  decisionRows,
  protocolOption,
} from './approvals.ts';
import { mayChange } from './confirm.ts';
import { describeChange, settingOf } from './design-text.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  UsageError,
  unknownStudy,
} from './options.ts';
import { note, result, table } from './output.ts';
import { readRenamings } from './rename-option.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { described, withStudies } from './studies-log.ts';

interface Options extends LogOptions, DecisionOptions {
  readonly studies?: string;
  readonly reason: string;
  readonly rename?: readonly string[];
  readonly alias?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const HELP = `
First write the design as it is to be into the studies file. What then differs from the design in force is recorded as one
amendment: levels that are new, closed, open again or renamed, limits, policies, blinding, id_pattern, target_enrollment and
protocol. All else stays as it was registered, and a file that changes it is refused, with the lines.

A level that is no longer in the file is closed: it takes nobody, and its participants stay counted. Without --rename, a
level under another name looks like one that goes and one that comes. No participant is drawn again, and no arm changes.

What you write is recorded in the clear: blinded readers see it, in the log, in bundles and in the feed. Name nobody's arm.
A live study needs at least one approval: who decided it outside this system. It is recorded as you state it.

The command works beside a running service. For a live study it asks first if it runs on a terminal; --yes answers for you.
Exit code 0 also if there is nothing to amend, 2 if it is not possible: nothing is recorded then.

Example:
  urn studies amend "CHS JCOIN" --studies studies.yaml --dry-run --reason "new site, Cook closed"
  urn studies amend "CHS JCOIN" --studies studies.yaml --reason "new site, Cook closed" --protocol 3.0,2027-02-20 \\
    --approved-by "${APPROVAL_EXAMPLE}, Amendment 3" --rename "local_site:30-Dupage=30-Dupage County"`;

export function amendCommand(): Command {
  return logCommand('amend')
    .argument('<name>', 'name of a study')
    .description('change the design of a study from here on to what the studies file says')
    .addOption(
      option('--studies <file>', `the studies file with the new design (default: ${DEFAULT_STUDIES_FILE})`),
    )
    .addOption(
      new Option('--reason <text>', 'recorded in the clear, 1 to 2,000 characters').makeOptionMandatory(),
    )
    .addOption(approvedByOption())
    .addOption(protocolOption())
    .addOption(
      new Option(
        '--rename <factor:old=new>',
        'a level that the file calls otherwise than the log (repeatable)',
      ).argParser((value: string, earlier: readonly string[] = []) => [...earlier, value]),
    )
    .addOption(new Option('--alias', 'with --rename: requests may still use the old names'))
    .addOption(option('--dry-run', 'say what would be recorded, and write nothing'))
    .addOption(new Option('--yes', 'do not ask before a live study is changed'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(amend);
}

async function amend(name: string, options: Options): Promise<void> {
  const decision = decisionOf(options);
  const file = await studyInFile(name, options.studies ?? DEFAULT_STUDIES_FILE);
  await withStudies(options, async (log) => {
    const study = log.studies.find(name);
    if (!study) throw unknownStudy(name);
    const plan = planOf(study, file, options, decision);
    const { changes, protocol } = plan.command;
    if (plan.problems.length === 0 && changes.length === 0 && !protocol)
      return nothingToAmend(study, options);
    for (const warning of warnings(log, study, file, changes)) note(warning);
    await expectPossible(log, study, file, options, plan);
    const shown = asTable(log, study, plan.command);
    if (options.dryRun) {
      if (!options.json) return result(`dry run: nothing was recorded; it would be\n${shown}`);
      return result(asJson(study, plan.command));
    }
    note(shown);
    if (!(await mayChange(study.design, options, `Amend ${described(log, study)}?`))) return;
    const { outcome, revision } = await log.studies.submit(study.stream, plan.command, cliActor());
    if (outcome.type !== 'amended') throw refusalOf(study, outcome);
    note(`${name} is amended (amendment ${plan.command.amendment}, revision ${revision})`);
    if (options.json) result(asJson(study, plan.command, revision));
  });
}

/** @throws UsageError, StudiesFileError */
async function studyInFile(name: string, fileName: string): Promise<ConfiguredStudy> {
  const { studies } = await readStudiesFile(fileName);
  const found = studies.find(({ configuration }) => configuration.name === name);
  if (!found) throw new UsageError(`${fileName} has no study ${quote(name)}`);
  return found;
}

interface Plan {
  readonly command: Amend;
  /** What the file or the options ask for that no amendment can do. */
  readonly problems: readonly string[];
}

function planOf(
  { registered, design }: Study,
  file: ConfiguredStudy,
  { reason, rename = [], alias = false }: Options,
  decision: Decision,
): Plan {
  const { renamings, problems } = readRenamings(rename, alias, design, file.configuration.factors);
  const changes = changesTo(file, registered, design, renamings);
  const stated = file.configuration.protocol;
  const wanted = stated ?? decision.protocol;
  const protocol = isSame(wanted, design.protocol) ? undefined : wanted;
  const command: Amend = {
    ...{ type: 'amend', user: cliActor().user, amendment: design.amendment + 1 },
    ...{ changes, reason, approvals: decision.approvals, protocol },
  };
  const after = amendedDesign(design, amendmentOf(command));
  return {
    command,
    problems: [
      ...problems,
      ...(stated && decision.protocol && !isSame(stated, decision.protocol)
        ? [
            `${at(file, 'protocol')}: the file says another protocol than --protocol (hint: bring it up to date)`,
          ]
        : []),
      ...configurationDifferences(registered, after, file).map(
        (difference) =>
          `${at(file, difference.what)}: ${describeDifference(difference)}, which no amendment changes (hint: restore it, or register a study with a new name)`,
      ),
      ...newNameProblems(changes).map((problem) => problemText(problem, changes, file)),
    ],
  };
}

function isSame(one: Protocol | undefined, other: Protocol | undefined): boolean {
  return one?.version === other?.version && one?.date === other?.date;
}

/** @throws UsageError with all that is wrong */
async function expectPossible(
  { studies }: OpenLog,
  study: Study,
  file: ConfiguredStudy,
  { dryRun }: Options,
  { command, problems }: Plan,
): Promise<void> {
  const isToCome = dryRun && study.design.mode === 'live' && command.approvals.length === 0;
  const tried = isToCome ? { ...command, approvals: [APPROVAL_TO_COME] } : command;
  const { outcome } = await studies.tryOut(study.stream, tried);
  const found = outcome.type === 'not-amendable' ? outcome.problems : [];
  const all = [...problems, ...found.map((problem) => problemText(problem, command.changes, file))];
  if (all.length > 0) throw new UsageError(all.join('\n     '));
  if (outcome.type !== 'amended') throw refusalOf(study, outcome);
  if (isToCome) note(`the study is live: the amendment needs --approved-by '${APPROVAL_EXAMPLE}'`);
}

function problemText(
  { field, why }: FieldProblem,
  changes: readonly DesignChange[],
  file: ConfiguredStudy,
): string {
  const [, index] = /^changes\[(\d+)\]/.exec(field) ?? [];
  const change = index === undefined ? undefined : changes[Number(index)];
  if (change)
    return `${at(file, settingOf(change))}: ${settingOf(change)}: ${describeChange(change)}: ${why}`;
  return field === 'approvals' ? `${why} (hint: --approved-by '${APPROVAL_EXAMPLE}')` : `${field}: ${why}`;
}

/** The line of a setting, as compilers say it. */
function at({ file, lineOf }: ConfiguredStudy, setting: string): string {
  return `${file}:${lineOf(setting)}`;
}

function refusalOf({ design: { name } }: Study, outcome: StudyOutcome): UsageError {
  switch (outcome.type) {
    case 'refused':
      return new UsageError(`${name} cannot be amended while a history is being imported`);
    case 'stale':
      return new UsageError(`${name} was amended meanwhile: nothing was recorded (hint: run it again)`);
    default:
      throw new Error(`amend gave ${outcome.type}`);
  }
}

function nothingToAmend(study: Study, { json }: Options): void {
  const { name, amendment } = study.design;
  note(`nothing to amend: ${name} is as the file says`);
  if (json) result(JSON.stringify({ study: name, recorded: false, amendment, changes: [] }, null, 2));
}

/** What may not be meant. */
function* warnings(
  { studies }: OpenLog,
  { registered, stream }: Study,
  file: ConfiguredStudy,
  changes: readonly DesignChange[],
): Generator<string> {
  if (compare(registered, studies.designs(stream), file).standing === 'behind')
    yield 'warning: the file says what an earlier design was, so this takes back what was amended since (hint: is it up to date?)';
  for (const { name } of file.configuration.factors) {
    const goes = levelsThat('level-closed', name, changes);
    const comes = levelsThat('level-added', name, changes);
    if (goes.length === 0 || comes.length === 0) continue;
    const pair = goes.length + comes.length === 2 ? `${goes[0]}=${comes[0]}` : 'OLD=NEW';
    yield `hint: ${name} has a level that goes and one that comes; if it is the same one under another name, use --rename ${quote(`${name}:${pair}`)}`;
  }
}

function levelsThat(kind: DesignChange['kind'], factor: string, changes: readonly DesignChange[]): string[] {
  return changes.flatMap((change) =>
    change.kind === kind && 'level' in change && change.factor === factor ? [change.level] : [],
  );
}

function asTable(log: OpenLog, study: Study, command: Amend): string {
  const { amendment, changes, reason } = command;
  return table([
    ['event', 'StudyAmended'],
    ['study', described(log, study)],
    ['amendment', String(amendment)],
    ...changes.map((change) => [
      settingOf(change),
      `${describeChange(change)}${whoStays(log, study, change)}`,
    ]),
    ['reason', reason],
    ...decisionRows(command),
    ['effect', effectOf(changes)],
  ]);
}

function effectOf(changes: readonly DesignChange[]): string {
  const kinds = new Set(changes.map(({ kind }) => kind));
  const isNew = kinds.has('level-added') ? ' A new level begins with the same odds for every arm.' : '';
  const isRenamed = kinds.has('level-renamed') ? ' Keys that are limited to a renamed level keep it.' : '';
  return `No count of an urn changes.${isNew}${isRenamed}`;
}

/** How many participants have a level that is closed. */
function whoStays({ runner }: OpenLog, { stream, design }: Study, change: DesignChange): string {
  if (change.kind !== 'level-closed') return '';
  const index = design.factors.findIndex(({ name }) => name === change.factor);
  const { inOrder } = runner.state(participants, stream);
  const count = inOrder.filter((one) => currentLevels(one)[index] === change.level).length;
  if (count === 0) return ' (nobody has it)';
  return count === 1 ? ' (1 participant keeps it)' : ` (${count} participants keep it)`;
}

function asJson({ design }: Study, { amendment, changes, protocol }: Amend, revision?: number): string {
  const recorded = revision !== undefined;
  return JSON.stringify({ study: design.name, recorded, amendment, revision, changes, protocol }, null, 2);
}
