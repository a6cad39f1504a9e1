/** Who counts for what. Whatever counts participants, or measures a study against its target and limits, counts them here. */
import { type Enrolled, fillsPlace } from './enrolled.ts';

export interface HeadCount {
  /** Everybody in the list, voided or not. A wrong entry that was replaced is no longer in it. */
  readonly enrolled: number;
  /** Of these, those who were randomized in error, for whatever cause. */
  readonly voided: number;
  /** Of these, those who fill a place of the target and of the limits. */
  readonly filled: number;
}

export class HeadCounter implements HeadCount {
  enrolled = 0;
  voided = 0;
  filled = 0;

  add(participant: Enrolled): void {
    this.enrolled++;
    if (participant.corrected?.voided) this.voided++;
    if (fillsPlace(participant)) this.filled++;
  }

  now(): HeadCount {
    const { enrolled, voided, filled } = this;
    return { enrolled, voided, filled };
  }
}

/** @param among a selection, such as those whom a key may know, or those with some level */
export function headCount(among: Iterable<Enrolled>): HeadCount {
  const counter = new HeadCounter();
  for (const participant of among) counter.add(participant);
  return counter.now();
}
