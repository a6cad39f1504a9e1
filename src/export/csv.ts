/** Comma-separated values: RFC 4180, which is also what Python's csv module and pandas write and read. */

/** @param end RFC 4180 has CRLF, pandas writes LF */
export function csvLine(cells: readonly string[], end: '\r\n' | '\n' = '\r\n'): string {
  return cells.map(quoted).join(',') + end;
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/** The cells of each line. @throws SyntaxError for text that is not in this format */
export function parseCsv(text: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  const cell = new RegExp(CELL);
  while (cell.lastIndex < text.length || line.length > 0) {
    const at = cell.lastIndex;
    const [found, inQuotes, bare = '', separator] = cell.exec(text) ?? [];
    if (found === undefined) throw new SyntaxError(`not comma-separated values at character ${at}`);
    line.push(inQuotes?.replaceAll('""', '"') ?? bare);
    if (separator === ',') continue;
    lines.push(line);
    line = [];
  }
  return lines;
}

/**
 * A spreadsheet would take such a text for a formula. The apostrophe, which it does not show, makes it text again; for
 * every other program it is part of the value.
 */
export function guarded(cell: string): string {
  return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}
