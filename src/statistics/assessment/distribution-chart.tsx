/** How often each imbalance occurred, as columns. */
import { scaleLinear } from '@visx/scale';
import { Bar as Rectangle } from '@visx/shape';
import { COLOURS } from '../../base/charts/colours.ts';
import { ChartText, Frame, plot, rowsIn, type Size } from '../../base/charts/frame.tsx';

export interface Column {
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

const GAP = 1;

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
          x={x(from) + GAP / 2}
          y={y(share)}
          width={Math.max(0, x(to) - x(from) - GAP)}
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
export interface Columns {
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
