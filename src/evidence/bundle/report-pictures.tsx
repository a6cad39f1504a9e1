/** The charts of a bundle's report. Sizes are in px at 96 per inch. The charts scale with the page. */
import { Bars } from '../../base/charts/bars.tsx';
import { EnrolmentChart } from '../../base/charts/enrolment-chart.tsx';
import { armColour, COLOURS } from '../../base/charts/series.ts';
import { svgOf } from '../../base/html/svg.ts';
import { printable } from '../../base/text.ts';

const WIDTH = 680;

interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly participants: number;
}

/**
 * Enrolment over time.
 * @param since when the study was registered
 * @param target the target enrolment, if the configuration has one
 */
export function enrolmentPicture(
  points: readonly Point[],
  since: number,
  until: number,
  target: number | undefined,
): string {
  const shown = [{ at: since, participants: 0 }, ...points].map(({ at, participants }) => ({
    at: new Date(at).toISOString(),
    enrolled: participants,
  }));
  return svgOf(
    <EnrolmentChart
      width={WIDTH}
      height={230}
      points={shown}
      until={new Date(until).toISOString()}
      target={target}
      targetLabel={target === undefined ? undefined : `target ${target}`}
      alternative="participants over time"
      language="en"
      timeZone="UTC"
    />,
  );
}

interface CountedLevel {
  readonly level: string;
  /** By treatment, or of all together. */
  readonly counts: readonly number[];
}

/** How many participants each level has. With one count each, all bars have the colour of other data. */
export function levelsPicture(levels: readonly CountedLevel[], alternative: string): string {
  const bars = levels.map(({ level, counts }) => ({
    name: printable(level),
    parts: counts.map((count, k) => ({ count, colour: counts.length > 1 ? armColour(k) : COLOURS.data })),
  }));
  return svgOf(<Bars width={WIDTH} bars={bars} alternative={printable(alternative)} />);
}
