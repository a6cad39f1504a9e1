/** English words for what acts recorded, in reports and at the command line. */

import type { LevelChange } from '../../../events/corrections.ts';
import type { PartialEventOf } from '../../../events/record.ts';
import type { ActName } from '../../core/acts/acts.ts';
import { approvalText, protocolFromHere, sentence, shownInstant } from './event-texts.ts';

export type ActEvent = PartialEventOf<ActName>;

/** The id in use, of the participant with this id as randomized. */
export type IdOf = (participantId: string) => string;

/** What happened, and details, with nothing that is free text about a participant. */
type Texts<N extends ActName> = (
  event: PartialEventOf<N>,
  idOf: IdOf,
) => readonly (string | false | undefined)[];

const TEXTS: { readonly [N in ActName]: Texts<N> } = {
  StudyPaused: ({ data }) => [`paused: ${data.reason}`],
  StudyResumed: ({ data }) => [`resumed: ${data.reason}`],
  StudyClosed: ({ data: { approvals = [], cause, reason } }) => [
    `closed (${cause}): ${reason}`,
    ...approvals.map(approvalText),
  ],
  StudyReopened: ({ data: { approvals, protocol, reason } }) => [
    `reopened: ${reason}`,
    ...approvals.map(approvalText),
    protocol && protocolFromHere(protocol),
  ],
  LevelsCorrected: ({ data: { cause, changes, participantId } }, idOf) => {
    return [`${idOf(participantId)} corrected (${cause}): ${changes.map(changeText).join(', ')}`];
  },
  AllocationVoided: ({ data: { analysis, cause, duplicateOf, participantId } }, idOf) => {
    const why = duplicateOf === undefined ? cause : `${cause} of ${idOf(duplicateOf)}`;
    return [`${idOf(participantId)} voided: ${why}`, `analysis: ${analysis}`];
  },
  AllocationReinstated: ({ data }, idOf) => [`${idOf(data.participantId)} no longer voided`],
  ParticipantIdCorrected: ({ data: { cause, from, to } }) => [`${from} renamed to ${to} (${cause})`],
  CodeReplaced: ({ data: { by, cause, code, participantId } }, idOf) => [
    `pack ${code} of ${idOf(participantId)} replaced by ${by} (${cause})`,
  ],
  PackDispensed: ({ data: { code, participantId, visit } }, idOf) => [
    `pack ${code} given to ${idOf(participantId)} for ${visit}`,
  ],
  DispensationCorrected: ({ data: { cause, code, from, participantId, to } }, idOf) => {
    const moved = from !== undefined && to !== undefined && `for ${to}, not ${from}`;
    const change = moved || (to === undefined ? 'was never theirs' : `for ${to}, after all`);
    return [`pack ${code} of ${idOf(participantId)}: ${change} (${cause})`];
  },
  CodesWithdrawn: ({ data }) => [`packs withdrawn that nobody had: ${data.count}`],
  AllocationRevealed: ({ data: { category, code, participantId, shownAt } }, idOf) => {
    const byPack = participantId === undefined ? 'nobody had it' : `requested with the pack ${code}`;
    return [
      `code of ${participantId === undefined ? `pack ${code}` : idOf(participantId)} broken: ${category}`,
      code !== undefined && byPack,
      shownAt !== undefined && `recorded late: the treatment was shown at ${shownInstant(shownAt)}`,
    ];
  },
  UnblindingReported: ({ data: { how, inadvertent, occurredAt, participantId, revealedAt } }, idOf) => [
    `reported: ${idOf(participantId)} was unblinded outside the service at ${shownInstant(occurredAt)} (${how})`,
    inadvertent && 'inadvertent',
    revealedAt !== undefined && `the code-break at revision ${revealedAt} was a mistake`,
  ],
};

export function changeText({ factor, from, to }: LevelChange): string {
  return `${factor} from ${from} to ${to}`;
}

/** @param more further details */
export function actText(
  event: ActEvent,
  idOf: IdOf,
  ...more: readonly (string | false | undefined)[]
): string {
  // The row of an event takes events of its type.
  const texts = TEXTS[event.type] as Texts<ActName>;
  return sentence(...texts(event, idOf), ...more);
}
