/** What all charts with axes share: the size, the lines behind the data, and the few labels of the axes. */
import { Axis, Orientation } from '@visx/axis';
import { GridRows } from '@visx/grid';
import { Group } from '@visx/group';
import type { scaleLinear, scaleTime } from '@visx/scale';
import type { ReactNode } from 'react';
import { COLOURS } from './series.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Right of the data there is room for its last value. */
const MARGIN = { top: 22, right: 52, bottom: 26, left: 44 } as const;
export const FONT_SIZE = 12;

type NumberScale = ReturnType<typeof scaleLinear<number>>;
type TimeScale = ReturnType<typeof scaleTime<number>>;

interface FrameProps extends DrawingProps {
  readonly x: TimeScale | NumberScale;
  readonly y: NumberScale;
  readonly xLabel: (value: Date | number) => string;
  readonly yLabel: (value: number) => string;
  /** What the axes show, if the text around the chart does not say it. */
  readonly xTitle?: string | undefined;
  readonly yTitle?: string | undefined;
}

export function Frame(props: FrameProps) {
  const { width, height, alternative, x, y, xLabel, yLabel, xTitle, yTitle, children } = props;
  const inner = plot({ width, height });
  const rows = wholeTicks(y, rowsIn({ width, height }));
  const columns = x.ticks(Math.max(2, Math.floor(inner.width / 90)));
  return (
    <Drawing width={width} height={height} alternative={alternative}>
      <Group left={MARGIN.left} top={MARGIN.top}>
        <GridRows scale={y} width={inner.width} tickValues={rows} stroke={COLOURS.line} />
        {children}
        <Axis
          orientation={Orientation.left}
          scale={y}
          tickValues={rows}
          tickFormat={(value) => yLabel(Number(value))}
          tickComponent={({ formattedValue, y: at }) => (
            <ChartText x={-8} y={at} anchor="end">
              {formattedValue}
            </ChartText>
          )}
          hideAxisLine
          hideTicks
        />
        <Axis
          orientation={Orientation.bottom}
          top={inner.height}
          scale={x}
          tickValues={columns.filter((value) => value instanceof Date || Number.isInteger(value))}
          tickFormat={(value) => xLabel(value instanceof Date ? value : Number(value))}
          tickComponent={({ formattedValue, x: at }) => (
            <ChartText x={at} y={16} anchor="middle">
              {formattedValue}
            </ChartText>
          )}
          hideAxisLine
          hideTicks
        />
        {yTitle !== undefined && (
          <ChartText x={-MARGIN.left + 4} y={-13} anchor="start">
            {yTitle}
          </ChartText>
        )}
        {xTitle !== undefined && (
          <ChartText x={inner.width} y={inner.height - 9} anchor="end">
            {xTitle}
          </ChartText>
        )}
      </Group>
    </Drawing>
  );
}

/** Where the data is drawn. */
export function plot({ width, height }: Size): Size {
  return { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
}

/** There is no half participant. */
function wholeTicks(scale: NumberScale, count: number): number[] {
  return scale.ticks(count).filter(Number.isInteger);
}

/** Roughly how many lines there are behind the data. With `nice`, the highest of them is above all data. */
export function rowsIn({ height }: Size): number {
  return Math.max(2, Math.floor(height / 50));
}

interface DrawingProps extends Size {
  /** What the chart shows, for those who do not see it. */
  readonly alternative: string;
  readonly children: ReactNode;
}

/** The viewBox lets the chart shrink with the page. Nothing is measured, so it is the same without a document. */
export function Drawing({ width, height, alternative, children }: DrawingProps) {
  return (
    <svg
      className="chart"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={alternative}
    >
      {children}
    </svg>
  );
}

interface ChartTextProps {
  readonly x: number;
  readonly y: number;
  readonly anchor: 'start' | 'middle' | 'end';
  readonly isData?: boolean;
  readonly children: ReactNode;
}

/** Used instead of the text component of visx, which writes style attributes: a strict policy forbids them in a file. */
export function ChartText({ x, y, anchor, isData = false, children }: ChartTextProps) {
  return (
    <text
      x={x}
      y={y}
      dy="0.35em"
      textAnchor={anchor}
      fontSize={isData ? FONT_SIZE + 2 : FONT_SIZE}
      fontWeight={isData ? 700 : 400}
      fill={isData ? COLOURS.text : COLOURS.soft}
    >
      {children}
    </text>
  );
}

const DAY_MS = 86_400_000;

/** The labels of a time axis. They depend on the length of time that the chart shows: hours, days, months or years. */
export function dateFormat(
  [from, to]: readonly [Date, Date],
  language: string,
  timeZone?: string,
): (date: Date) => string {
  const days = (to.getTime() - from.getTime()) / DAY_MS;
  const form = new Intl.DateTimeFormat(language, { ...partsFor(days), ...(timeZone && { timeZone }) });
  return (date) => form.format(date);
}

function partsFor(days: number): Intl.DateTimeFormatOptions {
  if (days < 2) return { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  if (days < 300) return { day: 'numeric', month: 'short' };
  return { month: 'short', year: 'numeric' };
}
