/** The charts of the pages and of a simulated design as text, as a report has them that is written without a browser, and where labels go. */
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { Bars } from '../../../src/base/charts/bars.tsx';
import { DifferenceChart } from '../../../src/base/charts/difference-chart.tsx';
import { EnrolmentChart } from '../../../src/base/charts/enrolment-chart.tsx';
import { dateFormat } from '../../../src/base/charts/frame.tsx';
import { armColour, COLOURS, differences, largestDifference } from '../../../src/base/charts/series.ts';
import {
  CourseChart,
  columnAt,
  columnsFor,
  columnsOf,
  DistributionChart,
  placeLabels,
  TradeOffChart,
} from '../../../src/statistics/assessment/charts.tsx';
import tokens from '../../../src/web/style/tokens.css?raw';

const SIZE = { width: 340, height: 190 } as const;
/** Of a chart in a page. */
const PAGE = { width: 560, height: 220 } as const;
const numbers = (svg: string, tag: string, attribute: string) =>
  [...svg.matchAll(new RegExp(`<${tag} [^>]*?\\b${attribute}="(-?[\\d.]+)"`, 'g'))].map(([, value]) =>
    Number(value),
  );
const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);

describe('the columns of a distribution', () => {
  it('are as wide as the distance between values, and centred on the values', () => {
    const twoArms = [0, 2, 4, 6].map((range) => ({ range, share: 0.25 }));
    const columns = columnsFor(twoArms.map(({ range }) => range));
    expect(columns).toEqual({ step: 2, width: 2 });
    const shown = [-1, 1, 3, 5].map((from) => ({ from, to: from + 2, share: 25 }));
    expect(columnsOf(twoArms, columns)).toEqual(shown);
  });

  it('are at most about forty, and leave nothing out', () => {
    const many = Array.from({ length: 300 }, (_, range) => ({ range, share: 1 / 300 }));
    const columns = columnsOf(many, columnsFor(many.map(({ range }) => range)));
    expect(columns.length).toBeLessThanOrEqual(41);
    expect(columns.length).toBeGreaterThan(20);
    expect(columns.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(100, 9);
  });

  it('work for fractions, which occur with a ratio, and for a single value', () => {
    const columns = columnsFor([0, 0.75, 1.5]);
    expect(columns).toEqual({ step: 0.75, width: 0.75 });
    expect(columnAt(1.5, columns)).toEqual({ from: 1.125, to: 1.875 });
    expect(columnsFor([3])).toEqual({ step: 1, width: 1 });
  });
});

describe('the charts of a simulated design', () => {
  const columns = [60, 30, 10].map((share, i) => ({ from: 2 * i - 1, to: 2 * i + 1, share }));
  const distribution = renderToStaticMarkup(
    <DistributionChart
      {...SIZE}
      columns={columns}
      most={{ value: 11, share: 60 }}
      mark={{ value: 3, label: '95 %: 2' }}
      alternative="a distribution"
    />,
  );
  const points = [10, 20].map((n) => ({ n, p05: 0, p25: 1, p50: 2, p75: 4, p95: 8 }));
  const courseOf = (p95: number) =>
    renderToStaticMarkup(
      <CourseChart
        {...{ ...SIZE, most: 10, alternative: 'a course', endLabels: { p50: '2', p95: `${p95}` } }}
        points={points.map((one) => ({ ...one, p95 }))}
      />,
    );
  const course = courseOf(8);
  const scatter = renderToStaticMarkup(
    <TradeOffChart
      {...{ width: 560, height: 360, blind: 50, xTitle: 'range', yTitle: 'guesses', blindLabel: 'blind' }}
      points={[
        { name: 'this study', imbalance: 5, guesses: 55, isOwn: true },
        { name: 'complete', imbalance: 10, guesses: 50, isOwn: false },
      ]}
      alternative="two designs"
    />,
  );

  it('contain nothing that a strict Content-Security-Policy blocks, and describe what they show, as those of the pages do', () => {
    const none = [enrolment({ points: [] }), difference({ points: differences([], []) })];
    const ofPages = [enrolment({ target: 300, targetLabel: 'target 300' }), difference(), ...none];
    for (const svg of [distribution, course, scatter, ...ofPages]) {
      expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="(a|two|187|3) /);
      expect(svg).not.toMatch(/ style=|<style|<script|<foreignObject|NaN/);
    }
  });

  it('show a distribution with columns in proportion to the shares, and the mark after the columns it counts', () => {
    const [first = 0, second = 0, third = 0] = numbers(distribution, 'rect', 'height');
    expect(second / first).toBeCloseTo(0.5, 6);
    expect(third / first).toBeCloseTo(1 / 6, 6);
    const [, second_x = 0, third_x = 0] = numbers(distribution, 'rect', 'x');
    const mark = numbers(distribution.slice(distribution.indexOf('</rect>')), 'line', 'x1').at(-1) ?? 0;
    expect(second_x).toBeLessThan(mark);
    // There is a gap between the columns.
    expect(Math.abs(mark - third_x)).toBeLessThan(1);
    expect(texts(distribution)).toContain('95 %: 2');
  });

  it('show a course with bands from low to high, and label its median and highest quantile at the end', () => {
    expect(texts(course).slice(0, 2)).toEqual(['2', '8']);
    expect(numbers(course, 'path', 'fill-opacity')).toEqual([0.18, 0.3]);
    // The labels would overlap.
    expect(texts(courseOf(2))[1]).not.toBe('2');
  });

  it('show a design with closer arms further left, and one that is guessed more often higher up', () => {
    const [ownX = 0, otherX = 0] = numbers(scatter, 'circle', 'cx');
    const [ownY = 0, otherY = 0] = numbers(scatter, 'circle', 'cy');
    expect(ownX).toBeCloseTo(otherX / 2, 6);
    expect(ownY).toBeLessThan(otherY);
    expect(texts(scatter)).toEqual(
      expect.arrayContaining(['this study', 'complete', 'blind', 'range', 'guesses']),
    );
  });
});

/** Of the chart with labels. */
const SCATTER = { width: 460, height: 300 };
/** The least width of a letter in a label. */
const LETTER = 6;

describe('the labels of points', () => {
  it('are beside their points if there is room', () => {
    const points = [50, 440].map((x, i) => ({ x, y: 100 * (i + 1) }));
    const [one, other] = placeLabels(points, ['block:4@local_site', 'complete'], SCATTER);
    expect(one).toMatchObject({ y: 100, anchor: 'start', isFar: false });
    expect(one?.x).toBeGreaterThan(50);
    // There is no room on the right.
    expect(other).toMatchObject({ y: 200, anchor: 'end', isFar: false });
    expect(other?.x).toBeLessThan(440);
  });

  it('of eight designs in one place overlap no other label and no point', () => {
    const points = Array.from({ length: 8 }, (_, i) => ({ x: 200 + i, y: 150 + (i % 3) }));
    const texts = points.map((_, i) => `minimization:0.${i}`);
    const labels = placeLabels(points, texts, SCATTER);
    const boxes = labels.map(({ x, y, anchor }, i) => {
      const width = (texts[i] ?? '').length * LETTER;
      return { left: anchor === 'start' ? x : x - width, width, top: y - 7 };
    });
    boxes.forEach((one, i) => {
      expect(one.left).toBeGreaterThanOrEqual(0);
      expect(one.left + one.width).toBeLessThanOrEqual(SCATTER.width);
      for (const other of boxes.slice(i + 1)) {
        const beside = one.left + one.width <= other.left || other.left + other.width <= one.left;
        expect(beside || Math.abs(one.top - other.top) >= 14).toBe(true);
      }
      for (const { x, y } of points) {
        const beside = x < one.left || x > one.left + one.width;
        expect(beside || y < one.top || y > one.top + 14).toBe(true);
      }
    });
    expect(labels.some(({ isFar }) => isFar)).toBe(true);
  });

  it('avoid everything else in the chart', () => {
    const line = { left: 0, right: 460, top: 98, bottom: 102 };
    const [label] = placeLabels([{ x: 50, y: 100 }], ['complete'], SCATTER, [line]);
    expect(Math.abs((label?.y ?? 100) - 100)).toBeGreaterThan(7);
  });
});

const POINTS = [
  { at: '2027-03-01T08:00:00.000Z', enrolled: 1 },
  { at: '2027-04-15T08:00:00.000Z', enrolled: 40 },
  { at: '2027-07-01T08:00:00.000Z', enrolled: 187 },
];

function enrolment(more: Partial<Parameters<typeof EnrolmentChart>[0]> = {}): string {
  return renderToStaticMarkup(
    <EnrolmentChart
      {...PAGE}
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
    <DifferenceChart {...PAGE} points={points} alternative="3 apart" language="en" {...more} />,
  );
}

const paths = (svg: string) => [...svg.matchAll(/<path[^>]* d="([^"]*)"/g)].map(([, path]) => path ?? '');
const pointsOf = (path: string) =>
  [...path.matchAll(/[ML]([-\d.]+),([-\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);

describe('a chart without a document', () => {
  it('shows enrolment from nobody to the last, and goes on to the end of the time shown', () => {
    const svg = enrolment();
    expect(svg).toContain('aria-label="187 of 300 enrolled"');
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

  it('shows an hour at least, of which none is still to come', () => {
    const points = [{ at: '2026-04-01T10:50:00Z', enrolled: 3 }];
    const svg = enrolment({ points, until: '2026-04-01T11:00:00Z' });
    const line = pointsOf(paths(svg)[0] ?? '');
    const width = line.at(-1)?.[0] ?? 0;
    expect((line[1]?.[0] ?? 0) / width).toBeCloseTo(5 / 6, 2);
    expect(texts(svg).filter((text) => text?.startsWith('11:'))).toEqual(['11:00']);
  });

  it('shows the target as a line of its own, above what is enrolled', () => {
    const svg = enrolment({ target: 300, targetLabel: 'target 300' });
    expect(texts(svg)).toContain('target 300');
    expect(svg).toContain('stroke-dasharray="5 4"');
    const highest = Math.min(...pointsOf(paths(svg)[0] ?? '').map(([, y = 0]) => y));
    expect(highest).toBeGreaterThan(0);
    expect(enrolment()).not.toContain('stroke-dasharray');
  });

  it('shows a band only if there is one, behind the data', () => {
    expect(paths(difference())).toHaveLength(1);
    const svg = difference({ band: [0, 30].map((enrolled) => ({ enrolled, low: 0, high: 13 })) });
    expect(paths(svg)).toHaveLength(2);
    expect(svg.indexOf(COLOURS.band)).toBeLessThan(svg.indexOf(COLOURS.data));
  });

  it('names bars and sums their parts, each of which begins where the one before ends', () => {
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

  it('the difference is that between the arm with the most participants by its share and the one with the fewest', () => {
    expect(largestDifference({ A: 7, B: 2, C: 4 }, [...arms, { name: 'C', share: 1 }])).toBe(5);
    expect(largestDifference({ A: 7 }, arms)).toBe(7);
    const twoToOne = ['A', 'B'].map((name, i) => ({ name, share: 2 - i }));
    const by = (A: number) => largestDifference({ A, B: 10 }, twoToOne);
    expect([by(20), by(21)]).toEqual([0, 0.5]);
  });

  it('the differences begin with nobody enrolled', () => {
    const points = [
      { enrolled: 1, treatments: { A: 1 } },
      { enrolled: 9, treatments: { A: 5, B: 4 } },
    ];
    const shown = differences(points, arms).map(({ enrolled, difference }) => [enrolled, difference]);
    expect(shown.flat()).toEqual([0, 0, 1, 1, 9, 1]);
  });

  it('dates are as precise as the time shown needs', () => {
    const from = new Date('2027-03-01T08:30:00Z');
    const shown = (hours: number) =>
      dateFormat([from, new Date(from.getTime() + hours * 3_600_000)], 'en', 'UTC')(from);
    expect([shown(5), shown(24 * 30), shown(24 * 700)]).toEqual(['08:30', 'Mar 1', 'Mar 2027']);
  });
});

it('a chart in a file of its own has the colours of the pages', () => {
  const light = tokens.slice(0, tokens.indexOf('@media'));
  const all = [...Object.values(COLOURS), ...Array.from({ length: 6 }, (_, i) => armColour(i))];
  for (const colour of all) {
    const [, name, value] = /^var\((--[\w-]+), (#\w+)\)$/.exec(colour) ?? [];
    expect(light).toContain(`${name}: ${value};`);
  }
  expect(armColour(6)).toBe(armColour(0));
});
