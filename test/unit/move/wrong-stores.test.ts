/** Stores that a log must not be moved between, or given up between: each would leave somebody who goes on with half of it. */
import { expect, it } from 'vitest';
import type { MoveFact } from '../../../events/move.ts';
import { abortMove } from '../../../src/evidence/move/abort-move.ts';
import { copyRecords } from '../../../src/evidence/move/copy-records.ts';
import { moveLog } from '../../../src/evidence/move/move-log.ts';
import { recordOf } from '../../../src/evidence/move/standing.ts';
import type { EventStore, StoredRecord } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';
import { aliveWhile, begunWith, copyAll, dyingAfter, partsOf, startProcess } from '../../support/moving.ts';

const size = async (store: EventStore) => {
  let records = 0;
  for await (const page of store.readAll()) records += page.length;
  return records;
};

const begun = () => begunWith('a');

/** Ends when LogMoved is in both stores. */
async function closedBetween(home: EventStore, away: EventStore): Promise<void> {
  const dying = dyingAfter(home, 'LogMoved');
  await expect(moveLog(partsOf(dying, away, 'home', 'away'))).rejects.toThrow('died');
}

it('a log does not return to a store that it left, which somebody may have open', async () => {
  const [home, away] = [await begun(), new MemoryStore()];
  await moveLog(partsOf(home, away, 'home', 'away'));
  await (await startProcess(away)).post('b');
  await expect(moveLog(partsOf(away, home, 'away', 'home'))).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('the target already holds this log'),
  });
  expect((await (await startProcess(away)).post('c'))?.outcome.type).toBe('randomized');
});

it('it does not go to a copy of its own files, which a service might have open', async () => {
  const [home, seeded] = [await begun(), new MemoryStore()];
  await copyAll(home, seeded);
  const before = await size(home);
  await expect(moveLog(partsOf(home, seeded, 'home', 'seeded'))).rejects.toThrow('already holds this log');
  expect([await size(home), await size(seeded)]).toEqual([before, before]);
});

it('nor to a store with records that the source does not have', async () => {
  const [home, other] = [await begun(), new MemoryStore()];
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
  const [home, other, broken] = [await begun(), new MemoryStore(), new MemoryStore()];
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
  const [home, away, other] = [await begun(), new MemoryStore(), new MemoryStore()];
  await closedBetween(home, away);
  for (const act of [moveLog, abortMove])
    await expect(act(partsOf(home, other, 'home', 'away'))).rejects.toThrow(
      'the log was moved to another store: away',
    );
  await moveLog(partsOf(home, away, 'home', 'away'));
  for (const act of [moveLog, abortMove])
    await expect(act(partsOf(home, other, 'home', 'away'))).rejects.toThrow('was moved to another store');
});

it('a move is not given up or resumed with source and target swapped', async () => {
  const [home, away] = [await begun(), new MemoryStore()];
  await closedBetween(home, away);
  const before = [await size(home), await size(away)];
  for (const act of [moveLog, abortMove])
    await expect(act(partsOf(away, home, 'away', 'home'))).rejects.toThrow(
      'the log is being moved to away, not from there (hint: --from and --to are the other way round)',
    );
  expect([await size(home), await size(away)]).toEqual(before);
  await abortMove(partsOf(home, away, 'home', 'away'));
  expect((await (await startProcess(home)).post('b'))?.outcome.type).toBe('randomized');
  await expect(moveLog(partsOf(away, new MemoryStore(), 'away', 'fresh'))).rejects.toThrow(
    'the source is itself a copy from a move that was given up',
  );
});

it('a target is void if the source’s log went on before it was closed', async () => {
  const [home, away] = [await begun(), new MemoryStore()];
  const dying = dyingAfter(away, 'LogMoved');
  await expect(moveLog(partsOf(home, dying, 'home', 'away'))).rejects.toThrow('died');
  await moveLog(partsOf(home, new MemoryStore(), 'home', 'another'));
  await expect(moveLog(partsOf(home, away, 'home', 'away'))).rejects.toThrow(
    'moved to another store: another',
  );
  const again = await begun();
  const second = new MemoryStore();
  await expect(moveLog(partsOf(again, dyingAfter(second, 'LogMoved'), 'home', 'away'))).rejects.toThrow(
    'died',
  );
  const move = '0193a8e0-0000-7000-8000-00000000aaaa';
  const facts: MoveFact[] = [
    { type: 'LogMoved', data: { move, to: 'x' }, sections: {} },
    { type: 'LogReopened', data: { move }, sections: {} },
  ];
  for (const [i, fact] of facts.entries())
    await again.append('log', i, [recordOf(partsOf(again, again, 'x', 'y'), i + 1, fact)]);
  for (const act of [moveLog, abortMove])
    await expect(act(partsOf(again, second, 'home', 'away'))).rejects.toThrow('this target is void');
});
