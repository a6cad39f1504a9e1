/** Reads a history file: CSV as the reference exports it or another system writes it, or the reference's SQLite database. */
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { isBeginningOfSqlite, readTables } from './reference-database.ts';
import { ImportError, type SourceTable } from './source-table.ts';

export interface SourceFile {
  readonly bytes: Uint8Array;
  /** @throws ImportError when there is no history of the study in it */
  table(study: string): SourceTable;
}

/** @throws ImportError when the file cannot be read */
export function openSource(path: string): SourceFile {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new ImportError([`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
  return {
    bytes,
    table: (study) => (isBeginningOfSqlite(bytes) ? readTables(path, study) : csvTable(bytes)),
  };
}

/** @throws ImportError when the file is not CSV in UTF-8 */
export function csvTable(bytes: Buffer): SourceTable {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const [columns = [], ...rows] = parse(text, { skip_empty_lines: true }) as string[][];
    const repeated = columns.filter((name, i) => columns.indexOf(name) < i);
    if (repeated.length > 0) throw new ImportError([`the file has the column ${repeated[0]} twice`]);
    return { columns, rows: rows.map((row) => row.map((cell) => (cell === '' ? undefined : cell))) };
  } catch (error) {
    if (error instanceof CsvError) throw new ImportError([`the file is not CSV: ${error.message}`]);
    if (error instanceof TypeError) throw new ImportError(['the file is not UTF-8']);
    throw error;
  }
}
