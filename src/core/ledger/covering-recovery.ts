/** Which of the log's recoveries declared the records of a checkpoint lost. */
import type { RecoveredStream } from '../../../events/log.ts';
import type { Recovery } from '../../../projections/log.ts';

/** A checkpoint, with the stream and the recovery that its origin names. */
export interface SignedState {
  readonly stream: string;
  readonly recovery: number;
  readonly size: number;
  readonly root: Uint8Array;
}

export interface CoveringRecovery {
  readonly recovery: Recovery;
  /** What the recovery says of the stream. */
  readonly of: RecoveredStream;
  /** Whether the recovery knew that this much had been signed. If not, it declares less than was lost. */
  readonly isDeclared: boolean;
}

/**
 * The first recovery after which the signed state can no longer be found. Undefined when no recovery affects it: then the
 * records must still be there as they were signed.
 */
export function recoveryCovering(
  recoveries: readonly Recovery[],
  state: SignedState,
): CoveringRecovery | undefined {
  for (const recovery of recoveries) {
    const of = recovery.streams.get(state.stream);
    if (recovery.recovery <= state.recovery || !of || state.size <= of.kept) continue;
    return { recovery, of, isDeclared: isDeclared(of, state) };
  }
  return undefined;
}

function isDeclared({ signed }: RecoveredStream, state: SignedState): boolean {
  if (!signed) return false;
  // What was signed after an earlier recovery extends whatever that one kept.
  if (signed.recovery !== state.recovery) return signed.recovery > state.recovery;
  if (signed.size !== state.size) return signed.size > state.size;
  return signed.root === Buffer.from(state.root).toString('base64');
}
