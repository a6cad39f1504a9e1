import type { RecordBytes } from '../../events/record.ts';

/** Whether exactly these bytes are already there, so that a repeated append counts as written. */
export function sameRecords(there: readonly RecordBytes[], sent: readonly RecordBytes[]): boolean {
  return (
    there.length === sent.length &&
    there.every((stored, i) => {
      const record = sent[i];
      return (
        record !== undefined &&
        Buffer.compare(stored.record, record.record) === 0 &&
        Buffer.compare(stored.sealed, record.sealed) === 0
      );
    })
  );
}
