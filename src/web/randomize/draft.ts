/** A participant who is to be randomized. */
export interface Draft {
  readonly study: string;
  readonly id: string;
  /** By the names of the factors, which may be any: a plain object would confuse some with its own. */
  readonly levels: ReadonlyMap<string, string>;
}
