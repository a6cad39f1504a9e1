/** urn studies amend: makes the design of a study what the studies file says, from here on. */
import { type Command, Option } from 'commander';
import type { DesignChange } from '../../events/amendment.ts';
import { currentLevels } from '../../projections/enrolled.ts';
import { participants } from '../../projections/participants.ts';
import { quote } from '../base/text.ts';
import type { ConfiguredStudy } from '../configuration/studies-file.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Amend, StudyOutcome } from '../study/commands.ts';
import type { Study } from '../study/studies.ts';
import { doubts, type Plan, planOf, problemText } from './amendment-plan.ts';
import {
  APPROVAL_EXAMPLE,
  APPROVAL_TO_COME,
  approvedByOption,
  type DecisionOptions,
  decisionOf,
  decisionRows,
  IN_THE_CLEAR,
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

${IN_THE_CLEAR}
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
  const { reason, rename = [], alias = false, studies: fileName = DEFAULT_STUDIES_FILE } = options;
  const decision = decisionOf(options);
  const file = await studyInFile(name, fileName);
  await withStudies(options, async (log) => {
    const study = log.studies.find(name);
    if (!study) throw unknownStudy(name);
    const plan = planOf(study, { file, reason, decision, rename, alias });
    const { command, problems } = plan;
    const { changes, protocol } = command;
    if (problems.length === 0 && changes.length === 0 && !protocol) return nothingToAmend(study, options);
    for (const doubt of doubts(study, log.studies.designs(study.stream), file, changes)) note(doubt);
    await expectPossible(log, study, file, options, plan);
    const shown = asTable(log, study, command);
    if (options.dryRun) {
      const tried = `dry run: nothing was recorded; it would be\n${shown}`;
      return result(options.json ? asJson(study, command) : tried);
    }
    note(shown);
    if (!(await mayChange(study.design, options, `Amend ${described(log, study)}?`))) return;
    const { outcome, revision } = await log.studies.submit(study.stream, command, cliActor());
    if (outcome.type !== 'amended') throw refusalOf(study, outcome);
    note(`${name} is amended (amendment ${command.amendment}, revision ${revision})`);
    if (options.json) result(asJson(study, command, revision));
  });
}

/** @throws UsageError, StudiesFileError */
async function studyInFile(name: string, fileName: string): Promise<ConfiguredStudy> {
  const { studies } = await readStudiesFile(fileName);
  const found = studies.find(({ configuration }) => configuration.name === name);
  if (!found) throw new UsageError(`${fileName} has no study ${quote(name)}`);
  return found;
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
