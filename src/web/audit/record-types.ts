/** The members of every record that the page shows. */
export interface RecordHead {
  readonly type: string;
  readonly at: string;
  readonly actor: { readonly user: string };
  readonly data: { readonly participantId?: string };
}

/** The kinds of records of a study that the catalogue has words for. */
const TYPES = [
  'StudyRegistered',
  'ParticipantRandomized',
  'AllocationForced',
  'AllocationRevealed',
  'AllocationVoided',
  'AllocationReinstated',
  'UnblindingReported',
  'LevelsCorrected',
  'ParticipantIdCorrected',
  'StudyAmended',
  'StudyPaused',
  'StudyResumed',
  'StudyClosed',
  'StudyReopened',
  'StudyRecovered',
  'HistoryImported',
  'HistoryImportEnded',
  'ParticipantImported',
  'CodesRegistered',
  'CodeReplaced',
  'CodesWithdrawn',
] as const;

export function isKnownType(type: string): type is (typeof TYPES)[number] {
  return (TYPES as readonly string[]).includes(type);
}
