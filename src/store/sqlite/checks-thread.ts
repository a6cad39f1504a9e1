/** The thread of checks.ts: checks the records of a database from the last one backwards, until it is stopped. */
import { parentPort, workerData } from 'node:worker_threads';
import { checkRecord } from '../../../events/record.ts';
import { PAGE_RECORDS } from '../event-store.ts';
import type { Checked } from './checks.ts';
import { COLUMNS, openDatabase, type Row } from './schema.ts';

if (!parentPort) throw new Error('this file is a worker thread');
const port = parentPort;
const db = openDatabase((workerData as { file: string }).file, 'read');
const before = db.prepare<[number, number], Row>(
  `SELECT ${COLUMNS} FROM records WHERE position < ? ORDER BY position DESC LIMIT ?`,
);
let stopped = false;
port.once('message', () => {
  stopped = true;
});

let to: number | undefined;
let from = Number.MAX_SAFE_INTEGER;
try {
  while (!stopped) {
    const page = before.all(from, PAGE_RECORDS);
    const last = page.at(-1);
    if (!last) break;
    for (const row of page) checkRecord(row);
    to ??= page[0]?.position ?? last.position;
    from = last.position;
    port.postMessage({ from, to } satisfies Checked);
    await new Promise(setImmediate);
  }
} catch {
  // Whoever folds this record will meet the same fault, and report it.
} finally {
  db.close();
  port.close();
}
