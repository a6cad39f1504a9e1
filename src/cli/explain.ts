/** urn explain: why a participant got this arm, worked out again from the log. */
import type { Command } from 'commander';
import { RecordError } from '../../events/record.ts';
import { isCorrection } from '../../projections/enrolled.ts';
import { type ParticipantEvents, participantEvents } from '../../projections/participant-events.ts';
import { type Explanation, explain } from '../explain/explain.ts';
import { explanationText } from '../explain/explanation-text.ts';
import { foldUntil } from '../history/past.ts';
import type { OpenLog } from '../open/open-log.ts';
import { studyState } from '../study/state.ts';
import { recordDisclosure } from './disclosed.ts';
import { withLog } from './open-log.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  option,
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
      result(options.json ? JSON.stringify(explanation, null, 2) : explanationText(explanation));
      if (explanation.differences.length === 0) return;
      note(`urn: the record of ${options.id} does not follow from the history before it`);
    } catch (error) {
      if (!(error instanceof RecordError) || error.fault === 'unknown-type') throw error;
      note(`urn: the allocation cannot be explained: ${error.message}`);
    }
    process.exitCode = 1;
  });
}

async function explained(
  { store, identity, studies }: OpenLog,
  { study, id }: Options,
): Promise<Explanation> {
  const stream = studies.streamOf(study);
  const shown = progress('records read');
  const until = (participantId: string) =>
    foldUntil(
      { store, logId: identity.logId },
      stream,
      { before: studyState, events: participantEvents },
      (event) => event.type === 'ParticipantRandomized' && event.data.participantId === participantId,
      shown.show,
    );
  let past = await until(id);
  // Nobody was randomized under this id, but somebody may have got it later.
  const original = past.next ? undefined : originalId(id, past.states.events);
  if (original !== undefined) past = await until(original);
  shown.end();
  const { states, next } = past;
  if (states.before.status === 'unregistered') throw unknownStudy(study);
  if (next?.type !== 'ParticipantRandomized') throw unknownParticipant(study, id);
  return explain(states.before, next, states.events.inOrder.filter(isCorrection));
}

/** The id as randomized of the participant who was renamed to this one. */
function originalId(id: string, { inOrder }: ParticipantEvents): string | undefined {
  const renaming = inOrder.find((event) => event.type === 'ParticipantIdCorrected' && event.data.to === id);
  return renaming?.data.participantId;
}
