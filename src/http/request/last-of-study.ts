/** What was made of the participants of a study last. */
import type { Participants } from '../../../projections/participants.ts';

interface Kept<T> {
  readonly name: string;
  readonly revision: number;
  readonly made: Promise<T>;
}

/**
 * Keeps the last thing that was made of each study's participants, until the study changes or another thing is asked for.
 * So it is made once for all who ask meanwhile, and a study never keeps more than one.
 */
export class LastOfStudy<T> {
  readonly #last = new WeakMap<Participants, Kept<T>>();

  /**
   * @param revision of the study at the time of the call
   * @param name of what is made; things that differ have different names
   */
  of(participants: Participants, revision: number, name: string, make: () => Promise<T>): Promise<T> {
    const last = this.#last.get(participants);
    if (last?.revision === revision && last.name === name) return last.made;
    const made = make();
    this.#last.set(participants, { name, revision, made });
    return made;
  }
}
