/** Changes a log as an owner of the file could: around its triggers, and with seals and leaves recomputed. */
import type { Fact } from '../../events/catalogue.ts';
import { encodeRecord } from '../../events/record.ts';
import { systemTools } from '../../src/base/tools.ts';
import { replaceRows, rowsOf, storeRow } from '../e2e/audit/database.ts';
import { altered } from './altered-record.ts';
import { OPERATOR } from './facts.ts';

/** Changes the sealed sections of one record, and recomputes its seals and leaf: every check of just that record passes. */
export function resealRecord(
  data: string,
  stream: string,
  revision: number,
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what it is.
  change: (sections: any) => void,
): void {
  const row = rowsOf(data, stream)[revision];
  if (!row) throw new Error(`there is no ${stream}/${revision}`);
  replaceRows(data, [altered(row, (_, sections) => change(sections))]);
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
