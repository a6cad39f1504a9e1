/** What a command that asks for an act says: before it, of a dry run, and of what came of it. */
import type { LevelChange } from '../../events/corrections.ts';
import { onOneLine } from '../base/text.ts';
import type { Members, StudyOutcome } from '../core/model/outcomes.ts';
import { currentId } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import type { WriteResult } from '../core/write/writer.ts';
import { type ActEvent, actText, changeText } from '../evidence/bundle/texts.ts';
import type { RequestedAct } from './act-row.ts';
import { eventAt } from './event-at.ts';
import { optionOf } from './grounds.ts';
import { note, result, table } from './output.ts';
import { drawsFromCounts, studyText } from './studies-log.ts';

/** What the log says of the act. It is the result of a command that gives something to read. */
export async function printAct(
  asking: RequestedAct,
  asked: Members,
  { outcome, revision }: WriteResult<StudyOutcome>,
): Promise<void> {
  const { row, options, log, study } = asking;
  if (options.json && row.json)
    return result(JSON.stringify(row.json(asked, options, outcome, revision), null, 2));
  const event = await eventAt(log, study.stream, revision);
  const text = onOneLine(actText(event as ActEvent, (id) => idInUse(asking, id)));
  const effect = effectOf(asking, outcome).map((words) => `; ${words}`);
  const line = `${options.study}: ${text} (revision ${revision})${effect.join('')}`;
  if (row.json) result(line);
  else note(line);
}

export function questionOf(asking: RequestedAct, asked: Members): string {
  const { row, log, study } = asking;
  const verb = `${row.verb.charAt(0).toUpperCase()}${row.verb.slice(1)}`;
  const { participantId } = asked;
  const where = studyText(log, study);
  if (participantId === undefined && !row.order) return `${verb} ${where}?`;
  const id = idInUse(asking, String(participantId));
  return `${row.order?.(asked, id) ?? `${verb} ${id}`} in ${where}?`;
}

export function dryRun(asking: RequestedAct, asked: Members, outcome: StudyOutcome): string {
  const { name, log, study } = asking;
  const rows = Object.entries(asked).flatMap(([member, value]) => {
    if (value === undefined) return [];
    if (member === 'participantId') return [['participant', bothIds(asking, String(value))]];
    return [[optionOf(member).slice('--'.length), valueText(value)]];
  });
  return `dry run: nothing was recorded; the record would be\n${table([
    ['event', name],
    ['study', studyText(log, study)],
    ...rows,
    ...effectOf(asking, outcome).map((words) => ['effect', words]),
  ])}`;
}

function bothIds(asking: RequestedAct, id: string): string {
  const { log, study } = asking;
  const now = idInUse(asking, id);
  const { participantId = now } = log.runner.state(participants, study.stream).find(id) ?? {};
  return now === participantId ? now : `${now} (randomized as ${participantId})`;
}

/** @param id that the participant has or had */
function idInUse({ log, study }: RequestedAct, id: string): string {
  const participant = log.runner.state(participants, study.stream).find(id);
  return participant ? currentId(participant) : id;
}

/** How many of a list are shown. */
const SHOWN = 10;

function valueText(value: unknown): string {
  if (Array.isArray(value)) {
    const more = value.length > SHOWN ? [`and ${value.length - SHOWN} more`] : [];
    return [...value.slice(0, SHOWN).map(valueText), ...more].join('; ');
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return 'factor' in value ? changeText(value as LevelChange) : Object.values(value).map(String).join(', ');
}

function effectOf({ row: { effect }, log, study }: RequestedAct, outcome: StudyOutcome): string[] {
  if (!effect || outcome.type !== 'recorded') return [];
  return [effect(outcome.moves && drawsFromCounts(log, study))];
}
