/**
 * A YAML file read exactly: a YAML 1.2 document as plain values, with the line of each, and zod schemas for these values.
 * Nothing is ever converted by a guess: each value is read as it is written, or refused.
 *
 * Every scalar stays the text that was written ("failsafe" schema), because a level `010`, `1.0` or `yes` is a name, and
 * because large numbers must not pass through a double. Mappings are Maps, because an object would reorder keys such as "10"
 * and "9". https://yaml.org/spec/1.2.2/#101-failsafe-schema
 *
 * The message of a schema's issue is that of a finding, and names what is refused; its path leads to the line.
 */
import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { z } from 'zod';
import { nameProblem, quote } from '../../base/text.ts';
import { nearestTo } from '../../base/wording.ts';
import { hinted, type Note } from './finding.ts';

export class Scalar {
  readonly text: string;
  /** Written without quotes and not tagged as text, so it may mean a number or a missing value. */
  readonly plain: boolean;

  constructor(text: string, plain: boolean) {
    this.text = text;
    this.plain = plain;
  }
}
export type Mapping = Map<string, Value>;
/** `null`: nothing was written after a key, or in the file. An item that is missing from a list is a Scalar without text. */
export type Value = Scalar | Value[] | Mapping | null;

export interface YamlValues {
  readonly root: Value;
  /** The line, from 1, of a key or an item; of the nearest thing around it if it is not there. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/** An alias repeats a value at the cost of two characters. The yaml library also uses a limit of 100. */
const MAX_ALIASES = 100;
/** Tags that mark a scalar as text even if it looks like a number. */
const STRING_TAGS: readonly unknown[] = ['!', 'tag:yaml.org,2002:str'];

/**
 * Reads one YAML document (JSON is YAML). Returns undefined after a syntax error. After any other refusal (a repeated key, a
 * merge key, a tag, an unknown alias), the values can be checked further.
 */
export function readYaml(text: string, refuse: Note): YamlValues | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    schema: 'failsafe',
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter,
  });
  const lineAt = (offset: number): number => Math.max(1, lineCounter.linePos(offset).line);
  if (document.errors.length > 0) {
    refuseSyntax(document.errors, lineAt, refuse);
    return undefined;
  }
  for (const { code, message, pos } of document.warnings)
    refuse(
      lineAt(pos[0]),
      code === 'TAG_RESOLVE_FAILED'
        ? 'a YAML tag (!) is not supported here (hint: remove it, or put the text in quotes if it begins with "!")'
        : `${message} (hint: remove this line)`,
    );
  return new Reader(lineAt, refuse).document(document.contents);
}

/** One typing error can cause many syntax errors. Only the first on each line is reported. */
function refuseSyntax(errors: readonly YAMLError[], lineAt: (offset: number) => number, refuse: Note): void {
  const seen = new Set<number>();
  for (const { code, message, pos } of errors) {
    const line = lineAt(pos[0]);
    if (seen.has(line)) continue;
    seen.add(line);
    // The library's messages quote the file, which could reveal a treatment or a seed.
    const detail = message.replace(/: ".*"$/s, '').replace(/^Maximum call stack.*/, 'nested too deeply');
    refuse(
      line,
      code === 'MULTIPLE_DOCS'
        ? 'a second YAML document begins here (hint: keep all studies in one document: remove this line)'
        : `not valid YAML: ${detail} (hint: look at quotes, colons, brackets and indentation (spaces, no tabs) here and just above; the rest of the file is checked once it is YAML)`,
    );
  }
}

class Reader {
  readonly #lineAt: (offset: number) => number;
  readonly #refuse: Note;
  readonly #anchors = new Map<string, Value>();
  /** The lines of what each list and mapping holds, by index or key. */
  readonly #lines = new Map<Value, Map<PropertyKey, number>>();
  #aliases = 0;

  constructor(lineAt: (offset: number) => number, refuse: Note) {
    this.#lineAt = lineAt;
    this.#refuse = refuse;
  }

  document(contents: Node | null): YamlValues {
    const root = orNull(this.#read(contents));
    const lineOf = (path: readonly PropertyKey[]): number => {
      let line = this.#lineOf(contents, 1);
      let value: Value = root;
      for (const key of path) {
        line = this.#lines.get(value)?.get(key) ?? line;
        value = memberOf(value, key);
      }
      return line;
    };
    return { root, lineOf };
  }

  #read(node: Node | null): Value {
    if (isAlias(node)) return this.#resolve(node);
    if (isSeq(node)) return this.#list(node);
    if (isMap(node)) return this.#mapping(node);
    if (!isScalar(node)) return new Scalar('', true);
    const plain = node.type === 'PLAIN' && !STRING_TAGS.includes(node.tag);
    return this.#anchored(node, new Scalar(String(node.value), plain));
  }

  #list(node: YAMLSeq): Value[] {
    const list = this.#anchored<Value[]>(node, []);
    const lines = new Map<PropertyKey, number>();
    this.#lines.set(list, lines);
    for (const item of node.items as Node[]) {
      lines.set(list.length, this.#lineOf(item, this.#lineOf(node, 1)));
      list.push(this.#read(item));
    }
    return list;
  }

  #mapping(node: YAMLMap): Mapping {
    const mapping = this.#anchored<Mapping>(node, new Map());
    const lines = new Map<PropertyKey, number>();
    this.#lines.set(mapping, lines);
    for (const pair of node.items as Pair<Node | null, Node | null>[]) {
      const line = this.#lineOf(pair.key, this.#lineOf(node, 1));
      const key = this.#read(pair.key);
      const value = orNull(this.#read(pair.value));
      const problem = keyProblem(key, lines);
      if (problem !== undefined) this.#refuse(line, problem);
      else if (key instanceof Scalar) {
        lines.set(key.text, line);
        mapping.set(key.text, value);
      }
    }
    return mapping;
  }

  /** Shares the value without copying, so chains of aliases cannot blow up. A cycle ends at the next check of the shape. */
  #resolve(alias: Alias): Value {
    this.#aliases += 1;
    const target = this.#aliases > MAX_ALIASES ? undefined : this.#anchors.get(alias.source);
    if (target !== undefined) return target;
    if (this.#aliases <= MAX_ALIASES)
      this.#refuse(
        this.#lineOf(alias, 1),
        'an alias (*) has no value above (hint: mark the value with & first, or put a name that begins with * in quotes)',
      );
    else if (this.#aliases === MAX_ALIASES + 1)
      this.#refuse(
        this.#lineOf(alias, 1),
        `more than ${MAX_ALIASES} aliases (*) (hint: write the values out)`,
      );
    return new Scalar(`*${alias.source}`, true);
  }

  #anchored<V extends Value>(node: Node & { anchor?: string }, value: V): V {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, value);
    return value;
  }

  #lineOf(node: Node | null | undefined, otherwise: number): number {
    return node?.range ? this.#lineAt(node.range[0]) : otherwise;
  }
}

const memberOf = (value: Value, key: PropertyKey): Value =>
  (Array.isArray(value) ? value[Number(key)] : value instanceof Map ? value.get(String(key)) : null) ?? null;

function keyProblem(key: Value, lines: ReadonlyMap<PropertyKey, number>): string | undefined {
  if (!(key instanceof Scalar))
    return 'a list or mapping is used as a key (hint: a key must be text; put it in quotes)';
  if (key.text === '<<' && key.plain)
    return 'merge keys (<<) are not supported (hint: write the settings out in each study)';
  const first = lines.get(key.text);
  return first === undefined
    ? undefined
    : `the key of line ${first} is repeated here (hint: remove or rename one of them)`;
}

/** YAML's plain `null` and `~` are missing values, too. */
function orNull(value: Value): Value {
  return value instanceof Scalar && value.plain && /^(|~|null|Null|NULL)$/.test(value.text) ? null : value;
}

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

/** A hint with the choice that was probably meant, or with all of them if none is close. */
export function suggest(given: string, choices: readonly string[]): string {
  const nearest = nearestTo(given, choices);
  return nearest === undefined ? `choose one of ${choices.join(', ')}` : `did you mean ${nearest}?`;
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

/** Refuses what is at the path and returns, so that all refusals are reported together. */
export type RefuseAt = (path: readonly PropertyKey[], message: string) => void;

/** For transformations, which a refusal makes fail. */
export const issuesIn =
  (context: z.RefinementCtx): RefuseAt =>
  (path, message) =>
    context.addIssue({ code: 'custom', path: [...path], message });

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
type Shape = Readonly<Record<string, z.ZodType>>;
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

/** Reads the values of these keys. What is refused is left out. */
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

/** Reads the values of the keys in `shape`. What is refused is left out, and so is every other key. */
export const readMembers = <S extends Shape>(given: Mapping, shape: S, refuse: RefuseAt) =>
  Object.fromEntries(
    readEach(given, Object.keys(shape), (key) => shape[key] ?? z.never(), refuse),
  ) as Members<S>;
