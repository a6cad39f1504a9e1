/** Keeps the last result that was made from the participants of a study. */
import type { Participants } from '../../../core/model/participants.ts';

interface KeptResult<T> {
  readonly name: string;
  readonly revision: number;
  readonly made: Promise<T>;
}

/**
 * Keeps, for each study, the last result that was made from its participants, until the study changes or a different result
 * is asked for. So everybody who asks meanwhile shares one result, and each study keeps only one.
 */
export class LastOfStudy<T> {
  readonly #last = new WeakMap<Participants, KeptResult<T>>();

  /**
   * @param revision of the study at the time of the call
   * @param name of the result; different results have different names
   */
  of(participants: Participants, revision: number, name: string, make: () => Promise<T>): Promise<T> {
    const last = this.#last.get(participants);
    if (last?.revision === revision && last.name === name) return last.made;
    const made = make();
    this.#last.set(participants, { name, revision, made });
    return made;
  }
}
