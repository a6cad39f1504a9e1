/** The strata of one replicate's participants: those who are alike in some factors. */

/** Keys below this, times a stratum's number, are exact in a double. */
const MAX_KEYS = 2 ** 26;

export class Strata {
  /** Those factors, in runs whose levels have at most MAX_KEYS combinations. A single factor always fits. */
  readonly #runs: readonly (readonly { readonly factor: number; readonly levels: number }[])[];
  readonly #numbers = new Map<number, number>();
  readonly #factors: number;
  /** For each participant: the number of the stratum. The first participant is in number 0. */
  readonly of: Int32Array;
  /** The number of strata. */
  count = 0;

  /** @param within indexes of the factors. None: all participants are in one stratum */
  constructor(
    factors: readonly { readonly levels: readonly string[] }[],
    within: readonly number[],
    participants: number,
  ) {
    this.#factors = factors.length;
    this.of = new Int32Array(participants);
    this.#runs = runsOf(within.map((factor) => ({ factor, levels: factors[factor]?.levels.length ?? 1 })));
  }

  /** @param levels for each participant: the index of the level of each factor */
  assign(levels: Int32Array): void {
    const { of } = this;
    of.fill(0);
    this.count = 1;
    for (const run of this.#runs) {
      this.#numbers.clear();
      for (let participant = 0; participant < of.length; participant++) {
        let key = of[participant] as number;
        for (const { factor, levels: count } of run)
          key = key * count + (levels[participant * this.#factors + factor] as number);
        const number = this.#numbers.get(key) ?? this.#numbers.size;
        this.#numbers.set(key, number);
        of[participant] = number;
      }
      this.count = this.#numbers.size;
    }
  }
}

function runsOf<T extends { readonly levels: number }>(factors: readonly T[]): T[][] {
  const runs: T[][] = [];
  let keys = Number.POSITIVE_INFINITY;
  for (const factor of factors) {
    keys *= factor.levels;
    if (keys > MAX_KEYS) {
      runs.push([]);
      keys = factor.levels;
    }
    runs.at(-1)?.push(factor);
  }
  return runs;
}
