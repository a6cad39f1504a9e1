/** The commands of a study. Their form has been checked already; `decide` judges them against the study's state. */
import type { SignedSize } from '../../events/log.ts';
import type { StudyConfiguration } from '../../events/study.ts';

export interface Register {
  readonly type: 'register';
  readonly studyId: string;
  readonly configuration: StudyConfiguration;
  readonly seed: bigint;
  readonly seedSource: 'configured' | 'drawn';
}

export interface Randomize {
  readonly type: 'randomize';
  readonly participantId: string;
  /** One level per factor, in the order of the configuration. */
  readonly levels: readonly string[];
  /** The user who asks. Different users can use the same idempotency key without a clash. */
  readonly user: string;
  readonly idempotencyKey?: string | undefined;
  /** Set when this process enrols nobody in the study because its studies file differs from the registration. */
  readonly suspended?: boolean;
}

export interface Pause {
  readonly type: 'pause';
  readonly reason: string;
}

export interface Resume {
  readonly type: 'resume';
  readonly reason: string;
}

/** The log was restored from a backup: the generator continues with fresh entropy. */
export interface Recover {
  readonly type: 'recover';
  readonly recovery: number;
  readonly kept: number;
  readonly signed?: SignedSize | undefined;
  readonly seed: bigint;
}

export type StudyCommand = Register | Randomize | Pause | Resume | Recover;

export type StudyOutcome =
  | { readonly type: 'registered' | 'already-registered' | 'not-registered' }
  | { readonly type: 'recovered' | 'already-recovered' }
  | { readonly type: 'paused' | 'already-paused' | 'resumed' | 'not-paused' }
  | { readonly type: 'randomized'; readonly participantId: string }
  /** The same request with the same idempotency key gets the same answer. */
  | { readonly type: 'repeated'; readonly participantId: string }
  /** The idempotency key belongs to another request. */
  | { readonly type: 'idempotency-key-reused' }
  /** The id is taken. `differingFactors` is empty when that participant has the same levels. */
  | {
      readonly type: 'duplicate';
      readonly participantId: string;
      readonly differingFactors: readonly string[];
    }
  | { readonly type: 'refused'; readonly because: 'paused' | 'suspended' };
