/** Why a log cannot be moved, or a move not given up. The message says what to do. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
  /** `differs`: the two stores do not hold the same. `refused`: it is not done, for another reason. */
  readonly kind: 'differs' | 'refused';
  constructor(kind: 'differs' | 'refused', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
