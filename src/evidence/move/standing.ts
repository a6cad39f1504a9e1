/** How far a move has come. The stream `log` of the two stores says so, and nothing else does. */
import type { MoveFact } from '../../../events/log.ts';
import { type Actor, decodeRecord, encodeRecord, type RecordBytes } from '../../../events/record.ts';
import type { Tools } from '../../base/tools.ts';
import { LOG_STREAM } from '../../core/log/log-stream.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { sameRecords } from '../../store/event-store.ts';
import { differs, refused } from './move-error.ts';

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

export type Standing =
  | { readonly type: 'none' }
  /** The target has LogMoved, and the source does not: `urn copy` was cut off before it closed the source. */
  | { readonly type: 'begun'; readonly move: string; readonly end: number; readonly moved: RecordBytes }
  | {
      readonly type: 'closed' | 'arrived' | 'given-up';
      readonly move: string;
      /** The revision after LogMoved: that of what ends the move. */
      readonly end: number;
    };

/**
 * @throws MoveError if the log has left the source for another store, or a move of it can no longer reach this target;
 *   StoreError
 */
export async function standingOf({ source, target, from }: MoveParts): Promise<Standing> {
  // The target first: whatever it holds is in the source by the time the source is read.
  const there = await logRecords(target);
  return judge(await logRecords(source), there, from);
}

function judge(here: readonly StoredRecord[], there: readonly StoredRecord[], from: string): Standing {
  const closed = moveIn(here.at(-1));
  // While both are closed, `log` is the same in both: only the names tell source and target apart.
  if (closed?.to === from)
    throw refused(
      `the log is being moved to ${from}, not from there (hint: --from and --to are the other way round)`,
    );
  if (typeOf(here.at(-1)) === 'CopyAborted')
    throw refused(
      'the source is itself a copy from a move that was given up (hint: the log continues where it was copied from)',
    );
  const common = commonLength(here, there);
  const begun = moveIn(there[common - 1]) ?? moveIn(there[common]);
  const end = moveIn(there[common - 1]) ? common : common + 1;
  if (begun && typeOf(there[end]) === 'CopyAborted') return { type: 'given-up', move: begun.move, end };
  if (begun && end === common && here.length === common) {
    if (there.length === common) return { type: 'closed', move: begun.move, end };
    if (typeOf(there[end]) === 'LogArrived') return { type: 'arrived', move: begun.move, end };
  }
  if (closed && common < here.length)
    throw refused(
      `the log was moved to another store: ${closed.to} (hint: finish that move, or first give it up with urn copy --abort --to THAT-STORE)`,
    );
  const [moved] = there.slice(common);
  if (!moved && there.length === 0) return { type: 'none' };
  // A process that has that log open could continue it.
  if (!moved)
    throw refused(
      'the target already holds this log, as a copy of its files or because the log was moved from there (hint: begin with a fresh target)',
    );
  if (!begun || end === common)
    throw differs(LOG_STREAM, common, 'the record in the target differs from the one in the source');
  if (common < here.length || there.length > end)
    throw refused(
      'a move was begun in this target but never took effect in the source, because its log went on (hint: this target is void; begin with a fresh one)',
    );
  return { type: 'begun', move: begun.move, end, moved };
}

/** All records of `log`: they are few. */
export async function logRecords(store: EventStore): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const page of store.readStream(LOG_STREAM, 0)) records.push(...page);
  return records;
}

/** The id of the log that a store holds; undefined if the store is empty. */
export async function logIdIn(store: EventStore): Promise<string | undefined> {
  for await (const [first] of store.readAll()) return first && decodeRecord(first).log;
  return undefined;
}

/** The move for which a record closes `log`; undefined if it does not close it. */
export function moveIn(stored: StoredRecord | undefined): { move: string; to: string } | undefined {
  const event = stored && decodeRecord(stored);
  return event?.type === 'LogMoved' ? event.data : undefined;
}

/** Makes the record of a step of a move, for this revision of `log`. */
export function recordOf({ logId, actor, tools }: MoveParts, revision: number, fact: MoveFact): RecordBytes {
  const at = tools.now().toISOString();
  const header = { id: tools.newId(), log: logId, stream: LOG_STREAM, revision, at, actor };
  return encodeRecord(header, fact, tools.newSalt);
}

/** Appends to `log` at exactly this revision. @returns false if somebody else was first. @throws StoreError */
export async function isAppended(
  store: EventStore,
  revision: number,
  records: readonly RecordBytes[],
): Promise<boolean> {
  const { type } = await store.append(LOG_STREAM, revision - 1, records);
  return type === 'written';
}

function typeOf(stored: StoredRecord | undefined): string | undefined {
  return stored && decodeRecord(stored).type;
}

/** How many records the two have in common, counted from the first. */
function commonLength(a: readonly StoredRecord[], b: readonly StoredRecord[]): number {
  const differing = a.findIndex((stored, i) => !sameRecords([stored], b.slice(i, i + 1)));
  return differing === -1 ? a.length : differing;
}
