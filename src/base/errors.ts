/** The errors that people are told of, in terms of the domain. What they are to whoever asked over HTTP is in refusals.ts. */

/** What was asked for cannot be done, because of the log or its store. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: DomainErrorCode;
  constructor(code: DomainErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export type DomainErrorCode =
  | 'overloaded' // too many commands are waiting
  | 'unavailable' // the log does not answer, or has no space left
  | 'halted' // a stream holds something this build cannot understand
  | 'moved' // the log continues in another store
  | 'rolled-back' // the log does not extend what it has signed
  | 'endangered' // the store may remove records of the stream
  | 'identity'; // the log, its key and what was asked for do not belong together

/** A key has used up its budget for now. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError';
  /** Time until the budget renews, in ms. */
  readonly renewsInMs: number;
  constructor(message: string, renewsInMs: number) {
    super(message);
    this.renewsInMs = renewsInMs;
  }
}

/** A stored record is not what it claims to be. The message never quotes the record's contents. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
  readonly fault: RecordFault;
  constructor(fault: RecordFault, where: string, why: string) {
    super(`${where}: ${why}`);
    this.fault = fault;
  }
}

export type RecordFault = 'unknown-type' | 'malformed' | 'leaf-mismatch' | 'seal-mismatch' | 'misplaced';
