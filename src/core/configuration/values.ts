/** The values of a studies file: names, whole numbers and choices. Each is read exactly or refused, never converted. */

import { nameProblem } from '../../base/names.ts';
import { nearestTo } from '../../base/nearest.ts';
import { quote } from '../../base/text.ts';
import type { Problem, Refuse } from './finding.ts';
import { type Entry, isMissing, type Tree } from './yaml-tree.ts';

/** Factors are query parameters beside these, and the prefix `f_` marks them in records. */
export function factorNameProblem(name: string): Problem | undefined {
  if (['api_key', 'study', 'id'].includes(name)) {
    return { reason: 'has the name of a parameter of every request', hint: 'choose another name' };
  }
  for (const prefix of ['f_', 'urn.']) {
    if (name.startsWith(prefix)) {
      return { reason: `begins with "${prefix}", which is reserved`, hint: 'choose another name' };
    }
  }
  return nameProblem(name);
}

/** Reads the list of names at `entry`. Messages call an item `one` and never show the names. */
export function readNames(entry: Entry, one: string, refuse: Refuse): string[] {
  const { value } = entry;
  if (value.kind !== 'list') {
    refuse(entry.line, `the ${one}s are not a list`, 'write them as [first, second]');
    return [];
  }
  const numberOf = new Map<string, number>();
  for (const [index, item] of value.items.entries()) {
    const problem = item.kind === 'text' ? nameProblem(item.text) : NOT_A_NAME;
    const name = item.kind === 'text' ? item.text : '';
    const first = numberOf.get(name);
    if (problem) refuse(item.line, `${one} ${index + 1} ${problem.reason}`, problem.hint);
    else if (first !== undefined) {
      refuse(item.line, `${one} ${index + 1} is the same as ${one} ${first}`, 'remove or rename one of them');
    } else numberOf.set(name, index + 1);
  }
  return [...numberOf.keys()];
}
const NOT_A_NAME: Problem = {
  reason: 'is a list or a mapping, not a name',
  hint: 'put a name that contains a colon, a bracket or a brace in quotes',
};

/** Reads a non-negative whole number of any size from its digits, or says why it is not one. Messages never show it. */
export function readWholeNumber(tree: Tree): bigint | Problem {
  if (tree.kind !== 'text') return { reason: 'is not a number', hint: 'write a whole number, such as 1' };
  const { text, plain } = tree;
  if (!plain) return { reason: 'is text, not a number', hint: 'write it without quotes' };
  if (/^(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$/.test(text)) return BigInt(text);
  if (/^-[0-9.]/.test(text)) return { reason: 'is negative', hint: 'write a number of at least 0' };
  if (/^0[0-9_]|^0o/.test(text)) {
    return {
      reason: 'begins with a zero, which some YAML readers take for octal',
      hint: 'write it without leading zeros',
    };
  }
  return {
    reason: 'is not a whole number',
    hint: 'write digits only, such as 1: no sign, point, exponent or _',
  };
}

/** Reads the whole number at `entry` if it is within the bounds, which are inclusive. */
export function readCount(
  entry: Entry,
  bounds: { min: number; max: number; hint?: string },
  refuse: Refuse,
): number | undefined {
  const number = readWholeNumber(entry.value);
  if (typeof number !== 'bigint') {
    refuse(entry.value.line, `${entry.key} ${number.reason}`, number.hint);
  } else if (number < bounds.min) {
    refuse(
      entry.value.line,
      `${entry.key} is below ${bounds.min}`,
      bounds.hint ?? `write at least ${bounds.min}`,
    );
  } else if (number > bounds.max) {
    refuse(entry.value.line, `${entry.key} is above ${bounds.max}`, `write at most ${bounds.max}`);
  } else {
    return Number(number);
  }
  return undefined;
}

/** Reads which of the `choices` is at `entry`. */
export function readChoice<T extends string>(
  entry: Entry,
  choices: readonly T[],
  refuse: Refuse,
): T | undefined {
  const { value } = entry;
  const text = value.kind === 'text' ? value.text : undefined;
  const choice = choices.find((known) => known === text);
  if (choice === undefined) {
    const given = text === undefined ? 'a list or mapping' : quote(text);
    refuse(
      value.line,
      `${entry.key} is ${given}, not one of ${choices.join(', ')}`,
      suggest(text ?? '', choices),
    );
  }
  return choice;
}

/** Refuses a blank entry: it might mean the default or a forgotten value. */
export function refuseMissing(entry: Entry, refuse: Refuse): boolean {
  const missing = isMissing(entry.value);
  if (missing) refuse(entry.line, `${entry.key} has no value`, 'give it a value, or remove the line');
  return missing;
}

/** A hint with the choice that was probably meant, or with all of them if none is close. */
export function suggest(given: string, choices: readonly string[]): string {
  const nearest = nearestTo(given, choices);
  return nearest === undefined ? `choose one of ${choices.join(', ')}` : `did you mean ${nearest}?`;
}
