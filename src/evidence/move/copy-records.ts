/** Copies the records of a log unchanged, at exact revisions, and compares the two stores. `log` is not copied here. */
import { decodeRecord } from '../../../events/record.ts';
import { RecordError } from '../../base/errors.ts';
import { LOG_STREAM } from '../../core/log/log-stream.ts';
import { CompactRange } from '../../core/log/merkle-tree.ts';
import { DEFAULT_LIMITS } from '../../core/write/writer.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { differs, refused } from './move-error.ts';

export interface CopyParts {
  readonly source: EventStore;
  readonly target: EventStore;
  readonly logId: string;
  /** Gets the number of records of each page that was read from the source. */
  readonly onRead?: ((records: number) => void) | undefined;
}

/** The Merkle tree of each stream. */
export type Trees = ReadonlyMap<string, CompactRange>;

/**
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

/** @param trees of the source. @throws MoveError `differs` if the target holds more; StoreError */
export async function expectNoMore(target: EventStore, trees: Trees): Promise<void> {
  for await (const page of target.readAll())
    for (const { stream, revision } of page)
      if (stream !== LOG_STREAM && revision >= (trees.get(stream)?.size ?? 0))
        throw differs(stream, revision, 'the source does not have it');
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
