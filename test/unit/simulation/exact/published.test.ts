/**
 * The designs of two papers' tables. The papers found their figures by simulation; they are within 4 of their standard errors
 * of the exact ones, which stand here.
 */
import { describe, expect, it } from 'vitest';
import type { ComparatorRule } from '../../../../src/statistics/simulation/plan.ts';
import { bigStick, block, COMPLETE, efron, exactOf, figureOf, TWO, urn } from './support.ts';

type Row = readonly [design: string, rule: ComparatorRule, n: number, figures: string];

/** Zhao, Weng, Wu, Palesch 2012, tables IV (n = 100) and III (n = 80). UD(1,0,1) and complete are ours. */
const ZHAO: readonly Row[] = [
  ['UD(1,0,5)', urn(1, 0, 5), 100, '.1213 5.7850 8.4752 .6838 0 .5421'],
  ['UD(0,0,1)', urn(0, 0, 1), 100, '.1239 5.7735 8.4573 .6800 .0100 .5434'],
  ['biased coin 0.65', efron(0.65), 100, '.2370 2.3463 5.4948 .6585 0 .6136'],
  ['permuted block 4', block(4), 100, '.4167 0 1.99996 .4479 .3333 .7083'],
  ['permuted block 10', block(10), 100, '.3063 0 3.6271 .5529 .1667 .6532'],
  ['big stick 4', bigStick(4), 100, '.1300 2.4495 3.9996 .6117 .1175 .5587'],
  ['random allocation', block(100), 100, '.1156 0 8.2091 .6678 .0196 .5578'],
  ['UD(1,0,1)', urn(1, 0, 1), 100, '.1152 5.8310 8.5464 .6869 0 .5389'],
  ['complete', COMPLETE, 100, '.0704 10 12.0540 .6931 0 .5'],
  ['permuted block 20', block(20), 80, '.2338 0 4.6547 .6063 .0909 .6169'],
  ['biased coin 0.7', efron(0.7), 80, '.2897 1.7449 4.3531 .6351 0 .6410'],
];

/** Berger et al. 2021, example 1. */
const BERGER: readonly Row[] = [
  ['GBCD(1), 10', urn(0, 0, 1), 10, '1.3113 .3333 .4769 .6192'],
  ['GBCD(1)', urn(0, 0, 1), 50, '3.1949 .3333 .2395 .5599'],
  ['EBCD(2/3)', efron(2 / 3), 50, '1.3288 .0881 .4867 .6217'],
  ['PBD(4)', block(4), 50, '.6667 .0267 .8133 .7033'],
  ['BSD(3)', bigStick(3), 50, '1.3333 .0533 .3156 .5789'],
  ['CRD', COMPLETE, 50, '5.6138 1 0 .5'],
  ['UD(1,0,1)', urn(1, 0, 1), 50, '3.2606 .3467 .2047 .5512'],
];

/** Half a unit of the last digit, and a little for values on the edge. */
const halfUnit = (digits: string): number => 0.5001 * 10 ** -(digits.split('.')[1] ?? '').length;

const RANGE = 'overall.range@#.mean';
describe.each([
  {
    paper: 'Zhao and others 2012',
    columns: 'balanced difference.sd@# course.range.mean entropy certain.100 guess.known',
    rows: ZHAO,
  },
  { paper: 'Berger and others 2021', columns: `${RANGE} loss@# forcing guess.known`, rows: BERGER },
])('$paper', ({ columns, rows }) => {
  it.each(rows)('%s', (_design, rule, n, figures) => {
    const result = exactOf(rule, TWO, n);
    const digits = figures.split(' ');
    for (const [i, column] of columns.split(' ').entries()) {
      const [name, exact = ''] = [column.replace('#', `${n}`), digits[i]];
      expect(Math.abs(figureOf(result, name) - Number(exact)), name).toBeLessThanOrEqual(halfUnit(exact));
    }
  });
});
