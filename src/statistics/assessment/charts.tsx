/**
 * The charts of an assessment: an imbalance as a study grows, how often each imbalance occurred, and designs beside one
 * another. At the end: where the labels of points fit. The page that shows the charts is drawn once and runs no script.
 */
import { scaleLinear } from '@visx/scale';
import { Area, LinePath, Bar as Rectangle } from '@visx/shape';
import { ChartText, FONT_SIZE, Frame, plot, rowsIn, type Size } from '../../base/charts/frame.tsx';
import { COLOURS } from '../../base/charts/series.ts';
import type { CoursePoint } from '../simulation/summary.ts';

interface CourseChartProps extends Size {
  readonly points: readonly CoursePoint[];
  /** The top of the vertical axis: the same for all charts that are compared. */
  readonly most: number;
  /** What is written after the last point. */
  readonly endLabels: { readonly p50: string; readonly p95: string };
  readonly alternative: string;
}

/** An imbalance as a study grows: its median, and the bands that contain half and nine tenths of the trials. */
export function CourseChart({ points, most, endLabels, alternative, ...size }: CourseChartProps) {
  const { width, height } = plot(size);
  const last = points.at(-1);
  const x = scaleLinear<number>({ domain: [0, Math.max(1, last?.n ?? 1)], range: [0, width] });
  const y = scaleLinear<number>({ domain: [0, Math.max(1, most)], range: [height, 0] });
  const band = (low: 'p05' | 'p25', high: 'p75' | 'p95', opacity: number) => (
    <Area
      data={[...points]}
      x={({ n }) => x(n)}
      y0={(point) => y(point[low])}
      y1={(point) => y(point[high])}
      fill={COLOURS.data}
      fillOpacity={opacity}
    />
  );
  return (
    <Frame {...size} alternative={alternative} x={x} y={y} xLabel={String} yLabel={String}>
      {band('p05', 'p95', 0.18)}
      {band('p25', 'p75', 0.3)}
      <LinePath
        data={[...points]}
        x={({ n }) => x(n)}
        y={({ p50 }) => y(p50)}
        stroke={COLOURS.data}
        strokeWidth={2.5}
      />
      {last && (
        <ChartText x={width + 8} y={y(last.p50)} anchor="start" isData>
          {endLabels.p50}
        </ChartText>
      )}
      {last && y(last.p50) - y(last.p95) > FONT_SIZE && (
        <ChartText x={width + 8} y={y(last.p95)} anchor="start">
          {endLabels.p95}
        </ChartText>
      )}
    </Frame>
  );
}

interface Column {
  readonly from: number;
  readonly to: number;
  /** In percent. */
  readonly share: number;
}

interface DistributionChartProps extends Size {
  readonly columns: readonly Column[];
  /** The ends of the axes. The value is the same for charts that are compared. */
  readonly most: { readonly value: number; readonly share: number };
  /** A value that is marked, and what it is. */
  readonly mark: { readonly value: number; readonly label: string };
  readonly alternative: string;
}

const COLUMN_GAP = 1;

/** How often each imbalance occurred, as columns. */
export function DistributionChart({ columns, most, mark, alternative, ...size }: DistributionChartProps) {
  const { width, height } = plot(size);
  const x = scaleLinear<number>({
    domain: [Math.min(0, ...columns.map(({ from }) => from)), most.value],
    range: [0, width],
  });
  const y = scaleLinear<number>({ domain: [0, most.share], range: [height, 0], nice: rowsIn(size) });
  const isRight = x(mark.value) > width / 2;
  return (
    <Frame {...size} alternative={alternative} x={x} y={y} xLabel={String} yLabel={(share) => `${share} %`}>
      {columns.map(({ from, to, share }) => (
        <Rectangle
          key={from}
          x={x(from) + COLUMN_GAP / 2}
          y={y(share)}
          width={Math.max(0, x(to) - x(from) - COLUMN_GAP)}
          height={height - y(share)}
          fill={COLOURS.data}
        />
      ))}
      <line
        x1={x(mark.value)}
        x2={x(mark.value)}
        y1={0}
        y2={height}
        stroke={COLOURS.soft}
        strokeWidth={1.5}
        strokeDasharray="5 4"
      />
      <ChartText x={x(mark.value) + (isRight ? -6 : 6)} y={2} anchor={isRight ? 'end' : 'start'}>
        {mark.label}
      </ChartText>
    </Frame>
  );
}

/** The columns of all charts that are compared. */
interface Columns {
  /** How far apart values can be: two arms of an even number of participants differ by an even number. */
  readonly step: number;
  readonly width: number;
}

const MAX_COLUMNS = 40;

/** About 40 columns at most, none of which is empty because no value can fall into it. */
export function columnsFor(values: readonly number[]): Columns {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const steps = sorted.slice(1).map((value, i) => value - (sorted[i] ?? 0));
  const step = steps.length > 0 ? Math.min(...steps) : 1;
  const span = (sorted.at(-1) ?? 0) - (sorted[0] ?? 0);
  return { step, width: step * Math.max(1, Math.ceil(span / step / MAX_COLUMNS)) };
}

/** The column that a value falls into. A column of one value has it in its middle. */
export function columnAt(value: number, { step, width }: Columns): { from: number; to: number } {
  const from = Math.floor(value / width + 1e-9) * width - step / 2;
  return { from, to: from + width };
}

export function columnsOf(
  distribution: readonly { readonly range: number; readonly share: number }[],
  columns: Columns,
): Column[] {
  const byPlace = new Map<number, Column>();
  for (const { range, share } of distribution) {
    const { from, to } = columnAt(range, columns);
    byPlace.set(from, { from, to, share: (byPlace.get(from)?.share ?? 0) + 100 * share });
  }
  return [...byPlace.values()];
}

interface DesignPoint {
  readonly name: string;
  readonly imbalance: number;
  /** In percent. */
  readonly guesses: number;
  readonly isOwn: boolean;
}

interface TradeOffChartProps extends Size {
  readonly points: readonly DesignPoint[];
  /** In percent: how often somebody who knows nothing is right. */
  readonly blind: number;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly blindLabel: string;
  readonly alternative: string;
}

/** Designs as points: how far apart the arms are, and how often a guess is right. Less of both is better. */
export function TradeOffChart(props: TradeOffChartProps) {
  const { points, blind, xTitle, yTitle, blindLabel, alternative, ...size } = props;
  const inner = plot(size);
  const widest = Math.max(1, ...points.map(({ imbalance }) => imbalance));
  const highest = Math.max(blind + 10, ...points.map(({ guesses }) => guesses));
  const x = scaleLinear<number>({ domain: [0, widest * 1.15], range: [0, inner.width] });
  const lowest = Math.floor((blind - 4) / 5) * 5;
  const y = scaleLinear<number>({ domain: [lowest, highest + 3], range: [inner.height, 0] });
  const places = points.map(({ imbalance, guesses }) => ({ x: x(imbalance), y: y(guesses) }));
  const labels = placeLabels(
    places,
    points.map(({ name }) => name),
    inner,
    [
      { left: 0, right: inner.width, top: y(blind) - 2, bottom: y(blind) + 2 },
      { left: 0, right: blindLabel.length * 7, top: y(blind) + 2, bottom: y(blind) + 18 },
      {
        left: inner.width - xTitle.length * 7,
        right: inner.width,
        top: inner.height - 17,
        bottom: inner.height,
      },
    ],
  );
  return (
    <Frame
      {...size}
      alternative={alternative}
      x={x}
      y={y}
      xLabel={String}
      yLabel={(share) => `${share} %`}
      xTitle={xTitle}
      yTitle={yTitle}
    >
      <line
        x1={0}
        x2={inner.width}
        y1={y(blind)}
        y2={y(blind)}
        stroke={COLOURS.soft}
        strokeWidth={1.5}
        strokeDasharray="5 4"
      />
      <ChartText x={4} y={y(blind) + 10} anchor="start">
        {blindLabel}
      </ChartText>
      {labels.map((label, i) => {
        const point = points[i] as DesignPoint;
        return <LabelledPoint key={point.name} point={point} place={places[i] as LabelPlace} label={label} />;
      })}
    </Frame>
  );
}

/** A design with its name, and a line between them if the name has no room beside it. */
function LabelledPoint({
  point: { name, isOwn },
  place,
  label,
}: {
  point: DesignPoint;
  place: LabelPlace;
  label: Label;
}) {
  return (
    <g>
      {label.isFar && (
        <line x1={place.x} y1={place.y} x2={label.x} y2={label.y} stroke={COLOURS.line} strokeWidth={1} />
      )}
      <circle cx={place.x} cy={place.y} r={isOwn ? 6 : 5} fill={isOwn ? COLOURS.data : COLOURS.soft} />
      <ChartText x={label.x} y={label.y} anchor={label.anchor} isData={isOwn}>
        {name}
      </ChartText>
    </g>
  );
}

interface LabelPlace {
  readonly x: number;
  readonly y: number;
}

interface Label extends LabelPlace {
  readonly anchor: 'start' | 'end';
  /** Whether it is so far from its point that a line must join them. */
  readonly isFar: boolean;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const LINE_HEIGHT = 15;
const POINT_RADIUS = 6;
const LABEL_GAP = 9;
/** Nothing is measured, so letters count as wide ones. */
const LETTER_WIDTH = 6.8;
const MAX_LABEL_LINES = 14;

/**
 * Finds places for the labels of points, so that none covers another, or a point.
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
  const fixed = [...obstacles, ...points.map(({ x, y }) => pointBox(x, y))];
  const taken: Box[] = [];
  return points.map((point, i) => {
    const width = (texts[i] ?? '').length * LETTER_WIDTH;
    const places = labelCandidates(point, width, size);
    const isFree = (label: Label) => {
      const box = labelBox(label, width);
      return [...fixed, ...taken].every((other) => !overlap(box, other));
    };
    // There is always a candidate: if none is within the plot, one outside is used.
    const chosen = places.find(isFree) ?? (places[0] as Label);
    taken.push(labelBox(chosen, width));
    return chosen;
  });
}

/** From near to far, those within the plot. */
function labelCandidates({ x, y }: LabelPlace, width: number, size: Size): Label[] {
  const rises = Array.from(
    { length: MAX_LABEL_LINES },
    (_, i) => (i % 2 === 0 ? -1 : 1) * Math.ceil(i / 2) * LINE_HEIGHT,
  );
  const all = rises.flatMap((rise): Label[] => {
    const isFar = Math.abs(rise) > LINE_HEIGHT;
    return [
      { x: x + LABEL_GAP, y: y + rise, anchor: 'start', isFar },
      { x: x - LABEL_GAP, y: y + rise, anchor: 'end', isFar },
    ];
  });
  const inside = all.filter((label) => {
    const { left, right, top, bottom } = labelBox(label, width);
    return left >= 0 && right <= size.width && top >= 0 && bottom <= size.height;
  });
  return inside.length > 0 ? inside : all;
}

function pointBox(x: number, y: number): Box {
  return { left: x - POINT_RADIUS, right: x + POINT_RADIUS, top: y - POINT_RADIUS, bottom: y + POINT_RADIUS };
}

function labelBox({ x, y, anchor }: Label, width: number): Box {
  const left = anchor === 'start' ? x : x - width;
  return { left, right: left + width, top: y - LINE_HEIGHT / 2, bottom: y + LINE_HEIGHT / 2 };
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
