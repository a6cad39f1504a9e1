/**
 * A YAML 1.2 document as the three shapes a studies file can have: text, list, mapping. Every scalar stays the text that
 * was written ("failsafe" schema), because a level `010`, `1.0` or `yes` is a name, and because numbers of any size must
 * not pass through a double. https://yaml.org/spec/1.2.2/#101-failsafe-schema
 */

import type { Node, Pair, Scalar, YAMLError, YAMLMap, YAMLSeq } from 'yaml';
import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Refuse } from './finding.ts';

export type Text = {
  readonly kind: 'text';
  readonly text: string;
  /** Written without quotes and not marked as text, so that it may stand for a number or for no value. */
  readonly plain: boolean;
  readonly line: number;
};
export type List = { readonly kind: 'list'; readonly items: Tree[]; readonly line: number };
export type Mapping = { readonly kind: 'mapping'; readonly entries: Entry[]; readonly line: number };
export type Tree = Text | List | Mapping;
export type Entry = { readonly key: string; readonly line: number; readonly value: Tree };

/** An alias repeats a value at the cost of two characters; 100 is also the yaml library's own limit. */
const MAX_ALIASES = 100;
/** Tags that say "text", on a scalar that could also be a number. */
const STRING_TAGS: readonly unknown[] = ['!', 'tag:yaml.org,2002:str'];
/** A studies file needs five: studies, settings, factors, levels, text. */
const MAX_DEPTH = 16;

/** True for a key without a value, and for YAML's plain `null` and `~`. */
export function isMissing(tree: Tree): boolean {
  return tree.kind === 'text' && tree.plain && /^(|~|null|Null|NULL)$/.test(tree.text);
}

/**
 * Reads one YAML document (JSON is YAML). An empty one is an empty plain text. Returns undefined after a syntax error;
 * anything else that is refused (a repeated key, a merge key, a tag, an alias to nothing) leaves a tree that can be
 * checked further.
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

/** One slip of the pen can produce many errors: the first of each line is the telling one. */
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
      // What the library quotes from the file may be a treatment or a seed.
      const detail = error.message
        .replace(/: ".*"$/s, '')
        .replace(/^Maximum call stack.*/, 'nested too deeply');
      const reason = `not valid YAML: ${detail}`;
      refuse(
        line,
        reason,
        'look at quotes, colons, brackets and indentation (spaces, no tabs) here and just above',
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

  /** `line` is where a value that was left out is reported. */
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
        this.#refuse(
          key.line,
          `the key of line ${first} stands here a second time`,
          'remove or rename one of them',
        );
        continue;
      }
      lineOfKey.set(key.text, key.line);
      mapping.entries.push({ key: key.text, line: key.line, value });
    }
    return mapping;
  }

  /** A shared value, not a copy: no chain of aliases can blow up, and one to its own ancestor ends at the next check. */
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
      'an alias (*) stands for nothing above',
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
