/** The command that an event answers, as far as the event is included in what is verified. */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { PartialEvent } from '../../../events/record.ts';
import type { Grounds, LifeCommand } from '../../study/commands.ts';

type Of<T extends PartialEvent['type']> = Extract<PartialEvent, { type: T }>;

/** An event of a study whose decision needs only what is in the clear. */
export type LifeEvent = Of<
  Exclude<
    StudyFact['type'],
    | 'StudyRegistered'
    | 'ParticipantRandomized'
    | 'StudyRecovered'
    | 'HistoryImported'
    | 'ParticipantImported'
    | 'HistoryImportEnded'
    | 'AllocationForced'
    | 'CodesRegistered'
    | 'CodesWithdrawn'
    | 'CodeReplaced'
  >
>;

/** Without what the decider works out, such as `randomizedAt`, so that a wrong one is found as such. */
export function lifeCommandOf(event: LifeEvent): LifeCommand {
  const asked = { user: event.actor.user, idempotencyKey: event.sections.request?.idempotencyKey };
  switch (event.type) {
    case 'StudyPaused':
      return { type: 'pause', ...event.data, ...asked };
    case 'StudyResumed':
      return { type: 'resume', ...event.data, ...asked };
    case 'StudyClosed':
      return { type: 'close', ...event.data, ...asked };
    case 'StudyReopened':
      return { type: 'reopen', ...event.data, ...asked };
    case 'StudyAmended':
      return { type: 'amend', ...event.data, ...asked };
    case 'AllocationRevealed': {
      const { randomizedAt: _, ...data } = event.data;
      return { type: 'reveal', ...data, grounds: groundsIn(event), ...asked };
    }
    case 'LevelsCorrected': {
      const { cause, changes, participantId } = event.data;
      return { type: 'correct-levels', cause, changes, participantId, note: noteIn(event), ...asked };
    }
    case 'AllocationVoided': {
      const { analysis, cause, duplicateOf, participantId } = event.data;
      return { type: 'void', analysis, cause, duplicateOf, participantId, note: noteIn(event), ...asked };
    }
    case 'AllocationReinstated': {
      const { participantId } = event.data;
      return { type: 'reinstate', participantId, note: noteIn(event), ...asked };
    }
    case 'ParticipantIdCorrected': {
      const { cause, participantId, to } = event.data;
      return { type: 'correct-id', cause, participantId, to, ...asked };
    }
    case 'UnblindingReported': {
      const { randomizedAt: _, inadvertent = false, ...data } = event.data;
      return { type: 'report-unblinding', ...data, inadvertent, grounds: groundsIn(event), ...asked };
    }
  }
}

/** Nothing is decided by them, so it does not matter if they are withheld. */
function groundsIn({ sections }: Of<'AllocationRevealed' | 'UnblindingReported'>): Grounds {
  const { reason = '', requestedBy } = sections.grounds ?? {};
  return { reason, requestedBy };
}

/** Likewise. */
function noteIn({ sections }: Of<'LevelsCorrected' | 'AllocationVoided' | 'AllocationReinstated'>): string {
  return sections.note?.text ?? '';
}
