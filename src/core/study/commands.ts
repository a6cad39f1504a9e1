/** The commands of a study. Their form has already been checked; `decide` judges them against the study's state. */
import type { Approval, Protocol } from '../../../events/define.ts';
import type { ForcedCause, ImportedGenerator, SourceFormat } from '../../../events/from-outside.ts';
import type { SignedSize } from '../../../events/log.ts';
import type {
  BgState,
  DesignChange,
  History,
  Level,
  MethodParameters,
  StudyConfiguration,
} from '../../../events/study.ts';
import type { ActCommand } from '../acts/acts.ts';
import type { JudgedByDesign, Repeatable } from '../model/model.ts';

export interface Register {
  readonly type: 'register';
  readonly studyId: string;
  readonly configuration: StudyConfiguration;
  /** What of the method nobody at a site may know. */
  readonly parameters?: MethodParameters;
  readonly seed: bigint;
  readonly seedSource: 'configured' | 'drawn';
}

export interface Randomize extends Repeatable, JudgedByDesign {
  readonly type: 'randomize';
  readonly participantId: string;
  /** One level per factor, in the order of the design, under their current names. */
  readonly levels: readonly string[];
  /** Set when this process enrols nobody in the study because its studies file differs from the design in force. */
  readonly suspended?: boolean;
}

export interface Amend extends Repeatable {
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

/** An allocation was made outside the service. */
export interface Force extends Repeatable, JudgedByDesign {
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
  readonly note: string;
}

/** Packs are ready to be given out. */
export interface RegisterPacks {
  readonly type: 'register-packs';
  /** Number of the list within the study. */
  readonly list: number;
  readonly where?: Level | undefined;
  /** 128 random bits, in hex. */
  readonly key: string;
  readonly entries: readonly { readonly code: string; readonly treatment: string }[];
}

/** A list of allocations that was made elsewhere, or a part of it. */
export interface RegisterList {
  readonly type: 'register-list';
  /** Number of the list within the study. */
  readonly list: number;
  readonly approvals: readonly Approval[];
  /** Digest of the file, and its row of the first entry, from 1. */
  readonly file: string;
  readonly first: number;
  /** In the order of use. Levels under their current names, in the order of the factors that make a stratum. */
  readonly entries: readonly {
    readonly levels?: readonly string[] | undefined;
    readonly treatment: string;
  }[];
}

/** Entries that somebody has whom the log does not know are passed over. */
export interface SkipEntries {
  readonly type: 'skip-entries';
  readonly reason: string;
  /** Empty: none were used. */
  readonly skipped: readonly { readonly levels?: readonly string[] | undefined; readonly count: number }[];
}

/** The import of another system's history begins. */
export interface BeginImport extends JudgedByDesign {
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

export type ImportCommand = BeginImport | ImportParticipant | EndImport;
export type StudyCommand =
  | Register
  | Randomize
  | Recover
  | ImportCommand
  | RegisterPacks
  | RegisterList
  | SkipEntries
  | Amend
  | Force
  | ActCommand;
