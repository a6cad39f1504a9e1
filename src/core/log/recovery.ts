/**
 * Recovers a log that was restored from a backup, or was moved to a store that was lost. Records that are missing here are
 * gone for good, so the loss is declared: LogRecovered says, per stream, how many records there are and how many are known
 * to have been signed. Then each study's generator is restarted with fresh entropy, because the old one would draw the lost
 * allocations again.
 *
 * This applies to every study, not only to those known to have lost records: the newest checkpoints are saved about once
 * a second, so any study can have lost more than is known.
 */
import type { RecoveredStream } from '../../../events/log.ts';
import type { Actor } from '../../../events/record.ts';
import { lastRecovery, logHistory } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../base/errors.ts';
import { isLater, recoveryCovering, type SignedState } from './last-checkpoints.ts';
import type { Ledger } from './ledger.ts';
import { LOG_STREAM, type LogWriter } from './log-stream.ts';

/** What a recovery would declare. */
export interface Loss {
  readonly recovery: number;
  /** Every stream that the log has or is known to have signed. */
  readonly streams: readonly RecoveredStream[];
  /** Those that are known to lack records. */
  readonly lost: readonly RecoveredStream[];
}

/**
 * Compares a log with what it is known to have signed. The whole log must be folded.
 * @throws DomainError `halted` for a stream that cannot be read; `rolled-back` for a stream whose records are not the
 *   signed ones: nothing was lost there, something was changed
 */
export function findLoss(runner: Runner, ledger: Ledger, signed: readonly SignedState[]): Loss {
  const history = runner.state(logHistory, LOG_STREAM);
  const newest = new Map<string, SignedState>();
  const lacking = new Set<string>();
  for (const state of signed) {
    const before = newest.get(state.stream);
    if (!before || isLater(state, before)) newest.set(state.stream, state);
    if (recoveryCovering(history.recoveries, state)) continue;
    const tree = ledger.tree(state.stream);
    if (tree.size < state.size) lacking.add(state.stream);
    else if (Buffer.compare(tree.root(state.size), state.root) !== 0)
      throw new DomainError(
        'rolled-back',
        `${state.stream} holds other records than the ${state.size} that the log signed: this is not a loss of the newest records and cannot be declared as one (hint: restore a backup that was made before the records were changed, and find the first change with urn verify --checkpoint)`,
      );
  }
  const names = [...new Set([...runner.streams(), ...newest.keys()])].sort();
  const streams = names.map((stream) => {
    const halted = runner.halted(stream);
    if (halted)
      throw new DomainError(
        'halted',
        `${stream} cannot be read completely: ${halted.message} (hint: restore a backup in which it can; a loss can be declared only for a sound log)`,
      );
    return recovered(stream, ledger.tree(stream).size, newest.get(stream));
  });
  // Not with Math.max: there can be more receipts than a call may have arguments.
  const last = signed.reduce((most, { recovery }) => Math.max(most, recovery), lastRecovery(history));
  return {
    recovery: last + 1,
    streams,
    lost: streams.filter(({ stream }) => lacking.has(stream)),
  };
}

function recovered(stream: string, kept: number, signed: SignedState | undefined): RecoveredStream {
  if (!signed) return { stream, kept };
  const { recovery, size, root } = signed;
  return { stream, kept, signed: { recovery, size, root: Buffer.from(root).toString('base64') } };
}

/**
 * Declares a loss in the log.
 * @throws DomainError `unavailable`; `rolled-back` when the stream `log` went on in the meantime
 */
export async function declareLoss(
  writer: LogWriter,
  { recovery, streams }: Loss,
  reason: string,
  actor: Actor,
): Promise<void> {
  const { outcome } = await writer.submit({ type: 'recover', reason, recovery, streams }, actor);
  if (outcome.type === 'overtaken')
    throw new DomainError(
      'rolled-back',
      'the log was recovered, moved or given another key by somebody else just now (hint: urn recover again, if anything is still missing)',
    );
}
