/** The database of a data folder, read and changed past the program, as somebody who owns the file could. */
import { join } from 'node:path';
import type { Fact } from '../../../events/catalogue.ts';
import { encodeRecord, type RecordBytes } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { MerkleTree } from '../../../src/core/log/merkle-tree.ts';
import { checkpointOrigin, loadSigningKey, signCheckpoint } from '../../../src/core/log/signing.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { OPERATOR } from '../../support/facts.ts';
import { storedLog } from '../../support/stored-log.ts';

interface Place {
  readonly stream: string;
  readonly revision: number;
}
export interface Row extends Place {
  readonly record: Buffer;
  readonly sealed: Buffer;
  readonly leaf: Buffer;
}

/** Gives access to the tables, without what guards them. */
export function atTables<T>(data: string, use: (db: Database) => T): T {
  const db = new Database(join(data, 'urn.sqlite'));
  try {
    const triggers = db.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'trigger'").pluck();
    for (const trigger of triggers.all()) db.exec(`DROP TRIGGER ${trigger}`);
    return use(db);
  } finally {
    db.close();
  }
}

export function rowsOf(data: string, stream: string): Row[] {
  return atTables(data, (db) =>
    db
      .prepare<[string], Row>(
        'SELECT stream, revision, record, sealed, leaf FROM records WHERE stream = ? ORDER BY revision',
      )
      .all(stream),
  );
}

/** Replaces the rows at these revisions. */
export function replaceRows(data: string, rows: readonly Row[]): void {
  atTables(data, (db) => {
    const update = db.prepare(
      'UPDATE records SET record = ?, sealed = ?, leaf = ? WHERE stream = ? AND revision = ?',
    );
    for (const { record, sealed, leaf, stream, revision } of rows)
      update.run(record, sealed, leaf, stream, revision);
  });
}

/** Puts a row behind all others. */
export function storeRow(
  data: string,
  { stream, revision, record, sealed, leaf }: RecordBytes & Place,
): void {
  atTables(data, (db) =>
    db
      .prepare('INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, ?, ?, ?, ?)')
      .run(stream, revision, record, sealed, leaf),
  );
}

/** Appends a fact that this version reads, but never decides. */
export function appendFact(data: string, stream: string, fact: Fact): void {
  const rows = rowsOf(data, stream);
  const revision = rows.length;
  const { newId, newSalt, now } = systemTools();
  const { log } = JSON.parse(`${rows[0]?.record}`);
  const header = { id: newId(), log, stream, revision, at: now().toISOString(), actor: OPERATOR };
  storeRow(data, { stream, revision, ...encodeRecord(header, fact, newSalt) });
}

export function streamOfStudy(data: string, name: string): string {
  const found = storedLog(data).find(({ record }) => record.data.configuration?.name === name);
  if (!found) throw new Error(`there is no study ${name}`);
  return found.stream;
}

/** The checkpoint of a stream's first records, signed as the service signs. */
export function checkpoint(data: string, stream: string, size: number): string {
  const key = loadSigningKey(join(data, 'signing-key'));
  const tree = new MerkleTree();
  for (const { leaf } of rowsOf(data, stream).slice(0, size)) tree.append(leaf);
  return signCheckpoint(checkpointOrigin(key.name, stream), size, tree.root(), key);
}
