/** Where the records come from that are verified: a database, or anything else that can hand them over. */

import type { Content } from '../../events/content.ts';
import type { RecordBytes } from '../../events/record.ts';
import type { StoreFindings } from './report.ts';

export interface SourceRecord extends RecordBytes {
  /** The stream that it was read from. */
  readonly stream: string;
  /** As the source has it beside the record: of a source that was tampered with, anything. */
  readonly revision: number;
  /** Set when `checkRecord` has taken exactly these bytes already, in another thread: they are only read then. */
  readonly isChecked?: boolean;
  /** Set when the source tells nothing of the record but its leaf; the other bytes are none then. */
  readonly isWithheld?: boolean;
}

export interface RecordSource {
  /** What a bundle discloses of the sealed sections; undefined: the source has all that the log has. */
  readonly content?: Content;
  /** The names of all streams. */
  streams(): Promise<readonly string[]>;
  /**
   * All records of one stream in the order of their revisions, in pages; none when there is no such stream. A record
   * that stands twice, or under a revision that cannot be, is handed over like the others. Streams are read one after
   * another, `log` and `access` first; what is appended to the log meanwhile may be left out, but then wholly: no
   * record without the key that it names. A page's bytes may be overwritten when the next page is asked for. Throws
   * BrokenStream where a stream is known to lack records, or to be deleted.
   */
  read(stream: string): AsyncIterable<readonly SourceRecord[]>;
  /** What is remarkable about the place where the records stand. */
  findings?(): Promise<StoreFindings>;
}
