/** Checks the ids of a study's participants against its pattern, and warns of ids that look like others. */
import { lookAlikeForm } from '../../../base/text.ts';
import { IdPattern } from '../../../core/model/id-pattern.ts';
import { problemsOfId } from '../../../core/model/participant-id.ts';
import type { Mismatch } from '../report/report.ts';
import type { Warnings } from '../report/warnings.ts';
import { mismatch } from './differences.ts';

export class IdChecks {
  readonly #warnings: Warnings;
  #pattern: IdPattern | undefined;
  /** The few ids that differ from their `lookAlikeForm`, by that form. */
  readonly #unlike = new Map<string, string>();
  /** By corrected id: the id as randomized of the participant who has, or had, it. */
  readonly #corrected = new Map<string, string>();

  /** @param pattern of the study */
  constructor(warnings: Warnings, pattern: string | undefined) {
    this.#warnings = warnings;
    this.expect(pattern);
  }

  /** From here on, ids must match this pattern. */
  expect(pattern: string | undefined): void {
    this.#pattern = pattern === undefined ? undefined : new IdPattern(pattern);
  }

  /** @param field path of the id in the record */
  mismatch(id: string, field: string): Mismatch | undefined {
    const [invalid] = problemsOfId(id);
    if (invalid !== undefined) return mismatch(field, 'an id that the service takes', id, invalid);
    if (this.#pattern?.isLinear && !this.#pattern.matches(id))
      return mismatch(field, this.#pattern.text, id, 'not an id of this study');
    return undefined;
  }

  /**
   * Warns about an id that a participant is given.
   * @param of the participant, by the id as randomized
   * @param isRandomized whether a participant had an id as randomized before
   */
  take(
    of: { readonly participantId: string },
    id: string,
    revision: number,
    isRandomized: (id: string) => boolean,
  ): void {
    this.#compare(id, revision);
    this.#warnOfLookAlike(of, id, revision, isRandomized);
    if (id !== of.participantId) this.#corrected.set(id, of.participantId);
  }

  /** For a pattern whose verdict depends on the engine or the machine: a warning, never a failure. */
  #compare(id: string, revision: number): void {
    if (!this.#pattern || this.#pattern.isLinear) return;
    const matches = this.#pattern.matches(id);
    if (matches) return;
    const verdict =
      matches === undefined
        ? 'the id could not be compared with the idPattern in time; later ids were not compared'
        : 'the id does not match the idPattern, as the engine of this program reads it';
    this.#warnings.add(
      matches === undefined ? 'id-not-compared' : 'id-not-matching',
      `${verdict}; new studies cannot have this pattern, because other engines read it differently`,
      revision,
    );
    // The next id would take just as long.
    if (matches === undefined) this.#pattern = undefined;
  }

  /** Earlier versions accepted such ids, so old logs may hold them. */
  #warnOfLookAlike(
    { participantId }: { readonly participantId: string },
    id: string,
    revision: number,
    isRandomized: (id: string) => boolean,
  ): void {
    const form = lookAlikeForm(id);
    const isOther = (known: string) => {
      const original = this.#corrected.get(known) ?? known;
      return original !== participantId && isRandomized(original);
    };
    const alike = [this.#unlike.get(form), form === id ? undefined : form];
    const earlier = alike.find((known) => known !== undefined && isOther(known));
    if (form !== id) this.#unlike.set(form, id);
    if (earlier !== undefined)
      this.#warnings.add(
        'look-alike-ids',
        `participant ${JSON.stringify(id)} looks like participant ${JSON.stringify(earlier)}: it may be one person who was randomized twice`,
        revision,
      );
  }
}
