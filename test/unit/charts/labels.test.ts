import { describe, expect, it } from 'vitest';
import { placeLabels } from '../../../src/base/charts/labels.ts';

const SIZE = { width: 460, height: 300 };
/** The least width of a letter in a label. */
const LETTER = 6;

describe('the labels of points', () => {
  it('are beside their points if there is room', () => {
    const [one, other] = placeLabels(
      [
        { x: 50, y: 100 },
        { x: 440, y: 200 },
      ],
      ['block:4@local_site', 'complete'],
      SIZE,
    );
    expect(one).toMatchObject({ y: 100, anchor: 'start', isFar: false });
    expect(one?.x).toBeGreaterThan(50);
    // There is no room on the right.
    expect(other).toMatchObject({ y: 200, anchor: 'end', isFar: false });
    expect(other?.x).toBeLessThan(440);
  });

  it('of eight designs in one place overlap no other label and no point', () => {
    const points = Array.from({ length: 8 }, (_, i) => ({ x: 200 + i, y: 150 + (i % 3) }));
    const texts = points.map((_, i) => `minimization:0.${i}`);
    const labels = placeLabels(points, texts, SIZE);
    const boxes = labels.map(({ x, y, anchor }, i) => {
      const width = (texts[i] ?? '').length * LETTER;
      return { left: anchor === 'start' ? x : x - width, width, top: y - 7 };
    });
    boxes.forEach((one, i) => {
      expect(one.left).toBeGreaterThanOrEqual(0);
      expect(one.left + one.width).toBeLessThanOrEqual(SIZE.width);
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
    const [label] = placeLabels([{ x: 50, y: 100 }], ['complete'], SIZE, [line]);
    expect(Math.abs((label?.y ?? 100) - 100)).toBeGreaterThan(7);
  });
});
