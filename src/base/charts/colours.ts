/**
 * The colours of charts: those of style/tokens.css if that is on the page, otherwise the ones here. So a chart looks the same
 * in a file of its own.
 */
const ARMS = ['#0a4d7a', '#c96f00', '#8fc7b5', '#8a4f9e', '#5c6b2f', '#b3476b'] as const;

/** The colour of an arm, by its place among the treatments of the study. With more arms than colours, colours repeat. */
export function armColour(place: number): string {
  const index = place % ARMS.length;
  return `var(--arm-${index + 1}, ${ARMS[index]})`;
}

export const COLOURS = {
  data: 'var(--accent, #0a5c8f)',
  band: 'var(--band, #cfe3f1)',
  text: 'var(--text, #17202b)',
  soft: 'var(--soft, #566270)',
  line: 'var(--line, #d9dee5)',
} as const;
