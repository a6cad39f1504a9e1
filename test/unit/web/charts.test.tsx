/** The charts as text, as a report has them that is written without a browser. */
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { Bars } from '../../../src/base/charts/bars.tsx';
import { armColour, COLOURS } from '../../../src/base/charts/colours.ts';
import { dateFormat } from '../../../src/base/charts/dates.ts';
import { DifferenceChart } from '../../../src/base/charts/difference-chart.tsx';
import { EnrolmentChart } from '../../../src/base/charts/enrolment-chart.tsx';
import { differences, largestDifference } from '../../../src/base/charts/series.ts';
import tokens from '../../../src/web/style/tokens.css?raw';

const SIZE = { width: 560, height: 220 } as const;
const POINTS = [
  { at: '2027-03-01T08:00:00.000Z', enrolled: 1 },
  { at: '2027-04-15T08:00:00.000Z', enrolled: 40 },
  { at: '2027-07-01T08:00:00.000Z', enrolled: 187 },
];

function enrolment(more: Partial<Parameters<typeof EnrolmentChart>[0]> = {}): string {
  return renderToStaticMarkup(
    <EnrolmentChart
      {...SIZE}
      points={POINTS}
      until="2027-07-15T08:00:00.000Z"
      alternative="187 of 300 enrolled"
      language="en"
      timeZone="UTC"
      {...more}
    />,
  );
}

function difference(more: Partial<Parameters<typeof DifferenceChart>[0]> = {}): string {
  const points = [0, 2, 1, 3].map((value, i) => ({ enrolled: 10 * i, difference: value }));
  return renderToStaticMarkup(
    <DifferenceChart {...SIZE} points={points} alternative="3 apart" language="en" {...more} />,
  );
}

const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
const paths = (svg: string) => [...svg.matchAll(/<path[^>]* d="([^"]*)"/g)].map(([, path]) => path ?? '');
const pointsOf = (path: string) =>
  [...path.matchAll(/[ML]([-\d.]+),([-\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);

describe('a chart without a document', () => {
  test('has nothing that a strict Content-Security-Policy stops, and says what it shows', () => {
    const none = [enrolment({ points: [] }), difference({ points: differences([], []) })];
    for (const svg of [enrolment({ target: 300, targetLabel: 'target 300' }), difference(), ...none]) {
      expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="/);
      expect(svg).not.toMatch(/ style=|<style|<script|<foreignObject/);
      expect(svg).not.toContain('NaN');
    }
    expect(enrolment()).toContain('aria-label="187 of 300 enrolled"');
  });

  test('shows enrolment from nobody to the last, and goes on to the end of the time shown', () => {
    const svg = enrolment();
    const line = pointsOf(paths(svg)[0] ?? '');
    expect(line).toHaveLength(6);
    const [[x0, y0] = [], , [x1, y1] = []] = line;
    expect([x0, x1]).toEqual([0, 0]);
    expect(y0).toBeGreaterThan(y1 ?? Number.NaN);
    expect(line.at(-1)?.[1]).toBe(line.at(-2)?.[1]);
    expect(line.at(-1)?.[0]).toBeGreaterThan(line.at(-2)?.[0] ?? Number.NaN);
    const numbers = ['0', '50', '100', '150', '200'];
    expect(texts(svg)).toEqual(['187', ...numbers, 'Apr 1', 'May 1', 'Jun 1', 'Jul 1']);
  });

  test('shows an hour at least, of which none is still to come', () => {
    const points = [{ at: '2026-04-01T10:50:00Z', enrolled: 3 }];
    const svg = enrolment({ points, until: '2026-04-01T11:00:00Z' });
    const line = pointsOf(paths(svg)[0] ?? '');
    const width = line.at(-1)?.[0] ?? 0;
    expect((line[1]?.[0] ?? 0) / width).toBeCloseTo(5 / 6, 2);
    expect(texts(svg).filter((text) => text?.startsWith('11:'))).toEqual(['11:00']);
  });

  test('shows the target as a line of its own, above what is enrolled', () => {
    const svg = enrolment({ target: 300, targetLabel: 'target 300' });
    expect(texts(svg)).toContain('target 300');
    expect(svg).toContain('stroke-dasharray="5 4"');
    const highest = Math.min(...pointsOf(paths(svg)[0] ?? '').map(([, y = 0]) => y));
    expect(highest).toBeGreaterThan(0);
    expect(enrolment()).not.toContain('stroke-dasharray');
  });

  test('shows a band only if there is one, behind the data', () => {
    expect(paths(difference())).toHaveLength(1);
    const svg = difference({ band: [0, 30].map((enrolled) => ({ enrolled, low: 0, high: 13 })) });
    expect(paths(svg)).toHaveLength(2);
    expect(svg.indexOf(COLOURS.band)).toBeLessThan(svg.indexOf(COLOURS.data));
  });

  test('names bars and sums their parts, each of which begins where the one before ends', () => {
    const long = 'a level whose name is longer than its room';
    const bars = [
      { name: 'Cook', parts: [30, 10].map((count, i) => ({ count, colour: armColour(i) })) },
      { name: long, parts: [{ count: 0, colour: armColour(0) }] },
    ];
    const svg = renderToStaticMarkup(<Bars width={680} bars={bars} alternative="by site" />);
    expect(texts(svg)).toEqual(['Cook', '40', `${long.slice(0, 33)}…`, '0']);
    const rectangles = [...svg.matchAll(/<rect[^>]* x="([\d.]+)"[^>]* width="([\d.]+)"/g)];
    expect(rectangles.map(([, x, width]) => [Number(x), Number(width)])).toEqual([
      [0, 319.5],
      [319.5, 106.5],
      [0, 0],
    ]);
    expect(svg.indexOf('--arm-1')).toBeLessThan(svg.indexOf('--arm-2'));
    expect(svg).not.toMatch(/ style=/);
  });
});

describe('the data of a chart', () => {
  const arms = ['A', 'B'].map((name) => ({ name, share: 1 }));

  test('the difference is that between the arm with the most participants by its share and the one with the fewest', () => {
    expect(largestDifference({ A: 7, B: 2, C: 4 }, [...arms, { name: 'C', share: 1 }])).toBe(5);
    expect(largestDifference({ A: 7 }, arms)).toBe(7);
    const twoToOne = ['A', 'B'].map((name, i) => ({ name, share: 2 - i }));
    const by = (A: number) => largestDifference({ A, B: 10 }, twoToOne);
    expect([by(20), by(21)]).toEqual([0, 0.5]);
  });

  test('the differences begin with nobody enrolled', () => {
    const points = [
      { enrolled: 1, treatments: { A: 1 } },
      { enrolled: 9, treatments: { A: 5, B: 4 } },
    ];
    const shown = differences(points, arms).map(({ enrolled, difference }) => [enrolled, difference]);
    expect(shown.flat()).toEqual([0, 0, 1, 1, 9, 1]);
  });

  test('dates are as precise as the time shown needs', () => {
    const from = new Date('2027-03-01T08:30:00Z');
    const shown = (hours: number) =>
      dateFormat([from, new Date(from.getTime() + hours * 3_600_000)], 'en', 'UTC')(from);
    expect([shown(5), shown(24 * 30), shown(24 * 700)]).toEqual(['08:30', 'Mar 1', 'Mar 2027']);
  });
});

test('a chart in a file of its own has the colours of the pages', () => {
  const light = tokens.slice(0, tokens.indexOf('@media'));
  const all = [...Object.values(COLOURS), ...Array.from({ length: 6 }, (_, i) => armColour(i))];
  for (const colour of all) {
    const [, name, value] = /^var\((--[\w-]+), (#\w+)\)$/.exec(colour) ?? [];
    expect(light).toContain(`${name}: ${value};`);
  }
  expect(armColour(6)).toBe(armColour(0));
});
