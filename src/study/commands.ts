/** The commands of a study. Their form has already been checked; `decide` judges them against the study's state. */

import type { LevelLimit } from '../../events/access.ts';
import type { DesignChange, History } from '../../events/amendment.ts';
import type { RevealCategory, UnblindingWay } from '../../events/code-break.ts';
import type { ReplacementCause } from '../../events/codes.ts';
import type { IdCause, LevelChange, LevelsCause, VoidAnalysis, VoidCause } from '../../events/corrections.ts';
import type { ForcedCause } from '../../events/forced.ts';
import type { ImportedGenerator, SourceFormat } from '../../events/import.ts';
import type { SignedSize } from '../../events/log.ts';
import type { BgState, Level, StudyConfiguration } from '../../events/study.ts';
import type { ClosingCause } from '../../events/study-state.ts';
import type { Approval, Protocol } from '../../events/text.ts';
import type { Status } from './acts.ts';

export interface Register {
  readonly type: 'register';
  readonly studyId: string;
  readonly configuration: StudyConfiguration;
  readonly seed: bigint;
  readonly seedSource: 'configured' | 'drawn';
}

/** A command that a client may repeat. */
export interface Repeatable {
  /** The user who asks. Different users can use the same idempotency key without a clash. */
  readonly user: string;
  readonly idempotencyKey?: string | undefined;
}

/** A command with an id or levels that the submitter has compared with the design. */
export interface Judged {
  /** Number of the last amendment of that design. The command is refused if there has been another since. */
  readonly amendment?: number | undefined;
}

/** A command that replay makes from a record. A record must show less than a request must fulfil. */
export interface Replayed {
  readonly isRecorded?: boolean | undefined;
}

export interface Randomize extends Repeatable, Judged, Replayed {
  readonly type: 'randomize';
  readonly participantId: string;
  /** One level per factor, in the order of the design, under their current names. */
  readonly levels: readonly string[];
  /** Set when this process enrols nobody in the study because its studies file differs from the design in force. */
  readonly suspended?: boolean;
}

export interface Pause extends Repeatable {
  readonly type: 'pause';
  readonly reason: string;
}

export interface Resume extends Repeatable {
  readonly type: 'resume';
  readonly reason: string;
}

/** A command that somebody approved outside the system. */
export interface Approved {
  /** When it is asked for, in ISO 8601: nobody can have approved it later. Replay leaves it out. */
  readonly askedAt?: string | undefined;
}

export interface Close extends Repeatable, Approved {
  readonly type: 'close';
  readonly cause: ClosingCause;
  readonly reason: string;
  readonly approvals?: readonly Approval[] | undefined;
}

export interface Reopen extends Repeatable, Approved {
  readonly type: 'reopen';
  readonly reason: string;
  readonly approvals: readonly Approval[];
  readonly protocol?: Protocol | undefined;
}

export interface Amend extends Repeatable, Approved {
  readonly type: 'amend';
  /** The number of this amendment: one more than that of the last. */
  readonly amendment: number;
  readonly changes: readonly DesignChange[];
  /** Default: depends on the changes. */
  readonly history?: History | undefined;
  readonly reason: string;
  readonly approvals: readonly Approval[];
  readonly protocol?: Protocol | undefined;
}

/** What all commands about one participant share. */
export interface AboutParticipant extends Repeatable {
  readonly participantId: string;
  /** Revision of the event that enrolled the participant, if only that one is meant. */
  readonly randomizedAt?: number | undefined;
  /** The limits of the key. A participant outside them does not exist for it. */
  readonly where?: readonly LevelLimit[] | undefined;
}

export interface Grounds {
  readonly reason: string;
  readonly requestedBy?: string | undefined;
}

/** Asks for the arm of one participant, or of one pack and of the participant it was given to. */
export interface Reveal extends Omit<AboutParticipant, 'participantId'> {
  readonly type: 'reveal';
  readonly participantId?: string | undefined;
  readonly code?: string | undefined;
  /** Whether the pack is on a list and within the limits of the key. Set only where the lists of packs are known. */
  readonly isPackKnown?: boolean | undefined;
  readonly category: RevealCategory;
  readonly grounds: Grounds;
  /** A UUID made for this request. */
  readonly reveal: string;
  /** When the arm was shown, if it was shown before this could be recorded. */
  readonly shownAt?: string | undefined;
}

/** Somebody learned one participant's arm in another way. */
export interface ReportUnblinding extends AboutParticipant {
  readonly type: 'report-unblinding';
  readonly how: UnblindingWay;
  readonly inadvertent: boolean;
  readonly occurredAt: string;
  readonly revealedAt?: number | undefined;
  readonly grounds: Grounds;
}

/** A level of one participant was recorded wrongly, or has changed. */
export interface CorrectLevels extends AboutParticipant {
  readonly type: 'correct-levels';
  readonly cause: LevelsCause;
  readonly changes: readonly LevelChange[];
  readonly note: string;
}

/** A participant was randomized in error. */
export interface VoidAllocation extends AboutParticipant {
  readonly type: 'void';
  readonly cause: VoidCause;
  readonly analysis: VoidAnalysis;
  /** The id of the participant who is the same person: one they have or had. */
  readonly duplicateOf?: string | undefined;
  readonly note: string;
}

/** A participant was voided by mistake. */
export interface Reinstate extends AboutParticipant {
  readonly type: 'reinstate';
  readonly note: string;
}

/** A participant has the wrong id. */
export interface CorrectId extends AboutParticipant, Judged {
  readonly type: 'correct-id';
  readonly to: string;
  readonly cause: IdCause;
}

/** An allocation was made outside the service. */
export interface Force extends Repeatable, Judged {
  readonly type: 'force';
  readonly participantId: string;
  /** One level per factor, in the order of the design, under their current names. */
  readonly levels: readonly string[];
  readonly treatment: string;
  readonly cause: ForcedCause;
  readonly occurredAt: string;
  /** Revision of the wrong entry that this one replaces. */
  readonly replaces?: number | undefined;
  /** The code of the pack that the participant was given; null for none. In a study with packs one of them must be said. */
  readonly code?: string | null | undefined;
  /** Whether the participant can have been given this pack. Set only where the lists of packs are known. */
  readonly isPackRight?: boolean | undefined;
  readonly note: string;
}

/** Packs are ready to be given out. */
export interface RegisterCodes {
  readonly type: 'register-codes';
  /** Number of the list within the study. */
  readonly list: number;
  readonly where?: Level | undefined;
  /** 128 random bits, in hex. */
  readonly key: string;
  readonly entries: readonly { readonly code: string; readonly treatment: string }[];
}

/** A participant's pack cannot be used. */
export interface ReplaceCode extends AboutParticipant, Replayed {
  readonly type: 'replace-code';
  readonly code: string;
  readonly cause: ReplacementCause;
  /** Whether the person who asks may know which treatment each pack holds. */
  readonly isSupply: boolean;
  /** Whether the person who asks may be told which pack the participant has, and why the participant is voided. */
  readonly mayRead?: boolean;
}

/** Packs must no longer be given out. */
export interface WithdrawCodes extends Repeatable {
  readonly type: 'withdraw-codes';
  readonly codes: readonly string[];
  readonly reason: string;
  /** The limits of the key. */
  readonly where?: readonly LevelLimit[] | undefined;
}

/** The import of another system's history begins. */
export interface BeginImport extends Judged, Approved {
  readonly type: 'begin-import';
  readonly import: string;
  readonly source: { readonly format: SourceFormat; readonly rows: number };
  readonly sha256: string;
  readonly treatmentMap?:
    | readonly { readonly from: string; readonly to: string; readonly slot?: number | undefined }[]
    | undefined;
  readonly generator: ImportedGenerator;
  /** The state of the first new draw. */
  readonly bgState: BgState;
  /** Only if the generator is fresh. */
  readonly seed?: bigint | undefined;
  readonly seedKnown?: boolean | undefined;
  readonly proof: { readonly redrawn: number; readonly unproven: number };
  readonly approvals: readonly Approval[];
}

/** One row of the history. */
export interface ImportParticipant {
  readonly type: 'import-participant';
  readonly import: string;
  /** How many rows must already be in, so that none is left out when a write fails or another process writes as well. */
  readonly place?: number;
  readonly row: number;
  readonly participantId: string;
  /** One level per factor, in the order of the configuration. */
  readonly levels: readonly string[];
  readonly original: { readonly datetime: string; readonly user: string };
  readonly treatment: string;
  /** The slot of the treatment, if the file has a name for each of its slots. */
  readonly slot?: number | undefined;
  /** The state after the draw, as the other system recorded it. */
  readonly bgState?: BgState | undefined;
}

/** All rows are in, or they are given up. */
export interface EndImport {
  readonly type: 'end-import';
  readonly import: string;
  /** Set to give the import up. */
  readonly abortedBecause?: string | undefined;
}

/** The log was restored from a backup: the generator continues with fresh entropy. */
export interface Recover {
  readonly type: 'recover';
  readonly recovery: number;
  readonly kept: number;
  readonly signed?: SignedSize | undefined;
  readonly seed: bigint;
}

/** A limit that is reached: for all participants, or for those with one level. */
export interface FullLimit {
  readonly max: number;
  readonly of?: { readonly factor: string; readonly level: string };
}

/** Commands that need only the part of the stream that is in the clear. */
export type StateCommand = Pause | Resume | Close | Reopen;
export type StudyLifeCommand = StateCommand | Amend;
export type Correction = CorrectLevels | VoidAllocation | Reinstate | CorrectId;
export type ParticipantCommand = ReportUnblinding | Correction | ReplaceCode;
export type LifeCommand = StudyLifeCommand | ParticipantCommand | Reveal | Force;
export type PackCommand = RegisterCodes | WithdrawCodes;
export type ImportCommand = BeginImport | ImportParticipant | EndImport;
export type StudyCommand = Register | Randomize | Recover | ImportCommand | PackCommand | LifeCommand;

export type StudyOutcome =
  | { readonly type: 'registered' | 'already-registered' | 'not-registered' }
  | { readonly type: 'recovered' | 'already-recovered' }
  | { readonly type: 'paused' | 'already-paused' | 'resumed' | 'not-paused' }
  | { readonly type: 'closed' | 'already-closed' | 'reopened' | 'not-closed' }
  | { readonly type: 'amended' }
  /** Each problem with a path in the fact. */
  | { readonly type: 'not-amendable'; readonly problems: readonly FieldProblem[] }
  /** The command was judged by the design before an amendment, and must be judged again. */
  | { readonly type: 'amended-meanwhile' }
  /** The study has no such level now, or takes nobody with it. */
  | { readonly type: 'level-unknown' | 'level-closed'; readonly factor: string; readonly level: string }
  | { readonly type: 'randomized' | 'imported'; readonly participantId: string }
  /** `moves`: the urns count the participant. */
  | { readonly type: 'forced'; readonly participantId: string; readonly moves: boolean }
  | { readonly type: 'import-begun' | 'import-ended' | 'import-aborted' | 'not-importing' }
  /** The study has participants. */
  | { readonly type: 'not-empty' }
  | {
      readonly type: 'revealed';
      readonly participantId?: string | undefined;
      readonly code?: string | undefined;
    }
  | { readonly type: 'unblinding-reported'; readonly participantId: string }
  | { readonly type: 'codes-registered' | 'codes-withdrawn' }
  /** `by`: the new pack; absent if it was only tried. */
  | {
      readonly type: 'code-replaced';
      readonly participantId: string;
      readonly moves: false;
      readonly by?: string;
    }
  /** A treatment has too few packs left for the participant. The answer never says which one. */
  | { readonly type: 'no-code' }
  /** `moves`: the counts of the urns change from here on. */
  | {
      readonly type: 'levels-corrected' | 'voided' | 'reinstated' | 'id-corrected';
      readonly participantId: string;
      readonly moves: boolean;
    }
  /** What the command wants to change is not, or no longer, as it says. `field` is a path in the fact. */
  | { readonly type: 'stale'; readonly why: string; readonly field?: string }
  /** The key may act on the participant as they are, but not as they would be. */
  | { readonly type: 'outside-limits'; readonly limit: LevelLimit }
  /** A reveal that was shown earlier is already in the log. */
  | { readonly type: 'already-recorded'; readonly revision: number }
  /** The same request with the same idempotency key gets the same answer. */
  | { readonly type: 'repeated'; readonly participantId: string }
  /** The same, for a command that made the fact at this revision. `by`: the pack that it gave out instead of another. */
  | { readonly type: 'done-before'; readonly revision: number; readonly by?: string | undefined }
  /** The idempotency key belongs to another request. */
  | { readonly type: 'idempotency-key-reused' }
  /** The id is taken. `differingFactors` is empty when that participant has the same levels. */
  | {
      readonly type: 'duplicate';
      readonly participantId: string;
      readonly differingFactors: readonly string[];
    }
  | { readonly type: 'no-such-participant' }
  /** Well-formed, but not possible in this study. `field` is a path in the fact. */
  | { readonly type: 'impossible'; readonly field: string; readonly why: string }
  | { readonly type: 'refused'; readonly because: Status | 'suspended' }
  /** The study, or a level, has reached its limit. */
  | { readonly type: 'full'; readonly limit: FullLimit };

export interface FieldProblem {
  readonly field: string;
  readonly why: string;
}

/** @param field a path in the data of the fact */
export function impossible(field: string, why: string): StudyOutcome {
  return { type: 'impossible', field, why };
}
