/** What is simulated. A plan can be passed to a thread. */
import type { ImbalanceMeasure, MinimizationParameters } from '../../../events/study.ts';

/** What a design's allocation sees, and the names for reports. */
export interface SimulatedDesign {
  readonly treatments: readonly string[];
  /** r_k of each treatment; ones without a ratio. */
  readonly ratio: readonly number[];
  readonly factors: readonly { readonly name: string; readonly levels: readonly string[] }[];
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
  readonly D: ImbalanceMeasure;
  /** The study's own method; absent: urns as above. */
  readonly own?: Pick<Comparator, 'rule' | 'within'> | undefined;
}

/** Another design on the same participants. */
export interface Comparator {
  /** As it was asked for, such as `block:4+6@local_site`. */
  readonly name: string;
  readonly rule: ComparatorRule;
  /** Indexes of the factors that it uses; none if it uses none. An urn and minimization use all unless some are named. */
  readonly within: readonly number[];
}

/** The study's own design, described like a comparator. */
export function ownDesign({ own, w, alpha, beta, D }: SimulatedDesign): Comparator {
  return { name: 'study', ...(own ?? { rule: { kind: 'urn', w, alpha, beta, D }, within: [] }) };
}

export interface MinimizationRule {
  readonly kind: 'minimization';
  /** At most three decimals. */
  readonly p: number;
  /** Default: `range`. */
  readonly measure?: MinimizationParameters['measure'] | undefined;
  /** One per factor; absent: equal. */
  readonly weights?: readonly number[] | undefined;
}

export type ComparatorRule =
  | {
      readonly kind: 'urn';
      readonly w: number;
      readonly alpha: number;
      readonly beta: number;
      readonly D: ImbalanceMeasure;
    }
  | { readonly kind: 'complete' }
  /** Each block has one of the sizes, by lot. */
  | { readonly kind: 'block'; readonly sizes: readonly number[] }
  | MinimizationRule
  | { readonly kind: 'efron'; readonly p: number }
  /** `limit`: the largest difference of the two arms. */
  | { readonly kind: 'bigstick'; readonly limit: number };

/** How participants come to have their levels. */
export type Arrivals =
  | {
      readonly kind: 'shares';
      /** For each level of each factor: numbers of any sum above 0. */
      readonly shares: readonly (readonly number[])[];
      /** Levels that have the share 0 before a participant (counted from 1). */
      readonly opens: readonly { readonly factor: number; readonly level: number; readonly from: number }[];
    }
  | {
      readonly kind: 'rows';
      /** Indexes of the levels, one per factor. */
      readonly rows: readonly (readonly number[])[];
      /** One per row, with any sum above 0. */
      readonly weights: readonly number[];
    };

export interface SimulationPlan {
  readonly study: string;
  readonly design: SimulatedDesign;
  readonly arrivals: Arrivals;
  /** Where the shares of the levels come from, in words, for the report. */
  readonly arrivalsSource: string;
  readonly comparators: readonly Comparator[];
  /** Index of the factor whose counts a site uses to guess. */
  readonly siteFactor: number | undefined;
  readonly participants: number;
  readonly reps: number;
  /** From 1 to 2^63 - 1. */
  readonly seed: bigint;
  /** Numbers of participants after which imbalance is reported, ascending. */
  readonly at: readonly number[];
}
