/**
 * A mover who may die at any step, two targets, and services that are started by mistake: nobody ever gets an arm in each
 * store, and nothing that was acknowledged is lost.
 *
 * Then stores that a log must not be moved between: each would leave somebody who goes on with half of it.
 */

import { strict as assert } from 'node:assert';
import { expect, it } from 'vitest';
import { decodeRecord } from '../../../events/record.ts';
import { keyringInMemory, openIdentity } from '../../../src/core/log/identity.ts';
import {
  copyRecords,
  logRecords,
  MoveError,
  moveLog,
  recordOf,
} from '../../../src/evidence/move/move-log.ts';
import { storeSource } from '../../../src/evidence/verify/verifications.ts';
import { verifyLog } from '../../../src/evidence/verify/verify.ts';
import type { EventStore, StoredRecord } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { OPERATOR } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { aliveWhile, begunWith, copyAll, dyingAfter, partsOf, startProcess } from '../../support/moving.ts';
import { readAll } from '../../support/store-contract.ts';

class Died extends Error {}

/** Records by stream and revision, as text. */
async function recordsIn(store: EventStore): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { stream, revision, record, sealed, leaf } of await readAll(store))
    found.set(`${stream}/${revision}`, [record, sealed, leaf].map((b) => Buffer.from(b).toString()).join());
  return found;
}

const typesIn = async (store: EventStore) =>
  (await logRecords(store)).map((stored) => decodeRecord(stored).type);

/** @returns whether it went on here: an attempt to write that finds the log closed, or no log, leaves nothing */
async function goesOn(store: EventStore, id: string): Promise<boolean> {
  if ((await logRecords(store)).length === 0) return false;
  return (await (await startProcess(store)).post(id))?.outcome.type === 'randomized';
}

/**
 * Exactly one of the stores goes on. It has all that the source had, with the same bytes, and is sound.
 * @param before what the source held
 * @returns where the log is
 */
async function expectOneLog(
  before: ReadonlyMap<string, string>,
  source: EventStore,
  targets: readonly EventStore[],
): Promise<EventStore> {
  const open: EventStore[] = [];
  for (const store of [source, ...targets]) if (await goesOn(store, 'last')) open.push(store);
  const [home] = open;
  assert(home && open.length === 1, `${open.length} stores go on`);
  const there = await recordsIn(home);
  for (const [place, record] of before) assert.equal(there.get(place), record, place);
  for (const store of new Set([source, home])) {
    const report = await verifyLog({ source: await storeSource(store), trusted: [], checkpoints: [] });
    assert.deepEqual(
      report.streams.filter(({ sound }) => !sound),
      [],
    );
  }
  return home;
}

/** @returns false if it was refused, or died */
async function mayFail(run: Promise<unknown>): Promise<boolean> {
  try {
    await run;
    return true;
  } catch (error) {
    if (error instanceof MoveError || error instanceof Died) return false;
    throw error;
  }
}

/**
 * A move from `home` to `away`, by a mover who dies at every single step.
 * @param then what is done next. @returns how many steps the whole move takes
 */
async function atEachStep(
  then: (source: MemoryStore, target: MemoryStore, before: ReadonlyMap<string, string>) => Promise<void>,
): Promise<number> {
  for (let steps = 0; ; steps++) {
    const [source, target] = [await begunWith('a', 'b', 'c'), new MemoryStore()];
    const before = await recordsIn(source);
    let left = steps;
    const step = () => {
      if (left-- <= 0) throw new Died();
    };
    const [here, there] = [aliveWhile(source, step), aliveWhile(target, step)];
    const isDone = await mayFail(moveLog(partsOf(here, there, 'home', 'away')));
    await then(source, target, before);
    if (isDone) return steps;
  }
}

it('a move that dies at any step is finished by another run, and a closed store takes nothing', async () => {
  const seen = new Set<string>();
  const steps = await atEachStep(async (source, target, before) => {
    const isClosed = (await typesIn(source)).includes('LogMoved');
    const hasArrived = (await typesIn(target)).includes('LogArrived');
    seen.add(`${isClosed} ${hasArrived}`);
    if (isClosed) assert.equal(await goesOn(source, 'd'), false);
    assert.equal(await goesOn(target, 'e'), hasArrived);
    await moveLog(partsOf(source, target, 'home', 'away'));
    assert.equal(await expectOneLog(before, source, [target]), target);
    assert.deepEqual(await typesIn(target), ['LogCreated', 'LogMoved', 'LogArrived']);
    assert.deepEqual(await typesIn(source), ['LogCreated', 'LogMoved']);
  });
  expect(steps).toBeGreaterThan(20);
  expect([...seen]).toEqual(['false false', 'true false', 'true true']);
});

it('after a move that died at any step, the log goes to one of two targets', async () => {
  const homes = new Set<string>();
  await atEachStep(async (source, target, before) => {
    const another = new MemoryStore();
    const isThere = await mayFail(moveLog(partsOf(source, another, 'home', 'another')));
    assert.notEqual(await mayFail(moveLog(partsOf(source, target, 'home', 'away'))), isThere);
    const home = await expectOneLog(before, source, [target, another]);
    homes.add(home === target ? 'away' : 'another');
  });
  expect([...homes]).toEqual(['another', 'away']);
});

it('a mover who is overtaken by another one says what that one did', async () => {
  const [source, target] = [await begunWith('a'), new MemoryStore()];
  const parts = partsOf(source, target, 'home', 'away');
  const pause = async () => {
    await moveLog(partsOf(source, target, 'home', 'away'));
  };
  const overtaken = await moveLog({ ...parts, tools: { ...parts.tools, pause } });
  expect(await moveLog(parts)).toEqual(overtaken);
  expect(await typesIn(target)).toEqual(['LogCreated', 'LogMoved', 'LogArrived']);
});

it('what a service that was not stopped writes until it hears of the move comes along', async () => {
  const [source, target] = [await begunWith('a', 'b', 'c'), new MemoryStore()];
  const forgotten = await startProcess(source);
  const parts = partsOf(source, target, 'home', 'away');
  const posts = ['late', 'later'];
  const pause = async () => {
    const id = posts.shift();
    if (id !== undefined) await forgotten.post(id);
  };
  const { copied, streams } = await moveLog({ ...parts, tools: { ...parts.tools, pause } });
  const records = streams.reduce((sum, stream) => sum + stream.records, 0);
  // But for LogCreated and LogMoved.
  expect(copied).toBe(records - 2);
  expect(await expectOneLog(await recordsIn(source), source, [target])).toBe(target);

  // One that never hears of it is found by another run.
  await forgotten.post('much later');
  await expect(moveLog(partsOf(source, target, 'home', 'away'))).rejects.toMatchObject({ kind: 'differs' });
});

const size = async (store: EventStore) => (await readAll(store)).length;

const refuses = (parts: ReturnType<typeof partsOf>, why: string) =>
  expect(moveLog(parts)).rejects.toThrow(why);

function recovered(store: EventStore, kept: number) {
  const data = { recovery: 1, reason: 'it is lost', streams: [{ stream: 'log', kept }] };
  const sections = { studies: { streams: [] } };
  return recordOf(partsOf(store, store, 'x', 'y'), kept, { type: 'LogRecovered', data, sections });
}

/** Ends when LogMoved is in both stores. */
const closedBetween = (home: EventStore, away: EventStore) =>
  refuses(partsOf(dyingAfter(home, 'LogMoved'), away, 'home', 'away'), 'died');

it('a log does not return to a store that it left, which somebody may have open', async () => {
  const [home, away] = [await begunWith('a'), new MemoryStore()];
  await moveLog(partsOf(home, away, 'home', 'away'));
  await (await startProcess(away)).post('b');
  await expect(moveLog(partsOf(away, home, 'away', 'home'))).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('the target already holds this log'),
  });
  expect((await (await startProcess(away)).post('c'))?.outcome.type).toBe('randomized');
});

it('nor does it go to a store with records that the source does not have', async () => {
  const [home, other] = [await begunWith('a'), new MemoryStore()];
  const more = new MemoryStore();
  await copyAll(home, more);
  await (await startProcess(more)).post('b');
  await copyAll(more, other, ({ stream }) => stream !== 'log');
  const before = await size(home);
  for (const isDry of [true, false])
    await expect(moveLog(partsOf(home, other, 'home', 'other'), {}, isDry)).rejects.toMatchObject({
      kind: 'differs',
      message: expect.stringMatching(/^study-\S+, revision 2: the source does not have it/),
    });
  expect(await size(home)).toBe(before);
});

it('nor to one with another record in its place, and not at all if its own cannot be read', async () => {
  const [home, other, broken] = [await begunWith('a'), new MemoryStore(), new MemoryStore()];
  const change = (store: MemoryStore, part: object) =>
    copyAll(home, {
      ...aliveWhile(store, () => undefined),
      append: (stream, revision, [one]) =>
        store.append(stream, revision, [
          { ...(one as StoredRecord), ...(stream.startsWith('study') && revision === 0 && part) },
        ]),
    });
  await change(other, { sealed: Buffer.from('{}') });
  await expect(copyRecords({ source: home, target: other, logId: LOG_ID }, 'count')).rejects.toMatchObject({
    kind: 'differs',
    message: expect.stringMatching(/^study-\S+, revision 1: the record in the target differs from the one/),
  });
  await change(broken, { leaf: Buffer.alloc(32) });
  await expect(moveLog(partsOf(broken, new MemoryStore(), 'home', 'away'))).rejects.toThrow('leaf hash');
});

it('while it moves to one store, it moves to no other, even of the same name', async () => {
  const [home, away, other] = [await begunWith('a'), new MemoryStore(), new MemoryStore()];
  await closedBetween(home, away);
  await refuses(partsOf(home, other, 'home', 'away'), 'the log was moved to another store: away');
  await moveLog(partsOf(home, away, 'home', 'away'));
  await refuses(partsOf(home, other, 'home', 'away'), 'was moved to another store');
});

it('a move is not resumed with source and target swapped', async () => {
  const [home, away] = [await begunWith('a'), new MemoryStore()];
  await closedBetween(home, away);
  const before = [await size(home), await size(away)];
  const swapped = 'is being moved to away, not from there (hint: --from and --to are the other way round)';
  await refuses(partsOf(away, home, 'away', 'home'), swapped);
  expect([await size(home), await size(away)]).toEqual(before);
});

it('a target is void if the source’s log went on before it was closed', async () => {
  const [home, away] = [await begunWith('a'), new MemoryStore()];
  await refuses(partsOf(home, dyingAfter(away, 'LogMoved'), 'home', 'away'), 'died');
  await moveLog(partsOf(home, new MemoryStore(), 'home', 'another'));
  await refuses(partsOf(home, away, 'home', 'away'), 'moved to another store: another');
  const [again, second] = [await begunWith('a'), new MemoryStore()];
  await refuses(partsOf(again, dyingAfter(second, 'LogMoved'), 'home', 'away'), 'died');
  await again.append('log', 0, [recovered(again, 1)]);
  await refuses(partsOf(again, second, 'home', 'away'), 'this target is void');
});

it('a move is not finished after the source was recovered without its target', async () => {
  const [home, away] = [await begunWith('a'), new MemoryStore()];
  await closedBetween(home, away);
  await home.append('log', 1, [recovered(home, 2)]);
  await refuses(partsOf(home, away, 'home', 'away'), 'the target already holds this log');
  expect(await expectOneLog(await recordsIn(home), home, [away])).toBe(home);
});

it('no log is begun in a store that a log is being copied to', async () => {
  const [source, target] = [await begunWith('a'), new MemoryStore()];
  await copyRecords({ source, target, logId: LOG_ID }, 'append');
  const opening = openIdentity(target, keyringInMemory(), 'trial-log', OPERATOR, fixedTools());
  await expect(opening).rejects.toThrow('a log is being moved here (hint: urn copy has to finish first)');
  expect(await typesIn(target)).toEqual([]);
});
