/**
 * Closing the stream `log`, with which a move begins.
 *
 * The record LogMoved is made once, and appended to the target first: in one piece with all of `log` before it. Until then the
 * target holds no log that could be opened, and from then on one that is closed. Behind it the identical record closes the
 * source. No copier ever copies it from there. So of all stores only the one that the move was begun with holds it, and a
 * second target is told from it, whatever crashed in between.
 */
import { type Actor, encodeRecord } from '../../events/record.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { EventStore, StoredRecord } from '../store/event-store.ts';
import type { WriterTools } from '../write/writer.ts';
import { appendAsTheyAre } from './append.ts';
import { differs } from './copier.ts';
import { CopyError } from './copy-error.ts';
import { commonLength, ends, logRecords, moveIn } from './log-stream.ts';

export interface BeginParts {
  readonly source: EventStore;
  readonly target: EventStore;
  readonly logId: string;
  /** The target, for people. */
  readonly to: string;
  readonly reason: string | undefined;
  readonly actor: Actor;
  readonly tools: WriterTools;
}

/**
 * Begins the move, or finds the one that was begun.
 * @returns its id
 * @throws CopyError when the source is moved elsewhere, or this target can take no move any more; StoreError
 */
export async function beginMove(parts: BeginParts): Promise<string> {
  for (;;) {
    // The target first: what it holds, the source has had when it was read.
    const there = await logRecords(parts.target);
    const here = await logRecords(parts.source);
    const begun = await beginOrFind(parts, here, there);
    if (begun !== undefined) return begun;
  }
}

/** The move of this source that has arrived in this target; undefined while none has. */
export async function arrivedMove({
  source,
  target,
}: Pick<BeginParts, 'source' | 'target'>): Promise<string | undefined> {
  const there = await logRecords(target);
  const here = await logRecords(source);
  const closed = moveIn(here.at(-1));
  const isSame = closed !== undefined && commonLength(here, there) === here.length;
  return isSame && ends(there[here.length], 'LogArrived') ? closed.move : undefined;
}

/** @returns undefined when somebody else was faster: then it has to be looked at anew */
async function beginOrFind(
  { source, target, ...parts }: BeginParts,
  here: readonly StoredRecord[],
  there: readonly StoredRecord[],
): Promise<string | undefined> {
  const common = commonLength(here, there);
  if (ends(here.at(-1), 'CopyAborted'))
    throw new CopyError(
      'refused',
      'the source is itself a copy that was given up (hint: the log goes on where it was copied from)',
    );
  const closed = moveIn(here.at(-1));
  if (closed) {
    if (common < here.length) throw elsewhere(closed.to);
    if (ends(there[here.length], 'CopyAborted')) throw given(here.length);
    return closed.move;
  }
  // Both logs are as long, or one ends before they part.
  if (common === there.length) {
    const { type, move } = await closeTarget(target, parts, here, there.length);
    return type === 'conflict' ? undefined : closeSource(source, here, move);
  }
  const begun = moveIn(there[common]);
  if (!begun)
    throw there.length > common && ends(there[common], 'CopyAborted')
      ? given(common)
      : differs(LOG_STREAM, common, 'the target holds another record than the source');
  if (ends(there[common + 1], 'CopyAborted')) throw given(common + 1);
  if (common < here.length || there.length > common + 1)
    throw new CopyError(
      'refused',
      `a move was begun in this target that the source never took, because its log went on or was moved elsewhere (hint: this target is void; begin with a fresh one)`,
    );
  return closeSource(source, here, { record: there[common] as StoredRecord, id: begun.move });
}

interface MoveRecord {
  readonly id: string;
  readonly record: Pick<StoredRecord, 'record' | 'sealed' | 'leaf'>;
}

/** In one append: at no moment is the target a log that is open. */
async function closeTarget(
  target: EventStore,
  { logId, to, reason, actor, tools }: Omit<BeginParts, 'source' | 'target'>,
  here: readonly StoredRecord[],
  from: number,
) {
  const id = tools.newId();
  const at = tools.now().toISOString();
  const header = { id: tools.newId(), log: logId, stream: LOG_STREAM, revision: here.length, at, actor };
  const data = { move: id, to, ...(reason !== undefined && { reason }) };
  const record = encodeRecord(header, { type: 'LogMoved', data, sections: {} }, tools.newSalt);
  const { type } = await appendAsTheyAre(target, LOG_STREAM, from - 1, [...here.slice(from), record]);
  return { type, move: { id, record } };
}

async function closeSource(
  source: EventStore,
  here: readonly StoredRecord[],
  { id, record }: MoveRecord,
): Promise<string | undefined> {
  const { type } = await appendAsTheyAre(source, LOG_STREAM, here.length - 1, [record]);
  return type === 'written' ? id : undefined;
}

function elsewhere(to: string): CopyError {
  return new CopyError(
    'refused',
    `the log is moved to another store: ${to} (hint: finish it there, or give it up there first with urn copy --abort --to THAT-STORE)`,
  );
}

function given(revision: number): CopyError {
  return new CopyError(
    'refused',
    `this move was given up: the target has CopyAborted at revision ${revision} of log (hint: finish that with urn copy --abort, then begin with a fresh target)`,
  );
}
