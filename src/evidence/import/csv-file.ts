/**
 * Reads files that people give to commands: their bytes, and CSV with the line of each row. Whatever is wrong with a file, or
 * with what it says, is an `ImportError`.
 */
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';

/** @throws ImportError when the file cannot be read, or is empty */
export function bytesOf(path: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new ImportError([`cannot read ${path}: ${WHY_UNREADABLE[code] ?? message}`]);
  }
  if (bytes.length === 0) throw new ImportError([`${path} is empty`]);
  return bytes;
}

const WHY_UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
};

export interface CsvRow {
  /** In the file, from 1: the last one of the row. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** The rows, with the header. @throws ImportError when the file is not CSV in UTF-8 */
export function csvRows(bytes: Buffer): CsvRow[] {
  try {
    // The reference does not quote a carriage return within a field.
    const rows = parse(textOf(bytes), {
      ...{ skip_empty_lines: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'], info: true },
    }) as unknown as { readonly record: string[]; readonly info: { readonly lines: number } }[];
    return rows.map(({ record, info }) => ({ line: info.lines, cells: record }));
  } catch (error) {
    if (error instanceof CsvError) throw new ImportError([`the file is not CSV: ${error.message}`]);
    throw error;
  }
}

/** Drops a byte order mark. @throws ImportError when it is not UTF-8 */
export function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ImportError(['the file is not UTF-8 (hint: save it as UTF-8)']);
  }
}

/** Something that keeps the import from beginning: each problem is a sentence. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
