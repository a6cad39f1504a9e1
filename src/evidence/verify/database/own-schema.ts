/**
 * Checks whether the schema of a database is the one that this program makes. A view in place of the table could show
 * something different each time it is read, and without its triggers the table refuses no change.
 */

import { Database } from '../../../store/sqlite/library.ts';
import { SCHEMA } from '../../../store/sqlite/schema.ts';
import type { StoreFindings } from '../report/report.ts';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** Objects that only protect or display the table. Without them, its content reads the same. */
const DISPENSABLE = new Set(['trigger', 'view']);
/** Tables made by SQLite's ANALYZE. Only its query planner reads them. */
const STATISTICS = /^sqlite_stat\d$/;

/** Anything else under this name, such as a view, can return different rows at each read. */
export function isTable(db: Database, name: string): boolean {
  return objectsOf(db).some((one) => one.type === 'table' && one.name === name);
}

export function schemaFindings(db: Database): StoreFindings {
  const own = ownSchema();
  const problems: string[] = [];
  const warnings: string[] = [];
  const found = new Set<string>();
  for (const object of objectsOf(db)) {
    const { type, name } = object;
    const expected = own.find((one) => one.name === name);
    if (!expected) {
      if (type !== 'table' || !STATISTICS.test(name))
        problems.push(`${title(object)} was not made by this program`);
    } else if (expected.type !== type) problems.push(`${name} is a ${type} and should be a ${expected.type}`);
    else if (!isSame(expected, object)) problems.push(`${title(object)} was changed`);
    if (expected && found.has(name)) problems.push(`${name} exists twice`);
    found.add(name);
  }
  for (const object of own)
    if (!found.has(object.name))
      (DISPENSABLE.has(object.type) ? warnings : problems).push(`${title(object)} is missing`);
  return { problems, warnings };
}

function ownSchema(): SchemaObject[] {
  const db = new Database(':memory:');
  try {
    db.exec(SCHEMA);
    return objectsOf(db);
  } finally {
    db.close();
  }
}

function objectsOf(db: Database): SchemaObject[] {
  return db.prepare<[], SchemaObject>('SELECT type, name, tbl_name, sql FROM sqlite_master').all();
}

/** SQLite keeps the text of a statement. From one of our versions to the next, only its white space may differ. */
function isSame(one: SchemaObject, other: SchemaObject): boolean {
  const text = ({ tbl_name, sql }: SchemaObject) => `${tbl_name} ${sql}`.replaceAll(/\s+/g, ' ');
  return text(one) === text(other);
}

function title({ type, name }: SchemaObject): string {
  return `the ${type} ${JSON.stringify(name)}`;
}
