/** What goes into one transaction. */
import { describe, expect, it } from 'vitest';
import { type LogHistory, logHistory } from '../../../projections/log.ts';
import type { RecordError } from '../../../src/base/errors.ts';
import { MerkleTree } from '../../../src/core/log/merkle-tree.ts';
import {
  type BatchLog,
  CHECKPOINT_BYTES,
  MOST_BYTES,
  MOST_RECORDS,
  nextBatch,
} from '../../../src/service/relay/batch.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { paused, stored } from '../../support/facts.ts';

async function logOf(
  sizes: Readonly<Record<string, number>>,
  { at, length = 0 }: { at?: string; length?: number } = {},
): Promise<BatchLog> {
  const fact = length === 0 ? paused : { ...paused, data: { reason: 'x'.repeat(length) } };
  const store = new MemoryStore();
  const trees = new Map<string, MerkleTree>();
  for (const [stream, size] of Object.entries(sizes)) {
    const tree = new MerkleTree();
    trees.set(stream, tree);
    for (let revision = 0; revision < size; revision++) {
      const one = stored(fact as typeof paused, revision, { stream });
      tree.append(one.leaf);
      const isChanged = at === `${stream}/${revision}`;
      const record = isChanged
        ? Buffer.from(one.record.toString().replace('data review', 'something'))
        : one.record;
      await store.append(stream, revision - 1, [{ ...one, record }]);
    }
  }
  return {
    store,
    runner: { revision: (stream) => (sizes[stream] ?? 0) - 1, state: () => logHistory.initial() as never },
    ledger: { tree: (stream) => trees.get(stream) ?? new MerkleTree() },
  };
}

const never = (stream: string, error: Error) => {
  throw new Error(`${stream}: ${error.message}`);
};

/** Batches one after the other, as long as the streams are behind: how many records of each stream. */
function batchesOf(log: BatchLog, behind: Set<string>) {
  const published: Record<string, number> = {};
  return async () => {
    const batch = await nextBatch(log, behind, (stream) => published[stream] ?? -1, 'blinded', never);
    for (const { stream, records } of batch) published[stream] = records.at(-1)?.revision ?? -1;
    return batch.map(({ stream, records }) => [stream, records.length]);
  };
}

describe('a batch', () => {
  it('continues each stream from what is published up to what is folded', async () => {
    const log = await logOf({ 'study-a': 5, 'study-b': 3, log: 1 });
    const revision = (stream: string) => (stream === 'study-a' ? 3 : log.runner.revision(stream));
    const behindStore = { ...log, runner: { ...log.runner, revision } };
    const behind = new Set(['study-a', 'study-b', 'log']);
    const published: Record<string, number> = { 'study-a': 1, log: 0 };
    const batch = await nextBatch(behindStore, behind, (one) => published[one] ?? -1, 'blinded', never);
    const revisions = batch.map(({ stream, records }) => [stream, records.map((one) => one.revision)]);
    expect(revisions).toEqual([
      ['study-a', [2, 3]],
      ['study-b', [0, 1, 2]],
    ]);
    expect(behind.size).toBe(0);
  });

  it('holds LogMoved back until the move has ended', async () => {
    const log = await logOf({ log: 3, access: 3 });
    const history: LogHistory = { ...logHistory.initial(), moved: { move: 'm', to: 'elsewhere' } };
    const moving = { ...log, runner: { ...log.runner, state: () => history as never } };
    const batch = await nextBatch(moving, new Set(['log', 'access']), () => -1, 'blinded', never);
    expect(batch.map(({ records }) => records.length)).toEqual([2, 3]);
  });

  it('is bounded, and the next one begins with the streams that were left out', async () => {
    const log = await logOf({ 'study-a': MOST_RECORDS + 10, 'study-b': 3 });
    const next = batchesOf(log, new Set(['study-a', 'study-b']));
    expect(await next()).toEqual([['study-a', MOST_RECORDS]]);
    expect(await next()).toEqual([
      ['study-b', 3],
      ['study-a', 10],
    ]);
    expect(await next()).toEqual([]);
  });

  it('is bounded in bytes, counting the checkpoints of many streams and long records', async () => {
    const names = Array.from({ length: 800 }, (_, i) => `study-${i}`);
    const log = await logOf(Object.fromEntries(names.map((name) => [name, 1])), { length: 1000 });
    const behind = new Set(names);
    const [bytes, taken]: [number[], string[]] = [[], []];
    while (behind.size > 0) {
      const batch = await nextBatch(log, behind, () => -1, 'blinded', never);
      const records = batch.flatMap((part) => part.records);
      bytes.push(
        records.reduce((sum, { record }) => sum + record.length + 600, batch.length * CHECKPOINT_BYTES),
      );
      taken.push(...batch.map(({ stream }) => stream));
    }
    expect(Math.max(...bytes)).toBeLessThanOrEqual(MOST_BYTES);
    expect(bytes.length).toBeLessThan(4);
    expect(taken).toEqual(names);
  });

  it.each([MOST_BYTES - 2500, MOST_BYTES + 1])('contains a record of %i bytes alone', async (length) => {
    const log = await logOf({ 'study-a': 2, 'study-b': 1 }, { length });
    const next = batchesOf(log, new Set(['study-a', 'study-b']));
    expect([await next(), await next(), await next(), await next()]).toEqual([
      ...[[['study-a', 1]], [['study-b', 1]], [['study-a', 1]], []],
    ]);
  });

  it('ends before a record that differs from what was folded, and goes no further', async () => {
    const log = await logOf({ 'study-a': 5, 'study-b': 1 }, { at: 'study-a/3' });
    const behind = new Set(['study-a', 'study-b']);
    const broken: [string, string][] = [];
    const onBroken = (stream: string, error: Error) => broken.push([stream, (error as RecordError).fault]);
    const next = (published: number) => nextBatch(log, behind, () => published, 'blinded', onBroken);
    expect((await next(-1)).map(({ records }) => records.length)).toEqual([3, 1]);
    expect(broken).toEqual([]);
    expect(await next(2)).toEqual([]);
    expect(broken).toEqual([['study-a', 'leaf-mismatch']]);
    expect(behind.size).toBe(0);
  });
});
