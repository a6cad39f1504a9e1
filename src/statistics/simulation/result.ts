/** The result of a simulation, or of the exact computation. Every figure is defined in docs/statistics.md. */

/** With the 95 % interval of its Monte Carlo error. An exact figure is its own interval. */
export interface Figure {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The imbalance of the arms overall after some participants: quantiles of its range over the replicates. */
export interface CoursePoint {
  readonly n: number;
  readonly p05: number;
  readonly p25: number;
  readonly p50: number;
  readonly p75: number;
  readonly p95: number;
}

export interface DesignResult {
  /** `study` for the study's own design; for a comparator, its name as asked for. */
  readonly name: string;
  /** By name, such as `overall.range@300.mean` or `guess.naive`. Figures that depend on n are given at every n of the plan. */
  readonly figures: Readonly<Record<string, Figure>>;
  /** At most 50 points, the last of them after all participants. */
  readonly course: readonly CoursePoint[];
  /** Share of the replicates with each range of the arms overall after all participants, ascending. */
  readonly distribution: readonly { readonly range: number; readonly share: number }[];
}
