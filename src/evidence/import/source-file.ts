/** Reads a history file: CSV as the reference exports it or another system writes it, or the reference's SQLite database. */
import { statSync } from 'node:fs';
import { quote } from '../../base/text.ts';
import { bytesOf, csvRows } from './csv-file.ts';
import { isBeginningOfSqlite, readTables } from './reference-database.ts';
import { ImportError, type SourceTable } from './source-table.ts';

export interface SourceFile {
  readonly bytes: Uint8Array;
  /** @throws ImportError when there is no history of the study in it */
  table(study: string): SourceTable;
}

/** @throws ImportError when the file cannot be read */
export function openSource(path: string): SourceFile {
  const bytes = bytesOf(path);
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
  const [columns = [], ...rows] = csvRows(bytes).map(({ cells }) => cells);
  const problems = columns
    .filter((name, i) => columns.indexOf(name) < i)
    .map((name) => `the file has the column ${quote(name)} twice`);
  if (columns.length === 1)
    problems.push('the first line has no comma (hint: export the file with commas between its fields)');
  if (problems.length > 0) throw new ImportError(problems);
  return { columns, rows: rows.map((row) => row.map((cell) => (cell === '' ? undefined : cell))) };
}
