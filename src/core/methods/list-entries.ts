/** The entries of lists that were made elsewhere, stratum by stratum: what the method `list` remembers. */

export interface Entry {
  /** Number of its list, and its place there, both from 1. */
  readonly list: number;
  readonly entry: number;
  /** By index. */
  readonly slot: number;
}

/** Those of a stratum, in the order of use. */
export interface StratumEntries {
  readonly entries: readonly Entry[];
  /** How many of them were given to somebody, or passed over. */
  readonly used: number;
}

export class ListEntries {
  /** How many lists there ever were. */
  lists = 0;
  /** Whether participants may have used entries that the log does not know of. */
  isSkipOwed = false;
  readonly #strata: Map<string, StratumEntries>;
  /** By the digest of each file that was ever read: how many of its rows are in. */
  readonly #rows: Map<string, number>;
  #left = 0;
  #isWithheld = false;

  constructor(strata: Iterable<readonly [string, StratumEntries]> = [], rows = new Map<string, number>()) {
    this.#strata = new Map(strata);
    this.#rows = rows;
  }

  /** By the name of the stratum. Without those that were dropped. */
  get strata(): ReadonlyMap<string, StratumEntries> {
    return this.#strata;
  }

  knows(file: string): boolean {
    return this.#rows.has(file);
  }

  rowsOf(file: string): number {
    return this.#rows.get(file) ?? 0;
  }

  /** The first unused entry; undefined if there is none, or if it is withheld. */
  next(stratum: string): Entry | undefined {
    const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
    return entries[used];
  }

  /** Whether nobody can be given an entry, as far as is known. */
  isSpent(stratum: string): boolean {
    const isUsedUp = this.#isWithheld ? this.#left <= 0 : this.next(stratum) === undefined;
    return this.isSkipOwed || isUsedUp;
  }

  /** How many are not used, over all strata. It is known even where the entries are withheld. */
  get leftInAll(): number {
    return this.#left;
  }

  /** Undefined if the entries are withheld. */
  left(stratum: string): number | undefined {
    if (this.#isWithheld) return undefined;
    const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
    return entries.length - used;
  }

  /** Adds a list whose entries are withheld. */
  addWithheld(count: number): void {
    this.lists++;
    this.#left += count;
    this.#isWithheld = true;
  }

  /** @param file digest of the file. @param added in the order of the list, each with the name of its stratum */
  add(file: string, added: readonly (readonly [stratum: string, slot: number])[]): void {
    this.lists++;
    this.#left += added.length;
    this.#rows.set(file, this.rowsOf(file) + added.length);
    const more = new Map<string, Entry[]>();
    for (const [i, [stratum, slot]] of added.entries()) {
      const ofStratum = more.get(stratum) ?? [];
      more.set(stratum, ofStratum);
      ofStratum.push({ list: this.lists, entry: i + 1, slot });
    }
    for (const [stratum, ofStratum] of more) {
      const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
      this.#strata.set(stratum, { entries: [...entries, ...ofStratum], used });
    }
  }

  /** Passes over the next entries. */
  use(stratum: string, count = 1): void {
    this.#left -= count;
    const { entries, used } = this.#strata.get(stratum) ?? NO_ENTRIES;
    this.#strata.set(stratum, { entries, used: used + count });
  }

  /** Voids all entries. The numbers of the lists go on. */
  drop(): void {
    this.#strata.clear();
    for (const file of this.#rows.keys()) this.#rows.set(file, 0);
    this.#left = 0;
    this.#isWithheld = false;
  }

  /** An independent copy. */
  fork(): ListEntries {
    const copy = new ListEntries(this.#strata, new Map(this.#rows));
    copy.lists = this.lists;
    copy.isSkipOwed = this.isSkipOwed;
    copy.#left = this.#left;
    copy.#isWithheld = this.#isWithheld;
    return copy;
  }
}

const NO_ENTRIES: StratumEntries = { entries: [], used: 0 };
