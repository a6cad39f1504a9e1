/** The answer in place of an explanation, for a participant for whom the service drew nothing. */
import type { UnprovenCause } from '../../../events/from-outside.ts';
import type { LogEvent } from '../../../events/record.ts';
import { isForced } from '../../core/model/participants.ts';

type ImportedEvent = Extract<LogEvent, { type: 'ParticipantImported' }>;

const WHY: Readonly<Record<UnprovenCause, string>> = {
  first: 'nothing is known of the generator before it',
  'no-state': 'the file has no state of the generator for it',
  override: "the generator's state follows from an earlier row, but gives another arm",
  differs: "the generator's state does not follow from an earlier row",
  'other-system': 'the file has no states of the generator',
};

/** Why there is no draw to explain, without the arm; undefined if there is one. */
export function whyUndrawn(event: LogEvent): string | undefined {
  if (event.type === 'ParticipantImported') return importedText(event);
  if (!isForced(event)) return undefined;
  const { participantId, occurredAt } = event.data;
  return `Participant ${JSON.stringify(participantId)} was allocated outside the service at ${occurredAt} and entered by hand, so there is no draw to explain`;
}

function importedText({ data }: ImportedEvent): string {
  const { participantId, row, cause } = data;
  const drawn =
    cause === undefined
      ? 'The import drew it again from the state of an earlier row, and arm and state agree with the file'
      : `The import could not draw it again: ${WHY[cause]}`;
  return `Participant ${JSON.stringify(participantId)} was imported; the draw was made by another system (row ${row} of the file). ${drawn}`;
}
