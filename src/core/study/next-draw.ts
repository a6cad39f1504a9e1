/** The urn from which the next participant of each level would be drawn, and its odds. */

import { probabilities } from '../methods/draw.ts';
import { rowSeen } from '../methods/urn/allocate.ts';
import { balls } from '../methods/urn/balls.ts';
import { openTreatments } from '../model/design.ts';
import type { Model } from '../model/model.ts';

/** The urn of an open level. */
export interface LevelOdds {
  /** Indexes in the design, which no amendment changes. */
  readonly place: { readonly factor: number; readonly level: number };
  readonly factor: string;
  readonly level: string;
  /** For each open treatment, in order. */
  readonly odds: readonly { readonly treatment: string; readonly probability: number }[];
}

/**
 * Each arm's probability if the urn of this level is the one that is drawn from: the arm's share of the balls, over all of
 * its slots. Empty if the study has no urns.
 */
export function nextDraw({ design, methodDesign, counts }: State): LevelOdds[] {
  if (methodDesign.method !== 'urn') return [];
  const open = openTreatments(design);
  return design.factors.flatMap(({ name, levels, closed, isRetired }, factor) =>
    levels.flatMap((level, place) => {
      if (isRetired || closed.includes(level)) return [];
      const shares = probabilities(balls(methodDesign, rowSeen(methodDesign, counts, factor, place)));
      const odds = open.map((treatment) => ({
        treatment,
        probability: sum(shares.filter((_, slot) => methodDesign.slots[slot] === treatment)),
      }));
      return [{ place: { factor, level: place }, factor: name, level, odds }];
    }),
  );
}

type State = Pick<Model, 'design' | 'methodDesign' | 'counts'>;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
