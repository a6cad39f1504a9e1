/** Why a log cannot be moved, or a move cannot be given up. The message says what to do. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
  /** `differs`: the two stores differ. `refused`: not done for another reason. */
  readonly kind: 'differs' | 'refused';
  constructor(kind: 'differs' | 'refused', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
