/** Why a log is not moved, or a move is not given up. The message says what to do. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
  /** `differs`: the two stores differ. `refused`: not done for another reason. */
  readonly kind: 'differs' | 'refused';
  constructor(kind: 'differs' | 'refused', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export function refused(message: string): MoveError {
  return new MoveError('refused', message);
}

export function differs(stream: string, revision: number, why: string): MoveError {
  return new MoveError(
    'differs',
    `${stream}, revision ${revision}: ${why} (hint: nothing more is copied to this target; find out who wrote to it or changed it, and begin with a fresh one)`,
  );
}
