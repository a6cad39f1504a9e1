/** The shape of a catalogue: the keys of the English one, each with a text. What is no text is said once, in the English one. */
export type SameKeys<T> = {
  readonly [K in keyof T as T[K] extends boolean ? never : K]: T[K] extends string ? string : SameKeys<T[K]>;
};
