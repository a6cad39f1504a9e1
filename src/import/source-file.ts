/** Reads a history file: CSV as the reference exports it or another system writes it, or the reference's SQLite database. */
import { readFileSync, statSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { quote } from '../base/text.ts';
import { isBeginningOfSqlite, readTables } from './reference-database.ts';
import { ImportError, type SourceTable } from './source-table.ts';

export interface SourceFile {
  readonly bytes: Uint8Array;
  /** @throws ImportError when there is no history of the study in it */
  table(study: string): SourceTable;
}

const WHY_UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
};

/** @throws ImportError when the file cannot be read */
export function openSource(path: string): SourceFile {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new ImportError([`cannot read ${path}: ${WHY_UNREADABLE[code] ?? message}`]);
  }
  if (bytes.length === 0) throw new ImportError([`${path} is empty`]);
  if (!isBeginningOfSqlite(bytes)) return { bytes, table: () => csvTable(bytes) };
  refuseUnfinished(path);
  return { bytes, table: (study) => readTables(bytes, study) };
}

/** What is not yet in the database itself would be missing. */
function refuseUnfinished(path: string): void {
  for (const beside of [`${path}-wal`, `${path}-journal`])
    if ((statSync(beside, { throwIfNoEntry: false })?.size ?? 0) > 0)
      throw new ImportError([
        `${beside} shows that the database is in use or was not closed (hint: stop the other system, and copy the database with sqlite3 ${path} ".backup copy.db")`,
      ]);
}

/** @throws ImportError when the file is not CSV in UTF-8 */
export function csvTable(bytes: Buffer): SourceTable {
  const [columns = [], ...rows] = csvRows(bytes);
  const problems = columns
    .filter((name, i) => columns.indexOf(name) < i)
    .map((name) => `the file has the column ${quote(name)} twice`);
  if (columns.length === 1)
    problems.push('the first line has no comma (hint: export the file with commas between its fields)');
  if (problems.length > 0) throw new ImportError(problems);
  return { columns, rows: rows.map((row) => row.map((cell) => (cell === '' ? undefined : cell))) };
}

function csvRows(bytes: Buffer): string[][] {
  try {
    // A byte order mark is no part of the text.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // The reference does not quote a carriage return within a field.
    return parse(text, {
      ...{ skip_empty_lines: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'] },
    }) as string[][];
  } catch (error) {
    if (error instanceof CsvError) throw new ImportError([`the file is not CSV: ${error.message}`]);
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw new ImportError(['the file is not UTF-8 (hint: save it as UTF-8)']);
  }
}
