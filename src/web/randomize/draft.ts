/** A participant to be randomized. */
export interface Draft {
  readonly study: string;
  readonly id: string;
  /** By the names of the factors, which may be anything: a plain object would confuse some with its own members. */
  readonly levels: ReadonlyMap<string, string>;
}
