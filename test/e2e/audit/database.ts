/** The database of a data folder, read and changed past the program, as somebody who owns the file could. */
import { join } from 'node:path';
import { decodeRecord, encodeRecord, type LogEvent, type RecordBytes } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { checkpointOrigin, signCheckpoint } from '../../../src/core/ledger/checkpoint.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { loadSigningKey } from '../../../src/core/ledger/signing-key.ts';
import type { StudyCommand } from '../../../src/core/study/commands.ts';
import { studyDecider } from '../../../src/core/study/decide.ts';
import type { StudyState } from '../../../src/core/study/state.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { asCommand } from '../../support/acts.ts';

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

export function streamOfStudy(data: string, name: string): string {
  return atTables(data, (db) => {
    const found = db
      .prepare<[], { stream: string; record: Buffer }>(
        "SELECT stream, record FROM records WHERE stream LIKE 'study-%' AND revision = 0",
      )
      .all()
      .find(({ record }) => JSON.parse(record.toString()).data.configuration.name === name);
    if (!found) throw new Error(`there is no study ${name}`);
    return found.stream;
  });
}

/**
 * A study's whole history, decided again after some of its events were changed: each event follows from those before it,
 * with the ids, times and actors that it had.
 */
export function rewritten(rows: readonly Row[], change: (event: LogEvent) => LogEvent): Row[] {
  const { newSalt } = systemTools();
  let state: StudyState = { status: 'unregistered' };
  let isChanged = false;
  return rows.map((row) => {
    const before = decodeRecord(row);
    const event = change(before);
    isChanged ||= event !== before;
    const { fact, outcome } = studyDecider.decide(state, commandOf(event));
    if (!fact) throw new Error(outcome.type);
    const { id, log, stream, revision, at, actor } = event;
    const bytes = encodeRecord({ id, log, stream, revision, at, actor }, fact, newSalt);
    state = studyDecider.evolve(state, { id, log, stream, revision, at, actor, ...fact } as LogEvent);
    // What is before the first change stays as it was signed.
    return isChanged ? ({ stream, revision, ...bytes } as Row) : row;
  });
}

function commandOf(event: LogEvent): StudyCommand {
  switch (event.type) {
    case 'StudyRegistered':
      return { type: 'register', ...event.data, seed: BigInt(event.sections.generator.seed) };
    case 'ParticipantRandomized':
      return {
        type: 'randomize',
        participantId: event.data.participantId,
        levels: event.data.levels.map(({ level }) => level),
        user: event.actor.user,
        idempotencyKey: event.sections.request?.idempotencyKey,
      };
    case 'StudyPaused':
      return asCommand({ act: 'StudyPaused', user: 'operator', ...event.data });
    case 'StudyResumed':
      return asCommand({ act: 'StudyResumed', user: 'operator', ...event.data });
    default:
      throw new Error(`${event.type} is no event of a study`);
  }
}

/** The checkpoint of a stream's first records, signed as the service signs. */
export function checkpoint(data: string, stream: string, size: number, keyFolder = data): string {
  const key = loadSigningKey(join(keyFolder, 'signing-key'));
  const tree = new MerkleTree();
  for (const { leaf } of rowsOf(data, stream).slice(0, size)) tree.append(leaf);
  return signCheckpoint(checkpointOrigin(key.name, stream), size, tree.root(), key);
}

export function publicKey(data: string): string {
  return loadSigningKey(join(data, 'signing-key')).publicKey;
}
