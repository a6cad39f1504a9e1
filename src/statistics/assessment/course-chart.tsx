/** An imbalance as a study grows: its median, and the bands that contain half and nine tenths of the trials. */
import { scaleLinear } from '@visx/scale';
import { Area, LinePath } from '@visx/shape';
import { COLOURS } from '../../base/charts/colours.ts';
import { ChartText, FONT_SIZE, Frame, plot, type Size } from '../../base/charts/frame.tsx';
import type { CoursePoint } from '../simulation/result.ts';

interface CourseChartProps extends Size {
  readonly points: readonly CoursePoint[];
  /** The top of the vertical axis: the same for all charts that are compared. */
  readonly most: number;
  /** What is written after the last point. */
  readonly endLabels: { readonly p50: string; readonly p95: string };
  readonly alternative: string;
}

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
