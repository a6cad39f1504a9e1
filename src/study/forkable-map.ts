/**
 * A map that can be forked in constant time: a fork reads through to its parent and keeps its own writes. The parent
 * must not change while a fork of it is in use.
 */
export class ForkableMap<K, V> {
  readonly #own = new Map<K, V>();
  readonly #parent: ForkableMap<K, V> | undefined;

  constructor(parent?: ForkableMap<K, V>) {
    this.#parent = parent;
  }

  get(key: K): V | undefined {
    return this.#own.get(key) ?? this.#parent?.get(key);
  }

  set(key: K, value: V): void {
    this.#own.set(key, value);
  }

  fork(): ForkableMap<K, V> {
    return new ForkableMap(this);
  }
}
