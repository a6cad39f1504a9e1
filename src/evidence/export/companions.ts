/** What comes with the list for statisticians: a data dictionary, and how to read the list with R and with SAS. */

import { guarded } from '../../base/text.ts';
import type { Participant } from '../../core/model/participants.ts';
import type { Column } from './columns.ts';
import { csvLine } from './csv.ts';

/** The levels are a JSON array, because any sign between them could be part of one. */
export function dictionary(columns: readonly Column[], isForExcel: boolean): string {
  const lines = columns.map(({ name, meaning, type, levels }) => [
    ...[name, isForExcel ? guarded(meaning) : meaning, type],
    levels ? JSON.stringify(levels) : '',
  ]);
  return [['name', 'meaning', 'type', 'levels'], ...lines].map((line) => csvLine(line)).join('');
}

const R_CLASSES = { integer: 'integer', text: 'character', category: 'character', instant: 'character' };

/** @param file name of the list, without its folder */
export function rScript(columns: readonly Column[], file: string): string {
  const vector = (texts: readonly string[]) => `c(${texts.map(inR).join(', ')})`;
  const conversions = columns.flatMap(({ name, type, levels }) => {
    const column = `participants[[${inR(name)}]]`;
    if (type === 'instant')
      return [`${column} <- as.POSIXct(${column}, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC")`];
    return levels ? [`${column} <- factor(${column}, levels = ${vector(levels)})`] : [];
  });
  return `# Run it in the folder of the file. Ids are text, so they keep their zeros, and "NA" is a text like any other.
participants <- read.csv(
  ${inR(file)},
  header = FALSE, skip = 1,
  col.names = ${vector(columns.map(({ name }) => name))},
  check.names = FALSE,
  colClasses = ${vector(columns.map(({ type }) => R_CLASSES[type]))},
  na.strings = character(0),
  encoding = "UTF-8"
)
${conversions.join('\n')}
`;
}

/** A string of R in ASCII, so that it means the same in every locale. */
function inR(text: string): string {
  const escaped = [...text].map((character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    const point = character.codePointAt(0) ?? 0;
    return point >= 0x20 && point < 0x7f ? character : `\\U{${point.toString(16)}}`;
  });
  return `"${escaped.join('')}"`;
}

/**
 * Formats of text are $CHAR: with others, SAS takes a single period for nothing.
 * @param file name of the list, without its folder
 */
export function sasScript(
  columns: readonly Column[],
  participants: readonly Participant[],
  file: string,
): string {
  const names = sasNames(columns);
  const each = (line: (column: Column, name: string) => string | undefined) =>
    columns.flatMap((column, i) => line(column, names[i] ?? '') ?? []).join('\n');
  const informats = each(({ type, of, levels }, name) => {
    if (type === 'integer') return undefined;
    if (type === 'instant') return `  informat ${name} e8601dz24.3; format ${name} e8601dz24.3;`;
    return `  informat ${name} $char${longest(levels ?? participants.map(of))}.;`;
  });
  return `/* Run it in the folder of the file, in a session with encoding UTF-8. Ids are text, so they keep their zeros. */
data participants;
  infile ${inSas(file)} dsd dlm=',' firstobs=2 truncover encoding='utf-8' termstr=crlf lrecl=1048576;
${informats}
  input ${names.join(' ')};
${each(({ name }, variable) => `  label ${variable} = ${inSas(name)};`)}
run;
`;
}

/** In single quotes, SAS resolves no macros. */
function inSas(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A variable of SAS has at most 32 characters of [A-Za-z0-9_], whose case does not matter. */
function sasNames(columns: readonly Column[]): string[] {
  const names = columns.map(({ name }) => name);
  const isFit = names.every((name) => /^[A-Za-z_][A-Za-z0-9_]{0,31}$/.test(name));
  if (isFit && new Set(names.map((name) => name.toLowerCase())).size === names.length) return names;
  const numbers = { f_: 0, randomized_f_: 0 };
  return names.map((name) => {
    const prefix = (['f_', 'randomized_f_'] as const).find((one) => name.startsWith(one));
    return prefix === undefined ? name : `${prefix}${++numbers[prefix]}`;
  });
}

/** In bytes. */
function longest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, Buffer.byteLength(text)), 1);
}
