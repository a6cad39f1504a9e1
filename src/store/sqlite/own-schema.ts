/**
 * Whether the schema of a database is the one that this program makes. A view in the place of the table could show one
 * thing to whoever verifies and another to whoever comes later; and without its triggers the table refuses no change.
 */
import type { StoreFindings } from '../../verify/report.ts';
import { Database } from './library.ts';
import { SCHEMA } from './schema.ts';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** What only guards the table or shows it, and changes nothing of what is read from it. */
const EXPENDABLE = new Set(['trigger', 'view']);
/** Made by SQLite's ANALYZE, and read by its query planner alone. */
const STATISTICS = /^sqlite_stat\d$/;

/** Anything else in its place can say what it likes, each time anew. */
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
        problems.push(`${title(object)} is not of this program`);
    } else if (expected.type !== type)
      problems.push(`${name} is a ${type}, and should be a ${expected.type}`);
    else if (!isSame(expected, object)) problems.push(`${title(object)} was changed`);
    if (expected && found.has(name)) problems.push(`${name} is there twice`);
    found.add(name);
  }
  for (const object of own)
    if (!found.has(object.name))
      (EXPENDABLE.has(object.type) ? warnings : problems).push(`${title(object)} is missing`);
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

/** SQLite keeps the text of a statement, in which only white space may differ from one version to the next. */
function isSame(one: SchemaObject, other: SchemaObject): boolean {
  const text = ({ tbl_name, sql }: SchemaObject) => `${tbl_name} ${sql}`.replaceAll(/\s+/g, ' ');
  return text(one) === text(other);
}

function title({ type, name }: SchemaObject): string {
  return `the ${type} ${JSON.stringify(name)}`;
}
