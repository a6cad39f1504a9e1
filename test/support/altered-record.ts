/** A record changed by somebody who then recomputes seals and leaf. */
import { hash } from 'node:crypto';
import { canonicalJson, leafHash, type RecordBytes } from '../../events/record.ts';

// biome-ignore lint/suspicious/noExplicitAny: a record before anything is known of it
export type Json = any;
export type Change = (record: Json, sealed: Json) => void;

/** The seals of sections that are there are recomputed, unless they are not to be. */
export function altered<R extends RecordBytes>(row: R, change: Change, { reseal = true } = {}) {
  const record: Json = JSON.parse(Buffer.from(row.record).toString());
  const sealed: Json = JSON.parse(Buffer.from(row.sealed).toString());
  change(record, sealed);
  if (reseal)
    for (const name of Object.keys(record.seals))
      if (sealed[name] !== undefined) record.seals[name] = hash('sha256', canonicalJson(sealed[name]));
  const bytes = Buffer.from(canonicalJson(record));
  return { ...row, record: bytes, sealed: Buffer.from(canonicalJson(sealed)), leaf: leafHash(bytes) };
}

/** LogCreated as it was before 1.0.0. */
export function withoutFormat(created: RecordBytes | undefined): RecordBytes {
  if (!created) throw new Error('the log has no beginning');
  return altered(created, ({ data }) => {
    delete data.format;
  });
}
