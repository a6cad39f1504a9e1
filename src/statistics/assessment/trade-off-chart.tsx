/** Designs as points: how far apart the arms are, and how often a guess is right. Less of both is better. */
import { scaleLinear } from '@visx/scale';
import { COLOURS } from '../../base/charts/colours.ts';
import { ChartText, Frame, plot, type Size } from '../../base/charts/frame.tsx';
import { type Label, type LabelPlace, placeLabels } from '../../base/charts/labels.ts';

export interface DesignPoint {
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
        return <Point key={point.name} point={point} place={places[i] as LabelPlace} label={label} />;
      })}
    </Frame>
  );
}

/** A design with its name, and a line between them if the name has no room beside it. */
function Point({
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
