/**
 * Closing the stream `log`, with which a move begins.
 *
 * The record LogMoved is made once, and appended to the target first: in one piece with all of `log` before it. Until then the
 * target holds no log that could be opened, and from then on one that is closed. Behind it the identical record closes the
 * source. No copier ever copies it from there. So of all stores only the one that the move was begun with holds it, and a
 * second target is told from it, whatever crashed in between.
 */
import { type Actor, encodeRecord, type RecordBytes } from '../../events/record.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { EventStore, StoredRecord } from '../store/event-store.ts';
import type { WriterTools } from '../write/writer.ts';
import { appendAsTheyAre } from './append.ts';
import { commonLength, ends, expectDirection, logRecords, moveIn } from './log-stream.ts';
import { CopyError } from './move-error.ts';
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
  readonly tools: WriterTools;
}

interface MoveRecord {
  readonly id: string;
  readonly record: RecordBytes;
}

/** What the two streams `log` say of a move of this source to this target. */
export type Standing =
  | { readonly type: 'none' }
  /** In the target alone: a copier was cut off between the two. */
  | { readonly type: 'begun'; readonly move: MoveRecord }
  | { readonly type: 'closed'; readonly move: string }
  | { readonly type: 'arrived'; readonly move: string };

/**
 * @param from the source, for people
 * @throws CopyError when the source is moved elsewhere, or this target can take no move of it any more
 */
export async function standingOf(source: EventStore, target: EventStore, from: string): Promise<Standing> {
  const { standing } = await readStanding(source, target, from);
  return standing;
}

/**
 * Begins the move, or finds the one that was begun.
 * @returns its id
 * @throws CopyError as `standingOf`; StoreError
 */
export async function beginMove({ source, target, ...parts }: BeginParts): Promise<string> {
  for (;;) {
    const { standing, here } = await readStanding(source, target, parts.from);
    if (standing.type === 'closed' || standing.type === 'arrived') return standing.move;
    const move = standing.type === 'begun' ? standing.move : newMove(parts, here.length);
    // In one append: at no moment is the target a log that is open.
    const begun = standing.type === 'begun' || (await isWritten(target, 0, [...here, move.record]));
    if (begun && (await isWritten(source, here.length, [move.record]))) return move.id;
    // Somebody else was faster.
  }
}

async function readStanding(source: EventStore, target: EventStore, from: string) {
  // The target first: what it holds, the source has had when it was read.
  const there = await logRecords(target);
  const here = await logRecords(source);
  return { standing: judge(here, there, from), here };
}

function judge(here: readonly StoredRecord[], there: readonly StoredRecord[], from: string): Standing {
  const common = commonLength(here, there);
  if (ends(here.at(-1), 'CopyAborted'))
    throw new CopyError(
      'refused',
      'the source is itself a copy that was given up (hint: the log goes on where it was copied from)',
    );
  const closed = moveIn(here.at(-1));
  if (closed) {
    expectDirection(closed, from);
    if (common < here.length) throw elsewhere(closed.to);
    const next = there[here.length];
    if (ends(next, 'CopyAborted')) throw givenUp(here.length);
    return { type: ends(next, 'LogArrived') ? 'arrived' : 'closed', move: closed.move };
  }
  const first = there[common];
  if (!first) {
    // A process that had that log open could go on with it as soon as a stream of it is no longer closed.
    if (there.length > 0)
      throw new CopyError(
        'refused',
        'the target holds this log already, as a copy of its files or because the log was moved from there (hint: begin with a fresh target)',
      );
    return { type: 'none' };
  }
  if (ends(first, 'CopyAborted')) throw givenUp(common);
  const begun = moveIn(first);
  if (!begun) throw differs(LOG_STREAM, common, 'the target holds another record than the source');
  if (ends(there[common + 1], 'CopyAborted')) throw givenUp(common + 1);
  if (common < here.length || there.length > common + 1)
    throw new CopyError(
      'refused',
      'a move was begun in this target that the source never took, because its log went on or was moved elsewhere (hint: this target is void; begin with a fresh one)',
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
  const { type } = await appendAsTheyAre(store, LOG_STREAM, from - 1, records);
  return type === 'written';
}

function elsewhere(to: string): CopyError {
  return new CopyError(
    'refused',
    `the log is moved to another store: ${to} (hint: finish it there, or give it up there first with urn copy --abort --to THAT-STORE)`,
  );
}

function givenUp(revision: number): CopyError {
  return new CopyError(
    'refused',
    `this move was given up: the target has CopyAborted at revision ${revision} of log (hint: finish that with urn copy --abort, then begin with a fresh target)`,
  );
}
