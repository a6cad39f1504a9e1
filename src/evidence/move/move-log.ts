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
import type { LogFact } from '../../../events/log.ts';
import { type Actor, decodeRecord, encodeRecord, type RecordBytes } from '../../../events/record.ts';
import { RecordError } from '../../base/errors.ts';
import type { Tools } from '../../base/tools.ts';
import { counted } from '../../base/wording.ts';
import { refuseOldLog } from '../../core/log/identity.ts';
import { LOG_STREAM } from '../../core/log/log-stream.ts';
import { CompactRange } from '../../core/log/merkle-tree.ts';
import { DEFAULT_LIMITS } from '../../core/write/writer.ts';
import { type EventStore, type StoredRecord, sameRecords } from '../../store/event-store.ts';

/** A log, and the two stores that it is moved between. */
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
}

interface MoveHooks {
  /** Gets the number of records of each page that was read from the source. */
  readonly onRead?: (records: number) => void;
  /** Called when the log is closed: neither store takes anything until the move is done. */
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

/** Why a log is not moved. The message says what to do. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
  /** `differs`: the two stores differ. `refused`: not done for another reason. */
  readonly kind: 'differs' | 'refused';
  constructor(kind: 'differs' | 'refused', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** By then a service that was not stopped has heard of LogMoved, and what it was writing is in the source. */
const HEARD_WITHIN_MS = 1000;

/**
 * @param isDry nothing is written
 * @throws MoveError if the move is not done, saying why; RecordError if the source cannot be read; StoreError if a store
 *   fails: another call continues where this one ended
 */
export async function moveLog(parts: MoveParts, hooks: MoveHooks = {}, isDry = false): Promise<MoveResult> {
  const { source, target } = parts;
  const progress = await progressOf(parts);
  if (progress.type === 'closed') hooks.onClosed?.();
  const hasArrived = progress.type === 'arrived';
  const copying = { ...parts, onRead: hooks.onRead };
  const first = await copyRecords(copying, isDry || hasArrived ? 'count' : 'append');
  let copied = first.lacking;
  if (hasArrived) {
    if (copied > 0) throw writtenLate(copied);
    return { move: progress.move, streams: summary(first.trees), copied };
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
  // Somebody else may have been faster.
  if (!(await isAppended(target, end, [arrived]))) return moveLog(parts, hooks);
  return { move, streams: summary(last.trees), copied };
}

/**
 * Closes `log` in both stores, or finds it closed. LogMoved is made once and never copied from the source. So the only
 * target that holds it is the one that the move began with, and any other can be recognized, whatever crashed in between.
 */
async function close(parts: MoveParts): Promise<ClosedLog> {
  const { source, target, tools, to, reason } = parts;
  const progress = await progressOf(parts);
  if (progress.type === 'none') {
    const log = await logRecords(source);
    const data = { move: tools.newId(), to, ...(reason !== undefined && { reason }) };
    const moved = recordOf(parts, log.length, { type: 'LogMoved', data, sections: {} });
    // In one append: the target is never an open log.
    await isAppended(target, 0, [...log, moved]);
  } else if (progress.type === 'begun') await isAppended(source, progress.moved.revision, [progress.moved]);
  else return progress;
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

function writtenLate(records: number): MoveError {
  return new MoveError(
    'differs',
    `the source has ${counted(records, 'record')} that the target lacks: a service that was not stopped wrote there after the log had arrived in the target (hint: stop it; urn verify on both stores shows what they hold)`,
  );
}

/** How far a move has come. The stream `log` of the two stores says so, and nothing else does. */
type MoveProgress =
  | { readonly type: 'none' }
  /** The target has LogMoved, and the source does not: `urn copy` was cut off before it closed the source. */
  | { readonly type: 'begun'; readonly moved: StoredRecord }
  | ClosedLog;

interface ClosedLog {
  readonly type: 'closed' | 'arrived';
  readonly move: string;
  /** The revision after LogMoved: that of LogArrived. */
  readonly end: number;
}

/**
 * @throws MoveError if the log has left the source for another store, or a move of it can no longer reach this target;
 *   StoreError
 */
export async function progressOf({
  source,
  target,
  from,
}: Pick<MoveParts, 'source' | 'target' | 'from'>): Promise<MoveProgress> {
  // The target first: whatever it holds is in the source by the time the source is read.
  const there = await logRecords(target);
  return progressFrom(await logRecords(source), there, from);
}

function progressFrom(
  here: readonly StoredRecord[],
  there: readonly StoredRecord[],
  from: string,
): MoveProgress {
  const closed = moveIn(here.at(-1));
  // While both are closed, `log` is the same in both: only the names tell source and target apart.
  if (closed?.to === from)
    throw refused(
      `the log is being moved to ${from}, not from there (hint: --from and --to are the other way round)`,
    );
  const common = commonLength(here, there);
  const [next, ...more] = there.slice(common);
  if (closed && common < here.length)
    throw refused(
      `the log was moved to another store: ${closed.to} (hint: finish that move; if that store is lost for good, urn recover --not-moved)`,
    );
  if (closed && (!next || decodeRecord(next).type === 'LogArrived'))
    return { type: next ? 'arrived' : 'closed', move: closed.move, end: common };
  if (there.length === 0) return { type: 'none' };
  // A process that has that log open could continue it.
  if (!next)
    throw refused(
      'the target already holds this log, as a copy of its files or because the log was moved from there (hint: begin with a fresh target)',
    );
  if (closed || !moveIn(next))
    throw differs(LOG_STREAM, common, 'the record in the target differs from the one in the source');
  if (common < here.length || more.length > 0)
    throw refused(
      'a move was begun in this target but never took effect in the source, because its log went on (hint: this target is void; begin with a fresh one)',
    );
  return { type: 'begun', moved: next };
}

/** The move for which a record closes `log`; undefined if it does not close it. */
function moveIn(stored: StoredRecord | undefined): { move: string; to: string } | undefined {
  const event = stored && decodeRecord(stored);
  return event?.type === 'LogMoved' ? event.data : undefined;
}

/** How many records the two have in common, counted from the first. */
function commonLength(a: readonly StoredRecord[], b: readonly StoredRecord[]): number {
  const differing = a.findIndex((stored, i) => !sameRecords([stored], b.slice(i, i + 1)));
  return differing === -1 ? a.length : differing;
}

/** All records of `log`: they are few. */
export async function logRecords(store: EventStore): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const page of store.readStream(LOG_STREAM, 0)) records.push(...page);
  return records;
}

/** The id of the log that a store holds; undefined if the store is empty. @throws what `refuseOldLog` throws */
export async function logIdIn(store: EventStore): Promise<string | undefined> {
  for (const stored of await logRecords(store)) refuseOldLog(stored);
  for await (const [first] of store.readAll()) return first && decodeRecord(first).log;
  return undefined;
}

/** Makes the record of a step of a move, for this revision of `log`. */
export function recordOf({ logId, actor, tools }: MoveParts, revision: number, fact: LogFact): RecordBytes {
  const at = tools.now().toISOString();
  const header = { id: tools.newId(), log: logId, stream: LOG_STREAM, revision, at, actor };
  return encodeRecord(header, fact, tools.newSalt);
}

/** Appends to `log` at exactly this revision. @returns false if somebody else was first. @throws StoreError */
async function isAppended(
  store: EventStore,
  revision: number,
  records: readonly RecordBytes[],
): Promise<boolean> {
  const { type } = await store.append(LOG_STREAM, revision - 1, records);
  return type === 'written';
}

interface CopyParts {
  readonly source: EventStore;
  readonly target: EventStore;
  readonly logId: string;
  /** Gets the number of records of each page that was read from the source. */
  readonly onRead?: ((records: number) => void) | undefined;
}

/** The Merkle tree of each stream. */
type Trees = ReadonlyMap<string, CompactRange>;

/**
 * Copies the records of a log unchanged, at exact revisions, and compares the two stores. `log` is not copied here.
 *
 * Reads the source once. Records that the target has are compared byte for byte; those that it lacks are appended, or only
 * counted.
 * @returns the trees of the source, and how many records the target lacked
 * @throws MoveError `differs`, naming the first record that differs; `refused`; RecordError; StoreError
 */
export async function copyRecords(
  { source, target, logId, onRead }: CopyParts,
  missing: 'append' | 'count',
): Promise<{ readonly trees: Trees; readonly lacking: number }> {
  const trees = new Map<string, CompactRange>();
  let lacking = 0;
  for await (const page of source.readAll()) {
    const runs = new Map<string, StoredRecord[]>();
    for (const stored of page) {
      const { stream, revision, leaf } = stored;
      const tree = trees.get(stream) ?? new CompactRange();
      if (decodeRecord(stored).log !== logId || revision !== tree.size)
        throw new RecordError('misplaced', `${stream}/${revision}`, 'is not the next record of this log');
      tree.append(leaf);
      trees.set(stream, tree);
      const run = runs.get(stream) ?? [];
      run.push(stored);
      runs.set(stream, run);
    }
    runs.delete(LOG_STREAM);
    // Together, so that a store can flush them at once.
    const lacked = await Promise.all(
      [...runs.values()].map(async (run) => {
        const fresh = run.slice(await compareRun(target, run));
        if (missing === 'append') await appendRun(target, fresh);
        return fresh.length;
      }),
    );
    for (const records of lacked) lacking += records;
    onRead?.(page.length);
  }
  return { trees, lacking };
}

/** @param run of one stream, without a gap. @returns how many of its records the target has */
async function compareRun(target: EventStore, run: readonly StoredRecord[]): Promise<number> {
  const [{ stream, revision: first }] = run as [StoredRecord];
  let same = 0;
  for await (const page of target.readStream(stream, first))
    for (const there of page) {
      const here = run[same];
      if (!here) return same;
      if (
        (['record', 'sealed', 'leaf'] as const).some((part) => Buffer.compare(here[part], there[part]) !== 0)
      )
        throw differs(stream, first + same, 'the record in the target differs from the one in the source');
      same++;
    }
  return same;
}

/** Appends in batches that every store takes. */
async function appendRun(target: EventStore, run: readonly StoredRecord[]): Promise<void> {
  const [first] = run;
  if (!first) return;
  const bytes = run.reduce((sum, { record, sealed }) => sum + record.length + sealed.length, 0);
  if (run.length > 1 && bytes > DEFAULT_LIMITS.batchBytes) {
    const half = Math.ceil(run.length / 2);
    await appendRun(target, run.slice(0, half));
    return await appendRun(target, run.slice(half));
  }
  const { type } = await target.append(first.stream, first.revision - 1, run);
  if (type === 'conflict')
    throw refused('somebody else writes to the target (hint: find out who, and stop it)');
}

/** @param trees of the source. @throws MoveError `differs` if the target holds more; StoreError */
async function expectNoMore(target: EventStore, trees: Trees): Promise<void> {
  for await (const page of target.readAll())
    for (const { stream, revision } of page)
      if (stream !== LOG_STREAM && revision >= (trees.get(stream)?.size ?? 0))
        throw differs(stream, revision, 'the source does not have it');
}

function refused(message: string): MoveError {
  return new MoveError('refused', message);
}

function differs(stream: string, revision: number, why: string): MoveError {
  return new MoveError(
    'differs',
    `${stream}, revision ${revision}: ${why} (hint: nothing more is copied to this target; find out who wrote to it or changed it, and begin with a fresh one)`,
  );
}
