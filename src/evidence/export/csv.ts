/** Comma-separated values: RFC 4180, which is also what Python's csv module and pandas write and read. */

/** @param end RFC 4180 has CRLF, pandas writes LF */
export function csvLine(cells: readonly string[], end: '\r\n' | '\n' = '\r\n'): string {
  return cells.map(quoted).join(',') + end;
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
