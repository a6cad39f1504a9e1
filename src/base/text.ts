/**
 * Texts from people: which may be recorded, as a name or as free text, and which could be mistaken for another text or for a
 * formula; and how any text is shown in a message, on a terminal or in a spreadsheet.
 *
 * Unicode has invisible characters, and several ways to write what looks the same, so one participant could become two. What
 * is new to the log is checked with `lookAlikeProblem` where it comes in, over HTTP and on the command line, and nowhere
 * else: Unicode grows, and what is recorded stays valid.
 */

/** In code points. Longer names would noticeably increase memory use. */
export const MAX_NAME_CHARACTERS = 200;

/**
 * Why a name of a study, factor, level or treatment that is new to the log is refused, as the end of a sentence; undefined if
 * it is not.
 */
export function newNameProblem(name: string): string | undefined {
  return (
    nameProblem(name)?.reason ??
    (isTooLong(name) ? `has more than ${MAX_NAME_CHARACTERS} characters` : lookAlikeProblem(name))
  );
}

interface NameProblem {
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

/** Almost every text consists of these characters alone, and none of them is refused. */
const PLAIN_TEXT = /^[\x20-\x7e]*$/;

/** Characters that are refused, with the words for each. Control characters are already refused everywhere. */
const UNFIT_CHARACTERS: readonly (readonly [RegExp, string])[] = [
  [/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u, 'which nobody sees'],
  [/(?! )[\p{Z}\u2800]/u, 'a space other than the common one (U+0020)'],
  [/[\p{Co}\p{Cn}]/u, 'which has no meaning that all agree on'],
  [/[\p{Cs}\ufffd]/u, 'which stands for text that was lost on the way'],
];
const ANY_UNFIT = new RegExp(UNFIT_CHARACTERS.map(([{ source }]) => source).join('|'), 'gu');

/** Why a text can be mistaken for another one, as the end of a sentence; undefined if it cannot. */
export function lookAlikeProblem(text: string): string | undefined {
  if (PLAIN_TEXT.test(text)) return undefined;
  for (const [pattern, why] of UNFIT_CHARACTERS) {
    const [found] = pattern.exec(text) ?? [];
    if (found !== undefined) return `contains ${codePoint(found)}, ${why}`;
  }
  const composed = text.normalize('NFC');
  if (composed === text) return undefined;
  const decomposed = [...text]
    .slice([...commonStart(text, composed)].length)
    .find((one) => !PLAIN_TEXT.test(one));
  return `contains ${codePoint(decomposed ?? text)}, which Unicode also writes in another way: send it in its composed form, NFC`;
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}

/** Texts with the same form look alike. */
export function lookAlikeForm(text: string): string {
  // Once the characters between them are gone, a letter and its accent can combine.
  return PLAIN_TEXT.test(text) ? text : text.normalize('NFKC').replaceAll(ANY_UNFIT, '').normalize('NFKC');
}

/** Whether two keys belong to the same user, however the name is spelt. */
export function isSameUser(one: string, other: string): boolean {
  const form = (user: string) => lookAlikeForm(user).toLowerCase().replace(/\s+/g, ' ').trim();
  return one === other || form(one) === form(other);
}

/** The longest free text that is recorded, in code points. */
const MAX_FREE_TEXT_CHARACTERS = 2000;

/**
 * Why a free text cannot be recorded, as the end of a sentence; undefined if it can.
 * @param least in code points
 */
export function freeTextProblem(text: string, least: number): string | undefined {
  if (/[^\P{Cc}\n\t]/u.test(text)) return 'contains a control character';
  if (/\p{Cs}/u.test(text)) return 'contains a lone surrogate';
  const { length } = [...text];
  if (length < least || length > MAX_FREE_TEXT_CHARACTERS || text.trim() === '')
    return `must be ${least} to ${MAX_FREE_TEXT_CHARACTERS} characters`;
  return undefined;
}

/** Texts that begin so are formulas to a spreadsheet, which computes them when a file of them is opened. */
const FORMULA_BEGINNING = /^[=+\-@\t\r]/;

/** Why a text must not reach a spreadsheet, as the end of a sentence; undefined if it may. */
export function formulaProblem(text: string): string | undefined {
  const [first] = FORMULA_BEGINNING.exec(text) ?? [];
  return first === undefined
    ? undefined
    : `begins with ${JSON.stringify(first)}, which a spreadsheet takes for the beginning of a formula`;
}

/** The text as a spreadsheet shows it unchanged. For every other program, the apostrophe is part of the text. */
export function guarded(text: string): string {
  return FORMULA_BEGINNING.test(text) ? `'${text}` : text;
}

/** Without U+FFFD, which a terminal shows. */
const UNPRINTABLE = new RegExp(`(?!\\n)\\p{Cc}|${ANY_UNFIT.source.replace('\\ufffd', '')}`, 'gu');

/**
 * Text for a terminal: what it would obey or not show is escaped as in JSON, `\u001b`. So JSON keeps its meaning. Line
 * ends stay.
 */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (found) =>
    Array.from({ length: found.length }, (_, i) => escapedUnit(found.charCodeAt(i))).join(''),
  );
}

function escapedUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}

/** Like `printable`, but on one line: control characters become spaces. */
export function onOneLine(text: string): string {
  return printable(text.replaceAll(/\p{Cc}/gu, ' '));
}

/** A name as messages show it: on one line, whatever it contains. */
export function quote(name: string): string {
  return JSON.stringify(name);
}
