/** Minimization, against samples worked out in numpy. */
import { describe, expect, it } from 'vitest';
import type { MinimizationParameters } from '../../../events/study.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { allocate } from '../../../src/core/methods/method.ts';
import { Minimization } from '../../../src/core/methods/minimization/minimization.ts';
import { OpenBlocks } from '../../../src/core/methods/open-blocks.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';

const FACTORS = [
  { name: 'sex', levels: ['F', 'M'] },
  { name: 'site', levels: ['1', '2', '3'] },
  { name: 'stage', levels: ['x', 'y'] },
];
const PEOPLE = 'F3x M1y M2y F1y F2y F3y M3x F2x F1x M3x M3x F2y'
  .split(' ')
  .map((names) => FACTORS.map(({ levels }, factor) => levels.indexOf(names[factor] ?? '')));

function drawn(parameters: Partial<MinimizationParameters>, slots: readonly string[] = ['A', 'B', 'C']) {
  const method = new Minimization({
    ...{ slots, factors: FACTORS, hasRatio: new Set(slots).size < slots.length },
    parameters: { measure: 'range', pThousandths: 800, ...parameters },
  });
  const memory = { counts: new Counts({ slots, factors: FACTORS }), blocks: new OpenBlocks() };
  let state = Pcg64.fromSeed(2033n).snapshot();
  const picks = PEOPLE.map((levels) => {
    const { slot, evidence } = allocate(method, memory, levels, state);
    if (!evidence.pick) throw new Error('nothing was picked');
    state = evidence.pick.bgStateAfter;
    memory.counts.add(levels, slot);
    return { ...evidence.pick, slot };
  });
  expect(state.state.state).toBe('317772102487831745468505650783456004176');
  return { picks, arms: picks.map(({ slot }) => slots[slot]).join('') };
}

describe('minimization', () => {
  it('is that of the worked sample', () => {
    const { picks, arms } = drawn({});
    expect(arms).toBe('ACBACACBBACB');
    const shown = picks.slice(0, 10).map(({ scores, weights, uniform53 }) => [scores, weights, uniform53]);
    expect(shown).toEqual([
      [[3, 3, 3], [2000, 2000, 2000], 773505215688052],
      [[3, 3, 3], [2000, 2000, 2000], 6116460135213112],
      [[3, 3, 5], [1800, 1800, 400], 5701071578266076],
      [[3, 4, 5], [1600, 200, 200], 5499174981369673],
      [[5, 5, 4], [200, 200, 1600], 8279807532384510],
      [[6, 3, 5], [200, 1600, 200], 737468155004569],
      [[5, 5, 5], [2000, 2000, 2000], 8592361452782672],
      [[6, 4, 7], [200, 1600, 200], 1985337989363109],
      [[6, 3, 5], [200, 1600, 200], 2121126193991473],
      [[5, 5, 6], [1800, 1800, 400], 1612508192270917],
    ]);
  });

  it.each([
    [{ weights: [1, 3, 1] }, 'ACBACACABBCB'],
    [{ measure: 'variance' }, 'ACBBCACBABCA'],
    [{ measure: 'variance', weights: [1, 3, 1] }, 'ACBBCACABBCC'],
  ] as [Partial<MinimizationParameters>, string][])(
    'with %j is that of the worked sample',
    (parameters, expected) => {
      expect(drawn(parameters).arms).toBe(expected);
    },
  );

  it('in the ratio 2:1 is that of the worked sample', () => {
    const { picks, arms } = drawn({}, ['A', 'A', 'B']);
    expect(arms).toBe('ABAABABAAABA');
    expect(picks.map(({ slot }) => slot)).toEqual([0, 2, 1, 0, 2, 0, 2, 1, 1, 0, 2, 1]);
  });
});
