/**
 * urn participants: who is in a study, and what happened to one of them, never with an arm; and force, which enters an
 * allocation that was made outside the service. The acts on participants come from the table of acts.
 */
import type { Command } from 'commander';
import { ForcedCause } from '../../events/from-outside.ts';
import { PackCode } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import type { Design } from '../core/model/design.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import {
  currentId,
  currentLevels,
  historyOf,
  NONE,
  type Participant,
  type ParticipantEvent,
  type Participants,
  presentPacks,
  type WholeEnrolment,
} from '../core/model/participants.ts';
import type { Force } from '../core/study/commands.ts';
import { participantEvents, participants } from '../core/study/fold.ts';
import type { Study } from '../core/study/studies.ts';
import { actText } from '../evidence/bundle/texts.ts';
import { packsText } from '../evidence/export/columns.ts';
import { CODE_FORM } from '../evidence/import/pack-file.ts';
import { actCommands } from './act-commands.ts';
import {
  caseOption,
  type EntryOptions,
  EntryReader,
  instantOption,
  type ParticipantOptions,
  refusalError,
  withParticipant,
} from './act-options.ts';
import { drawsFromCounts, namedStudy, studyText, withStudies } from './named-studies.ts';
import { eventAt } from './open-log.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  UsageError,
  unknownParticipant,
} from './options.ts';
import { note, result, table } from './output.ts';
import { isConfirmed } from './precautions.ts';

export function participantsCommand(): Command[] {
  return [
    logCommand('list')
      .description('list the participants of a study, without their arms')
      .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
      .addOption(
        option('--view <levels>', 'the current levels, or those as randomized')
          .choices([...LEVEL_VIEWS])
          .default('current'),
      )
      .addOption(jsonOption())
      .addHelpText('after', LIST_HELP)
      .action(listParticipants),
    withParticipant(logCommand('history'))
      .description('show what happened to one participant, without the arm')
      .addOption(jsonOption())
      .addHelpText('after', HISTORY_HELP)
      .action(showHistory),
    forceCommand(),
    ...actCommands('participants'),
  ];
}

const LEVEL_VIEWS = ['current', 'as_randomized'] as const;

interface ListOptions extends LogOptions {
  readonly study: string;
  readonly view: (typeof LEVEL_VIEWS)[number];
  readonly json?: boolean;
}

const LIST_HELP = `
The id is the one in use. A participant who was randomized under another id is shown with both.

--json is a list of objects with these members:
  sequence         1, 2, … in the order of randomization
  revision         of the event that randomized the participant
  id               in use
  idAsRandomized   only if it is a different one
  levels           one for each factor, in the order of the study
  randomizedAt     in ISO 8601 (UTC)
  user             who randomized the participant
  occurredAt       only for an allocation that was made outside the service and entered by hand: when it was made;
                   randomizedAt is when it was entered
  pack             only in a study with packs: the code of the pack that the participant has
  packs            only for a participant with packs of visits: a list with visit, code and at (when a pack was first given
                   out for the visit), in the order in which they were given out
  voided           only for a participant who was randomized in error: the cause
  revealed         whether the participant was unblinded`;

async function listParticipants({ study: name, view, json, ...options }: ListOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const everybody = log.runner.state(participants, study.stream);
    const rows = everybody.inOrder.map((participant) => listRowOf(participant, view));
    if (json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) note(`nobody has been randomized in ${name}`);
    else {
      const factors = study.registered.configuration.factors.map((factor) => factor.name);
      result(participantsText(rows, factors));
    }
  });
}

type ListRow = ReturnType<typeof listRowOf>;

function listRowOf(participant: Participant, view: ListOptions['view']) {
  const { participantId, sequence, revision, at, user, occurredAt, pack, corrected } = participant;
  const id = currentId(participant);
  const packs = presentPacks(participant).map(({ visit, code, at: givenAt }) => ({
    visit,
    code,
    at: givenAt,
  }));
  return {
    ...{ sequence, revision, id },
    ...(id !== participantId && { idAsRandomized: participantId }),
    levels: view === 'current' ? currentLevels(participant) : participant.levels,
    ...{ randomizedAt: at, user },
    ...(occurredAt !== undefined && { occurredAt }),
    ...(pack && { pack: pack.code }),
    ...(packs.length > 0 && { packs }),
    ...(corrected?.voided && { voided: corrected.voided.cause }),
    revealed: participant.unblinded !== undefined,
  };
}

/** A column that would be empty is left out. */
function participantsText(rows: readonly ListRow[], factors: readonly string[]): string {
  const column = (head: string, cell: (row: ListRow) => string | undefined) =>
    rows.some((row) => cell(row) !== undefined) ? [{ head, cell }] : [];
  const columns = [
    ...column('sequence', ({ sequence }) => String(sequence)),
    ...column('revision', ({ revision }) => String(revision)),
    ...column('id', ({ id }) => id),
    ...column('randomized as', ({ idAsRandomized }) => idAsRandomized),
    ...factors.flatMap((factor, i) => column(factor, ({ levels }) => levels[i])),
    ...column('randomized at', ({ randomizedAt }) => randomizedAt),
    ...column('user', ({ user }) => user),
    ...column('allocated outside at', ({ occurredAt }) => occurredAt),
    ...column('pack', ({ pack }) => pack),
    ...column('packs', ({ packs }) => packs && packsText(packs)),
    ...column('voided', ({ voided }) => voided),
    ...column('unblinded', ({ revealed }) => (revealed ? 'unblinded' : undefined)),
  ];
  return table([
    columns.map(({ head }) => head),
    ...rows.map((row) => columns.map(({ cell }) => cell(row) ?? '')),
  ]);
}

const HISTORY_HELP = `
--json is a list of objects with these members, the last four only where there is something to say:
  revision, at, user, type
  data             what the record holds in the clear (docs/event-log.md)
  keyId            of the API key; absent for somebody at the command line
  onBehalfOf
  note             free text about the participant: do not pass it on to blinded staff
  requestedBy      who asked for a code-break; likewise`;

async function showHistory({ study: name, id, json, ...options }: ParticipantOptions & { json?: boolean }) {
  await withStudies(options, async (log) => {
    const { stream } = namedStudy(log.studies, name);
    const everybody = log.runner.state(participants, stream);
    const participant = everybody.find(id);
    if (!participant) throw unknownParticipant(name, id);
    const events = await historyOf(
      log.runner.state(participantEvents, stream),
      participant.revision,
      (revision) => eventAt(log, stream, revision),
    );
    if (json) result(JSON.stringify(events.map(historyJson), null, 2));
    else
      result(
        table(
          events.map((event) => {
            const { note: text = '', requestedBy } = notesOf(event);
            const words = [
              eventText(event, everybody),
              ...(requestedBy ? [`(asked for by ${requestedBy})`] : []),
            ];
            return [String(event.revision), event.at, whoIn(event), words.join(' '), text];
          }),
        ),
      );
  });
}

type HistoryEvent = ParticipantEvent | WholeEnrolment;

function historyJson(event: HistoryEvent) {
  const { revision, at, actor, type, data } = event;
  return {
    ...{ revision, at, user: actor.user, type, data },
    ...('keyId' in actor && { keyId: actor.keyId, onBehalfOf: actor.onBehalfOf }),
    ...notesOf(event),
  };
}

function notesOf({ sections }: HistoryEvent): {
  readonly note?: string;
  readonly requestedBy?: string | undefined;
} {
  if ('grounds' in sections)
    return { note: sections.grounds.reason, requestedBy: sections.grounds.requestedBy };
  return 'note' in sections ? { note: sections.note.text } : {};
}

function whoIn({ actor }: HistoryEvent): string {
  if (!('keyId' in actor)) return `${actor.user} (command line)`;
  const { user, keyId, onBehalfOf } = actor;
  return `${user} (${keyId})${onBehalfOf === undefined ? '' : ` on behalf of ${onBehalfOf}`}`;
}

function eventText(event: HistoryEvent, everybody: Participants): string {
  switch (event.type) {
    case 'ParticipantImported': {
      const { cause, levels, original, participantId, row } = event.data;
      const proof = cause === undefined ? 'redrawn' : `not redrawn: ${cause}`;
      const from = `row ${row}, ${original.datetime} by ${original.user}, ${proof}`;
      return `imported as ${participantId} (${from}): ${levels.map(({ level }) => level).join(', ')}`;
    }
    case 'AllocationForced': {
      const { cause, code, levels, occurredAt, participantId, replaces } = event.data;
      const instead = replaces === undefined ? '' : `, in place of the entry at revision ${replaces}`;
      return `entered as ${participantId} (${cause}, allocated at ${occurredAt}${instead}): ${levels.map(({ level }) => level).join(', ')}${withPack(code)}`;
    }
    case 'ParticipantRandomized': {
      const { participantId, levels, code } = event.data;
      return `randomized as ${participantId}: ${levels.map(({ level }) => level).join(', ')}${withPack(code)}`;
    }
    default:
      return actText(event, (id) => {
        const participant = everybody.find(id);
        return participant ? currentId(participant) : id;
      });
  }
}

function withPack(code: string | undefined): string {
  return code === undefined ? '' : `; pack ${code}`;
}

interface ForceOptions extends EntryOptions {
  readonly treatment: string;
  readonly occurredAt: string;
  readonly replaces?: string;
  /** False with --no-code. */
  readonly code?: string | false;
}

const FORCE_HELP = `
Nothing is drawn: the participant has the arm that you name. The arm and the note are sealed; the rest stays in the clear.
The study's policy forced_counts decides whether later allocations count the participant. Participants stay in the order
of entry, not of --occurred-at. The arm must have been open at --occurred-at; it may be closed now. Give no level for a retired
factor, whenever the allocation was made. In a study with packs, --code says which one the participant was given: a free one
of this arm and for these levels, or, with --replaces, the one of the wrong entry. If it was none of them, say --no-code.

Causes: outage (the service could not be reached), elsewhere (another system allocates too), protocol (it prescribes
this), other. A wrong entry is voided first (urn participants void --cause entry) and then entered anew with --replaces and its
revision.

For a live study, the command asks for confirmation if it runs on a terminal; --yes answers for you. Without a terminal it
does not ask, so scripts are not blocked. Exit code 2: not possible, so nothing was recorded.

Example:
  urn participants force --study 'CHS JCOIN' --id 001-0010 --level sex=Male --treatment MART \\
    --occurred-at 2026-03-02T21:40Z --cause outage --note 'envelope 12, during the power cut'`;

/** Enters an allocation that was made outside the service. */
export function forceCommand(): Command {
  return logCommand('force')
    .description('enter an allocation that was made outside the service')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(caseOption('--id <id>', 'the id of the participant').makeOptionMandatory())
    .addOption(
      caseOption('--level <factor=level>', 'a level of the participant (repeatable: one for each factor)')
        .argParser((value: string, earlier: readonly string[] = []) => [...earlier, value])
        .makeOptionMandatory(),
    )
    .addOption(
      caseOption('--treatment <arm>', 'the arm that the participant was given').makeOptionMandatory(),
    )
    .addOption(caseOption('--occurred-at <instant>', 'when, in UTC: 2026-03-02T21:40Z').makeOptionMandatory())
    .addOption(caseOption('--cause <cause>', `why: ${ForcedCause.options.join(', ')}`).makeOptionMandatory())
    .addOption(
      caseOption('--replaces <revision>', 'revision of the wrong entry of this id, which has been voided'),
    )
    .addOption(caseOption('--code <code>', 'code of the pack that the participant was given'))
    .addOption(caseOption('--no-code', 'the participant was given none of the packs'))
    .addOption(
      caseOption(
        '--note <text>',
        'what happened, 1 to 2,000 characters; sealed: blinded readers do not see it',
      ).makeOptionMandatory(),
    )
    .addOption(caseOption('--dry-run', 'show what would be recorded, and write nothing'))
    .addOption(caseOption('--yes', 'do not ask before a live study is changed'))
    .addHelpText('after', FORCE_HELP)
    .action(enterByHand);
}

async function enterByHand(options: ForceOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, options.study);
    const actor = cliActor();
    const everybody = log.runner.state(participants, study.stream);
    const command = forceOf(options, study, everybody, actor.user);
    const { outcome: tried } = await log.studies.tryOut(study.stream, command);
    const isCounted = (outcome: StudyOutcome) => movesOf(outcome, options) && drawsFromCounts(log, study);
    const moves = isCounted(tried);
    const where = studyText(log, study);
    if (options.dryRun) return result(dryRunText(command, study.design, where, moves));
    const question = `Enter ${command.participantId} in ${where}?`;
    if (study.design.mode === 'live' && !options.yes && !(await isConfirmed(question))) {
      note('nothing was recorded');
      process.exitCode = 1;
      return;
    }
    const { outcome, revision } = await log.studies.submit(study.stream, command, actor);
    note(
      `${command.participantId} is entered (revision ${revision}); ${effectText(command, isCounted(outcome))}`,
    );
  });
}

/** @throws UsageError listing every problem */
function forceOf(options: ForceOptions, study: Study, everybody: Participants, user: string): Force {
  const { design, registered } = study;
  const reader = new EntryReader(options, design);
  const { problems } = reader;
  const participantId = reader.newId('--id', options.id, everybody);
  const named = reader.levels();
  const levels = design.factors.map(({ name, isRetired }, index) => {
    if (isRetired) return NONE;
    const level = named.find((one) => one.index === index)?.level;
    if (level === undefined) problems.push(`--level is missing for ${name}`);
    return level ?? '';
  });
  const { treatment } = options;
  if (!design.treatments.includes(treatment))
    problems.push(
      `--treatment: the study has no treatment ${quote(treatment)} (allowed: ${design.treatments.map((one) => `${quote(one)}${isClosedArm(design, one) ? ' (closed now)' : ''}`).join(', ')})`,
    );
  const cause = reader.oneOf('cause', ForcedCause.options);
  const occurredAt = instantOption('--occurred-at', options.occurredAt, problems);
  if (occurredAt !== '' && occurredAt < registered.registeredAt)
    problems.push(`--occurred-at is before the study was registered (${registered.registeredAt})`);
  const replaces = replacedRevision(options.replaces, problems);
  const code = options.code === false ? null : options.code;
  if (typeof code === 'string' && !PackCode.safeParse(code).success)
    problems.push(`--code ${quote(code)} is not a code: ${CODE_FORM}`);
  const text = reader.note();
  if (problems.length > 0 || !cause) throw new UsageError(problems.join('\n     '));
  return {
    ...{ type: 'force', user, amendment: design.amendment, participantId, levels, treatment },
    ...{ cause, occurredAt, replaces, code, note: text },
  };
}

function isClosedArm({ closedTreatments }: Design, treatment: string): boolean {
  return closedTreatments.includes(treatment);
}

function replacedRevision(text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) problems.push(`--replaces ${quote(text)} is not a revision`);
  return Number(text);
}

/** @throws UsageError when it is not possible */
function movesOf(outcome: StudyOutcome, options: ForceOptions): boolean {
  const { study, id } = options;
  const refused = refusalError(outcome, { study, id });
  if (refused) throw refused;
  if (outcome.type !== 'recorded') throw new Error(`unexpected outcome ${outcome.type}`);
  return outcome.moves;
}

function dryRunText(command: Force, design: Design, study: string, moves: boolean): string {
  const { participantId, levels, treatment, cause, occurredAt, replaces, code, note: text } = command;
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', 'AllocationForced'],
    ['study', study],
    ['participant', participantId],
    ['levels', levels.filter((level) => level !== NONE).join(', ')],
    ['treatment', `${treatment}${isClosedArm(design, treatment) ? ' (closed now, open then)' : ''}`],
    ['cause', cause],
    ['occurred at', occurredAt],
    ...(replaces === undefined ? [] : [['replaces', `the entry at revision ${replaces}`]]),
    ...(code === undefined
      ? []
      : [['pack', code === null ? 'none' : `${code} (not checked to be of this arm)`]]),
    ['note', text],
    ['effect', effectText(command, moves)],
  ])}`;
}

function effectText({ participantId }: Force, moves: boolean): string {
  return `later allocations ${moves ? 'count' : 'do not count'} ${participantId}`;
}
