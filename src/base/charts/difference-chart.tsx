/** How far the arms were apart as the study grew. */
import { scaleLinear } from '@visx/scale';
import { Area, LinePath } from '@visx/shape';
import { ChartText, Frame, plot, rowsIn, type Size } from './frame.tsx';
import { COLOURS, type DifferencePoint } from './series.ts';

/** The values between which the difference is expected. */
export interface Expected {
  readonly enrolled: number;
  readonly low: number;
  readonly high: number;
}

interface DifferenceChartProps extends Size {
  readonly points: readonly DifferencePoint[];
  readonly band?: readonly Expected[] | undefined;
  readonly alternative: string;
  readonly language: string;
}

export function DifferenceChart({ points, band = [], alternative, language, ...size }: DifferenceChartProps) {
  const { width, height } = plot(size);
  const last = points.at(-1) ?? { enrolled: 0, difference: 0 };
  const highest = Math.max(4, ...points.map(({ difference }) => difference), ...band.map(({ high }) => high));
  const x = scaleLinear<number>({ domain: [0, Math.max(1, last.enrolled)], range: [0, width] });
  const y = scaleLinear<number>({ domain: [0, highest], range: [height, 0], nice: rowsIn(size) });
  const number = new Intl.NumberFormat(language);
  return (
    <Frame
      {...size}
      alternative={alternative}
      x={x}
      y={y}
      xLabel={(value) => number.format(Number(value))}
      yLabel={number.format}
    >
      {band.length > 0 && (
        <Area
          data={[...band]}
          x={({ enrolled }) => x(enrolled)}
          y0={({ low }) => y(low)}
          y1={({ high }) => y(high)}
          fill={COLOURS.band}
        />
      )}
      <LinePath
        data={[...points]}
        x={({ enrolled }) => x(enrolled)}
        y={({ difference }) => y(difference)}
        stroke={COLOURS.data}
        strokeWidth={2.5}
      />
      <ChartText x={width + 8} y={y(last.difference)} anchor="start" isData>
        {number.format(last.difference)}
      </ChartText>
    </Frame>
  );
}
