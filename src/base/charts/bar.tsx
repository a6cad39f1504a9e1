/** One bar of a table, in parts. The table has the numbers beside it, so it needs no text alternative. */
import { Bar as Rectangle } from '@visx/shape';

interface BarProps {
  readonly parts: readonly { readonly count: number; readonly colour: string }[];
  /** The count of the longest bar. */
  readonly most: number;
}

const WIDTH = 1000;
const HEIGHT = 12;
const GAP = 5;

/** It is stretched to the width of its cell. */
export function Bar({ parts, most }: BarProps) {
  let from = 0;
  const shown = parts.map(({ count, colour }) => {
    const width = (WIDTH * count) / Math.max(1, most);
    const part = { from, width: Math.max(0, width - GAP), colour };
    from += width;
    return part;
  });
  return (
    <svg
      className="chart-bar"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width="100%"
      height={HEIGHT}
      preserveAspectRatio="none"
      aria-hidden
    >
      {shown.map((part) => (
        <Rectangle
          key={part.from + part.colour}
          x={part.from}
          y={0}
          width={part.width}
          height={HEIGHT}
          fill={part.colour}
        />
      ))}
    </svg>
  );
}
