/** What may follow in the stream `log` when the log is moved. */
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { logHistory } from '../../../projections/log.ts';
import { Runner } from '../../../projections/runner.ts';
import { logDecider } from '../../../src/core/log/log-stream.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { OPERATOR, stored } from '../../support/facts.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';

const [MOVE, OTHER] = ['0193a8e0-0000-7000-8000-00000000aaaa', '0193a8e0-0000-7000-8000-00000000bbbb'];
const moved = (move = MOVE): Fact => ({ type: 'LogMoved', data: { move, to: 'elsewhere' }, sections: {} });
const arrived = (move = MOVE): Fact => ({ type: 'LogArrived', data: { move, from: 'here' }, sections: {} });
const recovered: Fact = {
  type: 'LogRecovered',
  data: { recovery: 1, reason: 'r', streams: [{ stream: 'log', kept: 2 }] },
  sections: { studies: { streams: [] } },
};
const rotated: Fact = {
  type: 'SigningKeyRotated',
  data: { publicKey: 'k', endorsement: 'e', reason: 'r' },
  sections: {},
};

async function folded(facts: readonly Fact[]): Promise<Runner> {
  const store = new MemoryStore();
  const place = { stream: 'log', actor: OPERATOR };
  await store.append(
    'log',
    -1,
    facts.map((fact, revision) => stored(fact, revision, place)),
  );
  const runner = new Runner(store, LOG_ID, [logHistory]);
  await runner.rebuild();
  return runner;
}

describe('the history of a log', () => {
  it.each<[boolean, readonly Fact[]]>([
    [true, [rotated, moved()]],
    [false, [rotated, moved(), arrived()]],
    [false, [rotated, moved(), recovered]],
    [true, [rotated, moved(), recovered, moved(OTHER)]],
  ])('says whether it is moved: %s (%#)', async (isMoved, facts) => {
    const runner = await folded(facts);
    expect(runner.halted('log')).toBeUndefined();
    expect(runner.state(logHistory, 'log').moved !== undefined).toBe(isMoved);
  });

  it.each<[string, readonly Fact[]]>([
    ['only these may follow LogMoved', [moved(), rotated]],
    ['only these may follow LogMoved', [moved(), moved(OTHER)]],
    ['it is of another move', [moved(), arrived(OTHER)]],
    ['LogMoved does not come directly before it', [rotated, arrived()]],
    ['LogMoved does not come directly before it', [moved(), recovered, arrived()]],
    ['the log was moved under this id before', [moved(), arrived(), moved()]],
  ])('ends where %s (%#)', async (why, facts) => {
    const runner = await folded(facts);
    expect(runner.revision('log')).toBe(facts.length - 2);
    expect(runner.halted('log')).toMatchObject({
      fault: 'misplaced',
      message: expect.stringContaining(`log/${facts.length - 1}: `),
    });
    expect(runner.halted('log')?.message).toContain(why);
  });

  it.each<[string, number, readonly Fact[]]>([
    ['recovered', 2, [rotated, moved()]],
    ['overtaken', 1, [rotated, moved()]],
    ['overtaken', 1, [rotated, rotated]],
  ])('lets no loss be declared that was found when it was shorter: %s (%#)', async (type, kept, facts) => {
    const state = (await folded(facts)).state(logHistory, 'log');
    const streams = [{ stream: 'log', kept }];
    const { outcome } = logDecider.decide(state, { type: 'recover', reason: 'r', recovery: 1, streams });
    expect(outcome.type).toBe(type);
  });
});
