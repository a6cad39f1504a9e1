/** A method of allocation: one implementation each, under whatever draws an arm or asks for the chances of one. */
import type { Pcg64 } from '../random/pcg64.ts';

/**
 * Works on arrays that are used again for each participant. What it remembers of earlier participants is the `State`, which
 * the caller keeps: a study, and each replicate of it, has one of its own.
 */
export interface Method<State> {
  /** The index of each slot that can be drawn, in all slots of the study. */
  readonly slots: ArrayLike<number>;
  /** p of each of these for the participant that `look` saw, before anything is drawn. */
  readonly chances: Float64Array;
  /**
   * Works out what the next participant is drawn from. It only reads the state.
   * @param levels the participant's level of each factor of the study, by index
   */
  look(state: State, levels: ArrayLike<number>): void;
  /** @returns the slot of the participant that `look` saw, by its index in all slots of the study */
  draw(generator: Pcg64): number;
  /** One participant more, or one fewer, has these levels and this slot. */
  count(state: State, levels: ArrayLike<number>, slot: number, by: 1 | -1): void;
}
