/**
 * The tables of two papers. Each row has the published figure, found by simulation, and the exact one.
 *
 * A published figure must be within 4 standard errors of the exact one, plus half a unit of its last digit. The standard
 * error is that of a mean over the authors' number of trials. The standard deviation between trials is also computed exactly:
 * for sums over steps by carrying along mean and mean square, for |D|, D² and SD from the distribution of D, and for the
 * largest |D| from its distribution.
 */
import { describe, expect, it } from 'vitest';
import { largestRange } from '../../../../src/statistics/simulation/exact/course.ts';
import { rangeOf } from '../../../../src/statistics/simulation/exact/range.ts';
import type { ComparatorRule } from '../../../../src/statistics/simulation/plan.ts';
import { RangeScale } from '../../../../src/statistics/simulation/quantities.ts';
import {
  bigStick,
  block,
  COMPLETE,
  deviationOfSum,
  efron,
  exactOf,
  figureOf,
  layersFor,
  meanOfRange,
  type Term,
  TWO,
  urn,
} from './support.ts';

type Columns = Readonly<Record<string, string>>;

interface Figure {
  /** Its name, without `@n`. */
  readonly name: string;
  /** The standard deviation between trials. */
  readonly deviation: (rule: ComparatorRule, n: number) => number;
}

const exactTerm = (mean: number) => ({ mean, square: mean * mean });
const sumOf =
  (term: Term) =>
  (rule: ComparatorRule, n: number): number =>
    deviationOfSum(rule, n, term) / n;

const GUESS: Term = (chances, arm) => {
  const most = Math.max(...chances);
  const guessed = chances.filter((p) => Math.abs(p - most) < 1e-12).length;
  // With several, the guess is by lot: it is right or wrong, and has the same mean square.
  const right = Math.abs((chances[arm] as number) - most) < 1e-12 ? 1 / guessed : 0;
  return { mean: right, square: right };
};

const FIGURES: Readonly<Record<string, Figure>> = {
  EB: { name: 'balanced', deviation: sumOf((_, _arm, { counts: [a, b] }) => exactTerm(a === b ? 1 : 0)) },
  SD: {
    name: 'difference.sd',
    deviation(rule, n) {
      const result = exactOf(rule, TWO, n);
      const [second, fourth] = [2, 4].map((power) => meanOfRange(result, (range) => range ** power));
      if (second === undefined || fourth === undefined || second === 0) return 0;
      return Math.sqrt((fourth - second * second) / (4 * second));
    },
  },
  MI: {
    name: 'course.range.mean',
    deviation(rule, n) {
      const scale = new RangeScale(TWO);
      const found = largestRange(
        layersFor(rule, TWO, n).map(({ states, ways }) => ({
          ranges: Int32Array.from(states, (state) => rangeOf(state, scale)),
          ways,
        })),
      );
      const [mean, square] = [1, 2].map((power) =>
        [...found].reduce((total, [range, chance]) => total + chance * range ** power, 0),
      ) as [number, number];
      return Math.sqrt(Math.max(0, square - mean * mean));
    },
  },
  ET: {
    name: 'entropy',
    deviation: sumOf((chances) =>
      exactTerm(chances.reduce((total, p) => total - (p > 0 ? p * Math.log(p) : 0), 0)),
    ),
  },
  DA: {
    name: 'certain.100',
    deviation: sumOf((chances) => exactTerm(Math.max(...chances) > 1 - 1e-12 ? 1 : 0)),
  },
  CG: { name: 'guess.known', deviation: sumOf(GUESS) },
  FI: { name: 'forcing', deviation: sumOf(([p = 0]) => exactTerm(4 * Math.abs(p - 0.5))) },
  '|D|': {
    name: 'overall.range.mean',
    deviation(rule, n) {
      const result = exactOf(rule, TWO, n);
      const [mean, square] = [1, 2].map((power) => meanOfRange(result, (range) => range ** power)) as [
        number,
        number,
      ];
      return Math.sqrt(Math.max(0, square - mean * mean));
    },
  },
  loss: {
    name: 'loss',
    deviation(rule, n) {
      const result = exactOf(rule, TWO, n);
      const [second, fourth] = [2, 4].map((power) => meanOfRange(result, (range) => range ** power)) as [
        number,
        number,
      ];
      return Math.sqrt(Math.max(0, fourth - second * second)) / n;
    },
  },
};

/** Zhao, Weng, Wu, Palesch 2012, tables IV (n = 100) and III (n = 80), 5,000 trials. UD(1,0,1) and complete are ours. */
const ZHAO: readonly (readonly [string, ComparatorRule, number, Columns])[] = [
  [
    'UD(1,0,5)',
    urn(1, 0, 5),
    100,
    {
      ...{ EB: '.122 / .1213', SD: '5.696 / 5.7850', MI: '8.404 / 8.4752' },
      ...{ ET: '.684 / .6838', DA: '0 / 0', CG: '.543 / .5421' },
    },
  ],
  [
    'UD(0,0,1)',
    urn(0, 0, 1),
    100,
    {
      ...{ EB: '.125 / .1239', SD: '5.673 / 5.7735', MI: '8.415 / 8.4573' },
      ...{ ET: '.680 / .6800', DA: '.010 / .0100', CG: '.544 / .5434' },
    },
  ],
  [
    'biased coin 0.65',
    efron(0.65),
    100,
    {
      ...{ EB: '.236 / .2370', SD: '2.349 / 2.3463', MI: '5.490 / 5.4948' },
      ...{ ET: '.658 / .6585', DA: '0 / 0', CG: '.614 / .6136' },
    },
  ],
  [
    'permuted block 4',
    block(4),
    100,
    {
      ...{ EB: '.416 / .4167', SD: '0 / 0', MI: '2 / 1.99996' },
      ...{ ET: '.448 / .4479', DA: '.334 / .3333', CG: '.709 / .7083' },
    },
  ],
  [
    'permuted block 10',
    block(10),
    100,
    {
      ...{ EB: '.307 / .3063', SD: '0 / 0', MI: '3.620 / 3.6271' },
      ...{ ET: '.553 / .5529', DA: '.167 / .1667', CG: '.654 / .6532' },
    },
  ],
  [
    'big stick 4',
    bigStick(4),
    100,
    {
      ...{ EB: '.129 / .1300', SD: '2.454 / 2.4495', MI: '3.999 / 3.9996' },
      ...{ ET: '.611 / .6117', DA: '.118 / .1175', CG: '.558 / .5587' },
    },
  ],
  [
    'random allocation rule',
    block(100),
    100,
    {
      ...{ EB: '.116 / .1156', SD: '0 / 0', MI: '8.207 / 8.2091' },
      ...{ ET: '.668 / .6678', DA: '.020 / .0196', CG: '.558 / .5578' },
    },
  ],
  [
    'UD(1,0,1)',
    urn(1, 0, 1),
    100,
    { EB: '.1152', SD: '5.8310', MI: '8.5464', ET: '.6869', DA: '0', CG: '.5389' },
  ],
  ['complete', COMPLETE, 100, { EB: '.0704', SD: '10', MI: '12.0540', ET: '.6931', DA: '0', CG: '.5' }],
  [
    'permuted block 20',
    block(20),
    80,
    {
      ...{ EB: '.234 / .2338', SD: '0 / 0', MI: '4.655 / 4.6547' },
      ...{ ET: '.606 / .6063', DA: '.091 / .0909', CG: '.617 / .6169' },
    },
  ],
  [
    'biased coin 0.7',
    efron(0.7),
    80,
    {
      ...{ EB: '.287 / .2897', SD: '1.760 / 1.7449', MI: '4.374 / 4.3531' },
      ...{ ET: '.635 / .6351', DA: '0 / 0', CG: '.640 / .6410' },
    },
  ],
];

/** Berger et al. 2021, example 1, 10,000 trials. */
const BERGER: readonly (readonly [string, ComparatorRule, number, Columns])[] = [
  [
    'GBCD(1)',
    urn(0, 0, 1),
    10,
    {
      ...{ '|D|': '1.3028 / 1.3113', loss: '.3326 / .3333' },
      ...{ FI: '.4760 / .4769', CG: '.6188 / .6192' },
    },
  ],
  [
    'GBCD(1)',
    urn(0, 0, 1),
    50,
    {
      ...{ '|D|': '3.2162 / 3.1949', loss: '.3402 / .3333' },
      ...{ FI: '.2393 / .2395', CG: '.5597 / .5599' },
    },
  ],
  [
    'EBCD(2/3)',
    efron(2 / 3),
    50,
    {
      ...{ '|D|': '1.3200 / 1.3288', loss: '.0872 / .0881' },
      ...{ FI: '.4866 / .4867', CG: '.6212 / .6217' },
    },
  ],
  [
    'PBD(4)',
    block(4),
    50,
    { '|D|': '.6658 / .6667', loss: '.0266 / .0267', FI: '.8134 / .8133', CG: '.7032 / .7033' },
  ],
  [
    'BSD(3)',
    bigStick(3),
    50,
    {
      ...{ '|D|': '1.3328 / 1.3333', loss: '.0533 / .0533' },
      ...{ FI: '.3151 / .3156', CG: '.5785 / .5789' },
    },
  ],
  ['CRD', COMPLETE, 50, { '|D|': '5.6050 / 5.6138', loss: '.9938 / 1', FI: '0 / 0', CG: '.4993 / .5' }],
  ['UD(1,0,1)', urn(1, 0, 1), 50, { '|D|': '3.2606', loss: '.3467', FI: '.2047', CG: '.5512' }],
];

/** Half a unit of the last digit, and a little for values on the edge. */
const halfUnit = (digits: string): number => 0.5001 * 10 ** -(digits.split('.')[1] ?? '').length;

describe.each([
  { paper: 'Zhao and others 2012', trials: 5_000, rows: ZHAO },
  { paper: 'Berger and others 2021', trials: 10_000, rows: BERGER },
])('$paper', ({ trials, rows }) => {
  it.each(rows)('%s', (_design, rule, n, columns) => {
    const result = exactOf(rule, TWO, n);
    for (const [column, text] of Object.entries(columns)) {
      const { name, deviation } = FIGURES[column] as Figure;
      const ours = figureOf(result, ['SD', '|D|', 'loss'].includes(column) ? atLast(name, n) : name);
      const [published, exact] = text.includes('/') ? text.split(' / ') : [undefined, text];
      expect(Math.abs(ours - Number(exact)), `${column} exactly`).toBeLessThanOrEqual(
        halfUnit(exact as string),
      );
      if (published === undefined) continue;
      const error = deviation(rule, n) / Math.sqrt(trials);
      expect(Math.abs(ours - Number(published)), `${column} as published`).toBeLessThanOrEqual(
        4 * error + halfUnit(published),
      );
    }
  });
});

/** `overall.range.mean` after n participants is `overall.range@n.mean`. */
function atLast(name: string, n: number): string {
  return name.endsWith('.mean') ? name.replace('.mean', `@${n}.mean`) : `${name}@${n}`;
}
