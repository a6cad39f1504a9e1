/** @param started as `performance.now()` gave it. @returns whole milliseconds: more digits say nothing */
export function secondsSince(started: number): number {
  return Math.round(performance.now() - started) / 1000;
}
