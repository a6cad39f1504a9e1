/** Horizontal bars in parts: with their names, one below the other on the same scale; or one by itself, in a table. */
import { Group } from '@visx/group';
import { scaleLinear } from '@visx/scale';
import { Bar as Rectangle } from '@visx/shape';
import { ChartText, Drawing } from './frame.tsx';

interface BarsProps {
  readonly width: number;
  readonly bars: readonly NamedBar[];
  /** What the chart shows, for those who do not see it. */
  readonly alternative: string;
}

interface BarPart {
  readonly count: number;
  readonly colour: string;
}

interface NamedBar {
  readonly name: string;
  /** From left to right. */
  readonly parts: readonly BarPart[];
}

const ROW_HEIGHT = 22;
const BAR_HEIGHT = 14;

/** For the names, and for the sum after each bar. */
const MARGIN = { left: 210, right: 44 } as const;

/** What fits left of the bars. */
const NAME_CHARACTERS = 34;

export function Bars({ width, bars, alternative }: BarsProps) {
  const sums = bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0));
  const x = scaleLinear<number>({
    domain: [0, Math.max(1, ...sums)],
    range: [0, width - MARGIN.left - MARGIN.right],
  });
  const height = bars.length * ROW_HEIGHT;
  return (
    <Drawing width={width} height={height} alternative={alternative}>
      {bars.map(({ name, parts }, i) => (
        <Group key={name} left={MARGIN.left} top={i * ROW_HEIGHT}>
          <ChartText x={-8} y={ROW_HEIGHT / 2} anchor="end">
            {shortened(name)}
          </ChartText>
          {parts.map(({ count, colour }, k) => (
            <Rectangle
              key={colour + String(k)}
              x={x(parts.slice(0, k).reduce((sum, part) => sum + part.count, 0))}
              y={(ROW_HEIGHT - BAR_HEIGHT) / 2}
              width={x(count)}
              height={BAR_HEIGHT}
              fill={colour}
            />
          ))}
          <ChartText x={x(sums[i] ?? 0) + 6} y={ROW_HEIGHT / 2} anchor="start">
            {sums[i]}
          </ChartText>
        </Group>
      ))}
    </Drawing>
  );
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length > NAME_CHARACTERS ? `${characters.slice(0, NAME_CHARACTERS - 1).join('')}…` : text;
}

interface BarProps {
  readonly parts: readonly BarPart[];
  /** The count of the longest bar. */
  readonly most: number;
}

const CELL_WIDTH = 1000;
const CELL_HEIGHT = 12;
const CELL_GAP = 5;

/**
 * One bar of a table. It is stretched to the width of its cell. The table has the numbers beside it, so it needs no text
 * alternative.
 */
export function Bar({ parts, most }: BarProps) {
  let from = 0;
  const shown = parts.map(({ count, colour }) => {
    const width = (CELL_WIDTH * count) / Math.max(1, most);
    const part = { from, width: Math.max(0, width - CELL_GAP), colour };
    from += width;
    return part;
  });
  return (
    <svg
      className="chart-bar"
      viewBox={`0 0 ${CELL_WIDTH} ${CELL_HEIGHT}`}
      width="100%"
      height={CELL_HEIGHT}
      preserveAspectRatio="none"
      aria-hidden
    >
      {shown.map((part) => (
        <Rectangle
          key={part.from + part.colour}
          x={part.from}
          y={0}
          width={part.width}
          height={CELL_HEIGHT}
          fill={part.colour}
        />
      ))}
    </svg>
  );
}
