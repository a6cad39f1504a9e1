/**
 * Checks that each sealed section has its own salt. Equal sections with equal salts have equal seals, so with a single
 * salt, a reader of the seals alone would see which participants got the same arm.
 *
 * If a section is included, its salt is compared with all earlier ones. If it is withheld, its seal is. Each takes 40 to
 * 80 bytes of memory.
 */
import { mismatch } from './replay/differences.ts';
import type { Mismatch } from './report/report.ts';

export class Sealing {
  readonly #salts = new Set<string>();
  readonly #seals = new Set<string>();

  /**
   * Adds the sections of one record.
   * @param sections the included sections, by name
   * @param withheld the seals of the withheld ones, by name
   */
  mismatch(
    sections: Readonly<Record<string, object | undefined>>,
    withheld: Readonly<Record<string, string>> = {},
  ): Mismatch | undefined {
    for (const name in sections) {
      const salt = (sections[name] as { readonly salt?: string } | undefined)?.salt;
      if (salt !== undefined && !isNew(this.#salts, salt))
        return mismatch(
          `${name}.salt`,
          'a salt of its own',
          salt,
          'another section has this salt, and sections that are equal would have equal seals',
        );
    }
    for (const name in withheld) {
      const seal = withheld[name] ?? '';
      if (!isNew(this.#seals, seal))
        return mismatch(
          `seals.${name}`,
          'a seal of its own',
          seal,
          'another section has this seal, so the two are equal, salt included: the seal conceals nothing',
        );
    }
    return undefined;
  }
}

/** Adds a text to those that were seen. @returns whether it was not among them */
export function isNew(seen: Set<string>, text: string): boolean {
  return seen.size < seen.add(text).size;
}
