/** urn participants: who is in a study, and what happened to one of them. Never an arm. */
import type { Command } from 'commander';
import {
  isUnblinding,
  type ParticipantEvent,
  participantEvents,
} from '../../projections/participant-events.ts';
import { type Participant, participants } from '../../projections/participants.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Study } from '../study/studies.ts';
import { type ParticipantOptions, withParticipant } from './grounds.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  unknownParticipant,
  unknownStudy,
} from './options.ts';
import { note, result, table } from './output.ts';
import { withStudies } from './studies-log.ts';

interface ListOptions extends LogOptions {
  readonly study: string;
  readonly json?: boolean;
}

export function participantsCommand(): Command[] {
  return [
    logCommand('list')
      .description('list the participants of a study, without their arms')
      .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
      .addOption(jsonOption())
      .action(list),
    withParticipant(logCommand('history'))
      .description('show what happened to one participant, without the arm')
      .addOption(jsonOption())
      .action(history),
  ];
}

async function list({ study: name, json, ...options }: ListOptions): Promise<void> {
  await withStudies(options, async (log) => {
    const { stream, registered } = studyNamed(log, name);
    const { inOrder } = log.runner.state(participants, stream);
    const events = log.runner.state(participantEvents, stream).byId;
    const rows = inOrder.map((participant, i) => rowOf(participant, i + 1, events));
    if (json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) note(`nobody has been randomized in ${name}`);
    else {
      const factors = registered.configuration.factors.map((factor) => factor.name);
      const head = ['sequence', 'revision', 'id', ...factors, 'randomized at', 'user', ''];
      const lines = rows.map(({ sequence, revision, id, levels, randomizedAt, user, revealed }) => [
        ...[String(sequence), String(revision), id, ...levels, randomizedAt, user],
        revealed ? 'unblinded' : '',
      ]);
      result(table([head, ...lines]));
    }
  });
}

function rowOf(
  { participantId: id, revision, levels, at, user }: Participant,
  sequence: number,
  events: ReadonlyMap<string, readonly ParticipantEvent[]>,
) {
  const revealed = events.get(id)?.some(isUnblinding) ?? false;
  return { sequence, revision, id, levels, randomizedAt: at, user, revealed };
}

async function history({ study: name, id, json, ...options }: ParticipantOptions & { json?: boolean }) {
  await withStudies(options, async (log) => {
    const { stream } = studyNamed(log, name);
    const participant = log.runner.state(participants, stream).find(id);
    if (!participant) throw unknownParticipant(name, id);
    const events = log.runner.state(participantEvents, stream).byId.get(participant.participantId) ?? [];
    const { revision, at, user, levels, original } = participant;
    if (json) {
      const shown = events.map(({ revision, at, actor, type, data, sections }) => {
        return { revision, at, user: actor.user, type, data, note: noteOf({ sections }) };
      });
      const type = original ? 'ParticipantImported' : 'ParticipantRandomized';
      result(JSON.stringify([{ revision, at, user, type, levels, original }, ...shown], null, 2));
      return;
    }
    result(
      table([
        [
          ...[String(revision), at, user],
          original ? `randomized elsewhere, imported (row ${original.row})` : 'randomized',
          levels.join(', '),
        ],
        ...events.map((event) => [
          ...[String(event.revision), event.at, event.actor.user, described(event)],
          noteOf(event),
        ]),
      ]),
    );
  });
}

function described(event: ParticipantEvent): string {
  switch (event.type) {
    case 'LevelsCorrected': {
      const changes = event.data.changes.map(({ factor, from, to }) => `${factor} from ${from} to ${to}`);
      return `levels corrected (${event.data.cause}): ${changes.join(', ')}`;
    }
    case 'AllocationVoided': {
      const { cause, duplicateOf } = event.data;
      return `voided: ${cause}${duplicateOf === undefined ? '' : ` of ${duplicateOf}`}`;
    }
    case 'AllocationReinstated':
      return 'no longer voided';
    case 'ParticipantIdCorrected':
      return `id corrected (${event.data.cause}): from ${event.data.from} to ${event.data.to}`;
    case 'AllocationRevealed':
      return `code broken: ${event.data.category}`;
    case 'UnblindingReported':
      return `unblinding reported: ${event.data.how}`;
  }
}

function noteOf({ sections }: Pick<ParticipantEvent, 'sections'>): string {
  if ('grounds' in sections) return sections.grounds.reason;
  return 'note' in sections ? sections.note.text : '';
}

function studyNamed({ studies }: OpenLog, name: string): Study {
  const study = studies.find(name);
  if (!study) throw unknownStudy(name);
  return study;
}
