/**
 * Movers to two targets, and somebody who gives up, all at once, each of whom may die at any step: nobody ever gets an arm in
 * each store, and nothing that was acknowledged is lost. The log's services are stopped; some are started by mistake.
 *
 * Then stores that a log must not be moved between, or given up between: each would leave somebody who goes on with half of it.
 */

import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MoveFact } from '../../../events/log.ts';
import { decodeRecord } from '../../../events/record.ts';
import {
  abortMove,
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
import { choicesOf } from '../../support/choices.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';
import { aliveWhile, begunWith, copyAll, dyingAfter, partsOf, startProcess } from '../../support/moving.ts';
import { check } from '../../support/property.ts';
import { readAll } from '../../support/store-contract.ts';
import { Died, turnedStore, turnsBy } from '../../support/turns.ts';

const begun = () => begunWith('a', 'b', 'c');

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

describe('a move that dies at any step', () => {
  function mortal(source: EventStore, target: EventStore, steps: number) {
    let left = steps;
    const step = () => {
      if (left-- <= 0) throw new Died();
    };
    return partsOf(aliveWhile(source, step), aliveWhile(target, step), 'home', 'away');
  }
  /** @param then what is done next. @returns how many steps the whole move takes */
  async function atEachStep(
    then: (
      stores: { readonly source: MemoryStore; readonly target: MemoryStore },
      before: ReadonlyMap<string, string>,
    ) => Promise<void>,
  ): Promise<number> {
    for (let steps = 0; ; steps++) {
      const [source, target] = [await begun(), new MemoryStore()];
      const before = await recordsIn(source);
      const isDone = await mayFail(moveLog(mortal(source, target, steps)));
      await then({ source, target }, before);
      if (isDone) return steps;
    }
  }

  it('is finished by another run', async () => {
    const steps = await atEachStep(async ({ source, target }, before) => {
      await moveLog(partsOf(source, target, 'home', 'away'));
      assert.equal(await expectOneLog(before, source, [target]), target);
      assert.deepEqual(await typesIn(target), ['LogCreated', 'LogMoved', 'LogArrived']);
      assert.deepEqual(await typesIn(source), ['LogCreated', 'LogMoved']);
    });
    expect(steps).toBeGreaterThan(20);
  });

  it('leaves a source that goes on, or is closed together with the target; given up, the source goes on', async () => {
    const seen = new Set<string>();
    await atEachStep(async ({ source, target }, before) => {
      const types = await typesIn(source);
      const isArrived = (await typesIn(target)).includes('LogArrived');
      seen.add(`${types.at(-1)} ${isArrived}`);
      if (types.at(-1) === 'LogMoved') {
        assert.equal(await goesOn(source, 'd'), false);
        assert.equal(await goesOn(target, 'e'), isArrived);
      }
      await mayFail(abortMove(partsOf(source, target, 'home', 'away')));
      assert.equal(await expectOneLog(before, source, [target]), isArrived ? target : source);
    });
    expect([...seen].sort()).toEqual(['LogCreated false', 'LogMoved false', 'LogMoved true']);
  });

  it('and giving it up can die at any step, too', async () => {
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const [source, target] = [await begun(), new MemoryStore()];
      const before = await recordsIn(source);
      const parts = partsOf(source, target, 'home', 'away');
      const dying = { ...parts.tools, pause: () => Promise.reject(new Died()) };
      await mayFail(moveLog({ ...parts, tools: dying }));
      isDone = await mayFail(abortMove(mortal(source, target, steps)));
      await abortMove(partsOf(source, target, 'home', 'away'));
      assert.equal(await expectOneLog(before, source, [target]), source);
      assert.deepEqual(await typesIn(source), ['LogCreated', 'LogMoved', 'LogReopened']);
      await moveLog(partsOf(source, new MemoryStore(), 'home', 'elsewhere'));
    }
  });
});

/** What came of it. */
const seen = { arrived: 0, givenUp: 0, untouched: 0 };

async function history(seed: number): Promise<void> {
  const choices = choicesOf(seed);
  const turns = turnsBy(choices);
  const source = await begun();
  const targets = [new MemoryStore(), new MemoryStore()] as const;
  const [target, another] = targets;
  const before = await recordsIn(source);
  const parts = (to: MemoryStore, steps = Number.POSITIVE_INFINITY) => {
    const open = (store: EventStore) => turnedStore(store, turns, { steps }, () => choices.between(1, 4));
    return partsOf(open(source), open(to), 'home', to === target ? 'away' : 'another');
  };
  const wait = async (most: number) => {
    for (let left = choices.between(0, most); left > 0; left--) await turns.take();
  };
  const someSteps = () => (choices.chance(0.8) ? choices.between(0, 60) : Number.POSITIVE_INFINITY);
  // Many die while the log is closed in both stores.
  const pause = async () => {
    if (choices.chance(0.5)) throw new Died();
  };
  const mover = async (to: MemoryStore) => {
    for (let runs = choices.between(1, 3); runs > 0; runs--) {
      await wait(30);
      const mine = parts(to, someSteps());
      await mayFail(moveLog({ ...mine, tools: { ...mine.tools, pause } }));
    }
  };
  const aborter = async (to: MemoryStore) => {
    await wait(60);
    await mayFail(abortMove(parts(to, someSteps())));
  };
  // Started by mistake: in a target at any time, or in the source when its `log` is closed.
  const byMistake = async (store: MemoryStore) => {
    for (let i = 0; i < 10; i++) {
      await wait(8);
      if (store === source && (await typesIn(source)).at(-1) !== 'LogMoved') continue;
      const isTaken = await goesOn(store, `p${i}`);
      assert(!isTaken || (await typesIn(store)).at(-1) === 'LogArrived', 'a closed log took a participant');
    }
  };
  await turns.until(
    Promise.all([
      ...[mover(target), byMistake(source), byMistake(target), byMistake(another)],
      ...(choices.chance(0.4) ? [mover(target)] : []),
      ...(choices.chance(0.4) ? [mover(another)] : []),
      ...(choices.chance(0.6) ? [aborter(choices.chance(0.8) ? target : another)] : []),
    ]),
  );
  // Whatever its state now, it can be ended: given up in each target where that is possible, or completed.
  const giveUp = choices.chance(0.6);
  for (const to of targets)
    if (giveUp || !(await turns.until(mayFail(moveLog(parts(to))))))
      await turns.until(mayFail(abortMove(parts(to))));
  const home = await expectOneLog(before, source, targets);
  if (home !== source) seen.arrived++;
  else if ((await typesIn(source)).includes('LogReopened')) seen.givenUp++;
  else seen.untouched++;
}

it('a move never gives a participant an arm in each store, whoever is interrupted and when', {
  timeout: 120_000,
}, async () => {
  await check(fc.asyncProperty(fc.noShrink(fc.integer()), history), {
    numRuns: Number(process.env['FC_RUNS'] ?? 60),
  });
  // biome-ignore lint/suspicious/noConsole: the number of attempts says how much the test shows
  console.info('moves of a log', seen);
  expect(seen.arrived).toBeGreaterThan(5);
  expect(seen.givenUp).toBeGreaterThan(0);
});

it('what a service that was not stopped writes until it hears of the move comes along', async () => {
  const [source, target] = [await begun(), new MemoryStore()];
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

/** @param acts all of which are refused for this reason */
async function refuses(parts: ReturnType<typeof partsOf>, why: string, acts = [moveLog, abortMove]) {
  for (const act of acts) await expect(act(parts)).rejects.toThrow(why);
}

/** Ends when LogMoved is in both stores. */
const closedBetween = (home: EventStore, away: EventStore) =>
  refuses(partsOf(dyingAfter(home, 'LogMoved'), away, 'home', 'away'), 'died', [moveLog]);

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

it('a move is not given up or resumed with source and target swapped', async () => {
  const [home, away] = [await begunWith('a'), new MemoryStore()];
  await closedBetween(home, away);
  const before = [await size(home), await size(away)];
  const swapped = 'is being moved to away, not from there (hint: --from and --to are the other way round)';
  await refuses(partsOf(away, home, 'away', 'home'), swapped);
  expect([await size(home), await size(away)]).toEqual(before);
  await abortMove(partsOf(home, away, 'home', 'away'));
  expect((await (await startProcess(home)).post('b'))?.outcome.type).toBe('randomized');
  const given = 'the source is itself a copy from a move that was given up';
  await refuses(partsOf(away, new MemoryStore(), 'away', 'fresh'), given, [moveLog]);
});

it('a target is void if the source’s log went on before it was closed', async () => {
  const [home, away] = [await begunWith('a'), new MemoryStore()];
  await refuses(partsOf(home, dyingAfter(away, 'LogMoved'), 'home', 'away'), 'died', [moveLog]);
  await moveLog(partsOf(home, new MemoryStore(), 'home', 'another'));
  await refuses(partsOf(home, away, 'home', 'away'), 'moved to another store: another', [moveLog]);
  const [again, second] = [await begunWith('a'), new MemoryStore()];
  await refuses(partsOf(again, dyingAfter(second, 'LogMoved'), 'home', 'away'), 'died', [moveLog]);
  const move = '0193a8e0-0000-7000-8000-00000000aaaa';
  const facts: MoveFact[] = [
    { type: 'LogMoved', data: { move, to: 'x' }, sections: {} },
    { type: 'LogReopened', data: { move }, sections: {} },
  ];
  for (const [i, fact] of facts.entries())
    await again.append('log', i, [recordOf(partsOf(again, again, 'x', 'y'), i + 1, fact)]);
  await refuses(partsOf(again, second, 'home', 'away'), 'this target is void');
});
