/**
 * A YAML 1.2 document as a tree of text, lists and mappings, which is all that a studies file needs. Every scalar stays
 * the text that was written ("failsafe" schema), because a level `010`, `1.0` or `yes` is a name, and because large
 * numbers must not pass through a double. https://yaml.org/spec/1.2.2/#101-failsafe-schema
 */

import type { Node, Pair, Scalar, YAMLError, YAMLMap, YAMLSeq } from 'yaml';
import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Refuse } from './finding.ts';

export type Text = {
  readonly kind: 'text';
  readonly text: string;
  /** Written without quotes and not tagged as text, so it may mean a number or a missing value. */
  readonly plain: boolean;
  readonly line: number;
};
export type List = { readonly kind: 'list'; readonly items: Tree[]; readonly line: number };
export type Mapping = { readonly kind: 'mapping'; readonly entries: Entry[]; readonly line: number };
export type Tree = Text | List | Mapping;
export type Entry = { readonly key: string; readonly line: number; readonly value: Tree };

/** An alias repeats a value at the cost of two characters. The yaml library also uses a limit of 100. */
const MAX_ALIASES = 100;
/** Tags that mark a scalar as text even if it looks like a number. */
const STRING_TAGS: readonly unknown[] = ['!', 'tag:yaml.org,2002:str'];
/** A studies file needs five levels: studies, settings, factors, levels, text. */
const MAX_DEPTH = 16;

/** True for a missing value, including YAML's plain `null` and `~`. */
export function isMissing(tree: Tree): boolean {
  return tree.kind === 'text' && tree.plain && /^(|~|null|Null|NULL)$/.test(tree.text);
}

/**
 * Reads one YAML document (JSON is YAML). An empty document gives empty plain text. Returns undefined after a syntax
 * error. After any other refusal (a repeated key, a merge key, a tag, an unknown alias), the tree can be checked further.
 */
export function readYaml(text: string, refuse: Refuse): Tree | undefined {
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
  for (const warning of document.warnings) {
    const [reason, hint] =
      warning.code === 'TAG_RESOLVE_FAILED'
        ? [
            'a YAML tag (!) is not supported here',
            'remove it, or put the text in quotes if it begins with "!"',
          ]
        : [warning.message, 'remove this line'];
    refuse(lineAt(warning.pos[0]), reason, hint);
  }
  return new TreeReader(lineAt, refuse).read(document.contents);
}

/** One typing error can cause many syntax errors. Only the first on each line is reported. */
function refuseSyntax(
  errors: readonly YAMLError[],
  lineAt: (offset: number) => number,
  refuse: Refuse,
): void {
  const seen = new Set<number>();
  for (const error of errors) {
    const line = lineAt(error.pos[0]);
    if (seen.has(line)) continue;
    seen.add(line);
    if (error.code === 'MULTIPLE_DOCS') {
      refuse(
        line,
        'a second YAML document begins here',
        'keep all studies in one document: remove this line',
      );
    } else {
      // The library's messages quote the file, which could reveal a treatment or a seed.
      const detail = error.message
        .replace(/: ".*"$/s, '')
        .replace(/^Maximum call stack.*/, 'nested too deeply');
      const reason = `not valid YAML: ${detail}`;
      refuse(
        line,
        reason,
        'look at quotes, colons, brackets and indentation (spaces, no tabs) here and just above; the rest of the file is checked once it is YAML',
      );
    }
  }
}

class TreeReader {
  readonly #lineAt: (offset: number) => number;
  readonly #refuse: Refuse;
  readonly #anchors = new Map<string, Tree>();
  #aliases = 0;

  constructor(lineAt: (offset: number) => number, refuse: Refuse) {
    this.#lineAt = lineAt;
    this.#refuse = refuse;
  }

  /** @param line where a missing value is reported */
  read(node: Document['contents'] | Node | undefined, line = 1, depth = 0): Tree {
    if (isAlias(node)) return this.#resolve(node);
    if (isScalar(node)) return this.#text(node);
    if (depth > MAX_DEPTH) {
      this.#refuse(
        this.#lineOf(node, line),
        'nested too deeply',
        'a study has settings, a factor has a list of levels',
      );
      return { kind: 'text', text: '', plain: true, line };
    }
    if (isSeq(node)) return this.#list(node, depth);
    if (isMap(node)) return this.#mapping(node, depth);
    return { kind: 'text', text: '', plain: true, line };
  }

  #text(node: Scalar): Text {
    const plain = node.type === 'PLAIN' && !STRING_TAGS.includes(node.tag);
    return this.#anchor(node, { kind: 'text', text: String(node.value), plain, line: this.#lineOf(node, 1) });
  }

  #list(node: YAMLSeq, depth: number): List {
    const list = this.#anchor<List>(node, { kind: 'list', items: [], line: this.#lineOf(node, 1) });
    for (const item of node.items) list.items.push(this.read(item as Node | undefined, list.line, depth + 1));
    return list;
  }

  #mapping(node: YAMLMap, depth: number): Mapping {
    const mapping = this.#anchor<Mapping>(node, {
      kind: 'mapping',
      entries: [],
      line: this.#lineOf(node, 1),
    });
    const lineOfKey = new Map<string, number>();
    for (const pair of node.items as Pair<Node | null, Node | null>[]) {
      const key = this.read(pair.key ?? undefined, mapping.line, depth + 1);
      if (key.kind !== 'text') {
        this.#refuse(key.line, 'a list or mapping is used as a key', 'a key must be text; put it in quotes');
        continue;
      }
      if (key.text === '<<' && key.plain) {
        this.#refuse(key.line, 'merge keys (<<) are not supported', 'write the settings out in each study');
        continue;
      }
      const value = this.read(pair.value ?? undefined, key.line, depth + 1);
      const first = lineOfKey.get(key.text);
      if (first !== undefined) {
        this.#refuse(key.line, `the key of line ${first} is repeated here`, 'remove or rename one of them');
        continue;
      }
      lineOfKey.set(key.text, key.line);
      mapping.entries.push({ key: key.text, line: key.line, value });
    }
    return mapping;
  }

  /**
   * Shares the value without copying, so chains of aliases cannot blow up. A cycle ends at the next check of the shape.
   */
  #resolve(alias: Alias): Tree {
    const line = this.#lineOf(alias, 1);
    const unresolved: Tree = { kind: 'text', text: `*${alias.source}`, plain: true, line };
    this.#aliases += 1;
    if (this.#aliases > MAX_ALIASES) {
      if (this.#aliases === MAX_ALIASES + 1) {
        this.#refuse(line, `more than ${MAX_ALIASES} aliases (*)`, 'write the values out');
      }
      return unresolved;
    }
    const target = this.#anchors.get(alias.source);
    if (target) return target;
    this.#refuse(
      line,
      'an alias (*) has no value above',
      'mark the value with & first, or put a name that begins with * in quotes',
    );
    return unresolved;
  }

  #anchor<T extends Tree>(node: Node & { anchor?: string }, tree: T): T {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, tree);
    return tree;
  }

  #lineOf(node: Node | null | undefined, otherwise: number): number {
    return node?.range ? this.#lineAt(node.range[0]) : otherwise;
  }
}
