/** What a history file holds, before anything of it is understood. */

/** A table of texts. An empty cell and a cell without a value are both undefined. */
export interface SourceTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | undefined)[])[];
  /** The settings that the reference keeps beside the history. */
  readonly settings?: ReadonlyMap<string, string | undefined>;
}

/** Something that keeps the import from beginning: each problem is a sentence. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
