/**
 * The lines in which a bundle holds the records of a stream, in the order of their revisions (docs/bundle.md):
 *
 *   <leaf hash, lower-case hex> TAB <record> TAB <sealed sections> LF
 *
 * Record and sections are the exact bytes of the log. Canonical JSON escapes control characters, so that neither a tab
 * nor a line feed can stand in it. Of a withheld record only the leaf hash is there, which keeps the tree whole.
 */
import type { RecordBytes } from '../../events/record.ts';

/**
 * What a bundle discloses of a study's sealed sections. `full`: all, from which every allocation can be drawn again;
 * `open`: the treatments; `blinded`: none.
 */
export const CONTENTS = ['full', 'open', 'blinded'] as const;
export type Content = (typeof CONTENTS)[number];

const TAB = Buffer.from('\t');
const LINE_FEED = Buffer.from('\n');
const NO_SECTIONS = Buffer.from('{}');

/** A record of a study. */
export function studyLine(stored: RecordBytes, content: Content): Buffer {
  return line(stored, disclosed(stored.sealed, content));
}

/** A record of the streams `log` and `access`: a credential is nobody's business. */
export function otherLine(stored: RecordBytes): Buffer {
  return line(stored, NO_SECTIONS);
}

/** A record of which nothing is told but that it is there. */
export function withheldLine({ leaf }: RecordBytes): Buffer {
  return Buffer.from(`${hex(leaf)}\t\t\n`);
}

function line({ leaf, record }: RecordBytes, sections: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(hex(leaf)), TAB, record, TAB, sections, LINE_FEED]);
}

function disclosed(sealed: Uint8Array, content: Content): Uint8Array {
  if (content === 'full') return sealed;
  if (content === 'blinded') return NO_SECTIONS;
  const { allocation } = JSON.parse(Buffer.from(sealed).toString('utf8')) as { allocation?: unknown };
  // JSON.stringify gives the canonical bytes back: they were parsed from sorted keys, none of them a number.
  return allocation === undefined ? NO_SECTIONS : Buffer.from(JSON.stringify({ allocation }));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
