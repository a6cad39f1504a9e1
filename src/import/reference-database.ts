/** Reads a study from the reference's SQLite database. */
import { Database } from '../store/sqlite/library.ts';
import { ImportError, type SourceTable } from './source-table.ts';

/** The first bytes of every SQLite file. */
const MAGIC = 'SQLite format 3\0';

export function isBeginningOfSqlite(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, MAGIC.length)).toString('latin1') === MAGIC;
}

/** The name of the reference's tables for a study: what is no letter, digit or underscore becomes an underscore. */
export function tableName(study: string): string {
  return study.replace(/[^\p{L}\p{N}_]|^(?=\d)/gu, '_');
}

/** @throws ImportError when the database has no such study */
export function readTables(path: string, study: string): SourceTable {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const name = tableName(study);
    const tables = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .pluck()
      .all() as string[];
    if (!tables.includes(`${name}_history`)) {
      const others = tables.filter((table) => table.endsWith('_history'));
      throw new ImportError([
        `the database has no table ${name}_history (it has: ${others.join(', ') || 'no history'})`,
      ]);
    }
    const columns = db
      .prepare('SELECT name FROM pragma_table_info(?)')
      .pluck()
      .all(`${name}_history`) as string[];
    const cells = columns.map((column) => `CAST(${quoted(column)} AS TEXT)`).join(', ');
    const rows = db
      .prepare(`SELECT ${cells} FROM ${quoted(`${name}_history`)} ORDER BY rowid`)
      .raw()
      .all();
    const settings = tables.includes(`${name}_config`)
      ? new Map(
          (
            db
              .prepare(`SELECT param, CAST(value AS TEXT) FROM ${quoted(`${name}_config`)}`)
              .raw()
              .all() as [string, string | null][]
          ).map(([param, value]) => [param, value ?? undefined]),
        )
      : undefined;
    return {
      columns,
      rows: (rows as (string | null)[][]).map((row) => row.map((cell) => cell ?? undefined)),
      ...(settings && { settings }),
    };
  } finally {
    db.close();
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
