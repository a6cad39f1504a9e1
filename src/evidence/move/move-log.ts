/**
 * Moving a log to another store while its services are stopped (docs/adr/0011-moving-a-log.md). A run can be cut off at
 * any point; the next one finishes the move:
 *
 *   1. copy all records but those of `log`;
 *   2. LogMoved: first in the target, in one append with all of `log` before it, then the identical record in the source.
 *      Now `log` is closed in both stores, and with it every stream;
 *   3. read the source again, compare all of it, and copy what a service that was not stopped has written until now;
 *   4. LogArrived in the target's `log`, directly after LogMoved: from here on the log is the target's.
 */
import { counted } from '../../base/wording.ts';
import { copyRecords, expectNoMore, type Trees } from './copy-records.ts';
import { MoveError, refused } from './move-error.ts';
import { isAppended, logRecords, type MoveParts, recordOf, type Standing, standingOf } from './standing.ts';

/** By then a service that was not stopped has heard of LogMoved, and what it was writing is in the source. */
const HEARD_WITHIN_MS = 1000;

export interface MoveHooks {
  /** Gets the number of records of each page that was read from the source. */
  readonly onRead?: (records: number) => void;
  /** Called when the log is closed: neither store takes anything until the move is done or given up. */
  readonly onClosed?: () => void;
}

export interface MoveResult {
  /** Undefined after a dry run. */
  readonly move: string | undefined;
  /** The source's streams. Roots in base64. */
  readonly streams: readonly { readonly stream: string; readonly records: number; readonly root: string }[];
  /** Records that the target lacked, without those of `log`. */
  readonly copied: number;
}

/**
 * @param isDry nothing is written
 * @throws MoveError if the move is not done, saying why; RecordError if the source cannot be read; StoreError if a store
 *   fails: another call continues where this one ended
 */
export async function moveLog(parts: MoveParts, hooks: MoveHooks = {}, isDry = false): Promise<MoveResult> {
  const { source, target } = parts;
  const standing = await standingOf(parts);
  if (standing.type === 'given-up') throw givenUp();
  if (standing.type === 'closed') hooks.onClosed?.();
  const hasArrived = standing.type === 'arrived';
  const copying = { ...parts, onRead: hooks.onRead };
  const first = await copyRecords(copying, isDry || hasArrived ? 'count' : 'append');
  let copied = first.lacking;
  if (hasArrived) {
    if (copied > 0) throw writtenLate(copied);
    return { move: standing.move, streams: summary(first.trees), copied };
  }
  await expectNoMore(target, first.trees);
  if (isDry) return { move: undefined, streams: summary(first.trees), copied };

  const { move, end } = await close(parts);
  hooks.onClosed?.();
  let last: typeof first;
  do {
    await parts.tools.pause(Math.max(HEARD_WITHIN_MS, source.settlesWithinMs ?? 0));
    last = await copyRecords(copying, 'append');
    copied += last.lacking;
  } while (last.lacking > 0);
  await expectNoMore(target, last.trees);
  const data = { move, from: parts.from };
  const arrived = recordOf(parts, end, { type: 'LogArrived', data, sections: {} });
  if (!(await isAppended(target, end, [arrived])) && (await standingOf(parts)).type !== 'arrived')
    throw givenUp();
  return { move, streams: summary(last.trees), copied };
}

/**
 * Closes `log` in both stores, or finds it closed. LogMoved is made once and never copied from the source. So the only
 * target that holds it is the one that the move began with, and any other can be recognized, whatever crashed in between.
 */
async function close(parts: MoveParts): Promise<Exclude<Standing, { type: 'none' }>> {
  const { source, target, tools, to, reason } = parts;
  const standing = await standingOf(parts);
  if (standing.type === 'none') {
    const log = await logRecords(source);
    const data = { move: tools.newId(), to, ...(reason !== undefined && { reason }) };
    const moved = recordOf(parts, log.length, { type: 'LogMoved', data, sections: {} });
    // In one append: the target is never an open log.
    await isAppended(target, 0, [...log, moved]);
  } else if (standing.type === 'begun') await isAppended(source, standing.end - 1, [standing.moved]);
  else return standing;
  // Somebody else may have been faster: what the stores hold now decides.
  return close(parts);
}

function summary(trees: Trees): MoveResult['streams'] {
  return [...trees].map(([stream, tree]) => ({
    stream,
    records: tree.size,
    root: tree.root().toString('base64'),
  }));
}

function givenUp(): MoveError {
  return refused(
    'this move was given up: the target has CopyAborted in log (hint: run urn copy --abort again if the source is still closed; then begin with a fresh target)',
  );
}

function writtenLate(records: number): MoveError {
  return new MoveError(
    'differs',
    `the source has ${counted(records, 'record')} that the target lacks: a service that was not stopped wrote there after the log had arrived in the target (hint: stop it; urn verify on both stores shows what they hold)`,
  );
}
