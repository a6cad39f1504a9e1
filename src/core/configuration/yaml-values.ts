/**
 * A YAML 1.2 document as plain values, with the line of each. Every scalar stays the text that was written ("failsafe"
 * schema), because a level `010`, `1.0` or `yes` is a name, and because large numbers must not pass through a double.
 * Mappings are Maps, because an object would reorder keys such as "10" and "9".
 * https://yaml.org/spec/1.2.2/#101-failsafe-schema
 */

import type { Node, Pair, YAMLError, YAMLMap, YAMLSeq } from 'yaml';
import { type Alias, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Note } from './finding.ts';

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
