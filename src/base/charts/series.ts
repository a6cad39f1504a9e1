/**
 * What the charts show, computed from the points of GET /enrolment, and in which colours. Pages load it before they
 * draw anything, so it needs no library that draws.
 */

/** How far the arms were apart after each enrolment. Begins with nobody enrolled. */
export function differences(
  points: readonly { readonly enrolled: number; readonly treatments?: Counts | undefined }[],
  arms: readonly Arm[],
): DifferencePoint[] {
  return [
    { enrolled: 0, difference: 0 },
    ...points.flatMap(({ enrolled, treatments }) =>
      treatments ? [{ enrolled, difference: largestDifference(treatments, arms) }] : [],
    ),
  ];
}

export interface DifferencePoint {
  readonly enrolled: number;
  readonly difference: number;
}

/** The difference between the arms with the most and the fewest participants, each by its share. */
export function largestDifference(counts: Counts, arms: readonly Arm[]): number {
  if (arms.length === 0) return 0;
  const perShare = arms.map(({ name, share }) => (counts[name] ?? 0) / share);
  // Shares give fractions; a tenth of a participant is precise enough.
  return Math.round((Math.max(...perShare) - Math.min(...perShare)) * 10) / 10;
}

interface Arm {
  readonly name: string;
  /** How many participants it gets for each one of an arm with the share 1. */
  readonly share: number;
}

/** Counts of participants, by treatment. */
export type Counts = Readonly<Record<string, number>>;

// The colours of charts: those of style/tokens.css if that is on the page, otherwise the ones here. So a chart looks the same
// in a file of its own.

const ARM_COLOURS = ['#0a4d7a', '#c96f00', '#8fc7b5', '#8a4f9e', '#5c6b2f', '#b3476b'] as const;

/** The colour of an arm, by its place among the treatments of the study. With more arms than colours, colours repeat. */
export function armColour(place: number): string {
  const index = place % ARM_COLOURS.length;
  return `var(--arm-${index + 1}, ${ARM_COLOURS[index]})`;
}

/** The colours of everything else. */
export const COLOURS = {
  data: 'var(--accent, #0a5c8f)',
  band: 'var(--band, #cfe3f1)',
  text: 'var(--text, #17202b)',
  soft: 'var(--soft, #566270)',
  line: 'var(--line, #d9dee5)',
} as const;
