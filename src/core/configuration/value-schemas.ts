/**
 * zod schemas for the values of a YAML file. Each value is read exactly or refused, never converted. The message of an issue
 * is that of a finding, and names what is refused; its path leads to the line.
 */
import { z } from 'zod';
import { nameProblem, quote } from '../../base/text.ts';
import { nearestTo } from '../../base/wording.ts';
import { hinted } from './finding.ts';
import { type Mapping, Scalar, type Value } from './yaml-values.ts';

/** Refuses what is at the path and returns, so that all refusals are reported together. */
export type RefuseAt = (path: readonly PropertyKey[], message: string) => void;

/** For a value of another kind. A blank one might mean the default or a forgotten value. */
const blankOr = (name: string, message: string) => ({
  error: ({ input }: { input?: unknown }) =>
    input === null ? `${name} has no value (hint: give it a value, or remove the line)` : message,
});
export const scalar = (name: string, otherwise: string) => z.instanceof(Scalar, blankOr(name, otherwise));
export const list = (name: string, otherwise: string) => z.array(z.custom<Value>(), blankOr(name, otherwise));
export const anyMapping = (name: string, otherwise: string) =>
  z.map(z.string(), z.custom<Value>(), blankOr(name, otherwise));

/** An error after which nothing else is said of the value. */
export const last = (error: string) => ({ error, abort: true });

/** A non-negative whole number of any size, from its digits. Messages never show it. */
export const wholeNumber = (name: string) =>
  scalar(name, `${name} is not a number (hint: write a whole number, such as 1)`)
    .superRefine((written, context) => {
      const problem = notWhole(written);
      if (problem !== undefined) context.addIssue(`${name} ${problem}`);
    })
    .transform(({ text }) => BigInt(text));

function notWhole({ text, plain }: Scalar): string | undefined {
  if (!plain) return 'is text, not a number (hint: write it without quotes)';
  if (/^(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$/.test(text)) return undefined;
  if (/^-[0-9.]/.test(text)) return 'is negative (hint: write a number of at least 0)';
  return /^0[0-9_]|^0o/.test(text)
    ? 'begins with a zero, which some YAML readers take for octal (hint: write it without leading zeros)'
    : 'is not a whole number (hint: write digits only, such as 1: no sign, point, exponent or _)';
}

/** @param bounds inclusive; the hint is for a number below them */
export const count = (
  name: string,
  { min, max, hint = `write at least ${min}` }: { min: number; max: number; hint?: string },
) =>
  wholeNumber(name)
    .refine((number) => number >= min, last(`${name} is below ${min} (hint: ${hint})`))
    .refine((number) => number <= max, last(`${name} is above ${max} (hint: write at most ${max})`))
    .transform(Number);

export function choice<const T extends readonly string[]>(name: string, choices: T) {
  const notOne = (given: string, text: string) =>
    `${name} is ${given}, not one of ${choices.join(', ')} (hint: ${suggest(text, choices)})`;
  return scalar(name, notOne('a list or mapping', ''))
    .transform(({ text }) => text)
    .pipe(z.enum(choices, { error: ({ input }) => notOne(quote(String(input)), String(input)) }));
}

/** A list of different names. Messages call an item `one` and never show it. */
export const names = (one: string) =>
  list(`${one}s`, `the ${one}s are not a list (hint: write them as [first, second])`).transform(
    (items, context) => {
      const placeOf = new Map<string, number>();
      for (const [i, item] of items.entries()) {
        const problem = noNewName(item, one, placeOf);
        if (problem !== undefined) issuesIn(context)([i], `${one} ${i + 1} ${problem}`);
        else if (item instanceof Scalar) placeOf.set(item.text, i + 1);
      }
      return [...placeOf.keys()];
    },
  );

function noNewName(item: Value, one: string, placeOf: ReadonlyMap<string, number>): string | undefined {
  if (!(item instanceof Scalar))
    return 'is a list or a mapping, not a name (hint: put a name that contains a colon, a bracket or a brace in quotes)';
  const problem = nameProblem(item.text);
  if (problem) return hinted(problem);
  const first = placeOf.get(item.text);
  return first === undefined
    ? undefined
    : `is the same as ${one} ${first} (hint: remove or rename one of them)`;
}

/** What is said of the keys of a mapping. */
interface KeyWords {
  /** Of a key that it cannot have, and of its place in the mapping, from 0. */
  readonly unknown?: (key: string, place: number) => string;
  /** Of a key that is not there; undefined if it may be left out. */
  readonly missing?: (key: string) => string | undefined;
}

/**
 * A mapping from some of these keys, and no others.
 * @param schemaOf the schema for the value of a key, asked only for a key that is there
 * @returns in the order of the file
 */
export const mappingOf = <T>(
  name: string,
  keys: readonly string[],
  schemaOf: (key: string) => z.ZodType<T>,
  {
    unknown = (key) => `${name} has no ${quote(key)} (hint: ${suggest(key, keys)})`,
    missing = () => undefined,
  }: KeyWords = {},
) =>
  anyMapping(name, `${name} is not a mapping (hint: write {${keys.join(': …, ')}: …})`).transform(
    (given, context) => {
      const refuse = issuesIn(context);
      for (const [place, key] of [...given.keys()].entries())
        if (!keys.includes(key)) refuse([key], unknown(key, place));
      for (const key of keys) {
        const problem = given.has(key) ? undefined : missing(key);
        if (problem !== undefined) refuse([], problem);
      }
      return readEach(given, keys, schemaOf, refuse);
    },
  );

/** Schemas by key. */
export type Shape = Readonly<Record<string, z.ZodType>>;
/** Any key may be left out. */
export type Members<S extends Shape> = { readonly [K in keyof S]?: Exclude<z.output<S[K]>, undefined> };

/** A mapping with a schema for each key, in the order of `shape`. */
export function mapping<S extends Shape>(name: string, shape: S, words?: KeyWords) {
  const keys = Object.keys(shape);
  return mappingOf(name, keys, (key) => shape[key] ?? z.never(), words).transform(
    (read) =>
      Object.fromEntries(
        keys.filter((key) => read.has(key)).map((key) => [key, read.get(key)]),
      ) as Members<S>,
  );
}

/** Reads the values of the keys in `shape`. What is refused is left out. */
export const readMembers = <S extends Shape>(given: Mapping, shape: S, refuse: RefuseAt) =>
  Object.fromEntries(
    readEach(given, Object.keys(shape), (key) => shape[key] ?? z.never(), refuse),
  ) as Members<S>;

/** The same for keys that are not known beforehand. */
export function readEach<T>(
  given: Mapping,
  keys: readonly string[],
  schemaOf: (key: string) => z.ZodType<T>,
  refuse: RefuseAt,
): Map<string, T> {
  const read = new Map<string, T>();
  for (const [key, value] of given) {
    if (!keys.includes(key)) continue;
    const { error, data } = schemaOf(key).safeParse(value);
    for (const { path, message } of error?.issues ?? []) refuse([key, ...path], message);
    if (data !== undefined) read.set(key, data);
  }
  return read;
}

/** For transformations, which a refusal makes fail. */
export const issuesIn =
  (context: z.RefinementCtx): RefuseAt =>
  (path, message) =>
    context.addIssue({ code: 'custom', path: [...path], message });

/** A hint with the choice that was probably meant, or with all of them if none is close. */
export function suggest(given: string, choices: readonly string[]): string {
  const nearest = nearestTo(given, choices);
  return nearest === undefined ? `choose one of ${choices.join(', ')}` : `did you mean ${nearest}?`;
}
