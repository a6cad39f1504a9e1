/** Finds places for the labels of points, so that none covers another, or a point. */
import type { Size } from './frame.tsx';

export interface LabelPlace {
  readonly x: number;
  readonly y: number;
}

export interface Label extends LabelPlace {
  readonly anchor: 'start' | 'end';
  /** Whether it is so far from its point that a line must join them. */
  readonly isFar: boolean;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const LINE = 15;
const POINT = 6;
const GAP = 9;
/** Nothing is measured, so letters count as wide ones. */
const LETTER = 6.8;
const MAX_LINES = 14;

/**
 * @param texts of the labels, in the order of the points
 * @param size of the plot, which the labels must not leave
 * @param obstacles what else they must not cover
 */
export function placeLabels(
  points: readonly LabelPlace[],
  texts: readonly string[],
  size: Size,
  obstacles: readonly Box[] = [],
): Label[] {
  const fixed = [...obstacles, ...points.map(({ x, y }) => boxAround(x, y))];
  const taken: Box[] = [];
  return points.map((point, i) => {
    const width = (texts[i] ?? '').length * LETTER;
    const places = candidates(point, width, size);
    const isFree = (label: Label) => {
      const box = boxOf(label, width);
      return [...fixed, ...taken].every((other) => !overlap(box, other));
    };
    // There is always a candidate: if none is within the plot, one outside is used.
    const chosen = places.find(isFree) ?? (places[0] as Label);
    taken.push(boxOf(chosen, width));
    return chosen;
  });
}

/** From near to far, those within the plot. */
function candidates({ x, y }: LabelPlace, width: number, size: Size): Label[] {
  const rises = Array.from({ length: MAX_LINES }, (_, i) => (i % 2 === 0 ? -1 : 1) * Math.ceil(i / 2) * LINE);
  const all = rises.flatMap((rise): Label[] => {
    const isFar = Math.abs(rise) > LINE;
    return [
      { x: x + GAP, y: y + rise, anchor: 'start', isFar },
      { x: x - GAP, y: y + rise, anchor: 'end', isFar },
    ];
  });
  const inside = all.filter((label) => {
    const { left, right, top, bottom } = boxOf(label, width);
    return left >= 0 && right <= size.width && top >= 0 && bottom <= size.height;
  });
  return inside.length > 0 ? inside : all;
}

function boxAround(x: number, y: number): Box {
  return { left: x - POINT, right: x + POINT, top: y - POINT, bottom: y + POINT };
}

function boxOf({ x, y, anchor }: Label, width: number): Box {
  const left = anchor === 'start' ? x : x - width;
  return { left, right: left + width, top: y - LINE / 2, bottom: y + LINE / 2 };
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
