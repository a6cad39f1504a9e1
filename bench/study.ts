/** The study of the benchmarks: 3 treatments, 4 factors of 3 levels, 81 kinds of participants. */
import type { MethodParameters, StudyConfiguration, UrnConfiguration } from '../events/study.ts';

export const STUDY: UrnConfiguration = {
  name: 'Benchmark',
  mode: 'test',
  D: 'chisquare',
  urnSelection: 'method1',
  w: 1,
  alpha: 0,
  beta: 1,
  treatments: ['Treatment A', 'Treatment B', 'Usual care'],
  factors: [
    { name: 'sex', levels: ['Female', 'Male', 'Other'] },
    { name: 'age_group', levels: ['18-34', '35-59', '60 and over'] },
    { name: 'severity', levels: ['mild', 'moderate', 'severe'] },
    { name: 'site', levels: ['11-Cook County', '30-Dupage County', '45-Kane County'] },
  ],
};

/** The levels of every possible participant, in the order of the factors. */
const PARTICIPANTS: readonly (readonly string[])[] = STUDY.factors.reduce<string[][]>(
  (earlier, { levels }) => earlier.flatMap((given) => levels.map((level) => [...given, level])),
  [[]],
);

export function randomLevels(): readonly string[] {
  return PARTICIPANTS[Math.floor(Math.random() * PARTICIPANTS.length)] ?? [];
}

export const MANY_FACTORS = Array.from({ length: 13 }, (_, i) => ({
  name: `factor ${i + 1}`,
  levels: ['low', 'middle', 'high'],
}));

export const manyLevels = () => levelsOf(MANY_FACTORS);

/** Random levels of these factors. */
export function levelsOf(factors: typeof STUDY.factors): readonly string[] {
  return factors.map(({ levels }) => levels[Math.floor(Math.random() * levels.length)] ?? '');
}

export interface OfMethod {
  readonly name: string;
  readonly configuration: StudyConfiguration;
  readonly parameters: MethodParameters;
}

const { D: _D, urnSelection: _urnSelection, w: _w, alpha: _alpha, beta: _beta, ...WITHOUT_URN } = STUDY;
const otherwise = { ...WITHOUT_URN, factors: MANY_FACTORS };

/** A study of each method. The first is the urn. */
export const METHODS: readonly OfMethod[] = [
  { name: 'the urn', configuration: { ...STUDY, factors: MANY_FACTORS }, parameters: {} },
  {
    name: 'blocks',
    configuration: { ...otherwise, method: { name: 'blocks', by: ['factor 1', 'factor 2'] } },
    parameters: { blocks: { perSlot: [2, 3, 4] } },
  },
  {
    name: 'minimization',
    configuration: { ...otherwise, method: { name: 'minimization' } },
    parameters: { minimization: { measure: 'range', pThousandths: 800 } },
  },
  { name: 'complete', configuration: { ...otherwise, method: { name: 'complete' } }, parameters: {} },
];

/** A record as in the answer to a POST, for the routes that answer a constant. */
export const CONSTANT_RECORD = {
  id: 'participant-000001',
  ...Object.fromEntries(STUDY.factors.map(({ name, levels }) => [`f_${name}`, levels[0]])),
  trt: STUDY.treatments[0],
  datetime: 'Wed, 10 Feb 2021 00:01:08 GMT',
  user: 'bench',
};
