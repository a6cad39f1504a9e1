/** States and their probabilities. Equal states are merged. A state is a list of numbers; there may be millions. */

const EMPTY = -1;
/** There are many lists, and most are short. */
const FIRST_ROOM = 4;

export class States {
  readonly #width: number;
  #values: Float64Array;
  #probabilities: Float64Array;
  /** A hash table of the states, with linear probing. */
  #places: Int32Array;
  #size = 0;

  /** @param width how many numbers a state has */
  constructor(width: number) {
    this.#width = width;
    this.#values = new Float64Array(width * FIRST_ROOM);
    this.#probabilities = new Float64Array(FIRST_ROOM);
    this.#places = new Int32Array(2 * FIRST_ROOM).fill(EMPTY);
  }

  get size(): number {
    return this.#size;
  }

  probability(index: number): number {
    return this.#probabilities[index] as number;
  }

  /** One number of a state. */
  value(index: number, column: number): number {
    return this.#values[index * this.#width + column] as number;
  }

  add(state: Float64Array, probability: number): void {
    const mask = this.#places.length - 1;
    let place = this.#hash(state, 0) & mask;
    for (let index = this.#places[place] as number; index !== EMPTY; index = this.#places[place] as number) {
      if (this.#isAt(index, state)) {
        this.#probabilities[index] = (this.#probabilities[index] as number) + probability;
        return;
      }
      place = (place + 1) & mask;
    }
    if (this.#size === this.#probabilities.length) {
      this.#grow();
      this.add(state, probability);
      return;
    }
    const index = this.#size++;
    this.#places[place] = index;
    for (let i = 0; i < this.#width; i++) this.#values[index * this.#width + i] = state[i] as number;
    this.#probabilities[index] = probability;
  }

  /** Adds every state of another list, with `shift` added to its numbers and its probability times `chance`. */
  addAll(from: States, shift: Float64Array, chance: number): void {
    const width = this.#width;
    const state = new Float64Array(width);
    for (let i = 0; i < from.#size; i++) {
      for (let column = 0; column < width; column++)
        state[column] = (from.#values[i * width + column] as number) + (shift[column] as number);
      this.add(state, (from.#probabilities[i] as number) * chance);
    }
  }

  #isAt(index: number, state: Float64Array): boolean {
    for (let i = 0; i < this.#width; i++)
      if (this.#values[index * this.#width + i] !== state[i]) return false;
    return true;
  }

  /** Mixes the halves of each number, as MurmurHash3 mixes words. */
  #hash(state: Float64Array, from: number): number {
    let hash = 0;
    for (let i = 0; i < this.#width; i++) {
      const value = state[from + i] as number;
      hash = Math.imul(hash ^ value, 0xcc9e2d51);
      hash = Math.imul((hash << 15) | (hash >>> 17), 0x1b873593);
      hash ^= Math.floor(value / 2 ** 32);
    }
    hash ^= hash >>> 16;
    hash = Math.imul(hash, 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  #grow(): void {
    const values = new Float64Array(2 * this.#values.length);
    values.set(this.#values);
    const probabilities = new Float64Array(2 * this.#probabilities.length);
    probabilities.set(this.#probabilities);
    this.#values = values;
    this.#probabilities = probabilities;
    this.#places = new Int32Array(2 * this.#places.length).fill(EMPTY);
    const mask = this.#places.length - 1;
    for (let index = 0; index < this.#size; index++) {
      let place = this.#hash(values, index * this.#width) & mask;
      while (this.#places[place] !== EMPTY) place = (place + 1) & mask;
      this.#places[place] = index;
    }
  }
}
