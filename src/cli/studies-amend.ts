/**
 * urn studies amend: changes the design of a study, from here on, to what the studies file says.
 *
 * The options and the file are read into one amendment, with everything that is wrong with it (`planOf`). What may be a
 * mistake is said, what is not possible is refused, and the record is shown (`previewOf`) before anybody confirms it. The odds
 * that it shows come from the counts of the arms, so showing them is recorded.
 */
import { type Command, Option } from 'commander';
import type { Protocol } from '../../events/define.ts';
import { type DesignChange, History } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import { type KeyLeftBehind, keysLeftBehind } from '../core/access/limited-keys.ts';
import {
  type AmendmentDoubt,
  amendmentDoubts,
  describeChange,
  isSameProtocol,
  type LevelRenamed,
  plannedAmendment,
  settingOf,
} from '../core/configuration/amendment.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import {
  activeFactors,
  amendedDesign,
  changedDesign,
  type Design,
  hasRatio,
  ratioText,
} from '../core/model/design.ts';
import type { FieldProblem, StudyOutcome } from '../core/model/outcomes.ts';
import { currentLevels, type Participant } from '../core/model/participants.ts';
import { amendmentOf, mayKeep, newNameProblems } from '../core/study/amendments.ts';
import type { Amend } from '../core/study/commands.ts';
import { participants, studyState } from '../core/study/fold.ts';
import { historyOf, type LevelOdds, type Odds, oddsOf } from '../core/study/odds.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { refusalError } from './act-options.ts';
import {
  APPROVAL_EXAMPLE,
  approvedByOption,
  type Decision,
  type DecisionOptions,
  decisionOf,
  decisionRows,
  IN_THE_CLEAR,
  PLACEHOLDER_APPROVAL,
  protocolOption,
} from './approvals.ts';
import { namedStudy, studyText, withStudies } from './named-studies.ts';
import { recordDisclosure } from './open-log.ts';
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
import { mayChange } from './precautions.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';

interface AmendOptions extends LogOptions, DecisionOptions {
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

const AMEND_HELP = `
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
    .addHelpText('after', AMEND_HELP)
    .action(amend);
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

async function amend(name: string, options: AmendOptions): Promise<void> {
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
    if (outcome.type !== 'amended') throw refusedAmendment(study, outcome);
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

interface AmendmentPlan {
  readonly command: Amend;
  /** What is not possible, in sentences. */
  readonly problems: readonly string[];
}

/** The amendment that the options and the file ask for. */
function planOf(
  study: Study,
  file: ConfiguredStudy,
  decision: Decision,
  options: AmendOptions,
): AmendmentPlan {
  const { reason, rename = [], alias = false, stop = [], history } = options;
  const { approvals, protocol } = decision;
  const { design } = study;
  const inForce = { factors: activeFactors(design) };
  const { renamings, problems } = readRenamings(rename, alias, inForce, file.configuration.factors);
  const { command, unchangeable } = plannedAmendment(study, file, {
    ...{ user: cliActor().user, reason, approvals, protocol, history, renamings, stop },
  });
  const { changes } = command;
  return {
    command,
    problems: [
      ...problems,
      ...protocolProblems(file, protocol),
      ...unchangeable.map(({ setting, why }) => `${fileLineOf(file, setting)}: ${why}`),
      ...newNameProblems(changes).map((problem) => problemText(problem, changes, file)),
    ],
  };
}

interface ReadRenamings {
  readonly renamings: readonly LevelRenamed[];
  /** Each is a sentence. */
  readonly problems: readonly string[];
}

type NamedFactors = readonly { readonly name: string; readonly levels: readonly string[] }[];

/**
 * Reads each --rename 'FACTOR:OLD=NEW'.
 * @param design whose levels have the old names
 * @param inFile the factors of the file, which has the new ones
 * @param hasAlias whether requests may still use the old names
 */
export function readRenamings(
  texts: readonly string[],
  hasAlias: boolean,
  { factors }: Pick<Design, 'factors'>,
  inFile: NamedFactors,
): ReadRenamings {
  const renamings: LevelRenamed[] = [];
  const problems = hasAlias && texts.length === 0 ? ['--alias belongs to --rename'] : [];
  for (const text of texts) {
    const possible = renamingReadings(text, factors);
    const meant = possible.find(({ factor, level, to }) => {
      const levels = levelsOf(inFile, factor);
      return levels.includes(to) && !levels.includes(level);
    });
    if (meant) renamings.push({ kind: 'level-renamed', ...meant, ...(hasAlias && { alias: true as const }) });
    else problems.push(`--rename ${quote(text)}: ${whyNoRenaming(text, possible[0], factors, inFile)}`);
  }
  return { renamings, problems };
}

type RenamingReading = Pick<LevelRenamed, 'factor' | 'level' | 'to'>;

/** Names may contain colons and equals signs, so there may be several. */
function renamingReadings(text: string, factors: NamedFactors): RenamingReading[] {
  return factors.flatMap(({ name: factor, levels }) =>
    levels.flatMap((level) => {
      const start = `${factor}:${level}=`;
      return text.startsWith(start) ? [{ factor, level, to: text.slice(start.length) }] : [];
    }),
  );
}

function levelsOf(factors: NamedFactors, factor: string): readonly string[] {
  return factors.find(({ name }) => name === factor)?.levels ?? [];
}

function whyNoRenaming(
  text: string,
  reading: RenamingReading | undefined,
  factors: NamedFactors,
  inFile: NamedFactors,
): string {
  if (reading) {
    const { factor, level, to } = reading;
    return levelsOf(inFile, factor).includes(level)
      ? `the file still has the level ${quote(level)} in ${quote(factor)}`
      : `the file has no level ${quote(to)} in ${quote(factor)} (hint: write the new name into the file)`;
  }
  const factor = factors.find(({ name }) => text.startsWith(`${name}:`));
  if (!factor) return `it is not FACTOR:OLD=NEW (factors: ${namesText(factors.map(({ name }) => name))})`;
  return `${quote(factor.name)} has no such level (levels: ${namesText(factor.levels)})`;
}

function namesText(names: readonly string[]): string {
  return names.map(quote).join(', ');
}

/** The file would differ as soon as the amendment is recorded. */
function protocolProblems(file: ConfiguredStudy, decided: Protocol | undefined): string[] {
  const inFile = file.configuration.protocol;
  if (!inFile || !decided || isSameProtocol(inFile, decided)) return [];
  return [
    `${fileLineOf(file, 'protocol')}: the file names a different protocol from --protocol (hint: bring it up to date)`,
  ];
}

/** The line of a setting, in the form that compilers use. */
function fileLineOf({ file, lineOf }: ConfiguredStudy, setting: string): string {
  return `${file}:${lineOf(setting)}`;
}

/** A problem of a change, with the line of the file that asks for it. */
function problemText(
  { field, why }: FieldProblem,
  changes: readonly DesignChange[],
  file: ConfiguredStudy,
): string {
  const [, index] = /^changes\[(\d+)\]/.exec(field) ?? [];
  const change = index === undefined ? undefined : changes[Number(index)];
  if (change?.kind === 'arm-stopped') return `--stop ${quote(change.treatment)}: ${why}`;
  if (change)
    return `${fileLineOf(file, settingOf(change))}: ${settingOf(change)}: ${describeChange(change)}: ${why}`;
  if (field === 'approvals') return `${why} (hint: --approved-by '${APPROVAL_EXAMPLE}')`;
  return field === 'history' ? `--history: ${why}` : `${field}: ${why}`;
}

function nothingToAmend(study: Study, { json }: AmendOptions): void {
  const { name, amendment } = study.design;
  note(`nothing to amend: ${name} is as the file says`);
  if (json) result(JSON.stringify({ study: name, recorded: false, amendment, changes: [] }, null, 2));
}

/** What may be a mistake, in the terms of the options. */
function doubtText(doubt: AmendmentDoubt): string {
  switch (doubt.about) {
    case 'earlier-design':
      return 'warning: the file describes an earlier design, so this reverts what was amended since (hint: is it up to date?)';
    case 'renamed-level': {
      const { factor, closed, added } = doubt;
      const pair = closed.length + added.length === 2 ? `${closed[0]}=${added[0]}` : 'OLD=NEW';
      return `hint: ${factor} loses one level and gains another; if they are the same level under two names, use --rename ${quote(`${factor}:${pair}`)}`;
    }
    case 'renamed-arm':
      return 'hint: one arm is closed and another is added; an arm cannot be renamed, so if it is the same treatment, write its old name';
  }
}

/** @throws UsageError listing every problem */
async function expectPossible(
  { studies }: OpenLog,
  study: Study,
  file: ConfiguredStudy,
  { dryRun }: AmendOptions,
  { command, problems }: AmendmentPlan,
): Promise<void> {
  const lacksApproval = dryRun && study.design.mode === 'live' && command.approvals.length === 0;
  const tried = lacksApproval ? { ...command, approvals: [PLACEHOLDER_APPROVAL] } : command;
  const { outcome } = await studies.tryOut(study.stream, tried);
  const found = outcome.type === 'not-amendable' ? outcome.problems : [];
  const all = [...problems, ...found.map((problem) => problemText(problem, command.changes, file))];
  if (all.length > 0) throw new UsageError(all.join('\n     '));
  if (outcome.type !== 'amended') throw refusedAmendment(study, outcome);
  if (lacksApproval) note(`the study is live: the amendment needs --approved-by '${APPROVAL_EXAMPLE}'`);
}

function refusedAmendment({ design: { name } }: Study, outcome: StudyOutcome): Error {
  return refusalError(outcome, { study: name }) ?? new Error(`amend gave ${outcome.type}`);
}

/** What is shown of an amendment before anything is recorded. */
interface Preview {
  readonly command: Amend;
  readonly after: Design;
  readonly odds: Odds | undefined;
  readonly keys: readonly KeyLeftBehind[];
}

async function previewOf(log: OpenLog, study: Study, command: Amend): Promise<Preview> {
  const { runner } = log;
  const { stream, design } = study;
  const state = runner.state(studyState, stream);
  if (state.status === 'unregistered') throw unknownStudy(design.name);
  const last = runner.revision(stream);
  const odds = oddsOf(state, command, last + 1);
  if (odds) await recordDisclosure(log, { what: 'balance', study: design.name, toRevision: last });
  const after = amendedDesign(design, amendmentOf(command, design));
  const keys = keysLeftBehind(log.keys.list(), design, after, new Date().toISOString());
  return { command, after, odds, keys };
}

function previewText(log: OpenLog, study: Study, { command, after, odds, keys }: Preview): string {
  const { amendment, changes, reason } = command;
  const facts = table([
    ['event', 'StudyAmended'],
    ['study', studyText(log, study)],
    ['amendment', String(amendment)],
    ...changes.flatMap((change, i) => {
      const before = changes.slice(0, i).reduce(changedDesign, study.design);
      return changeRows(log, study, before, change);
    }),
    ...(showsHistory(study, command, odds) ? [['history', historyText(command, study.design)]] : []),
    ['reason', reason],
    ...decisionRows(command),
    ...keys.map((key) => ['key', keyLeftBehindText(key)]),
    ['effect', effectText(command, after)],
  ]);
  if (!odds) return facts;
  return `${facts}\n\nprobability of each arm at the next draw, if the urn of the level is the one that is drawn from\n(not for blinded readers)\n${oddsTable(odds)}`;
}

/** @param before in force when the change is applied */
function changeRows(log: OpenLog, study: Study, before: Design, change: DesignChange): string[][] {
  switch (change.kind) {
    case 'urn':
      return (['w', 'alpha', 'beta', 'D'] as const).flatMap((name) => {
        const soFar = before.method.name === 'urn' ? before.method[name] : undefined;
        return change[name] === undefined ? [] : [[name, `${change[name]} (so far ${soFar})`]];
      });
    case 'ratio':
      return [['ratio', ratioText(before.treatments, change.value)]];
    default:
      return [[settingOf(change), `${describeChange(change)}${stayingText(log, study, change)}`]];
  }
}

/** How many participants have a level or an arm that is closed. */
function stayingText({ runner }: OpenLog, { stream, design }: Study, change: DesignChange): string {
  const { kind } = change;
  if (kind !== 'level-closed' && kind !== 'arm-closed' && kind !== 'arm-stopped') return '';
  const { inOrder } = runner.state(participants, stream);
  const has = (one: Participant) => {
    if (change.kind !== 'level-closed') return one.treatment === change.treatment;
    const index = design.factors.findIndex(({ name }) => name === change.factor);
    return currentLevels(one)[index] === change.level;
  };
  const count = inOrder.filter(has).length;
  if (count === 0) return ' (nobody has it)';
  return ` (${counted(count, 'participant keeps', 'participants keep')} it)`;
}

/** Whether the history is shown. With urns, only where odds change. */
function showsHistory({ design }: Pick<Study, 'design'>, command: Amend, odds: Odds | undefined): boolean {
  return odds !== undefined || (design.method.name !== 'urn' && historyOf(command, design) !== undefined);
}

function historyText(command: Amend, design: Design): string {
  const which = historyOf(command, design);
  const hasChoice = command.history === undefined && mayKeep(command.changes, design);
  return hasChoice ? `${which} (by default; --history says otherwise)` : `${which}`;
}

function keyLeftBehindText({ keyId, user, limit: { factor, levels } }: KeyLeftBehind): string {
  return `${keyId} of ${user} is limited to ${factor} = ${levels.map(quote).join(' or ')}: it keeps its participants, and cannot enrol anybody new`;
}

/** What a restart does, by method. */
const RESTART_TEXTS: Readonly<Partial<Record<Design['method']['name'], string>>> = {
  urn: 'The urns begin anew',
  blocks: 'Open blocks end, and new ones begin',
  list: 'All entries so far are void, and nobody is randomized until a further list is registered (urn lists add)',
};

function effectText(command: Amend, after: Design): string {
  const kinds = new Set(command.changes.map(({ kind }) => kind));
  const isRestart = historyOf(command, after) === 'restart';
  const { name } = after.method;
  const isOfUrns = name === 'urn';
  const each = hasRatio(after) ? 'slot' : 'arm';
  return [
    isRestart
      ? `${RESTART_TEXTS[name] ?? 'The method begins anew'}: everybody now in the study stays in it, but is no longer counted.`
      : `No count in ${isOfUrns ? 'any urn' : 'the study'} changes.`,
    ...(kinds.has('level-added') && isOfUrns
      ? [`A new level begins with the same odds for every ${each}.`]
      : []),
    ...(kinds.has('level-added') && name === 'list' && !isRestart
      ? [
          'Nobody with a new level of the strata is randomized until a list has entries for it (urn lists add).',
        ]
      : []),
    ...(kinds.has('level-renamed') ? ['Keys that are limited to a renamed level keep it.'] : []),
    ...(kinds.has('arm-closed') && !isRestart
      ? ['The counts of a closed arm are set aside, and count again if it is reopened.']
      : []),
    ...(kinds.has('arm-added') && !isRestart && isOfUrns
      ? ['A new arm is drawn more often until it has caught up with the others.']
      : []),
  ].join(' ');
}

/** The odds before and after: a row for each level that is open before or afterwards. */
function oddsTable({ before, after }: Odds): string {
  const columns = [
    { title: 'before', levels: before },
    ...after.map(({ history, levels }) => ({ title: after.length > 1 ? history : 'after', levels })),
  ];
  // Under its new name. Levels are matched by position, which does not change.
  const named = new Map(
    [before, ...after.map(({ levels }) => levels)].flat().map((one) => [placeKey(one), one]),
  );
  const rows = [...named.values()].toSorted(
    (a, b) => a.place.factor - b.place.factor || a.place.level - b.place.level,
  );
  return table([
    ['', ...columns.flatMap(({ title, levels }) => treatmentsIn(levels).map((name) => `${name} ${title}`))],
    ...rows.map((row) => [
      `${row.factor} = ${row.level}`,
      ...columns.flatMap(({ levels }) => {
        const found = levels.find((one) => placeKey(one) === placeKey(row));
        return found
          ? found.odds.map(({ probability }) => probability.toFixed(4))
          : treatmentsIn(levels).map(() => '–');
      }),
    ]),
  ]);
}

function treatmentsIn([first]: readonly LevelOdds[]): readonly string[] {
  return first?.odds.map(({ treatment }) => treatment) ?? [];
}

function placeKey({ place }: LevelOdds): string {
  return `${place.factor} ${place.level}`;
}

function previewJson({ design }: Study, { command, odds, keys }: Preview, revision?: number): string {
  const { amendment, changes, protocol } = command;
  const shown = {
    ...{ study: design.name, recorded: revision !== undefined, amendment, revision, changes },
    ...(showsHistory({ design }, command, odds) && { history: historyOf(command, design) }),
    protocol,
    ...(keys.length > 0 && { keysLeftBehind: keys }),
    ...(odds && { nextDraw: oddsJson(odds) }),
  };
  return JSON.stringify(shown, null, 2);
}

function oddsJson({ before, after }: Odds) {
  const shown = (levels: readonly LevelOdds[]) => levels.map(({ place: _, ...level }) => level);
  return {
    before: shown(before),
    after: after.map(({ history, levels }) => ({ history, levels: shown(levels) })),
  };
}
