/** The worked samples of docs/methods.md, made in numpy: what is drawn, how it is explained, and which parameters are named. */
import { describe, expect, it } from 'vitest';
import type { MethodParameters, StudyConfiguration } from '../../../events/study.ts';
import { PermutedBlocks } from '../../../src/core/methods/blocks/blocks.ts';
import { OpenBlocks } from '../../../src/core/methods/open-blocks.ts';
import { methodParameters } from '../../../src/core/study/method-in-force.ts';
import { explain, type RandomizedEvent } from '../../../src/evidence/explain/explain.ts';
import { explanationText } from '../../../src/evidence/explain/explanation-text.ts';
import { event } from '../../support/facts.ts';
import { TrialRun } from '../../support/trial-run.ts';

const SEX = { name: 'sex', levels: ['F', 'M'] };
const SITE = { name: 'site', levels: ['1', '2', '3'] };
const STAGE = { name: 'stage', levels: ['x', 'y'] };
const PEOPLE = 'F3x M1y M2y F1y F2y F3y M3x F2x F1x M3x M3x F2y'.split(' ').map((names) => [...names]);
const ALIKE = Array<string[]>(10).fill(['F']);

function drawn(
  study: object,
  seed: bigint,
  parameters: MethodParameters,
  people: readonly (readonly string[])[],
) {
  const configuration = { name: 'S', mode: 'test', ...study } as StudyConfiguration;
  const trial = new TrialRun(configuration, seed, parameters);
  const draws = people.map((levels, i) => {
    const before = trial.copy().registered;
    trial.enrol(`p${i + 1}`, levels);
    const fact = trial.facts.at(-1);
    if (fact?.type !== 'ParticipantRandomized') throw new Error('nobody was randomized');
    const why = explain(before, event(fact, i + 1) as RandomizedEvent);
    expect(why.agrees).toBe(true);
    const { pick, allocation } = fact.sections;
    return { ...pick, arm: allocation.treatment, why, text: explanationText(why) };
  });
  return {
    ...{ trial, draws, arms: draws.map(({ arm }) => arm).join('') },
    parameters: () => methodParameters(trial.registered.design, parameters),
  };
}

describe('permuted blocks', () => {
  const of = (by: string[], perSlot: number[], people: readonly string[][], more = {}) => {
    const treatments = ['A', 'B'];
    const study = { treatments, factors: [SITE], method: { name: 'blocks', by }, ...more };
    return drawn(study, 2026n, { blocks: { perSlot } }, people);
  };

  it('of 4 and 6 in two strata are those of the worked sample', () => {
    const { draws, arms, trial, parameters } = of(
      ['site'],
      [2, 3],
      [...'121122121121'].map((site) => [site]),
    );
    expect(arms).toBe('BAAABBAABBBB');
    const sizes = [3, 2, 3, 3, 2, 2, 3, 2, 3, 3, 3, 3];
    expect(draws.map(({ block }) => block)).toEqual(
      sizes.map((perSlot, i) => ({ number: i < 10 ? 1 : 2, perSlot })),
    );
    expect(trial.bgState).toMatchObject({
      state: { state: '308269946292390932861741683681455606155' },
      ...{ has_uint32: 0, uinteger: 3950726356 },
    });
    const block = { stratum: [{ factor: 'site', level: '1' }], number: 1, size: 6, sizes: [4, 6], lot: 1 };
    expect(draws[0]?.why).toMatchObject({
      method: 'blocks',
      weights: [3, 3],
      block: { ...block, first: true },
    });
    const { why, text } = draws[8] ?? {};
    expect(why).toMatchObject({ trt: 'B', probabilities: [0, 1], block: { ...block, first: false } });
    expect(text).toContain(
      'Stratum site = 1, block 1, of 6 places (of the sizes 4 and 6, integers(2) gave 1 at its first place).',
    );
    expect(parameters()).toEqual({ sizes: [4, 6] });
  });

  it('with a ratio of 2:1 are those of the worked sample, and sizes are for the slots that are open', () => {
    const { draws, arms } = of([], [1, 2], ALIKE, { ratio: [2, 1], factors: [SEX] });
    expect(draws.map(({ slot }) => slot)).toEqual([1, 1, 0, 2, 2, 0, 0, 2, 1, 2]);
    expect(arms).toBe('AAABBAABAB');
    expect(draws.map(({ block }) => block?.perSlot)).toEqual([2, 2, 2, 2, 2, 2, 1, 1, 1, 1]);
    expect(draws[3]?.why).toMatchObject({ treatments: ['A', 'A', 'B'], slot: 2, block: { stratum: [] } });
    expect(draws[3]?.text).toContain('The whole study is one stratum, block 1, of 6');
    const { trial, parameters } = of([], [1, 2], [], { treatments: ['A', 'B', 'C'] });
    expect(parameters()).toEqual({ sizes: [3, 6] });
    trial.amend({ kind: 'arm-closed', treatment: 'C' });
    expect(parameters()).toEqual({ sizes: [2, 4] });
  });

  it('keep their number, and no place, when they are dropped, and do not have a place twice', () => {
    const blocks = new PermutedBlocks({ slots: ['A', 'B'], hasRatio: false, by: [], perSlot: [2] });
    const memory = { blocks: new OpenBlocks() };
    blocks.use(memory, [0], 0, 2);
    memory.blocks.drop();
    blocks.look(memory, [0]);
    expect([...blocks.chances]).toEqual([0.5, 0.5]);
    blocks.use(memory, [0], 1, 1);
    expect(memory.blocks.latest('')).toEqual({ number: 2, perSlot: 1, left: [1, 0] });
    expect(() => blocks.use(memory, [0], 1, 1)).toThrow(RangeError);
  });
});

it('complete randomization in the ratio 2:1:1 is that of the worked sample', () => {
  const study = {
    treatments: ['A', 'B', 'C'],
    ratio: [2, 1, 1],
    factors: [SEX],
    method: { name: 'complete' },
  };
  const { draws, arms, parameters } = drawn(study, 2026n, {}, ALIKE);
  expect(arms).toBe('ABAAACCABA');
  const [{ why } = {}] = draws;
  expect(why).toMatchObject({ method: 'complete', weights: [1, 1, 1, 1], uniform53: 1611701520384607 });
  for (const name of ['block', 'minimization']) expect(why).not.toHaveProperty(name);
  expect(parameters()).toBeUndefined();
});

describe('minimization', () => {
  const of = (given: object, more = {}) => {
    const treatments = ['A', 'B', 'C'];
    const study = { treatments, factors: [SEX, SITE, STAGE], method: { name: 'minimization' }, ...more };
    const minimization = { measure: 'range', pThousandths: 800, ...given } as const;
    const found = drawn(study, 2033n, { minimization }, PEOPLE);
    expect(found.trial.bgState.state.state).toBe('317772102487831745468505650783456004176');
    return found;
  };

  it('is that of the worked sample', () => {
    const { draws, arms, parameters } = of({});
    expect(arms).toBe('ACBACACBBACB');
    const minimization = { measure: 'range', p: 0.8, scores: [3, 3, 5], best: 2 };
    const weights = [1800, 1800, 400];
    expect(draws[2]?.why).toMatchObject({ method: 'minimization', trt: 'B', weights, minimization });
    expect(parameters()).toEqual({ p: 0.8, measure: 'range' });
  });

  it.each<[given: { weights?: number[]; measure?: 'variance' }, arms: string]>([
    [{ weights: [1, 3, 1] }, 'ACBACACABBCB'],
    [{ measure: 'variance' }, 'ACBBCACBABCA'],
    [{ measure: 'variance', weights: [1, 3, 1] }, 'ACBBCACABBCC'],
  ])('with %j is that of the worked sample', (given, expected) => {
    const { draws, arms, parameters } = of(given);
    expect(arms).toBe(expected);
    if (!given.weights) return;
    expect(draws[11]?.text).toMatch(/site = 2 +3 /);
    const weights = new Map([SEX, SITE, STAGE].map(({ name }, i) => [name, [1, 3, 1][i]]));
    expect(parameters()).toEqual({ p: 0.8, measure: given.measure ?? 'range', weights });
  });

  it('in the ratio 2:1 is that of the worked sample', () => {
    const { draws, arms } = of({}, { treatments: ['A', 'B'], ratio: [2, 1] });
    expect(arms).toBe('ABAABABAAABA');
    expect(draws.map(({ slot }) => slot)).toEqual([0, 2, 1, 0, 2, 0, 2, 1, 1, 0, 2, 1]);
  });
});
