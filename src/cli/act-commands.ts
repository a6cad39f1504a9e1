/**
 * The table of the commands that ask for acts, such as `urn participants void`: for each act, what cannot be derived from the act
 * itself. How any of them runs is in act-command.ts. Whoever adds an act adds a row here.
 */
import { type Command, Option } from 'commander';
import { IdCause, type LevelChange, LevelsCause, VoidAnalysis, VoidCause } from '../../events/corrections.ts';
import { DispensationCause, ReplacementCause } from '../../events/packs.ts';
import { ClosingCause } from '../../events/study.ts';
import { UnblindingWay } from '../../events/unblinding.ts';
import { quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import type { ActName } from '../core/acts/acts.ts';
import { MAX_ENTRIES } from '../core/model/packs.ts';
import { levelChangeText } from '../evidence/bundle/texts.ts';
import { codeProblem, readCodes } from '../evidence/import/pack-file.ts';
import { actCommand } from './act-command.ts';
import {
  type ActRow,
  caseOption,
  changesIn,
  choice,
  instantOption,
  type MembersRead,
  type OptionValues,
} from './act-options.ts';
import {
  APPROVAL_EXAMPLE,
  approvedByOption,
  type DecisionOptions,
  IN_THE_CLEAR,
  protocolOption,
  readDecision,
} from './approvals.ts';
import { jsonOption, option } from './options.ts';

/** The commands of a group, in the order of the table. */
export function actCommands(group: ActRow['group']): Command[] {
  const rows = Object.entries(ACT_ROWS) as [ActName, ActRow | undefined][];
  return rows.flatMap(([name, row]) => (row?.group === group ? [actCommand(name, row)] : []));
}

const ASKS_FIRST = `
For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit codes: 0 done, or nothing to change; 2 not possible, so nothing was recorded.`;

const CORRECTION_HELP = `
Nothing is drawn again: the participant keeps the arm, and the log keeps what was recorded before. The output names no arm.
A running service picks up the change within a second.
${ASKS_FIRST}
`;

const STATE_HELP = `
${IN_THE_CLEAR}
${ASKS_FIRST}
`;

const noteOption = () =>
  needed('--note <text>', 'what happened, 1 to 2,000 characters; sealed: blinded readers do not see it');
const sealedReasonOption = () =>
  needed('--reason <text>', 'recorded under seal: blinded readers do not see it');

const ACT_ROWS = {
  LevelsCorrected: {
    group: 'participants',
    verb: 'correct',
    summary: 'correct levels of a participant',
    options: [
      needed('--level <factor=level>', 'the right level (repeatable: one for each factor)').argParser(
        collect,
      ),
      oneOf('--cause <cause>', 'why the level was wrong', LevelsCause.options),
      noteOption(),
    ],
    read: changesIn,
    order: ({ changes }, id) =>
      `Correct ${id} (${(changes as readonly LevelChange[]).map(levelChangeText).join(', ')})`,
    effect: counting('later allocations count the participant at the new levels'),
    help: `${CORRECTION_HELP}
Causes: entry (a slip when it was entered), source (the source record was wrong), definition (the level was misunderstood),
transfer (the participant has moved to another site), other.
The study's policy level_counts decides at which level later allocations count the participant. After a transfer it is
always the level as randomized.

Example:
  urn participants correct --study 'CHS JCOIN' --id 001-0007 --level sex=Male --cause entry --note 'source record of 3 March'`,
  },
  AllocationVoided: {
    group: 'participants',
    verb: 'void',
    summary: 'mark a participant as randomized in error',
    options: [
      oneOf('--cause <cause>', 'why it was an error', VoidCause.options),
      caseOption('--duplicate-of <id>', 'the participant who is the same person'),
      oneOf('--analysis <choice>', 'whether to analyse the participant', VoidAnalysis.options),
      noteOption(),
    ],
    effect: counting('later allocations no longer count the participant'),
    help: `${CORRECTION_HELP}
Void only participants who were randomized in error, not those who leave the treatment or the trial.
Causes: ineligible, duplicate, never-enrolled, entry (an allocation that was made outside the service was entered wrongly),
other. --analysis says whether the participant should be analysed, as far as you know.
The study's policy void_counts decides whether later allocations still count a duplicate, or someone who was never enrolled.

Example:
  urn participants void --study 'CHS JCOIN' --id 001-0009 --cause duplicate --duplicate-of 001-0004 --analysis exclude \\
    --note 'screened twice'`,
  },
  AllocationReinstated: {
    group: 'participants',
    verb: 'reinstate',
    summary: 'undo the voiding of a participant',
    options: [noteOption()],
    effect: counting('later allocations count the participant again'),
    help: `${CORRECTION_HELP}
Example:
  urn participants reinstate --study 'CHS JCOIN' --id 001-0009 --note 'was another person'`,
  },
  ParticipantIdCorrected: {
    group: 'participants',
    verb: 'rename',
    summary: 'correct the id of a participant',
    options: [
      needed('--to <id>', 'the right id'),
      oneOf('--cause <cause>', 'why the id was wrong', IdCause.options),
    ],
    order: ({ to }, id) => `Rename ${id} to ${to}`,
    effect: counting(),
    help: `${CORRECTION_HELP}
Both ids find the participant afterwards, and nobody else can get either. Ids stay in the clear forever, so no id should be
personal data. Causes: entry (a slip when it was entered), pattern (it did not match the study's pattern), other.

Example:
  urn participants rename --study 'CHS JCOIN' --id 001-0070 --to 001-0007 --cause entry`,
  },
  CodeReplaced: {
    group: 'codes',
    verb: 'replace',
    summary: 'give a participant another pack of the same treatment',
    options: [
      needed('--code <code>', 'the pack that the participant has'),
      choice('--cause <cause>', 'why it cannot be used', ReplacementCause.options),
      jsonOption(),
    ],
    order: ({ code }, id) => `Replace the pack ${code} of ${id}`,
    json: (asked, { study, id }, outcome, revision) => {
      const { by } = (outcome.type === 'recorded' && outcome.data) || {};
      return { study, id, code: asked['code'], by, revision };
    },
    help: `
The participant gets another pack of the same treatment. Nothing is drawn, and the output names no arm. --code is the pack
that the participant has now.

At the command line, unlike at a site, it is enough that the participant's own arm has a pack left, and there is no limit of
three replacements.
${ASKS_FIRST}

Example:
  urn codes replace --study 'CHS JCOIN' --id 001-0007 --code AF5-0017 --cause damaged`,
  },
  PackDispensed: {
    group: 'participants',
    verb: 'dispense',
    summary: 'give a participant a pack of their treatment at a visit',
    options: [needed('--visit <visit>', 'one of the study, or another one'), jsonOption()],
    order: ({ visit }, id) => `Give ${id} a pack for ${visit}`,
    json: (_, { study, id }, outcome, revision) => {
      const { visit, code } = (outcome.type === 'recorded' && outcome.data) || {};
      return { study, id, visit, code, revision };
    },
    help: `
The participant gets a pack of their treatment that nobody had. Nothing is drawn, and the output names no arm. Each visit gets
one pack. Visits that the study does not have are allowed here, as for a key with the scope supply.

At the command line, unlike at a site, it is enough that the participant's own arm has a pack left, and it does not matter
how many further packs the participant had.
${ASKS_FIRST}

Example:
  urn participants dispense --study 'CHS JCOIN' --id 001-0007 --visit V2`,
  },
  DispensationCorrected: {
    group: 'participants',
    verb: 'correct-dispensation',
    summary: 'correct the visit of a pack, or record that the participant never got it',
    options: [
      needed('--code <code>', 'a pack that the participant has, or had, for a visit'),
      caseOption('--to <visit>', 'the right visit'),
      new Option('--not-theirs', 'the participant never got the pack: nobody gets it any more').conflicts(
        'to',
      ),
      oneOf('--cause <cause>', 'why it was wrong', DispensationCause.options),
      noteOption(),
    ],
    read: ({ to, notTheirs }) => ({
      members: { to: notTheirs ? null : to },
      unread: to === undefined && !notTheirs ? { to: ['--to <visit>, or --not-theirs, is missing'] } : {},
    }),
    order: ({ code, to }, id) =>
      to ? `Move the pack ${code} of ${id} to ${to}` : `Take the pack ${code} from ${id}`,
    help: `
Causes: entry (the wrong visit or participant was entered), not-handed-out, other. With --not-theirs, the visit can get another
pack. The one that was not handed out is never given to anybody else: that would show that the two share an arm. With --to, a
pack that was taken from the participant is theirs again.
${ASKS_FIRST}

Examples:
  urn participants correct-dispensation --study 'CHS JCOIN' --id 001-0007 --code AF5-0036 --to V3 --cause entry \\
    --note 'wrong line of the visit plan'
  urn participants correct-dispensation --study 'CHS JCOIN' --id 001-0007 --code AF5-0036 --not-theirs --cause not-handed-out \\
    --note 'the visit was cancelled'`,
  },
  CodesWithdrawn: {
    group: 'codes',
    verb: 'withdraw',
    summary: 'withdraw packs that nobody has',
    options: [
      caseOption('--code <code>', 'a pack (repeatable)').argParser(collect),
      new Option('--from <file>', 'CSV with a column code').conflicts('code'),
      sealedReasonOption(),
    ],
    read: ({ code, from }) => codesIn(code as readonly string[] | undefined, from as string | undefined),
    order: ({ codes }) => `Withdraw ${counted((codes as readonly string[]).length, 'pack')}`,
    help: `
Only packs that nobody has can be withdrawn, all or none of them. A pack that somebody has is replaced (urn codes replace).
The number of packs withdrawn is in the clear; which ones, and why, is sealed. Even so, if all of them are of one arm, the
recall reveals to the sites which participants have the same treatment.

--from is a CSV file with a column named code; other columns are ignored.
${ASKS_FIRST}

Examples:
  urn codes withdraw --study 'CHS JCOIN' --code AF5-0018 --code AF5-0019 --reason 'the cold chain was broken'
  urn codes withdraw --study 'CHS JCOIN' --from recalled.csv --reason 'recall of batch 7'`,
  },
  UnblindingReported: {
    group: 'unblindings',
    verb: 'add',
    summary:
      'report an unblinding: an opened envelope, a label, a patient who was told, a code broken in error',
    isReport: true,
    options: [
      sealedReasonOption(),
      caseOption('--requested-by <name>', 'who asked for it; also sealed'),
      choice('--how <way>', 'how the arm became known', UnblindingWay.options),
      needed('--occurred-at <instant>', 'when, in UTC: 2026-03-02T21:40Z'),
      caseOption('--inadvertent', 'the unblinding was unintentional'),
      caseOption('--revealed-at <revision>', 'revision of a code-break that was a mistake (urn code-breaks)'),
    ],
    read: unblindingIn,
    help: `
The report names no arm. It counts as a code-break in every list.

Example:
  urn unblindings add --study 'CHS JCOIN' --id 001-0007 --how envelope --occurred-at 2026-03-02T21:40Z --inadvertent \\
    --reason 'the envelope was torn in the post'`,
  },
  StudyPaused: {
    group: 'studies',
    verb: 'pause',
    summary: 'stop taking participants, in every process that serves this log, within a second',
    options: stateOptions(),
    effect: () => 'no new participants until it is resumed',
    help: STATE_HELP,
  },
  StudyResumed: {
    group: 'studies',
    verb: 'resume',
    summary: 'let a paused study take participants again',
    options: stateOptions(),
    effect: () => 'it takes participants again',
    help: STATE_HELP,
  },
  StudyClosed: {
    group: 'studies',
    verb: 'close',
    summary: 'stop taking participants for good, in every process that serves this log',
    options: [
      ...stateOptions(),
      choice('--cause <cause>', 'why it is closed', ClosingCause.options),
      approvedByOption(),
    ],
    read: decisionIn,
    effect: () => 'no new participants; codes can still be broken',
    help: `${STATE_HELP}
A closed study takes no participants. Codes can still be broken, and everything can still be read. Only urn studies reopen can
reopen it, with an approval if the study is live. To stop for a while, pause it.

Causes: target (enough participants), sponsor, safety, regulator, end (of the trial), other.

Example:
  urn studies close "CHS JCOIN" --cause target --reason "300 randomized" --approved-by "${APPROVAL_EXAMPLE}"`,
  },
  StudyReopened: {
    group: 'studies',
    verb: 'reopen',
    summary: 'let a closed study take participants again',
    options: [...stateOptions(), approvedByOption(), protocolOption()],
    read: decisionIn,
    effect: () => 'it takes participants again, and allocates as before',
    help: `${STATE_HELP}
A live study needs at least one approval: who decided it outside this system. It is recorded as you state it. Allocation
goes on as before.

Example:
  urn studies reopen "CHS JCOIN" --reason "target raised" --approved-by "Dr. A. Ruiz, sponsor, 2026-09-20, Amendment 3" \\
    --protocol 3.0,2027-09-12`,
  },
  // urn reveal has a command of its own.
  AllocationRevealed: undefined,
} satisfies Readonly<Record<ActName, ActRow | undefined>>;

function needed(flags: string, description: string): Option {
  return caseOption(flags, description).makeOptionMandatory();
}

/** The help lists what is allowed. It is checked with the other options, so that all problems are named at once. */
function oneOf(flags: string, description: string, allowed: readonly string[]): Option {
  return needed(flags, `${description}: ${allowed.join(', ')}`);
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** @param otherwise what is different for later allocations, if the act moves counts */
function counting(otherwise = ''): (moves: boolean) => string {
  return (moves) => (moves ? otherwise : 'later allocations count as before');
}

/**
 * The packs that a command is about.
 * @param given those of --code
 * @param from a file
 * @throws ImportError listing every problem in the file
 */
function codesIn(given: readonly string[] | undefined, from: string | undefined): MembersRead {
  const wrong = (...problems: readonly string[]) => ({ unread: { codes: problems } });
  if (given === undefined && from === undefined)
    return wrong('say which packs: --code, or --from with a file');
  const problems = (given ?? []).flatMap((code) => {
    const why = codeProblem(code);
    return why === undefined ? [] : [`--code ${why}`];
  });
  if (problems.length > 0) return wrong(...problems);
  const codes = given ?? readCodes(from ?? '');
  return codes.length > MAX_ENTRIES
    ? wrong(`${counted(codes.length, 'pack')}: at most ${MAX_ENTRIES} at once (hint: split the file)`)
    : { members: { codes } };
}

function unblindingIn({ occurredAt, revealedAt }: OptionValues): MembersRead {
  const problems: string[] = [];
  const at = instantOption('--occurred-at', String(occurredAt), problems);
  const isRevision = revealedAt === undefined || /^\d{1,15}$/.test(String(revealedAt));
  return {
    members: { occurredAt: at, revealedAt: revealedAt === undefined ? undefined : Number(revealedAt) },
    unread: {
      ...(problems.length > 0 && { occurredAt: problems }),
      ...(!isRevision && { revealedAt: [`--revealed-at ${quote(String(revealedAt))} is not a revision`] }),
    },
  };
}

function stateOptions(): Option[] {
  return [
    option('--reason <text>', 'recorded in the clear, 1 to 2,000 characters').makeOptionMandatory(),
    option('--dry-run', 'show what would be recorded, and write nothing'),
  ];
}

function decisionIn({ approvedBy, protocol }: OptionValues): MembersRead {
  const { unread, ...members } = readDecision({ approvedBy, protocol } as DecisionOptions);
  return { members, unread };
}
