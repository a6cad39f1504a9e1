/** How often each imbalance came out, as columns. */
import { scaleLinear } from '@visx/scale';
import { Bar as Rectangle } from '@visx/shape';
import { COLOURS } from './colours.ts';
import { ChartText, Frame, plot, rowsIn, type Size } from './frame.tsx';

export interface Column {
  readonly from: number;
  readonly to: number;
  /** In percent. */
  readonly share: number;
}

interface DistributionChartProps extends Size {
  readonly columns: readonly Column[];
  /** What the axes go up to. For charts that are compared, the value is the same. */
  readonly most: { readonly value: number; readonly share: number };
  /** A value that is marked, and what it is. */
  readonly mark: { readonly value: number; readonly label: string };
  readonly alternative: string;
}

const GAP = 1;

export function DistributionChart({ columns, most, mark, alternative, ...size }: DistributionChartProps) {
  const { width, height } = plot(size);
  const x = scaleLinear<number>({ domain: [0, most.value], range: [0, width] });
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

/** Columns of equal width for values with shares, at most about 40. Each value is in the middle of a step of its kind. */
export function columnsOf(
  distribution: readonly { readonly range: number; readonly share: number }[],
  width: number,
): Column[] {
  const shares = new Map<number, number>();
  for (const { range, share } of distribution) {
    const column = Math.floor(range / width + 1e-9);
    shares.set(column, (shares.get(column) ?? 0) + share);
  }
  return [...shares].map(([column, share]) => ({
    from: column * width,
    to: (column + 1) * width,
    share: 100 * share,
  }));
}

/** So that all designs have the same columns, and none of them is empty because no value can fall into it. */
export function columnWidth(values: readonly number[]): number {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const steps = sorted.slice(1).map((value, i) => value - (sorted[i] ?? 0));
  const step = Math.min(...steps.filter((one) => one > 1e-9), 1_000_000);
  if (step === 1_000_000) return 1;
  return step * Math.max(1, Math.ceil(((sorted.at(-1) ?? 0) - (sorted[0] ?? 0)) / step / MOST_COLUMNS));
}
const MOST_COLUMNS = 40;
