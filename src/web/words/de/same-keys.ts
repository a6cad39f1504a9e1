/** The shape of a catalogue: the keys of the English one, each with a text. */
export type SameKeys<T> = { readonly [K in keyof T]: T[K] extends string ? string : SameKeys<T[K]> };
