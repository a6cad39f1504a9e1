/**
 * Whether each sealed section has a salt of its own. Sections that are equal, salt included, have equal seals: under one
 * salt for all, a reader of the seals alone would see which participants got the same arm.
 *
 * Of a section that is there its salt is compared with all before it, of one that is withheld its seal: 32 to 64 bytes of
 * memory for each.
 */
import { mismatch } from './replay/differences.ts';
import { DigestSet } from './replay/digest-set.ts';
import type { Mismatch } from './report.ts';

export class Sealing {
  readonly #salts = new DigestSet('hex');
  readonly #seals = new DigestSet('hex');

  /**
   * Takes in the sections of one record.
   * @param sections by name: those that are there
   * @param withheld by name: the seals of the others
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

/** Puts the text into the set; false: it was there already. */
function isNew(set: DigestSet, text: string): boolean {
  if (set.has(text)) return false;
  set.add(text);
  return true;
}
