/** urn studies amend: changes the design of a study to what the studies file says, from here on. */
import { type Command, Option } from 'commander';
import { History } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import { amendmentDoubts, plannedAmendment } from '../core/configuration/amendment.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { activeFactors } from '../core/model/design.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import { newNameProblems } from '../core/study/amendments.ts';
import type { Amend } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { previewJson, previewOf, previewText } from './amendment-preview.ts';
import { doubtText, lineOf, problemText, protocolProblems } from './amendment-text.ts';
import {
  APPROVAL_EXAMPLE,
  approvedByOption,
  type Decision,
  type DecisionOptions,
  decisionOf,
  IN_THE_CLEAR,
  PLACEHOLDER_APPROVAL,
  protocolOption,
} from './approvals.ts';
import { mayChange } from './confirm.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  namedStudy,
  option,
  UsageError,
} from './options.ts';
import { note, result } from './output.ts';
import { readRenamings } from './rename-option.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { studyText, withStudies } from './studies-log.ts';

interface Options extends LogOptions, DecisionOptions {
  readonly studies?: string;
  readonly reason: string;
  readonly rename?: readonly string[];
  readonly alias?: boolean;
  readonly stop?: readonly string[];
  readonly history?: History;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const HELP = `
First write the new design into the studies file: open levels, open arms, factors that are asked for. Every difference from
the design in force is then recorded as one amendment: levels and arms that are new, closed, open again or (levels only)
renamed, factors that are left out, ratio, w, alpha, beta, D, limits, policies, blinding, id_pattern, target_enrollment,
visits and protocol. Everything else stays as it was registered: a file that changes it is refused, naming the lines.

A level or an arm that is no longer in the file is closed: it takes nobody, and its participants stay. A factor that is no
longer in the file is retired for good. Without --rename, a level under another name looks like one level closed and another
added. No participant is drawn again, and nobody's arm changes.

--stop is for an arm that is closed, or that the file no longer has: from here on nobody on it gets packs, until the arm is in
the file again. Otherwise its participants get packs as before. A visit for which somebody has a pack must stay in the file.

--history says who is counted from then on:
  keep     everybody who was counted before
  restart  nobody who is in the study now: the method begins anew
The default is restart with a new arm or a new ratio, also with a reopened arm if the method is minimization, blocks or list,
with a closed one if it is blocks or list, and otherwise keep. Blocks and lists cannot keep where restart is the default, and
nothing can keep with a new ratio: earlier participants have no place in the new slots. With keep, urns and minimization draw
a new arm more often than the others until it has caught up with them.

In a study with urns, if the amendment touches those of arms or factors, a table shows each arm's probability at the next
draw, by level, before and after; for a new arm, under both histories unless --history is given. It is worked out from the
counts of the arms in the log: never pass it on to anybody who is blinded. Showing it is recorded, even in a dry run.

${IN_THE_CLEAR}
A live study needs at least one approval: who decided it outside this system. It is recorded as you state it.

The service may be running. For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for
you. Exit codes: 0 done, or nothing to amend; 2 not possible, so nothing was recorded.

Examples:
  urn studies amend "CHS JCOIN" --studies studies.yaml --dry-run --reason "new site, Cook closed"
  urn studies amend "CHS JCOIN" --studies studies.yaml --reason "new site, Cook closed" --protocol 3.0,2027-02-20 \\
    --approved-by "${APPROVAL_EXAMPLE}, Amendment 3" --rename "local_site:30-Dupage=30-Dupage County"
  urn studies amend "CHS JCOIN" --studies studies.yaml --reason "arm RMC-A closed for futility" --history keep \\
    --approved-by "${APPROVAL_EXAMPLE}, Amendment 4"`;

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
        'a level that has a new name in the file (repeatable)',
      ).argParser(collect),
    )
    .addOption(new Option('--alias', 'with --rename: requests may still use the old names'))
    .addOption(
      new Option('--stop <arm>', 'a closed arm on which nobody gets packs any more (repeatable)').argParser(
        collect,
      ),
    )
    .addOption(
      new Option('--history <history>', 'who is counted from then on (default: see below)').choices(
        History.options,
      ),
    )
    .addOption(option('--dry-run', 'show what would be recorded, and write nothing'))
    .addOption(new Option('--yes', 'do not ask before a live study is changed'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(amend);
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

async function amend(name: string, options: Options): Promise<void> {
  const { studies: fileName = DEFAULT_STUDIES_FILE } = options;
  const decision = decisionOf(options);
  const file = await studyInFile(name, fileName);
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const plan = planOf(study, file, decision, options);
    const { command, problems } = plan;
    const { changes, protocol } = command;
    if (problems.length === 0 && changes.length === 0 && !protocol) return nothingToAmend(study, options);
    const designs = log.studies.designs(study.stream);
    for (const doubt of amendmentDoubts(study, designs, file, changes)) note(doubtText(doubt));
    await expectPossible(log, study, file, options, plan);
    const preview = await previewOf(log, study, command);
    const shown = previewText(log, study, preview);
    if (options.dryRun) {
      const tried = `dry run: nothing was recorded; the record would be\n${shown}`;
      return result(options.json ? previewJson(study, preview) : tried);
    }
    note(shown);
    if (!(await mayChange(study.design, options, `Amend ${studyText(log, study)}?`))) return;
    const { outcome, revision } = await log.studies.submit(study.stream, command, cliActor());
    if (outcome.type !== 'amended') throw refusalOf(study, outcome);
    note(`${name} is amended (amendment ${command.amendment}, revision ${revision})`);
    if (options.json) result(previewJson(study, preview, revision));
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
  /** What is not possible, in sentences. */
  readonly problems: readonly string[];
}

function planOf(study: Study, file: ConfiguredStudy, decision: Decision, options: Options): Plan {
  const { reason, rename = [], alias = false, stop = [], history } = options;
  const { approvals, protocol } = decision;
  const { design } = study;
  const inForce = { factors: activeFactors(design) };
  const { renamings, problems } = readRenamings(rename, alias, inForce, file.configuration.factors);
  const { command, unchangeable } = plannedAmendment(study, file, {
    ...{ user: cliActor().user, askedAt: new Date().toISOString() },
    ...{ reason, approvals, protocol, history, renamings, stop },
  });
  const { changes } = command;
  return {
    command,
    problems: [
      ...problems,
      ...protocolProblems(file, protocol),
      ...unchangeable.map(({ setting, why }) => `${lineOf(file, setting)}: ${why}`),
      ...newNameProblems(changes).map((problem) => problemText(problem, changes, file)),
    ],
  };
}

/** @throws UsageError listing every problem */
async function expectPossible(
  { studies }: OpenLog,
  study: Study,
  file: ConfiguredStudy,
  { dryRun }: Options,
  { command, problems }: Plan,
): Promise<void> {
  const lacksApproval = dryRun && study.design.mode === 'live' && command.approvals.length === 0;
  const tried = lacksApproval ? { ...command, approvals: [PLACEHOLDER_APPROVAL] } : command;
  const { outcome } = await studies.tryOut(study.stream, tried);
  const found = outcome.type === 'not-amendable' ? outcome.problems : [];
  const all = [...problems, ...found.map((problem) => problemText(problem, command.changes, file))];
  if (all.length > 0) throw new UsageError(all.join('\n     '));
  if (outcome.type !== 'amended') throw refusalOf(study, outcome);
  if (lacksApproval) note(`the study is live: the amendment needs --approved-by '${APPROVAL_EXAMPLE}'`);
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
