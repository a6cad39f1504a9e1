/** urn participants list and history: who is in a study, and what happened to one of them. Never an arm. */
import type { Command } from 'commander';
import type { Participant, Participants } from '../core/model/participants.ts';
import {
  currentId,
  currentLevels,
  historyOf,
  isUnblinding,
  type ParticipantEvent,
  presentPacks,
  type WholeEnrolment,
} from '../core/model/participants.ts';
import { participantEvents, participants } from '../core/study/fold.ts';
import { actText } from '../evidence/bundle/texts.ts';
import { packsText } from '../evidence/export/columns.ts';
import { actCommands } from './act-commands.ts';
import { eventAt } from './event-at.ts';
import { forceCommand } from './force.ts';
import { type ParticipantOptions, withParticipant } from './grounds.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  namedStudy,
  option,
  unknownParticipant,
} from './options.ts';
import { note, result, table } from './output.ts';
import { withStudies } from './studies-log.ts';

const VIEWS = ['current', 'as_randomized'] as const;

interface ListOptions extends LogOptions {
  readonly study: string;
  readonly view: (typeof VIEWS)[number];
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

const HISTORY_HELP = `
--json is a list of objects with these members, the last four only where there is something to say:
  revision, at, user, type
  data             what the record holds in the clear (docs/event-log.md)
  keyId            of the API key; absent for somebody at the command line
  onBehalfOf
  note             free text about the participant: do not pass it on to blinded staff
  requestedBy      who asked for a code-break; likewise`;

export function participantsCommand(): Command[] {
  return [
    logCommand('list')
      .description('list the participants of a study, without their arms')
      .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
      .addOption(
        option('--view <levels>', 'the current levels, or those as randomized')
          .choices([...VIEWS])
          .default('current'),
      )
      .addOption(jsonOption())
      .addHelpText('after', LIST_HELP)
      .action(list),
    withParticipant(logCommand('history'))
      .description('show what happened to one participant, without the arm')
      .addOption(jsonOption())
      .addHelpText('after', HISTORY_HELP)
      .action(history),
    forceCommand(),
    ...actCommands('participants'),
  ];
}

async function list({ study: name, view, json, ...options }: ListOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const { stream, registered } = namedStudy(log.studies, name);
    const everybody = log.runner.state(participants, stream);
    const events = log.runner.state(participantEvents, stream).byEnrolment;
    const rows = everybody.inOrder.map((participant) => {
      const revealed = events.get(participant.revision)?.some(isUnblinding) ?? false;
      return rowOf(participant, view, revealed);
    });
    if (json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) note(`nobody has been randomized in ${name}`);
    else {
      const factors = registered.configuration.factors.map((factor) => factor.name);
      result(participantsText(rows, factors));
    }
  });
}

type Row = ReturnType<typeof rowOf>;

function rowOf(participant: Participant, view: ListOptions['view'], revealed: boolean) {
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
    revealed,
  };
}

/** A column that would be empty is left out. */
function participantsText(rows: readonly Row[], factors: readonly string[]): string {
  const column = (head: string, cell: (row: Row) => string | undefined) =>
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

async function history({ study: name, id, json, ...options }: ParticipantOptions & { json?: boolean }) {
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
    if (json) result(JSON.stringify(events.map(asJson), null, 2));
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

function asJson(event: HistoryEvent) {
  const { revision, at, actor, type, data } = event;
  return {
    ...{ revision, at, user: actor.user, type, data },
    ...('keyId' in actor && { keyId: actor.keyId, onBehalfOf: actor.onBehalfOf }),
    ...notesOf(event),
  };
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

function notesOf({ sections }: HistoryEvent): {
  readonly note?: string;
  readonly requestedBy?: string | undefined;
} {
  if ('grounds' in sections)
    return { note: sections.grounds.reason, requestedBy: sections.grounds.requestedBy };
  return 'note' in sections ? { note: sections.note.text } : {};
}
