/** urn explain: why a participant got this arm, worked out again from the log. */
import type { Command } from 'commander';
import type { LogEvent } from '../../events/record.ts';
import { RecordError } from '../base/errors.ts';
import { toJson } from '../base/json.ts';
import { participantEvents, participants, studyState } from '../core/study/fold.ts';
import { explain, whyUndrawn } from '../evidence/explain/explain.ts';
import type { Explanation } from '../evidence/explain/explanation.ts';
import { explanationText } from '../evidence/explain/explanation-text.ts';
import { foldUntil } from '../evidence/history/history.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { recordDisclosure, withLog } from './open-log.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  UsageError,
  unknownParticipant,
  unknownStudy,
} from './options.ts';
import { note, progress, result } from './output.ts';

interface Options extends LogOptions {
  study: string;
  id: string;
  json?: boolean;
}

const HELP = `
Shows the arm and the states of the generator, so it is not for blinded readers. The request is recorded (urn operations).
Exit code 1: the record does not follow from the history before it.`;

export function explainCommand(): Command {
  return logCommand('explain')
    .description(
      'show why a participant got this arm: every step, worked out again and compared with the record',
    )
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(option('--id <id>', 'an id that the participant has or had').makeOptionMandatory())
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: Options): Promise<void> {
  await withLog(options, async (log) => {
    try {
      const explanation = await explained(log, options);
      await recordDisclosure(log, { what: 'explanation', study: options.study, participant: options.id });
      result(options.json ? toJson(explanation) : explanationText(explanation));
      if (explanation.agrees) return;
      note(`urn: the record of ${options.id} does not follow from the history before it`);
    } catch (error) {
      if (!(error instanceof RecordError) || error.fault === 'unknown-type') throw error;
      note(`urn: the allocation cannot be explained: ${error.message}`);
    }
    process.exitCode = 1;
  });
}

async function explained(log: OpenLog, { study, id }: Options): Promise<Explanation> {
  const isAsked = (event: LogEvent) =>
    event.type === 'ParticipantRandomized' && event.data.participantId === id;
  const first = await until(log, study, isAsked);
  if (first.states.before.status === 'unregistered') throw unknownStudy(study);
  // A participant whose id has changed since, or who was imported.
  const found = first.next ? undefined : first.states.participants.find(id);
  const { states, next } = found
    ? await until(log, study, ({ revision }) => revision >= found.revision)
    : first;
  const undrawn = next && whyUndrawn(next);
  if (undrawn !== undefined) throw new UsageError(undrawn);
  if (states.before.status === 'unregistered' || next?.type !== 'ParticipantRandomized')
    throw unknownParticipant(study, id);
  return explain(states.before, next, states.events.inOrder);
}

async function until(
  { store, identity, studies }: OpenLog,
  study: string,
  isBeyond: (event: LogEvent) => boolean,
) {
  const shown = progress('records read');
  const past = await foldUntil(
    { store, logId: identity.logId },
    studies.streamOf(study),
    { before: studyState, events: participantEvents, participants },
    isBeyond,
    shown.show,
  );
  shown.end();
  return past;
}
