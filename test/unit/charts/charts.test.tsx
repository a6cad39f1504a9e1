/** The charts of a simulated design, and where labels go. */
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { placeLabels } from '../../../src/base/charts/labels.ts';
import { CourseChart } from '../../../src/statistics/assessment/course-chart.tsx';
import {
  columnAt,
  columnsFor,
  columnsOf,
  DistributionChart,
} from '../../../src/statistics/assessment/distribution-chart.tsx';
import { TradeOffChart } from '../../../src/statistics/assessment/trade-off-chart.tsx';

const SIZE = { width: 340, height: 190 } as const;
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

  it('contain nothing that a strict Content-Security-Policy blocks, and describe what they show', () => {
    for (const svg of [distribution, course, scatter]) {
      expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="(a|two) /);
      expect(svg).not.toMatch(/ style=|<style|<script|NaN/);
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
