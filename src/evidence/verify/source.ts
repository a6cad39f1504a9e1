/** Where verification gets its records: a database or anything else that can provide them. */

import type { Content, RecordBytes } from '../../../events/record.ts';
import type { StoreFindings } from './report/report.ts';

export interface SourceRecord extends RecordBytes {
  /** The stream that it was read from. */
  readonly stream: string;
  /** As stored beside the record. In a source that was tampered with, it can be anything. */
  readonly revision: number;
  /** Set when the source provides only the leaf of the record. The other bytes are then empty. */
  readonly isWithheld?: boolean;
}

export interface RecordSource {
  /** Which sealed sections a bundle includes; undefined if the source holds everything that the log holds. */
  readonly content?: Content;
  /** The names of all streams. */
  streams(): Promise<readonly string[]>;
  /**
   * All records of one stream, in pages, by ascending revision; none if there is no such stream. Records that occur twice
   * or have an impossible revision are included. Streams are read one after another, `log` and `access` first. Records
   * appended in the meantime may be left out, but consistently: no record may come without the key that it names. The
   * bytes of a page may be overwritten when the next page is requested. Throws BrokenStream if a stream is known to lack
   * records or to be deleted.
   */
  read(stream: string): AsyncIterable<readonly SourceRecord[]>;
  /** Findings about the database that holds the records. */
  findings?(): Promise<StoreFindings>;
}
