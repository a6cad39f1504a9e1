/**
 * The findings of a verification, from the whole report down to a single record or checkpoint. The report is for auditors:
 * `expected` and `found` can name treatments and states.
 */
import { z } from 'zod';
import type { Content } from '../../../../events/record.ts';
import { LIFE_SCHEMAS } from '../../../core/model/life.ts';
import { STATUSES } from '../../../core/model/outcomes.ts';
import { STEERING_SETTINGS } from '../../../core/study/steering.ts';

export interface Report {
  /** Nothing failed. This says nothing about records that no matching checkpoint with a trusted signature covers. */
  readonly ok: boolean;
  /**
   * True unless at least one checkpoint that was kept elsewhere matches and is signed by a key given as trusted. As long as
   * it is true, the history agrees only with itself, as a rewritten one would.
   */
  readonly selfConsistentOnly: boolean;
  readonly log:
    | {
        readonly id: string;
        readonly name: string;
        /** The first key. It endorsed `laterKeys`, directly or through others. */
        readonly publicKey: string;
        readonly laterKeys: readonly string[];
        readonly recoveries: readonly {
          readonly recovery: number;
          readonly at: string;
          readonly reason: string;
        }[];
      }
    | undefined;
  /** The verifier keys given as trusted. If empty, the log's own keys were used. */
  readonly trusted: readonly string[];
  /** The log's own key is not one of the trusted keys. */
  readonly untrustedKey: boolean;
  /** `log`, `access`, then the studies. */
  readonly streams: readonly StreamReport[];
  readonly unusedCheckpoints: readonly UnusedCheckpoint[];
  /**
   * Present when checkpoints of other studies were given, and none of a verified study. Says what they are of. This is a
   * failure, because the study may have been put in the place of another one.
   */
  readonly othersOnly?: readonly { readonly origin: string; readonly checkpoints: number }[];
  /** The id of a study that had to be there and is not. A failure. */
  readonly missingStudyId?: string;
  /** Present when the data folder says what the log signed last. */
  readonly lastCheckpoints?: { readonly file: string; readonly agree: boolean };
  /** Findings about the database itself. Absent when the source is not a database. */
  readonly store?: StoreFindings;
  /** Present when a bundle was verified. */
  readonly bundle?: BundleReport;
  readonly seconds: number;
}

export interface StreamReport {
  readonly stream: string;
  /** Name of the study, according to its registration. */
  readonly study?: string;
  readonly sound: boolean;
  readonly records: number;
  /** Only for a study. */
  readonly participants?: number;
  /** Only for a study, as far as it was decided again. */
  readonly life?: LifeReport;
  /** Base64 of the Merkle root over all records. Absent when a revision is missing. */
  readonly root?: string;
  readonly divergence?: Divergence;
  /** Records from the divergence on that were not decided again. */
  readonly notReplayed: number;
  /** Records of which a bundle contains only the place. */
  readonly withheld?: number;
  readonly evidence: StreamEvidence;
  readonly warnings: readonly Warning[];
}

const SecondDraws = z.strictObject({
  user: z.string().meta({ description: 'Who randomized the first participant of each draw' }),
  draws: z
    .array(
      z.strictObject({
        participant: z.string(),
        revision: z.int().meta({ description: 'Of the voiding' }),
        voidedBy: z.string(),
        next: z.string().meta({ description: 'The participant with the same levels' }),
        nextBy: z.string(),
      }),
    )
    .readonly(),
  differed: z.int().optional().meta({ description: 'How often the two arms differed; absent if withheld' }),
  kept: z
    .array(z.strictObject({ treatment: z.string(), count: z.int() }))
    .readonly()
    .optional()
    .meta({ description: 'The arms of those of the two who are not voided; absent if withheld' }),
});

const UndoneAmendment = z.strictObject({
  setting: z.enum(STEERING_SETTINGS),
  ...{ amendment: z.int(), by: z.string(), undoneWith: z.int(), undoneBy: z.string() },
  randomized: z.array(z.string()).readonly().meta({ description: 'Participants, in between' }),
});

/** What happened in a study besides its allocations. What did not happen is left out. */
export const LifeReport = z.strictObject({
  state: z.enum(STATUSES).meta({ description: 'After the last sound record' }),
  method: z.string().optional().meta({ description: 'The method of allocation; absent: the urn' }),
  certain: z.int().optional().meta({
    description:
      'Draws in which only one arm was possible. Absent for the urn, and where the draws are withheld',
  }),
  ...LIFE_SCHEMAS,
  secondDraws: z.array(SecondDraws).readonly().optional().meta({
    description:
      'By user: participants who were voided, if somebody with the same levels was randomized within 24 hours after them, or after the voiding',
  }),
  undoneAmendments: z.array(UndoneAmendment).readonly().optional().meta({
    description: 'Amendments of what decides the arm that were undone after five randomizations or fewer',
  }),
});
export type LifeReport = z.infer<typeof LifeReport>;

/** The first record of a stream that is not what it should be. */
export interface Divergence extends EventName, Mismatch {
  /** Other fields of the same event that differ. */
  readonly alsoDiffer: readonly string[];
}

/** Why a record is not what it should be. */
export interface Mismatch {
  /** Path in the record or its sealed sections, for example `allocation.treatment`, `seals.draw` or `revision`. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
  readonly why: string;
}

/** Where a record is, and what it says about itself, as far as it can be read. */
export interface EventName {
  readonly revision: number;
  readonly id?: string;
  readonly type?: string;
  readonly participant?: string;
}

/** How a stream compares with its given checkpoints. Size n covers revisions 0 to n - 1. */
export interface StreamEvidence {
  /** Matching checkpoints that were kept elsewhere. */
  readonly matching: number;
  /** The largest size at which one of them matches; 0 if none does. */
  readonly matchingSize: number;
  /**
   * Matching checkpoints that came with the bundle: signed, but perhaps today, of records that were rewritten before.
   */
  readonly cameAlong?: { readonly matching: number; readonly matchingSize: number };
  /** The checkpoints that the log saved itself, in the file last-checkpoints, which belongs to the operator. */
  readonly lastSigned?: {
    readonly matching: number;
    readonly matchingSize: number;
    /** Also counted in `failing`. */
    readonly failing: number;
  };
  readonly failing: number;
  /** The ones with the smallest sizes, in ascending order. */
  readonly failed: readonly FailedCheckpoint[];
  /** The sizes between which this history begins to differ from the signed one. */
  readonly rewritten?: { readonly afterSize: number; readonly upToSize: number };
  /** More records were signed than there are. */
  readonly tailCutOff?: { readonly size: number; readonly signedSize: number };
  /** Given checkpoints of records that a recovery declares lost. Each is a failure, but not a sign of rewriting. */
  readonly lost: readonly LostCheckpoint[];
  /** Revisions not covered by a matching checkpoint that was kept elsewhere. */
  readonly uncovered?: { readonly from: number; readonly to: number };
}

/** A given checkpoint that does not match the stream. */
export interface FailedCheckpoint extends CheckpointName {
  /**
   * `other-root`: there are enough records, but they are not the signed ones. `missing-tail`: the stream is shorter.
   * `gap`: a record before this size is missing, so there is no tree to compare with.
   */
  readonly because: 'other-root' | 'missing-tail' | 'gap';
  /** Base64. */
  readonly signedRoot: string;
  /** Base64. Only for `other-root`. */
  readonly root?: string;
}

/** A given checkpoint of records that are gone because the log was restored from a backup and recovered. */
export interface LostCheckpoint extends CheckpointName {
  /** Number of the recovery. */
  readonly recovery: number;
  /** How many records there were when the recovery was declared. */
  readonly kept: number;
  /** `undeclared-loss`: the recovery declares that fewer records, or others, had been signed. */
  readonly because: 'declared-loss' | 'undeclared-loss';
}

/** A given checkpoint, identified by the file and line where it begins. */
export interface CheckpointName {
  readonly where: string;
  readonly size: number;
}

export interface Warning {
  readonly code: WarningCode;
  /** How many times it occurred. */
  readonly count: number;
  /** Where it occurred first. */
  readonly revision?: number;
  readonly text: string;
}

type WarningCode =
  | 'clock-stepped-back'
  | 'keys-not-judged'
  | 'revoked-key-used'
  | 'expired-key-used'
  | 'older-than-access'
  | 'id-of-another-time'
  | 'id-in-upper-case'
  | 'text-refused-by-http'
  | 'weak-seed'
  | 'seed-shared'
  | 'look-alike-ids'
  | 'recovered'
  | 'revealed'
  | 'revealed-in-emergency'
  | 'recorded-late'
  | 'imported-unproven'
  | 'list-origin-unknown'
  | 'generator-known-elsewhere'
  | 'voided'
  | 'forced'
  | 'entered-late'
  | 'counts-removed'
  | 'corrected-after-reveal'
  | 'changed-after-closing'
  | 'dispensed-after-reveal'
  | 'undeclared-visit'
  | 'unblinding-reported'
  | 'approval-asserted'
  | 'moved'
  | 'two-histories-signed';

/** Things worth a look that may be in order. They are counted by code and described once, so reports stay short. */
export class Warnings {
  readonly #byCode = new Map<WarningCode, Warning>();

  add(code: WarningCode, text: string, revision?: number): void {
    const first = this.#byCode.get(code);
    const warning = first ?? { code, count: 0, text, ...(revision !== undefined && { revision }) };
    this.#byCode.set(code, { ...warning, count: warning.count + 1 });
  }

  list(): Warning[] {
    return [...this.#byCode.values()];
  }
}

/** A given checkpoint that could not be compared with any verified stream. */
export interface UnusedCheckpoint {
  readonly where: string;
  /** As the checkpoint says. */
  readonly origin: string;
  readonly size: number;
  /**
   * `forged`: it names a trusted key that did not sign it. `not-trusted`: no trusted key signed it. `other-log`: it is of
   * another log. `other-recovery`: it is of a recovery that this log does not record. `no-such-stream`: it is of a stream
   * that this log does not have. `declared-loss`: it is of such a stream, and a recovery declares that stream lost.
   * `not-asked-for`: it is of a stream that was not to be verified, which is not a failure.
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

/** How the database differs from one made by this program. */
export interface StoreFindings {
  /** Each is a failure: other readers of the database may see something else. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The findings about a bundle, apart from its records. */
export interface BundleReport {
  readonly content: Content;
  /** Why the draws were not decided again. Absent when they were. */
  readonly notReplayed?: string;
  /** What cannot be known because it is withheld. */
  readonly notKnown: readonly string[];
  /** Files that do not agree with the manifest or the records. */
  readonly files: readonly FileProblem[];
}

export interface FileProblem {
  readonly path: string;
  readonly why: string;
}
