import { describe, expect, it } from 'vitest';
import { Runner } from '../../../projections/runner.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { design, studyConfig } from '../../../src/core/study/views.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { CONFIGURATION, NURSE, OPERATOR, randomize, SEED } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { openGate } from '../../support/open-gate.ts';

function studiesAt(store = new MemoryStore(), series = 0) {
  const runner = new Runner(store, LOG_ID, [studyConfig, studyState, design]);
  return {
    studies: new Studies({ store, logId: LOG_ID, runner, gate: openGate(runner), tools: fixedTools(series) }),
    runner,
    store,
  };
}
const named = (name: string) => ({ ...CONFIGURATION, name });

describe('a study', () => {
  it('is in a stream whose UUID v5 is derived from its name and its log', async () => {
    const { studies } = studiesAt();
    await studies.register(CONFIGURATION, SEED, OPERATOR);
    const stream = studies.streamOf('CHS JCOIN');
    expect(stream).toMatch(/^study-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(studies.find('CHS JCOIN')).toMatchObject({
      stream,
      revision: 0,
      registered: { studyId: stream.slice(6), seed: `${SEED}` },
    });
    expect(studiesAt().studies.streamOf('CHS JCOIN')).toBe(stream);
  });

  it('may have any name, and each name has its own stream', async () => {
    const names = ['é', 'e\u0301', '__proto__', 'study-', '../x', '\u{1f600}', 'a', 'A', 'a '];
    const { studies } = studiesAt();
    for (const name of names)
      expect(await studies.register(named(name), undefined, OPERATOR)).toBe('registered');
    expect(studies.list().map(({ registered }) => registered.configuration.name)).toEqual(names);
    expect(new Set(names.map((name) => studies.streamOf(name))).size).toBe(names.length);
    // Each gets a random seed of 128 bits, since none is given.
    const drawn = studies.list().map(({ registered }) => registered);
    expect(new Set(drawn.map(({ seed }) => seed)).size).toBe(names.length);
    for (const { seed, seedSource } of drawn)
      expect([BigInt(seed) < 2n ** 128n, seedSource]).toEqual([true, 'drawn']);
    expect(studies.find('b')).toBeUndefined();
  });

  it('is registered once, and a second process adopts the registration of the first', async () => {
    const one = studiesAt(undefined, 1);
    const two = studiesAt(one.store, 2);
    const outcomes = await Promise.all([
      one.studies.register(CONFIGURATION, 1n, OPERATOR),
      two.studies.register({ ...CONFIGURATION, w: 7 }, 2n, OPERATOR),
    ]);
    expect(outcomes.sort()).toEqual(['already-registered', 'registered']);
    expect(two.studies.find(CONFIGURATION.name)?.registered).toEqual(
      one.studies.find(CONFIGURATION.name)?.registered,
    );
  });

  it('takes no participants before it is registered, and writes nothing', async () => {
    const { studies, runner } = studiesAt();
    const stream = studies.streamOf('nobody’s');
    expect(await studies.submit(stream, randomize('001'), NURSE)).toEqual({
      outcome: { type: 'not-registered' },
      revision: -1,
    });
    expect(runner.streams()).toEqual([]);
  });

  it('can be suspended in this process, for as long as its file differs', async () => {
    const { studies } = studiesAt();
    await studies.register(CONFIGURATION, SEED, OPERATOR);
    const stream = studies.streamOf(CONFIGURATION.name);
    expect(studies.isSuspended(stream)).toBe(false);
    let differs = true;
    studies.suspendWhile(stream, () => differs);
    expect(studies.isSuspended(stream)).toBe(true);
    differs = false;
    expect(studies.isSuspended(stream)).toBe(false);
  });
});

it('studies are written to in parallel, and drained together', async () => {
  const { studies, runner } = studiesAt();
  const names = ['a', 'b', 'c'];
  for (const name of names) await studies.register(named(name), undefined, OPERATOR);
  const streams = names.map((name) => studies.streamOf(name));
  for (let i = 0; i < 30; i++) void studies.submit(streams[i % 3] ?? '', randomize(`${i}`), NURSE);
  await studies.drain();
  expect(streams.map((stream) => runner.revision(stream))).toEqual([10, 10, 10]);
});
