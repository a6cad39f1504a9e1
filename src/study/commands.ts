/** What can be asked of a study. Everything here has been checked for form; `decide` judges it against the state. */
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
  /** The user who asks: idempotency keys of different users never meet. */
  readonly user: string;
  readonly idempotencyKey?: string | undefined;
  /** Set when this process takes no new participants of the study, because its studies file says something else. */
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

/** The log was restored from a backup: the generator goes on with fresh entropy. */
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
  /** The same request under the same idempotency key: answered again. */
  | { readonly type: 'repeated'; readonly participantId: string }
  /** The idempotency key belongs to another request. */
  | { readonly type: 'idempotency-key-reused' }
  /** The id is taken. Empty `differingFactors`: by a participant of the same levels. */
  | {
      readonly type: 'duplicate';
      readonly participantId: string;
      readonly differingFactors: readonly string[];
    }
  | { readonly type: 'refused'; readonly because: 'paused' | 'suspended' };
