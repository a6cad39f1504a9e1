/**
 * Moving a log to another store (docs/adr/0011-moving-a-log.md), in steps each of which can be cut off at any point, and
 * is done to its end by doing all of it again:
 *
 *   0. copy, while the source is in use, until little is missing;
 *   1. close `log`: in the target, then in the source (begin-move.ts);
 *   2. close every other stream of the source, until none is left open;
 *   3. copy the rest, and compare all of it;
 *   4. LogArrived in the target's `log`, at the exact revision behind LogMoved: from here on the log is the target's.
 *      Then in each other stream.
 */
import type { Actor } from '../../events/record.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { EventStore } from '../store/event-store.ts';
import type { WriterTools } from '../write/writer.ts';
import { beginMove, standingOf } from './begin-move.ts';
import { CopyError } from './move-error.ts';
import { Copier } from './mover.ts';
import { Side } from './side.ts';

/** Streams of the source that are closed before they exist, too: whoever is late must not begin them. */
const ALWAYS_CLOSED = ['access', 'operations'];
/** So many records are copied in no time: then the source is closed. */
const FEW_RECORDS = 250;
/** Rounds of copying before the source is closed in any case: it may grow faster than it can be copied. */
const MOST_ROUNDS = 20;
/** Streams that are written to at once. */
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
  readonly tools: WriterTools;
  /** Gets the number of records of the source that were read so far. */
  readonly onProgress?: (records: number) => void;
  /** From now on neither store takes anything, until the move is done or given up. */
  readonly onClosed?: () => void;
  readonly isDry?: boolean;
}

export interface Moved {
  /** Undefined after a dry run. */
  readonly move: string | undefined;
  /** Of the source. Roots in base64. */
  readonly streams: readonly { readonly stream: string; readonly records: number; readonly root: string }[];
  /** Records that the target lacked. */
  readonly copied: number;
  /** For how long neither store took anything, as far as this run closed it. */
  readonly closedSeconds: number;
}

/**
 * @throws CopyError when it is not done, and says why; StoreError, DomainError when a store fails: the same again goes on
 *   where it ended
 */
export async function moveLog(parts: MoveParts): Promise<Moved> {
  const { actor, tools, logId } = parts;
  const source = new Side({ name: 'source', store: parts.source, logId, actor, tools });
  const target = new Side({ name: 'target', store: parts.target, logId, actor, tools });
  const copier = new Copier(source, target, parts.onProgress ?? (() => undefined), parts.isDry ?? false);

  // From then on the target goes its own way: what is left is to open its other streams.
  const standing = await standingOf(parts.source, parts.target, parts.from);
  if (standing.type === 'arrived') {
    await source.read();
    await target.read();
    if (!parts.isDry) await arrive(target, standing.move, parts.from);
    return summary(source, copier, standing.move, 0);
  }

  if (standing.type === 'closed') parts.onClosed?.();

  // 0. The last round is short, so that few requests are refused.
  await target.read();
  let before: number;
  let rounds = 0;
  do {
    before = source.records;
    await copier.copy();
    await copier.compare();
  } while (source.records - before > FEW_RECORDS && ++rounds < MOST_ROUNDS);
  const unfinished = source.awaitsRecovery();
  if (unfinished !== undefined)
    throw new CopyError(
      'refused',
      `a recovery of the log was declared, but the generator of ${unfinished} was not begun anew yet (hint: run urn recover again first)`,
    );
  if (parts.isDry) return summary(source, copier, undefined, 0);

  const closedAt = performance.now();
  const move = await beginMove({
    ...parts,
    source: parts.source,
    target: parts.target,
    reason: parts.reason,
  });
  parts.onClosed?.();
  do {
    await copier.copy();
    await closeStreams(source, move, parts);
    await copier.copy();
  } while (streamsToClose(source, move).length > 0);
  await copier.compare();
  copier.expectWhole(
    (stream) =>
      hasArrived(target, LOG_STREAM, move) && (source.size(stream) === 0 || hasArrived(target, stream, move)),
  );
  await arrive(target, move, parts.from);
  return summary(source, copier, move, (performance.now() - closedAt) / 1000);
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
      throw new CopyError(
        'refused',
        `${stream} is still closed by an earlier move (hint: finish that one first, with urn copy or urn copy --abort)`,
      );
  });
}

/** @throws CopyError when the move was given up meanwhile */
async function arrive(target: Side, move: string, from: string): Promise<void> {
  const command = { type: 'arrive', move, from } as const;
  if ((await target.submit(LOG_STREAM, command)) !== 'done') throw givenUp();
  const closed = target.streams().filter((stream) => {
    const movement = target.movement(stream);
    return movement.status === 'closed' && movement.move === move;
  });
  await inGroups(closed, (stream) => target.submit(stream, command));
}

/** Only then the target may hold more than the source. */
function hasArrived(target: Side, stream: string, move: string): boolean {
  const movement = target.movement(stream);
  return movement.status === 'open' && movement.ended.includes(move);
}

function summary(source: Side, copier: Copier, move: string | undefined, closedSeconds: number): Moved {
  const streams = source.streams().map((stream) => {
    const records = source.size(stream);
    return { stream, records, root: source.root(stream, records).toString('base64') };
  });
  return { move, streams, copied: copier.copied, closedSeconds };
}

export async function inGroups(
  streams: readonly string[],
  use: (stream: string) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < streams.length; from += AT_ONCE)
    await Promise.all(streams.slice(from, from + AT_ONCE).map(use));
}

function givenUp(): CopyError {
  return new CopyError(
    'refused',
    'this move was given up meanwhile (hint: urn copy --abort again opens what is still closed in the source)',
  );
}
