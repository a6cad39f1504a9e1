/** Names of studies, factors, levels and treatments. */
import { lookAlikeProblem } from './text.ts';

/** In code points. Longer names would noticeably increase memory use. */
export const MAX_NAME_CHARACTERS = 200;

export interface NameProblem {
  /** The end of a sentence about the name. */
  readonly reason: string;
  readonly hint: string;
}

/** Why nothing can have this name; undefined if something can. */
export function nameProblem(name: string): NameProblem | undefined {
  if (name.trim() === '') return { reason: 'is empty', hint: 'give it a name' };
  if (/\p{Cc}/u.test(name))
    return { reason: 'contains a control character', hint: 'write it on one line, without tabs' };
  if (/\p{Cs}/u.test(name))
    return { reason: 'contains half a character (a lone surrogate)', hint: 'type the character itself' };
  if (name.includes('\ufffd'))
    return { reason: 'contains the replacement character U+FFFD', hint: 'save the file as UTF-8' };
  return undefined;
}

export function isTooLong(name: string): boolean {
  return name.length > MAX_NAME_CHARACTERS && [...name].length > MAX_NAME_CHARACTERS;
}

/** Why a name that is new to the log is refused, as the end of a sentence; undefined if it is not. */
export function newNameProblem(name: string): string | undefined {
  return (
    nameProblem(name)?.reason ??
    (isTooLong(name) ? `has more than ${MAX_NAME_CHARACTERS} characters` : lookAlikeProblem(name))
  );
}

/** Names separated by commas. A name in double quotes may contain commas, and "" for a double quote. Undefined for any other text. */
export function namesIn(text: string): string[] | undefined {
  const names: string[] = [];
  const next = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (let more = true; more; ) {
    const found = next.exec(text);
    const name = found?.[1]?.replaceAll('""', '"') ?? found?.[2]?.trim() ?? '';
    if (name === '') return undefined;
    names.push(name);
    more = found?.[3] === ',';
  }
  return names;
}
