/** The domain's errors. HTTP numbers are the business of src/http alone. */
export type DomainErrorCode =
  | 'overloaded' // more is waiting than may wait
  | 'unavailable' // the log does not answer, or has no room
  | 'halted' // a stream holds something this build cannot understand
  | 'moved' // the log goes on in another store
  | 'rolled-back' // the log does not extend what it has signed
  | 'endangered' // the store may remove records of the stream
  | 'identity'; // the log, its key and what was asked for do not belong together

export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: DomainErrorCode;
  constructor(code: DomainErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** A key has used up what it may do for now. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError';
  /** How long until it may again, in ms. */
  readonly renewsInMs: number;
  constructor(message: string, renewsInMs: number) {
    super(message);
    this.renewsInMs = renewsInMs;
  }
}
