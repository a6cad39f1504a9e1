/**
 * Moving a log to another store (docs/adr/0011-moving-a-log.md). Each step can be cut off at any point; running all of
 * them again finishes the move:
 *
 *   0. copy, while the source is in use, until little is missing;
 *   1. close `log`: in the target, then in the source (begin-move.ts);
 *   2. close every other stream of the source, until none is left open;
 *   3. copy the rest, and compare all of it;
 *   4. LogArrived in the target's `log`, at the exact revision after LogMoved: from here on the log belongs to the target.
 *      Then LogArrived in each other stream.
 */

import type { Actor } from '../../../events/record.ts';
import { secondsSince } from '../../base/seconds-since.ts';
import type { Tools } from '../../base/tools.ts';
import { LOG_STREAM } from '../../core/log/log-writer.ts';
import type { EventStore } from '../../store/event-store.ts';
import { beginMove, moveStatus } from './begin-move.ts';
import { MoveError } from './move-error.ts';
import { Mover } from './mover.ts';
import { Side } from './side.ts';

/** Streams of the source that are closed even if they do not exist: a late service must not begin them. */
const ALWAYS_CLOSED = ['access', 'operations'];
/** So few records are copied in an instant, so the source can be closed. */
const FEW_RECORDS = 250;
/** The source is closed after this many rounds of copying anyway: it may grow faster than it can be copied. */
const MOST_ROUNDS = 20;
/** How many streams are written at the same time. */
const AT_ONCE = 64;

export interface MoveParts {
  readonly source: EventStore;
  readonly target: EventStore;
  readonly logId: string;
  /** The stores, for people: without credentials. */
  readonly from: string;
  readonly to: string;
  readonly reason?: string | undefined;
  readonly actor: Actor;
  readonly tools: Tools;
  /** Gets the number of records read from the source so far. */
  readonly onProgress?: (records: number) => void;
  /** Called when the log is closed: neither store takes anything until the move is done or given up. */
  readonly onClosed?: () => void;
  readonly isDry?: boolean;
}

export interface Moved {
  /** Undefined after a dry run. */
  readonly move: string | undefined;
  /** The source's streams. Roots in base64. */
  readonly streams: readonly { readonly stream: string; readonly records: number; readonly root: string }[];
  /** Records that the target lacked. */
  readonly copied: number;
  /** For how long neither store took anything in this run. */
  readonly closedSeconds: number;
}

/**
 * @throws MoveError if the move is not done, saying why; StoreError, DomainError if a store fails: another call continues
 *   where this one ended
 */
export async function moveLog(parts: MoveParts): Promise<Moved> {
  const { actor, tools, logId } = parts;
  const source = new Side({ name: 'source', store: parts.source, logId, actor, tools });
  const target = new Side({ name: 'target', store: parts.target, logId, actor, tools });
  const mover = new Mover(source, target, parts.onProgress ?? (() => undefined), parts.isDry ?? false);

  // The log belongs to the target by now: only its other streams may have to be opened.
  const status = await moveStatus(parts.source, parts.target, parts.from);
  if (status.type === 'arrived') {
    await source.read();
    await target.read();
    if (!parts.isDry) await arrive(target, status.move, parts.from);
    return summary(source, mover, status.move, 0);
  }

  if (status.type === 'closed') parts.onClosed?.();

  // 0. The last round is short, so that few requests are refused.
  await target.read();
  let before: number;
  let rounds = 0;
  do {
    before = source.records;
    await mover.copy();
    await mover.compare();
  } while (source.records - before > FEW_RECORDS && ++rounds < MOST_ROUNDS);
  const unfinished = source.awaitsRecovery();
  if (unfinished !== undefined)
    throw new MoveError(
      'refused',
      `a recovery of the log was declared, but ${unfinished} has no new generator yet (hint: run urn recover again first)`,
    );
  if (parts.isDry) return summary(source, mover, undefined, 0);

  const closedAt = performance.now();
  const move = await beginMove({
    ...parts,
    source: parts.source,
    target: parts.target,
    reason: parts.reason,
  });
  parts.onClosed?.();
  do {
    await mover.copy();
    await closeStreams(source, move, parts);
    await mover.copy();
  } while (streamsToClose(source, move).length > 0);
  await mover.compare();
  mover.expectWhole(
    (stream) =>
      hasArrived(target, LOG_STREAM, move) && (source.size(stream) === 0 || hasArrived(target, stream, move)),
  );
  await arrive(target, move, parts.from);
  return summary(source, mover, move, secondsSince(closedAt));
}

function streamsToClose(source: Side, move: string): string[] {
  return [...new Set([...source.streams(), ...ALWAYS_CLOSED])].filter((stream) => {
    const movement = source.movement(stream);
    return movement.status !== 'closed' || movement.move !== move;
  });
}

async function closeStreams(source: Side, move: string, { to, reason }: MoveParts): Promise<void> {
  await inGroups(streamsToClose(source, move), async (stream) => {
    const outcome = await source.submit(stream, { type: 'close', move, to, reason });
    if (outcome === 'ended') throw givenUp();
    if (outcome === 'other')
      throw new MoveError(
        'refused',
        `${stream} is still closed by an earlier move (hint: finish that move first, with urn copy or urn copy --abort)`,
      );
  });
}

/** @throws MoveError if the move was given up meanwhile */
async function arrive(target: Side, move: string, from: string): Promise<void> {
  const command = { type: 'arrive', move, from } as const;
  if ((await target.submit(LOG_STREAM, command)) !== 'done') throw givenUp();
  const closed = target.streams().filter((stream) => {
    const movement = target.movement(stream);
    return movement.status === 'closed' && movement.move === move;
  });
  await inGroups(closed, (stream) => target.submit(stream, command));
}

/** The target may hold more than the source only once this is true. */
function hasArrived(target: Side, stream: string, move: string): boolean {
  const movement = target.movement(stream);
  return movement.status === 'open' && movement.ended.includes(move);
}

function summary(source: Side, mover: Mover, move: string | undefined, closedSeconds: number): Moved {
  const streams = source.streams().map((stream) => {
    const records = source.size(stream);
    return { stream, records, root: source.root(stream, records).toString('base64') };
  });
  return { move, streams, copied: mover.copied, closedSeconds };
}

export async function inGroups(
  streams: readonly string[],
  use: (stream: string) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < streams.length; from += AT_ONCE)
    await Promise.all(streams.slice(from, from + AT_ONCE).map(use));
}

function givenUp(): MoveError {
  return new MoveError(
    'refused',
    'this move was given up meanwhile (hint: run urn copy --abort again to open what is still closed in the source)',
  );
}
