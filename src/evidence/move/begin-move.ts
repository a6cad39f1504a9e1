/**
 * A move begins by closing the stream `log`.
 *
 * The record LogMoved is made once and appended to the target first, in one append with all of `log` before it. Until then
 * the target holds no log that could be opened; from then on it holds a closed one. Then the identical record closes the
 * source. It is never copied from the source. So the only target that holds it is the one that the move began with, and
 * any other target can be recognized, whatever crashed in between.
 */
import { type Actor, encodeRecord, type RecordBytes } from '../../../events/record.ts';
import type { Tools } from '../../base/tools.ts';
import { LOG_STREAM } from '../../core/log/log-writer.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { appendUnchanged } from './append.ts';
import { commonLength, ends, expectDirection, logRecords, moveIn } from './log-stream.ts';
import { MoveError } from './move-error.ts';
import { differs } from './mover.ts';

export interface BeginParts {
  readonly source: EventStore;
  readonly target: EventStore;
  readonly logId: string;
  /** The stores, for people. */
  readonly from: string;
  readonly to: string;
  readonly reason: string | undefined;
  readonly actor: Actor;
  readonly tools: Tools;
}

interface MoveRecord {
  readonly id: string;
  readonly record: RecordBytes;
}

/** How far a move of this source to this target has come, as the two streams `log` say. */
export type MoveStatus =
  | { readonly type: 'none' }
  /** In the target alone: the mover was cut off before it closed the source. */
  | { readonly type: 'begun'; readonly move: MoveRecord }
  | { readonly type: 'closed'; readonly move: string }
  | { readonly type: 'arrived'; readonly move: string };

/**
 * @param from the source, for people
 * @throws MoveError if the source was moved elsewhere, or no move of it can arrive in this target any more
 */
export async function moveStatus(source: EventStore, target: EventStore, from: string): Promise<MoveStatus> {
  const { status } = await readStatus(source, target, from);
  return status;
}

/**
 * Begins the move, or finds the one that has begun.
 * @returns its id
 * @throws MoveError as `moveStatus`; StoreError
 */
export async function beginMove({ source, target, ...parts }: BeginParts): Promise<string> {
  for (;;) {
    const { status, here } = await readStatus(source, target, parts.from);
    if (status.type === 'closed' || status.type === 'arrived') return status.move;
    const move = status.type === 'begun' ? status.move : newMove(parts, here.length);
    // In one append: the target is never an open log.
    const begun = status.type === 'begun' || (await isWritten(target, 0, [...here, move.record]));
    if (begun && (await isWritten(source, here.length, [move.record]))) return move.id;
    // Somebody else was faster.
  }
}

async function readStatus(source: EventStore, target: EventStore, from: string) {
  // The target first: whatever it holds is in the source by the time the source is read.
  const there = await logRecords(target);
  const here = await logRecords(source);
  return { status: judge(here, there, from), here };
}

function judge(here: readonly StoredRecord[], there: readonly StoredRecord[], from: string): MoveStatus {
  const common = commonLength(here, there);
  if (ends(here.at(-1), 'CopyAborted'))
    throw new MoveError(
      'refused',
      'the source is itself a copy from a move that was given up (hint: the log continues where it was copied from)',
    );
  const closed = moveIn(here.at(-1));
  if (closed) {
    expectDirection(closed, from);
    if (common < here.length) throw movedElsewhere(closed.to);
    const next = there[here.length];
    if (ends(next, 'CopyAborted')) throw givenUp(here.length);
    return { type: ends(next, 'LogArrived') ? 'arrived' : 'closed', move: closed.move };
  }
  const first = there[common];
  if (!first) {
    // A process that has that log open could continue it as soon as one of its streams is no longer closed.
    if (there.length > 0)
      throw new MoveError(
        'refused',
        'the target already holds this log, as a copy of its files or because the log was moved from there (hint: begin with a fresh target)',
      );
    return { type: 'none' };
  }
  if (ends(first, 'CopyAborted')) throw givenUp(common);
  const begun = moveIn(first);
  if (!begun)
    throw differs(LOG_STREAM, common, 'the record in the target differs from the one in the source');
  if (ends(there[common + 1], 'CopyAborted')) throw givenUp(common + 1);
  if (common < here.length || there.length > common + 1)
    throw new MoveError(
      'refused',
      'a move was begun in this target but never took effect in the source, because its log went on or was moved elsewhere (hint: this target is void; begin with a fresh one)',
    );
  return { type: 'begun', move: { id: begun.move, record: first } };
}

function newMove(
  { logId, to, reason, actor, tools }: Omit<BeginParts, 'source' | 'target' | 'from'>,
  revision: number,
): MoveRecord {
  const id = tools.newId();
  const at = tools.now().toISOString();
  const header = { id: tools.newId(), log: logId, stream: LOG_STREAM, revision, at, actor };
  const data = { move: id, to, ...(reason !== undefined && { reason }) };
  return { id, record: encodeRecord(header, { type: 'LogMoved', data, sections: {} }, tools.newSalt) };
}

/** @param from revision of the first */
async function isWritten(store: EventStore, from: number, records: readonly RecordBytes[]): Promise<boolean> {
  const { type } = await appendUnchanged(store, LOG_STREAM, from - 1, records);
  return type === 'written';
}

function movedElsewhere(to: string): MoveError {
  return new MoveError(
    'refused',
    `the log was moved to another store: ${to} (hint: finish that move, or first give it up with urn copy --abort --to THAT-STORE)`,
  );
}

function givenUp(revision: number): MoveError {
  return new MoveError(
    'refused',
    `this move was given up: the target has CopyAborted at revision ${revision} of log (hint: finish that with urn copy --abort, then begin with a fresh target)`,
  );
}
