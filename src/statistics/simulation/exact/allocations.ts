/** How well the next allocation can be guessed: means over the steps, and over the states at each step. */
import { type State, sum } from './rules.ts';

const NEARLY = 1e-12;

/** The quantities that are averaged, for one allocation. */
interface Terms {
  known: number;
  naive: number;
  certain80: number;
  certain90: number;
  certain100: number;
  forcing: number;
  entropy: number;
}

export class Allocations {
  readonly #ratio: readonly number[];
  readonly #total: Terms = {
    known: 0,
    naive: 0,
    certain80: 0,
    certain90: 0,
    certain100: 0,
    forcing: 0,
    entropy: 0,
  };
  #steps = 0;
  /** The largest difference between an arm's mean chance at a step and its share in the ratio. */
  #furthest = 0;

  constructor(ratio: readonly number[]) {
    this.#ratio = ratio;
  }

  /**
   * The states before one more participant.
   * @param weights the probability of each state
   */
  add(states: readonly State[], weights: Float64Array, chancesOf: (state: State) => readonly number[]): void {
    const means = this.#ratio.map(() => 0);
    for (const [place, state] of states.entries()) {
      const weight = weights[place] as number;
      const chances = chancesOf(state);
      const terms = termsOf(chances, state.counts, this.#ratio);
      for (const term of Object.keys(terms) as (keyof Terms)[]) this.#total[term] += weight * terms[term];
      for (const [k, p] of chances.entries()) means[k] = (means[k] as number) + weight * p;
    }
    const all = sum(this.#ratio);
    for (const [k, mean] of means.entries())
      this.#furthest = Math.max(this.#furthest, Math.abs(mean - (this.#ratio[k] as number) / all));
    this.#steps++;
  }

  /** @param site whether a site guesses as well: with one level, it sees what everybody sees */
  set(set: (figure: string, value: number) => void, site: boolean): void {
    const mean = (term: keyof Terms): number => this.#total[term] / this.#steps;
    set('guess.naive', mean('naive'));
    if (site) set('guess.site', mean('naive'));
    set('guess.known', mean('known'));
    set('guess.blind', Math.max(...this.#ratio) / sum(this.#ratio));
    set('certain.80', mean('certain80'));
    set('certain.90', mean('certain90'));
    set('certain.100', mean('certain100'));
    if (this.#ratio.length === 2) set('forcing', mean('forcing'));
    set('entropy', mean('entropy'));
    set('share', this.#furthest);
  }
}

function termsOf(chances: readonly number[], counts: readonly number[], ratio: readonly number[]): Terms {
  const known = Math.max(...chances);
  const atLeast = (limit: number): number => (known >= limit - NEARLY ? 1 : 0);
  return {
    known,
    naive: naiveGuess(chances, counts, ratio),
    certain80: atLeast(0.8),
    certain90: atLeast(0.9),
    certain100: atLeast(1),
    forcing: 4 * Math.abs((chances[0] as number) - 1 / 2),
    entropy: sum(chances.map((p) => (p > 0 ? -p * Math.log(p) : 0))),
  };
}

/** The chance of the arm with the least n_k/r_k. Among several, those with the largest r_k count, one of them at random. */
function naiveGuess(chances: readonly number[], counts: readonly number[], ratio: readonly number[]): number {
  const arms = [...counts.keys()];
  const filled = (k: number): number => (counts[k] as number) / (ratio[k] as number);
  // n_k/r_k of two arms are equal as doubles if they are equal at all: division is correctly rounded.
  const least = Math.min(...arms.map(filled));
  const emptiest = arms.filter((k) => filled(k) === least);
  const largest = Math.max(...emptiest.map((k) => ratio[k] as number));
  const guessed = emptiest.filter((k) => ratio[k] === largest);
  return sum(guessed.map((k) => chances[k] as number)) / guessed.length;
}
