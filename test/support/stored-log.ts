/** The log on the disk, read without the program. */
import { join } from 'node:path';
import type { StoredRecord } from '../../src/store/event-store.ts';
import { Database } from '../../src/store/sqlite/library.ts';

export interface StoredText {
  readonly stream: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what it is.
  readonly record: any;
  /** The sealed sections, as text. */
  readonly sealed: string;
}

/** A record as a store holds it. */
export const inText = ({ stream, record, sealed }: Pick<StoredRecord, keyof StoredText>): StoredText => ({
  stream,
  record: JSON.parse(Buffer.from(record).toString()),
  sealed: Buffer.from(sealed).toString(),
});

/** All records in a data folder's database, in the order of their arrival. */
export const storedLog = (data: string): StoredText[] => storedRecords(data).map(inText);

/** The same, byte for byte, in one snapshot. The connection is read-only, so the files stay as they are. */
export function storedRecords(data: string): StoredRecord[] {
  const db = new Database(join(data, 'urn.sqlite'), { readonly: true });
  try {
    return db.prepare<[], StoredRecord>('SELECT * FROM records ORDER BY position').all();
  } finally {
    db.close();
  }
}

/** Changes the last record of a stream, as an owner of the file could. */
export function damageLastRecord(data: string, stream: string): void {
  const db = new Database(join(data, 'urn.sqlite'));
  try {
    db.exec('DROP TRIGGER IF EXISTS records_are_not_changed');
    db.prepare(
      `UPDATE records SET record = CAST(replace(CAST(record AS TEXT), '"at":"2', '"at":"3') AS BLOB)
       WHERE position = (SELECT max(position) FROM records WHERE stream = ?)`,
    ).run(stream);
  } finally {
    db.close();
  }
}
