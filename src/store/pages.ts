import { PAGE_RECORDS, type StoredRecord } from './event-store.ts';

/** Records in pages that are not too long to be folded in one turn. */
export function* pages(records: readonly StoredRecord[]): Iterable<readonly StoredRecord[]> {
  for (let i = 0; i < records.length; i += PAGE_RECORDS) yield records.slice(i, i + PAGE_RECORDS);
}
