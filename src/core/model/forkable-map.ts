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

  /** The map must not be changed while it is read. */
  *entries(): Iterable<readonly [K, V]> {
    for (const entry of this.#parent?.entries() ?? []) if (!this.#own.has(entry[0])) yield entry;
    yield* this.#own;
  }

  isEmpty(): boolean {
    return this.#own.size === 0 && (this.#parent?.isEmpty() ?? true);
  }

  /** A new map of the same kind without entries. */
  emptied(): ForkableMap<K, V> {
    return new ForkableMap();
  }

  fork(): ForkableMap<K, V> {
    return new ForkableMap(this);
  }
}
