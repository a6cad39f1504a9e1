/**
 * Writes a zip archive file by file as the parts come in, with only a piece of each file in memory. The timestamps are
 * fixed, so the same contents give the same bytes.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, linkSync, unlinkSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';

export interface ArchiveFile {
  readonly path: string;
  /** Called when all files before it have been written, so it can use their results. */
  parts(): AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;
}

/** A file that has been written. */
export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** The first day that a zip archive can hold, in any time zone. */
const FIXED = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true, mode: 0o100600 };

/**
 * Writes an archive that only its owner can read. It appears under its name once it is complete, and never replaces
 * another file.
 *
 * @param onWritten called for each file when it has been written
 * @returns SHA-256 of the archive, lower-case hex
 * @throws Error with code `EEXIST` when the file exists already, and what `parts` throws
 */
export async function writeArchive(
  out: string,
  files: readonly ArchiveFile[],
  onWritten: (file: WrittenFile) => void,
): Promise<string> {
  if (existsSync(out)) throw Object.assign(new Error(`${out} already exists`), { code: 'EEXIST' });
  const draft = `${out}.new-${randomBytes(6).toString('hex')}`;
  const zip = new ZipFile();
  // The library's types use an older name for this stream.
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  for (const file of files)
    zip.addReadStreamLazy(file.path, FIXED, (begin) => {
      const read = Readable.from(hashed(file, onWritten), { objectMode: false });
      read.on('error', (error) => output.destroy(error));
      begin(null, read);
    });
  zip.end();
  try {
    const whole = createHash('sha256');
    output.on('data', (piece: Buffer) => whole.update(piece));
    await pipeline(output, createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }));
    linkSync(draft, out);
    return whole.digest('hex');
  } finally {
    if (existsSync(draft)) unlinkSync(draft);
  }
}

async function* hashed(
  { path, parts }: ArchiveFile,
  onWritten: (file: WrittenFile) => void,
): AsyncGenerator<Buffer> {
  const sha256 = createHash('sha256');
  let bytes = 0;
  for await (const part of parts()) {
    const piece = Buffer.from(part);
    sha256.update(piece);
    bytes += piece.length;
    yield piece;
  }
  onWritten({ path, bytes, sha256: sha256.digest('hex') });
}
