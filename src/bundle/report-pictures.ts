/** The figures of a bundle's report, as inline SVG. Sizes are in px at 96 per inch. The figures scale with the page. */
import { escapeHtml } from './html.ts';

const WIDTH = 680;
/** Distinguishable in greyscale too. They repeat from the thirteenth on. */
const COLOURS = [
  '#1f4e79',
  '#e08e2b',
  '#4f9d69',
  '#a23b5b',
  '#7d6bb0',
  '#8c8c8c',
  '#3aa6b9',
  '#c9b037',
  '#5b3a29',
  '#d98fae',
  '#2f6b3a',
  '#b3c7dc',
];

export function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? '#000';
}

export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly participants: number;
}

/**
 * Enrolment over time, as a step line.
 * @param since when the study was registered
 * @param target the target enrolment, if the configuration has one
 */
export function enrolmentPicture(
  points: readonly Point[],
  since: number,
  until: number,
  target: number | undefined,
): string {
  const height = 230;
  const [left, right, top, bottom] = [46, 12, 14, 30];
  const most = Math.max(points.at(-1)?.participants ?? 0, target ?? 0, 1);
  const step = niceStep(most);
  const highest = Math.ceil(most / step) * step;
  const span = Math.max(until - since, 1);
  const x = (at: number) => left + ((at - since) / span) * (WIDTH - left - right);
  const y = (count: number) => height - bottom - (count / highest) * (height - top - bottom);
  const at = (value: number) => value.toFixed(1);

  const lines = Array.from({ length: Math.round(highest / step) + 1 }, (_, i) => i * step).map(
    (
      count,
    ) => `<line class="grid" x1="${left}" x2="${WIDTH - right}" y1="${at(y(count))}" y2="${at(y(count))}"/>
<text x="${left - 6}" y="${at(y(count) + 4)}" text-anchor="end">${count}</text>`,
  );
  const stair = points.map((point) => `H${at(x(point.at))}V${at(y(point.participants))}`).join('');
  const ticks = [0, 1, 2, 3].map((i) => {
    const instant = since + (span * i) / 3;
    const anchor = i === 0 ? 'start' : i === 3 ? 'end' : 'middle';
    return `<text x="${at(x(instant))}" y="${height - 10}" text-anchor="${anchor}">${instantLabel(instant, span)}</text>`;
  });
  const goal =
    target === undefined
      ? ''
      : `<line class="target" x1="${left}" x2="${WIDTH - right}" y1="${at(y(target))}" y2="${at(y(target))}"/>
<text x="${WIDTH - right}" y="${at(y(target) - 5)}" text-anchor="end">target ${target}</text>`;
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="participants over time">
${lines.join('\n')}
${goal}
<path class="stair" d="M${at(x(since))} ${at(y(0))}${stair}H${at(x(until))}"/>
${ticks.join('\n')}
</svg>`;
}

export interface Bar {
  readonly label: string;
  /** The parts of the bar, from left to right. */
  readonly parts: readonly number[];
}

/** Horizontal bars, one below the other, to the same scale. */
export function barsPicture(bars: readonly Bar[], label: string): string {
  const row = 22;
  const [left, right] = [210, 44];
  const height = bars.length * row + 4;
  const sums = bars.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0));
  const scale = (WIDTH - left - right) / Math.max(...sums, 1);
  const drawn = bars.map(({ label: name, parts }, i) => {
    const y = i * row + 4;
    let x = left;
    const rectangles = parts.map((part, k) => {
      const width = part * scale;
      const rectangle = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="14" fill="${colourOf(k)}"/>`;
      // White on colour, if it fits.
      const number =
        parts.length > 1 && width > 8 * String(part).length + 4
          ? `<text class="inside" x="${(x + width / 2).toFixed(1)}" y="${y + 11}" text-anchor="middle">${part}</text>`
          : '';
      x += width;
      return rectangle + number;
    });
    return `<text x="${left - 8}" y="${y + 11}" text-anchor="end">${escapeHtml(shortened(name))}</text>
${rectangles.join('')}<text x="${(x + 6).toFixed(1)}" y="${y + 11}">${sums[i]}</text>`;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeHtml(label)}">
${drawn.join('\n')}
</svg>`;
}

/** 1, 2 or 5 times a power of ten, chosen to give about five grid lines. */
function niceStep(most: number): number {
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return step * power;
}

/** In UTC: the day, and also the time if the whole span is only a few days. */
function instantLabel(instant: number, span: number): string {
  const [day = '', time = ''] = new Date(instant).toISOString().split('T');
  return span > 4 * 86_400_000 ? day : `${day} ${time.slice(0, span > 600_000 ? 5 : 8)}`;
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length > 34 ? `${characters.slice(0, 33).join('')}…` : text;
}
