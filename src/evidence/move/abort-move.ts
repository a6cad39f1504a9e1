/**
 * Giving up a move. CopyAborted in the target's `log`, at the exact revision after LogMoved, rules out LogArrived for good.
 * Only then is the source opened again. The abort can be cut off at any point, and repeated.
 */
import type { Actor } from '../../../events/record.ts';
import type { Tools } from '../../base/tools.ts';
import { LOG_STREAM } from '../../core/log/log-writer.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { commonLength, ends, expectDirection, logRecords, moveIn } from './log-stream.ts';
import { MoveError } from './move-error.ts';
import { inGroups } from './move-log.ts';
import { Side } from './side.ts';

export interface AbortParts {
  readonly source: EventStore;
  readonly target: EventStore;
  readonly logId: string;
  /** The source, for people: without credentials. */
  readonly from: string;
  readonly reason?: string | undefined;
  readonly actor: Actor;
  readonly tools: Tools;
}

export interface Aborted {
  readonly move: string;
  /** Streams of the source that this run has opened again. */
  readonly reopened: readonly string[];
}

/** @throws MoveError if there is nothing to give up here, or the move is done; StoreError, DomainError */
export async function abortMove(parts: AbortParts): Promise<Aborted> {
  const { actor, tools, logId, from, reason } = parts;
  const there = await logRecords(parts.target);
  const { move, wasTaken } = moveToAbort(await logRecords(parts.source), there, from);
  const target = new Side({ name: 'target', store: parts.target, logId, actor, tools });
  const source = new Side({ name: 'source', store: parts.source, logId, actor, tools });
  await target.read();
  await source.read();
  if (wasTaken) expectCopy(source, target);
  if ((await target.submit(LOG_STREAM, { type: 'abort', move, reason })) !== 'done') throw alreadyArrived();

  const reopened = new Set<string>();
  for (;;) {
    await source.read();
    const closed = source.streams().filter((stream) => {
      const movement = source.movement(stream);
      return movement.status === 'closed' && movement.move === move;
    });
    if (closed.length === 0) return { move, reopened: [...reopened] };
    // The stream `log` first: it says what has become of the move.
    const [first, others] = [
      closed.filter((name) => name === LOG_STREAM),
      closed.filter((name) => name !== LOG_STREAM),
    ];
    for (const streams of [first, others])
      await inGroups(streams, async (stream) => {
        await source.submit(stream, { type: 'reopen', move });
        reopened.add(stream);
      });
  }
}

/** @throws MoveError unless the target's last move began with this source, and has not arrived */
function moveToAbort(here: readonly StoredRecord[], there: readonly StoredRecord[], from: string) {
  const common = commonLength(here, there);
  const last = there.findLastIndex((stored) => moveIn(stored) !== undefined);
  const begun = moveIn(there[last]);
  const elsewhere = moveIn(here.at(-1));
  if (!begun || last < common - 1 || last > common) {
    const hint =
      elsewhere && common < here.length
        ? `the log was moved to another store: ${elsewhere.to}; give the move up there`
        : 'nothing was closed; an urn copy that is still running can close it, so end that first';
    throw new MoveError('refused', `no move of this source was begun in this target (hint: ${hint})`);
  }
  expectDirection(begun, from);
  if (ends(there[last + 1], 'LogArrived')) throw alreadyArrived();
  const wasTaken = common === last + 1;
  const next = here[last + 1];
  if (wasTaken && next && !ends(next, 'LogReopened')) throw alreadyArrived();
  return { move: begun.move, wasTaken };
}

/**
 * Until the log arrives, a target holds nothing that the source does not. With the two stores confused, the complete one
 * would be closed for good, and the one that lacks records would be opened.
 */
function expectCopy(source: Side, target: Side): void {
  if (target.movement(LOG_STREAM).status !== 'closed') return;
  const more = target.streams().find((stream) => target.size(stream) > source.size(stream));
  if (more !== undefined)
    throw new MoveError(
      'refused',
      `the target holds records of ${more} that the source does not have, so it is not a copy of it (hint: are --from and --to the other way round? If the source was restored from a backup, recover it with --not-moved)`,
    );
}

function alreadyArrived(): MoveError {
  return new MoveError(
    'refused',
    'the log has arrived in the target and continues there: this move can no longer be given up (hint: to come back, move it again to a fresh store)',
  );
}
