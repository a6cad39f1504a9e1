/** Changes a log as an owner of the file could: around its triggers, and with seals and leaves recomputed. */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Fact } from '../../events/catalogue.ts';
import { canonicalJson, encodeRecord, leafHash } from '../../events/record.ts';
import { systemTools } from '../../src/base/tools.ts';
import { Database } from '../../src/store/sqlite/library.ts';
import { OPERATOR } from './facts.ts';

interface Row {
  readonly record: Buffer;
  readonly sealed: Buffer;
}

/** Changes the sealed sections of one record, and recomputes its seals and leaf: every check of just that record passes. */
export function resealRecord(
  data: string,
  stream: string,
  revision: number,
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what it is.
  change: (sections: any) => void,
): void {
  const db = new Database(join(data, 'urn.sqlite'));
  try {
    db.exec('DROP TRIGGER IF EXISTS records_are_not_changed');
    const row = db
      .prepare<[string, number], Row>('SELECT record, sealed FROM records WHERE stream = ? AND revision = ?')
      .get(stream, revision);
    if (!row) throw new Error(`there is no ${stream}/${revision}`);
    const sections = JSON.parse(row.sealed.toString());
    change(sections);
    const seals = Object.fromEntries(
      Object.entries(sections).map(([name, section]) => [name, hash('sha256', canonicalJson(section))]),
    );
    const record = Buffer.from(canonicalJson({ ...JSON.parse(row.record.toString()), seals }));
    db.prepare('UPDATE records SET record = ?, sealed = ?, leaf = ? WHERE stream = ? AND revision = ?').run(
      record,
      Buffer.from(canonicalJson(sections)),
      leafHash(record),
      stream,
      revision,
    );
  } finally {
    db.close();
  }
}

/** Appends a fact that this version reads, but never decides. */
export function appendFact(data: string, stream: string, fact: Fact): void {
  const db = new Database(join(data, 'urn.sqlite'));
  try {
    const last = db
      .prepare<[string], { revision: number; record: Buffer }>(
        'SELECT revision, record FROM records WHERE stream = ? ORDER BY revision DESC LIMIT 1',
      )
      .get(stream);
    if (!last) throw new Error(`there is no stream ${stream}`);
    const { newId, newSalt, now } = systemTools();
    const revision = last.revision + 1;
    const { log } = JSON.parse(last.record.toString());
    const header = { id: newId(), log, stream, revision, at: now().toISOString(), actor: OPERATOR };
    const { record, sealed, leaf } = encodeRecord(header, fact, newSalt);
    db.prepare('INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, ?, ?, ?, ?)').run(
      stream,
      revision,
      record,
      sealed,
      leaf,
    );
  } finally {
    db.close();
  }
}
