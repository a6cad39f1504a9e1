/**
 * The lines of a bundle's record files, in order of revision (docs/bundle.md):
 *
 *   <leaf hash, lower-case hex> TAB <record> TAB <sealed sections> LF
 *
 * Record and sections are the exact bytes of the log. Canonical JSON escapes control characters, so it never contains a
 * tab or a line feed. A withheld record has only its leaf hash, which keeps the tree complete.
 */

import type { RecordBytes } from '../../../events/record.ts';
import { type Content, includedSections, NO_SECTIONS } from '../../../events/record.ts';

const TAB = Buffer.from('\t');
const LINE_FEED = Buffer.from('\n');

/** A record of a study. */
export function studyLine(stored: RecordBytes, content: Content): Buffer {
  return line(stored, includedSections(stored.sealed, content));
}

/** A record of `log` or `access`. Its sections are never included, because they hold credentials. */
export function otherLine(stored: RecordBytes): Buffer {
  return line(stored, NO_SECTIONS);
}

/** A record of which only the existence is shown. */
export function withheldLine({ leaf }: RecordBytes): Buffer {
  return Buffer.from(`${hex(leaf)}\t\t\n`);
}

function line({ leaf, record }: RecordBytes, sections: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(hex(leaf)), TAB, record, TAB, sections, LINE_FEED]);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** The fields of a line, unchecked. Only a record of `access` may be withheld. */
export interface LineFields extends RecordBytes {
  readonly isWithheld?: boolean;
}

const WITHHELD = /^[0-9a-f]{64}\t\t$/;
const LEAF = /^[0-9a-f]{64}$/;

/**
 * Splits a line without its line feed. A line without three valid fields gives a record that fails verification: an
 * invalid leaf hash becomes an empty leaf, and everything after the second tab is taken as the sections.
 */
export function parseLine(line: Buffer, mayBeWithheld: boolean): LineFields {
  if (mayBeWithheld && line.length === 66 && WITHHELD.test(line.toString('latin1')))
    return { leaf: leafOf(line.subarray(0, 64)), record: NONE, sealed: NONE, isWithheld: true };
  const first = line.indexOf(TAB);
  if (first < 0) return { leaf: leafOf(line), record: NONE, sealed: NONE };
  const second = line.indexOf(TAB, first + 1);
  const end = second < 0 ? line.length : second;
  return {
    leaf: leafOf(line.subarray(0, first)),
    record: line.subarray(first + 1, end),
    sealed: second < 0 ? NONE : line.subarray(second + 1),
  };
}

const NONE = Buffer.alloc(0);

function leafOf(field: Buffer): Buffer {
  const text = field.toString('latin1');
  return LEAF.test(text) ? Buffer.from(text, 'hex') : NONE;
}
