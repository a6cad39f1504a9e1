/**
 * better-sqlite3, in the version that this Node can run.
 *
 * Version 12 is compiled against Node's own C++ classes. With the headers of Node 24.19 or later (nodejs/node#65446),
 * the process aborts when an ordinary garbage collection finds one of its objects, closed or not. Version 13 uses
 * Node-API 10 instead, which Node has since 22.14; it makes Node 20 crash. Both read and write the same files.
 */
import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';

const require = createRequire(import.meta.url);

export type Database = BetterSqlite3.Database;
export type Statement<Parameters extends unknown[], Row> = BetterSqlite3.Statement<Parameters, Row>;
export const Database: typeof BetterSqlite3 =
  Number(process.versions['napi']) >= 10 ? require('better-sqlite3-node-api') : require('better-sqlite3');
