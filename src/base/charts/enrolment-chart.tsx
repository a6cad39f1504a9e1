/** How many are enrolled, over time, and how many are wanted. */
import { scaleLinear, scaleTime, scaleUtc } from '@visx/scale';
import { LinePath } from '@visx/shape';
import { ChartText, dateFormat, Frame, plot, rowsIn, type Size } from './frame.tsx';
import { COLOURS } from './series.ts';

/** The shortest time shown, so that its labels differ. */
const HOUR_MS = 3_600_000;

interface EnrolmentPoint {
  readonly at: string;
  readonly enrolled: number;
}

interface EnrolmentChartProps extends Size {
  readonly points: readonly EnrolmentPoint[];
  readonly target?: number | undefined;
  readonly targetLabel?: string | undefined;
  /** The end of the chart, so that a time without enrolment is visible. */
  readonly until: string;
  readonly alternative: string;
  readonly language: string;
  /** Default: the zone of the reader. */
  readonly timeZone?: 'UTC' | undefined;
}

export function EnrolmentChart(props: EnrolmentChartProps) {
  const { points, target, targetLabel, until, alternative, language, timeZone, ...size } = props;
  const { width, height } = plot(size);
  const last = points.at(-1);
  const end = new Date(Math.max(Date.parse(until), Date.parse(last?.at ?? until)));
  const first = new Date(Math.min(Date.parse(points[0]?.at ?? until), end.getTime() - HOUR_MS));
  const span = [first, end] as [Date, Date];
  const x = (timeZone === 'UTC' ? scaleUtc : scaleTime)<number>({ domain: span, range: [0, width] });
  const enrolled = last?.enrolled ?? 0;
  const y = scaleLinear<number>({
    domain: [0, Math.max(enrolled, target ?? 0, 4)],
    range: [height, 0],
    nice: target === undefined && rowsIn(size),
  });
  const label = dateFormat(span, language, timeZone);
  const number = new Intl.NumberFormat(language);
  const nobody = [first, new Date(points[0]?.at ?? until)].map((at) => ({
    at: at.toISOString(),
    enrolled: 0,
  }));
  const line = [...nobody, ...points, { at: end.toISOString(), enrolled }];
  return (
    <Frame
      {...size}
      alternative={alternative}
      x={x}
      y={y}
      xLabel={(value) => (value instanceof Date ? label(value) : '')}
      yLabel={number.format}
    >
      {target !== undefined && (
        <>
          <line
            x1={0}
            x2={width}
            y1={y(target)}
            y2={y(target)}
            stroke={COLOURS.soft}
            strokeWidth={1.5}
            strokeDasharray="5 4"
          />
          <ChartText x={4} y={y(target) - 11} anchor="start">
            {targetLabel}
          </ChartText>
        </>
      )}
      <LinePath
        data={line}
        x={({ at }) => x(Date.parse(at))}
        y={(point) => y(point.enrolled)}
        stroke={COLOURS.data}
        strokeWidth={2.5}
      />
      <ChartText x={width + 8} y={y(enrolled)} anchor="start" isData>
        {number.format(enrolled)}
      </ChartText>
    </Frame>
  );
}
