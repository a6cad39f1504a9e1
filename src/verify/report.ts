/** What a verification found. The report is for auditors: `expected` and `found` can name treatments and states. */

import type { Content } from '../../events/content.ts';

/** Why a record is not what it should be. */
export interface Mismatch {
  /** Path in the record or its sealed sections, such as `allocation.treatment`, `seals.draw` or `revision`. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
  readonly why: string;
}

/** Where a record stands. What the record says of itself is absent where it cannot be read. */
export interface EventName {
  readonly revision: number;
  readonly id?: string;
  readonly type?: string;
  readonly participant?: string;
}

/** The first record of a stream that cannot stand there as it does. */
export interface Divergence extends EventName, Mismatch {
  /** Further fields of the same event that differ. */
  readonly alsoDiffer: readonly string[];
}

export type WarningCode =
  | 'clock-stepped-back'
  | 'keys-not-judged'
  | 'revoked-key-used'
  | 'expired-key-used'
  | 'older-than-access'
  | 'id-of-another-time'
  | 'weak-seed'
  | 'look-alike-ids'
  | 'id-not-matching'
  | 'id-not-compared'
  | 'recovered'
  | 'moved'
  | 'two-histories-signed';

export interface Warning {
  readonly code: WarningCode;
  /** How often. */
  readonly count: number;
  /** Of the first time. */
  readonly revision?: number;
  readonly text: string;
}

/** A checkpoint that was given, by the file and line that it begins on. */
export interface CheckpointName {
  readonly where: string;
  readonly size: number;
}

/** A given checkpoint that the stream does not agree with. */
export interface FailedCheckpoint extends CheckpointName {
  /**
   * `other-root`: so many records stand there, but they are not those that were signed. `missing-tail`: the stream is
   * shorter. `gap`: a record before this size is missing, so that there is no tree to compare with.
   */
  readonly because: 'other-root' | 'missing-tail' | 'gap';
  /** Base64. */
  readonly signedRoot: string;
  /** Base64; of `other-root` alone. */
  readonly root?: string;
}

/** A given checkpoint of records that are gone, since the log was restored from a backup and recovered. */
export interface LostCheckpoint extends CheckpointName {
  /** Number of the recovery. */
  readonly recovery: number;
  /** Records that were there when it was declared. */
  readonly kept: number;
  /** `undeclared-loss`: the recovery declares that less had been signed, or something else. */
  readonly because: 'declared-loss' | 'undeclared-loss';
}

/** How a stream compares with the given checkpoints that are its own. Sizes and revisions: size n covers 0 to n - 1. */
export interface StreamEvidence {
  /** Those that were kept elsewhere, as are all that do not come with a bundle. */
  readonly matching: number;
  /** The largest size at which a checkpoint matches; 0: none does. */
  readonly matchingSize: number;
  /** Matching checkpoints that came with the bundle: signed, but perhaps today, of records that were rewritten before. */
  readonly cameAlong?: { readonly matching: number; readonly matchingSize: number };
  /** What the log noted itself of what it signed last (the file last-checkpoints): it belongs to the operator. */
  readonly lastSigned?: {
    readonly matching: number;
    readonly matchingSize: number;
    /** These count in `failing`, too. */
    readonly failing: number;
  };
  readonly failing: number;
  /** Those of the smallest sizes, in ascending order. */
  readonly failed: readonly FailedCheckpoint[];
  /** Between which sizes the signed history and this one part. */
  readonly rewritten?: { readonly afterSize: number; readonly upToSize: number };
  /** The signer has signed more records than there are. */
  readonly tailCutOff?: { readonly size: number; readonly signedSize: number };
  /** Given checkpoints of records that a recovery declares lost: a failure each, but no rewrite. */
  readonly lost: readonly LostCheckpoint[];
  /** Revisions that no matching checkpoint covers which was kept elsewhere. */
  readonly uncovered?: { readonly from: number; readonly to: number };
}

export interface StreamReport {
  readonly stream: string;
  /** Name of the study, as its registration says. */
  readonly study?: string;
  readonly sound: boolean;
  readonly records: number;
  /** Of a study. */
  readonly participants?: number;
  /** Base64 of the Merkle root over all records; absent where a revision is missing. */
  readonly root?: string;
  readonly divergence?: Divergence;
  /** Records from the divergence on that were not decided again. */
  readonly notReplayed: number;
  /** Records of which a bundle tells their place alone. */
  readonly withheld?: number;
  readonly evidence: StreamEvidence;
  readonly warnings: readonly Warning[];
}

/** A given checkpoint that could not be compared with any verified stream. */
export interface UnusedCheckpoint {
  readonly where: string;
  /** As it says itself. */
  readonly origin: string;
  readonly size: number;
  /**
   * `forged`: it bears the name of a trusted key that did not sign it. `not-trusted`: no trusted key signed it.
   * `other-log`: another log's. `other-recovery`: of a recovery that this log does not record. `no-such-stream`: of a
   * stream that this log does not have. `declared-loss`: of such a stream, and a recovery declares it lost. `not-asked-for`: of a stream that was not to be verified; no failure.
   */
  readonly because:
    | 'forged'
    | 'not-trusted'
    | 'other-log'
    | 'other-recovery'
    | 'no-such-stream'
    | 'declared-loss'
    | 'not-asked-for';
}

/** What is to be said of a bundle beside its records. */
export interface BundleReport {
  readonly content: Content;
  /** Why no draw was decided again; absent when they were. */
  readonly notReplayed?: string;
  /** What cannot be known, because it is withheld. */
  readonly notKnown: readonly string[];
  /** Files that are not what the manifest, or the records, say. */
  readonly files: readonly FileProblem[];
}

export interface FileProblem {
  readonly path: string;
  readonly why: string;
}

/** How the database differs from the one that this program makes. */
export interface StoreFindings {
  /** A failure each: what was read may not be what others read. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

export interface Report {
  /** No failure. It says nothing about what no matching checkpoint under a trusted key covers. */
  readonly ok: boolean;
  /**
   * True unless at least one checkpoint that was kept elsewhere matches, under a key that was given as trusted: until
   * then the history agrees with itself and with nothing else, as would any history that was written anew.
   */
  readonly selfConsistentOnly: boolean;
  readonly log:
    | {
        readonly id: string;
        readonly name: string;
        /** The first key; `laterKeys` are those that it endorsed, directly or through others. */
        readonly publicKey: string;
        readonly laterKeys: readonly string[];
        readonly recoveries: readonly {
          readonly recovery: number;
          readonly at: string;
          readonly reason: string;
        }[];
      }
    | undefined;
  /** Verifier keys that were given as trusted; empty: the log's own key stood in for them. */
  readonly trusted: readonly string[];
  /** The log's own key is none of the trusted ones. */
  readonly untrustedKey: boolean;
  /** `log`, `access`, then the studies. */
  readonly streams: readonly StreamReport[];
  readonly unusedCheckpoints: readonly UnusedCheckpoint[];
  /**
   * Present when checkpoints of other studies were given, and none of a study that was verified: what they are of. A
   * failure, since the study may have been put in the place of another one.
   */
  readonly othersOnly?: readonly { readonly origin: string; readonly checkpoints: number }[];
  /** The id of a study that had to be found, and was not. A failure. */
  readonly missingStudyId?: string;
  /** Present when the data folder says what the log signed last. */
  readonly lastCheckpoints?: { readonly file: string; readonly agree: boolean };
  /** What the records stand in, apart from the records; absent where nothing can be said of it. */
  readonly store?: StoreFindings;
  /** Present when it is one. */
  readonly bundle?: BundleReport;
  readonly seconds: number;
}
