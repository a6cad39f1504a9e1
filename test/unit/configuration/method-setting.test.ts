/** The setting `method`: what is read, and what is said of anything else. */
import { describe, expect, it } from 'vitest';
import { checkStudiesFile, parseStudiesFile } from '../../../src/core/configuration/studies-file.ts';

const study = (more: object) =>
  JSON.stringify({
    S: {
      mode: 'test',
      treatments: ['A', 'B', 'C'],
      factors: { sex: ['F', 'M'], site: ['1', '2'], stage: ['x', 'y'] },
      ...more,
    },
  });

function read(method: object, more: object = {}) {
  const [found] = parseStudiesFile(study({ method, ...more }), 'studies.yaml').studies;
  if (!found) throw new Error('there is no study');
  const { configuration, parameters } = found;
  return { method: 'method' in configuration ? configuration.method : undefined, parameters };
}

const refusals = (more: object) =>
  checkStudiesFile(study(more), 'studies.yaml').refusals.map(({ message }) =>
    message.replace(/^study "S": (.*?)(?: \(hint: .*)?$/s, '$1'),
  );

const warnings = (more: object) =>
  checkStudiesFile(study(more), 'studies.yaml')
    .warnings.map(({ message }) => message)
    .join('\n');

describe('a method', () => {
  it.each([
    [{ name: 'urn' }, undefined, {}],
    [{ name: 'complete' }, { name: 'complete' }, {}],
    [
      { name: 'blocks', by: ['site', 'sex'], sizes: [9, 3, 6] },
      { name: 'blocks', by: ['sex', 'site'] },
      { blocks: { perSlot: [1, 2, 3] } },
    ],
    [{ name: 'blocks', by: [], sizes: [6] }, { name: 'blocks', by: [] }, { blocks: { perSlot: [2] } }],
    [{ name: 'list', by: ['site', 'sex'] }, { name: 'list', by: ['sex', 'site'] }, {}],
    [
      { name: 'minimization', p: 0.667, measure: 'variance', weights: { site: 3, stage: 1, sex: 2 } },
      { name: 'minimization' },
      { minimization: { measure: 'variance', pThousandths: 667, weights: [2, 3, 1] } },
    ],
    [
      { name: 'minimization', weights: { sex: 1, site: 1, stage: 1 } },
      { name: 'minimization' },
      { minimization: { measure: 'range', pThousandths: 800 } },
    ],
  ])('%j is read', (given, method, parameters) => {
    expect(read(given)).toEqual({ method, parameters });
  });

  it('has sizes by the slots of a ratio', () => {
    const blocks = { name: 'blocks', by: [], sizes: [4, 8] };
    expect(read(blocks, { ratio: [2, 1, 1] }).parameters).toEqual({ blocks: { perSlot: [1, 2] } });
  });

  it.each<[object, string[]]>([
    [{ method: 'blocks' }, ['method is not a mapping']],
    [{ method: { name: 'block' } }, ['method: there is no method "block"']],
    [{ method: { by: [] } }, ['method: it has no name']],
    [{ method: { name: ['blocks'] } }, ['method: it has no name']],
    [{ method: { name: 'blocks', by: [['sex']], sizes: [6] } }, ['method: by: a factor has no name']],
    [{ method: { name: 'complete', p: 0.8 } }, ['method: complete has no "p"']],
    [{ method: { name: 'blocks', sizes: [6] } }, ['method: blocks needs by']],
    [{ method: { name: 'blocks', by: [] } }, ['method: blocks needs sizes']],
    [{ method: { name: 'list', sizes: [6] } }, ['method: list has no "sizes"', 'method: list needs by']],
    [
      { factors: { treatment: ['x', 'y'] }, method: { name: 'list', by: ['treatment'] } },
      ['method: by: the column treatment of a list has the arms'],
    ],
    [
      { w: 1, ratio: [2, 1, 1], starting_seed: 7, method: { name: 'list', by: ['site'] } },
      [
        'w belongs to the urn, and this study has a list',
        'ratio: a list holds its own ratio',
        'starting_seed: from a list nothing is drawn',
      ],
    ],
    [
      { w: 3, D: 'range', method: { name: 'blocks', by: ['seks', 'sex', 'sex'], sizes: [5, 6, 6, 0] } },
      [
        'method: by: the study has no factor "seks"',
        'method: by: the factor "sex" is there twice',
        'method: sizes: 5 is not a multiple of 3, the number of slots',
        'method: sizes: 6 is there twice',
        'method: sizes: a size is below 1',
        'w belongs to the urn, and this study has blocks',
        'D belongs to the urn, and this study has blocks',
      ],
    ],
    [{ method: { name: 'blocks', by: [], sizes: [] } }, ['method: sizes must be 1 to 8 different numbers']],
    ...[0.549, 0.951, 0.8125, '0.8'].map((p): [object, string[]] => [
      { method: { name: 'minimization', p } },
      ['method: p must be from 0.55 to 0.95, with at most three decimals'],
    ]),
    [{ method: { name: 'minimization', measure: 'x' } }, ['method: measure must be range or variance']],
    ...[
      { sex: 2, site: 4, stage: 2 },
      { sex: 2, site: 3 },
    ].map((weights): [object, string[]] => [
      { method: { name: 'minimization', weights } },
      ['method: weights must be whole numbers from 1 to 100 for all factors, without a common divisor'],
    ]),
    [
      { method: { name: 'minimization', weights: { age: 1, sex: 101, site: 1, stage: 1 } } },
      ['method: weights has no "age"', 'method: the weight of "sex" is above 100'],
    ],
  ])('%j is refused, with all that is wrong', (more, expected) => {
    expect(refusals(more).toSorted()).toEqual(expected.toSorted());
  });
});

it.each([
  ['urn', 'w', 'write w beside method, not in it'],
  ['urn', 'sizes', 'leave it out'],
  ['blocks', 'bye', 'did you mean by?'],
])('a method %s with %s is told where it belongs', (name, key, hint) => {
  const [refusal] = checkStudiesFile(study({ method: { name, [key]: 2 } }), 'studies.yaml').refusals;
  expect(refusal?.message).toContain(`(hint: ${hint})`);
});

describe('a method that sites could predict', () => {
  const blocks = (sizes: readonly number[], by: readonly string[] = ['site']) => ({
    method: { name: 'blocks', by, sizes },
  });

  it.each<[object, RegExp]>([
    [blocks([6, 9]), /has blocks and is open/],
    [{ ...blocks([6]), blinding: 'blinded' }, /all blocks have one size/],
    [{ ...blocks([3, 6]), blinding: 'blinded' }, /a single place for each slot/],
    [
      { ...blocks([6, 9], ['sex', 'site', 'stage']), blinding: 'blinded', target_enrollment: 60 },
      /^.*8 strata: the arms/,
    ],
    [{ method: { name: 'minimization', p: 0.901 } }, /p is above 0\.9/],
    [{ method: { name: 'minimization' }, policies: { void_counts: 'removed' } }, /can steer the next/],
    [{ method: { name: 'complete' }, mode: 'live', target_enrollment: 199 }, /199 participants/],
  ])('is warned about: %j', (more, expected) => {
    expect(warnings(more)).toMatch(expected);
  });

  it.each<[object]>([
    [{ ...blocks([6, 9]), blinding: 'blinded', target_enrollment: 600 }],
    [{ method: { name: 'minimization', p: 0.9 } }],
    [{ method: { name: 'complete' }, mode: 'live', target_enrollment: 200 }],
  ])('and %j is not', (more) => {
    expect(warnings(more)).toBe('');
  });

  it('is never named with its parameters', () => {
    expect(warnings(blocks([6]))).not.toMatch(/\b6\b/);
  });
});
