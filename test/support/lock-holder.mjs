/** Holds the write lock of an SQLite file, from `locked` on stdout until stdin ends: node lock-holder.mjs <file> */
import process from 'node:process';
import { Database } from '../../dist/src/store/sqlite/library.js';

const db = new Database(process.argv[2], { timeout: 10_000 });
db.exec('BEGIN IMMEDIATE');
process.stdout.write('locked\n');
process.stdin.resume().once('end', () => {
  db.exec('ROLLBACK');
  db.close();
});
