/** urn participants correct, void, reinstate and rename: what turned out to be wrong after a randomization. */
import type { Command } from 'commander';
import { IdCause, LevelsCause, VoidAnalysis, VoidCause } from '../../events/corrections.ts';
import { countedLevels, currentId, type Voided } from '../../projections/enrolled.ts';
import { type Participants, participants } from '../../projections/participants.ts';
import { quote } from '../base/text.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Correction, StudyOutcome } from '../study/commands.ts';
import type { Study } from '../study/studies.ts';
import { mayChange } from './confirm.ts';
import { type CorrectionOptions, CorrectionReader } from './correction-options.ts';
import { caseOption, refusalOf, withParticipant } from './grounds.ts';
import { cliActor, logCommand, UsageError, unknownParticipant, unknownStudy } from './options.ts';
import { note, result, table } from './output.ts';
import { described, withStudies } from './studies-log.ts';

type Own<C> = C extends Correction ? Omit<C, 'participantId' | 'user'> : never;

/** A correction in words. */
interface Asked {
  readonly command: Own<Correction>;
  readonly event: string;
  /** In the imperative: what a person is asked to confirm. */
  readonly order: string;
  readonly done: string;
  readonly facts: readonly (readonly string[])[];
  /** What it does to the odds of later allocations. */
  effect(movesCounts: boolean): string;
}

/** What is asked for, or why there is nothing to do; undefined if the reader has found problems. */
type Reading = Asked | { readonly already: string } | undefined;

const COMMON_HELP = `
Nothing is drawn again: the participant keeps the arm, and the log keeps what was recorded before. The output names no arm.
A running service picks up the change within a second.

For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit codes: 0 done, or nothing to change; 2 not possible, so nothing was recorded.`;

const CORRECT_HELP = `${COMMON_HELP}

Causes: entry (a slip when it was entered), source (the source record was wrong), definition (the level was misunderstood),
transfer (the participant has moved to another site), other.
The study's policy level_counts decides at which level later allocations count the participant. After a transfer it is
always the level as randomized.

Example:
  urn participants correct --study 'CHS JCOIN' --id 001-0007 --level sex=Male --cause entry --note 'source record of 3 March'`;

const VOID_HELP = `${COMMON_HELP}

Void only participants who were randomized in error, not those who leave the treatment or the trial.
Causes: ineligible, duplicate, never-enrolled, entry (an allocation that was made outside the service was entered wrongly),
other. --analysis says whether the participant should be analysed, as far as you know.
The study's policy void_counts decides whether later allocations still count a duplicate, or someone who was never enrolled.

Example:
  urn participants void --study 'CHS JCOIN' --id 001-0009 --cause duplicate --duplicate-of 001-0004 --analysis exclude \\
    --note 'screened twice'`;

const REINSTATE_HELP = `${COMMON_HELP}

Example:
  urn participants reinstate --study 'CHS JCOIN' --id 001-0009 --note 'was another person'`;

const RENAME_HELP = `${COMMON_HELP}

Both ids find the participant afterwards, and nobody else can get either. Ids stay in the clear forever, so no id should be
personal data. Causes: entry (a slip when it was entered), pattern (it did not match the study's pattern), other.

Example:
  urn participants rename --study 'CHS JCOIN' --id 001-0070 --to 001-0007 --cause entry`;

export function correctionCommands(): Command[] {
  const sealedNote = () =>
    caseOption(
      '--note <text>',
      'what happened, 1 to 2,000 characters; sealed: blinded readers do not see it',
    ).makeOptionMandatory();
  return [
    correctionCommand('correct', 'correct levels of a participant', readLevels, CORRECT_HELP)
      .addOption(
        caseOption('--level <factor=level>', 'the right level (repeatable: one for each factor)')
          .argParser((value: string, earlier: readonly string[] = []) => [...earlier, value])
          .makeOptionMandatory(),
      )
      .addOption(oneOf('--cause <cause>', 'why the level was wrong', LevelsCause.options))
      .addOption(sealedNote()),
    correctionCommand('void', 'mark a participant as randomized in error', readVoid, VOID_HELP)
      .addOption(oneOf('--cause <cause>', 'why it was an error', VoidCause.options))
      .addOption(caseOption('--duplicate-of <id>', 'the participant who is the same person'))
      .addOption(oneOf('--analysis <choice>', 'whether to analyse the participant', VoidAnalysis.options))
      .addOption(sealedNote()),
    correctionCommand(
      'reinstate',
      'undo the voiding of a participant',
      readReinstatement,
      REINSTATE_HELP,
    ).addOption(sealedNote()),
    correctionCommand('rename', 'correct the id of a participant', readId, RENAME_HELP)
      .addOption(caseOption('--to <id>', 'the right id').makeOptionMandatory())
      .addOption(oneOf('--cause <cause>', 'why the id was wrong', IdCause.options)),
  ];
}

function correctionCommand(
  name: string,
  description: string,
  read: (reader: CorrectionReader) => Reading,
  help: string,
): Command {
  return withParticipant(logCommand(name))
    .description(description)
    .addOption(caseOption('--dry-run', 'show what would be recorded, and write nothing'))
    .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
    .addHelpText('after', help)
    .action((options: CorrectionOptions) => run(options, read));
}

/** The help lists what is allowed. It is checked with the other options, so that all problems are named at once. */
function oneOf(flags: string, description: string, allowed: readonly string[]) {
  return caseOption(flags, `${description}: ${allowed.join(', ')}`).makeOptionMandatory();
}

async function run(options: CorrectionOptions, read: (reader: CorrectionReader) => Reading): Promise<void> {
  const { study: name, id } = options;
  await withStudies(options, async (log) => {
    const study = log.studies.find(name);
    if (!study) throw unknownStudy(name);
    const everybody = log.runner.state(participants, study.stream);
    const participant = everybody.find(id);
    if (!participant) throw unknownParticipant(name, id);
    const reader = new CorrectionReader(options, participant, everybody, study.design);
    const asked = read(reader);
    if (reader.problems.length > 0 || !asked) throw new UsageError(reader.problems.join('\n     '));
    if ('already' in asked) return note(`${asked.already}; nothing was recorded`);
    await record(log, study, asked, options);
  });
}

async function record(log: OpenLog, study: Study, asked: Asked, options: CorrectionOptions): Promise<void> {
  const { studies } = log;
  const actor = cliActor();
  const command = { ...asked.command, participantId: options.id, user: actor.user } as Correction;
  const tried = movesOf((await studies.tryOut(study.stream, command)).outcome, options);
  const where = described(log, study);
  if (options.dryRun) return result(dryRun(asked, where, tried));
  if (!(await mayChange(study.design, options, `${asked.order} in ${where}?`))) return;
  const { outcome, revision } = await studies.submit(study.stream, command, actor);
  note(`${asked.done} (revision ${revision}); ${asked.effect(movesOf(outcome, options))}`);
}

/** @throws UsageError when the correction is not possible */
function movesOf(outcome: StudyOutcome, options: CorrectionOptions): boolean {
  const refused = refusalOf(outcome, options);
  if (refused) throw refused;
  if (!('moves' in outcome)) throw new Error(`unexpected outcome ${outcome.type}`);
  return outcome.moves;
}

function dryRun({ event, facts, effect }: Asked, study: string, moves: boolean): string {
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', event],
    ['study', study],
    ...facts,
    ['effect', effect(moves)],
  ])}`;
}

function readLevels(reader: CorrectionReader): Reading {
  const { participant, problems, design } = reader;
  const cause = reader.oneOf('cause', LevelsCause.options);
  const wanted = reader.changes();
  const text = reader.note();
  if (problems.length > 0 || !cause) return undefined;
  const id = currentId(participant);
  const changes = wanted.filter(({ from, to }) => from !== to);
  if (changes.length === 0) {
    return { already: wanted.map(({ factor, to }) => `${factor} of ${id} is already ${to}`).join(', ') };
  }
  const corrected = changes.map(({ factor, from, to }) => `${factor} from ${from} to ${to}`).join(', ');
  const counted = countedLevels(participant, design);
  return {
    command: { type: 'correct-levels', cause, changes, note: text },
    event: 'LevelsCorrected',
    order: `Correct ${id}, ${corrected},`,
    done: `${id} is corrected: ${corrected}`,
    facts: [
      ...idFacts(reader),
      ...changes.map(({ factor, from, to }) => [factor, `from ${from} to ${to}`]),
      ...[
        ['cause', cause],
        ['note', text],
      ],
    ],
    effect: (moves) => {
      if (!counted) return notCounted(id);
      const index = (factor: string) => design.factors.findIndex(({ name }) => name === factor);
      const levels = changes.map(({ factor, to }) => (moves ? to : counted[index(factor)])).join(', ');
      return `later allocations count ${id} as ${levels}${moves ? '' : ', as before'}`;
    },
  };
}

function readVoid(reader: CorrectionReader): Reading {
  const { participant, problems, everybody, design } = reader;
  const cause = reader.oneOf('cause', VoidCause.options);
  const original = reader.original(cause);
  const analysis = reader.oneOf('analysis', VoidAnalysis.options);
  const text = reader.note();
  if (problems.length > 0 || !cause || !analysis) return undefined;
  const id = currentId(participant);
  const duplicateOf = original?.participantId;
  const why = whyVoided({ cause, duplicateOf }, everybody);
  const voided = participant.corrected?.voided;
  if (voided?.cause === cause && (duplicateOf ?? voided.duplicateOf) === voided.duplicateOf)
    return {
      already: `${id} was already voided (${whyVoided(voided, everybody)}, revision ${voided.revision})`,
    };
  return {
    command: { type: 'void', cause, analysis, duplicateOf, note: text },
    event: 'AllocationVoided',
    order: `Void ${id} (${why})`,
    done: `${id} is voided: ${why}`,
    facts: [
      ...idFacts(reader),
      ...[
        ['cause', why],
        ['analysis', analysis],
        ['note', text],
      ],
    ],
    effect: (moves) =>
      countedLevels(participant, design)
        ? `later allocations ${moves ? 'no longer' : 'still'} count ${id}`
        : notCounted(id),
  };
}

function readReinstatement(reader: CorrectionReader): Reading {
  const { participant, problems, everybody, design } = reader;
  const text = reader.note();
  if (problems.length > 0) return undefined;
  const id = currentId(participant);
  const voided = participant.corrected?.voided;
  if (!voided) return { already: `${id} was not voided` };
  return {
    command: { type: 'reinstate', note: text },
    event: 'AllocationReinstated',
    order: `Reinstate ${id}`,
    done: `${id} is no longer voided`,
    facts: [
      ...idFacts(reader),
      ...[
        ['voided', `${whyVoided(voided, everybody)} (revision ${voided.revision})`],
        ['note', text],
      ],
    ],
    effect: (moves) => {
      if (moves) return `later allocations count ${id} again`;
      return countedLevels(participant, design) ? `later allocations count ${id}, as before` : notCounted(id);
    },
  };
}

function notCounted(id: string): string {
  return `later allocations do not count ${id}, as before`;
}

function readId(reader: CorrectionReader): Reading {
  const { participant, problems, design } = reader;
  const cause = reader.oneOf('cause', IdCause.options);
  const id = currentId(participant);
  const to = reader.rightId();
  if (problems.length > 0 || !cause) return undefined;
  if (to === id) return { already: `the participant already has the id ${quote(to)}` };
  return {
    command: { type: 'correct-id', to, cause, amendment: design.amendment },
    event: 'ParticipantIdCorrected',
    order: `Rename ${id} to ${to}`,
    done: `${id} is now ${to}`,
    facts: [
      ...idFacts(reader),
      ...[
        ['new id', to],
        ['cause', cause],
      ],
    ],
    effect: () => 'both ids find the participant, and later allocations count as before',
  };
}

function idFacts({ participant }: CorrectionReader): string[][] {
  const id = currentId(participant);
  const { participantId } = participant;
  return [['participant', id === participantId ? id : `${id} (randomized as ${participantId})`]];
}

/** The cause, and whose duplicate it is, by the id in use. */
export function whyVoided(
  { cause, duplicateOf }: Pick<Voided, 'cause' | 'duplicateOf'>,
  everybody: Participants,
): string {
  const original = duplicateOf === undefined ? undefined : everybody.find(duplicateOf);
  return original ? `${cause} of ${currentId(original)}` : cause;
}
