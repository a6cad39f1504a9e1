/** Tolerated difference, in ms, between the clocks of machines that write the same stream. */
export const CLOCK_TOLERANCE_MS = 1000;
