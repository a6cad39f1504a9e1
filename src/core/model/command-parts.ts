/** What many commands share. */

/** A command that a client may repeat. */
export interface Repeatable {
  /** The user who asks. Different users can use the same idempotency key without a clash. */
  readonly user: string;
  readonly idempotencyKey?: string | undefined;
}

/** A command with an id or levels that the submitter has compared with the design. */
export interface JudgedByDesign {
  /** Number of the last amendment of that design. The command is refused if there has been another since. */
  readonly amendment?: number | undefined;
}
