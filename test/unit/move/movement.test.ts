/** What may come before and after LogMoved, in every fold and on the write path. */
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { Runner } from '../../../projections/runner.ts';
import { keyringInMemory, openIdentity } from '../../../src/core/log/identity.ts';
import { participants, studyState } from '../../../src/core/study/fold.ts';
import { foldUntil } from '../../../src/evidence/history/history.ts';
import { copyRecords } from '../../../src/evidence/move/move-log.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import {
  OPERATOR,
  REGISTER,
  randomize,
  randomized,
  registered,
  STREAM,
  stored,
} from '../../support/facts.ts';
import { FaultyStore, lost } from '../../support/faulty-store.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { writingProcess } from '../../support/writing-process.ts';

const [MOVE, OTHER] = ['0193a8e0-0000-7000-8000-00000000aaaa', '0193a8e0-0000-7000-8000-00000000bbbb'];
const moved = (move = MOVE): Fact => ({ type: 'LogMoved', data: { move, to: 'elsewhere' }, sections: {} });
const reopened = (move = MOVE): Fact => ({ type: 'LogReopened', data: { move }, sections: {} });
const arrived = (move = MOVE): Fact => ({ type: 'LogArrived', data: { move, from: 'here' }, sections: {} });
const aborted = (move = MOVE): Fact => ({ type: 'CopyAborted', data: { move }, sections: {} });
const rotated: Fact = {
  type: 'SigningKeyRotated',
  data: { publicKey: 'k', endorsement: 'e', reason: 'r' },
  sections: {},
};
const created: Fact = {
  type: 'LogCreated',
  data: { format: 'urn-log@1', logId: LOG_ID, logName: 'trial-log', publicKey: 'k' },
  sections: {},
};

async function storeOf(stream: string, facts: readonly Fact[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const records = facts.map((fact, revision) => stored(fact, revision, { stream, actor: OPERATOR }));
  await store.append(stream, -1, records);
  return store;
}

describe('the movement of a stream', () => {
  const sound: [string, readonly Fact[], string][] = [
    [STREAM, [registered(), moved()], 'closed'],
    [STREAM, [registered(), moved(), reopened(), moved(OTHER), arrived(OTHER), randomized()], 'open'],
    ['access', [moved(), arrived()], 'open'],
    ['operations', [moved()], 'closed'],
    ['log', [created, moved(), aborted()], 'dead'],
  ];
  it.each(sound)('with %s is folded (%#)', async (stream, facts, status) => {
    const store = await storeOf(stream, facts);
    const runner = new Runner(store, LOG_ID, [studyState, participants]);
    await runner.rebuild();
    expect(runner.halted(stream)).toBeUndefined();
    expect(runner.movement(stream).status).toBe(status);
    const wanted = stream === STREAM ? { participants } : {};
    const past = await foldUntil({ store, logId: LOG_ID }, stream, wanted, () => false);
    expect(past.revision).toBe(facts.length - 1);
  });

  const wrong: [string, number, readonly Fact[]][] = [
    [STREAM, 2, [registered(), moved(), randomized()]],
    [STREAM, 2, [registered(), moved(), moved(OTHER)]],
    [STREAM, 2, [registered(), moved(), reopened(OTHER)]],
    [STREAM, 1, [registered(), arrived()]],
    [STREAM, 3, [registered(), moved(), reopened(), moved()]],
    [STREAM, 0, [moved(), arrived(), registered()]],
    ['log', 2, [created, moved(), rotated]],
    ['log', 3, [created, moved(), aborted(), arrived()]],
    ['log', 1, [created, aborted()]],
    ['log', 0, [moved()]],
    ['access', 2, [moved(), arrived(), aborted()]],
  ];
  it.each(wrong)('with %s is folded up to %i and no further (%#)', async (stream, revision, facts) => {
    const store = await storeOf(stream, facts);
    const runner = new Runner(store, LOG_ID, [studyState, participants]);
    await runner.rebuild();
    expect(runner.revision(stream)).toBe(revision - 1);
    expect(runner.halted(stream)).toMatchObject({ fault: 'misplaced' });
    await expect(foldUntil({ store, logId: LOG_ID }, stream, {}, () => false)).rejects.toMatchObject({
      fault: 'misplaced',
      message: expect.stringContaining(`${stream}/${revision}: `),
    });
  });
});

it.each([
  ['what landed before it', true, 'randomized'],
  ['nothing', false, 'moved'],
] as const)(
  'the write path refuses commands that meet LogMoved, except for %s',
  async (_, lands, outcome) => {
    const inside = new MemoryStore();
    const store = new FaultyStore(inside);
    const { submit, runner } = writingProcess(store);
    expect(await submit(REGISTER, OPERATOR)).toBe('registered');
    // Two participants in one append, without a clear answer; then, or before, somebody closes the stream.
    store.next(async (send) => {
      if (lands) await send();
      const revision = lands ? 3 : 1;
      await inside.append(STREAM, revision - 1, [stored(moved(), revision, { actor: OPERATOR })]);
      if (lands) throw lost();
      return send();
    });
    const both = await Promise.all([submit(randomize('a')), submit(randomize('b'))]);
    expect(both).toEqual([outcome, outcome]);
    expect(await submit(randomize('c'))).toBe('moved');
    expect(runner.movement(STREAM).status).toBe('closed');
  },
);

it('no log is begun in a store that a log is being copied to', async () => {
  const source = await storeOf(STREAM, [registered()]);
  const target = new MemoryStore();
  await copyRecords({ source, target, logId: LOG_ID }, 'append');
  const opening = openIdentity(target, keyringInMemory(), 'trial-log', OPERATOR, fixedTools());
  await expect(opening).rejects.toThrow('a log is being moved here (hint: urn copy has to finish first)');
  for await (const page of target.readAll()) expect(page.map(({ stream }) => stream)).toEqual([STREAM]);
});
