/**
 * Reads a zip archive file by file, in any order, with only a piece of each file in memory.
 *
 * An archive can be read in several ways: with bytes before its first file or behind its directory, with sizes that are not
 * those of the files. This reads only archives that say one thing (docs/bundle.md), as the verifier in Python does, so that
 * both see the same files.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';

/** A bundle has ten files. One with millions would be an attempt to fill the memory. */
const MAX_FILES = 1000;
const MAX_DIRECTORY_BYTES = 2 ** 20;
const PIECE_BYTES = 2 ** 16;
const END_BYTES = 22;
const HEADER_BYTES = 30;

/** In place of a size or an offset that stands elsewhere: the archive is larger than 4 GiB. */
const ELSEWHERE = 0xffffffff;
const [STORED, DEFLATED] = [0, 8];

interface Entry {
  readonly method: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly offset: number;
}

export class ZipReader {
  readonly #archive: FileHandle;
  readonly #file: string;
  readonly #entries = new Map<string, Entry>();
  /** Where the directory begins, and so where the files end. */
  #filesEnd = 0;
  /** Paths that occur more than once in the archive. */
  readonly duplicates = new Set<string>();

  private constructor(archive: FileHandle, file: string) {
    this.#archive = archive;
    this.#file = file;
  }

  /** @throws BundleError for a file that cannot be read or is not a complete zip archive */
  static async open(file: string): Promise<ZipReader> {
    const archive = await open(file).catch((error) => {
      throw unreadable(file, error);
    });
    const reader = new ZipReader(archive, file);
    try {
      await reader.#list();
      return reader;
    } catch (error) {
      await reader.close();
      throw unreadable(file, error);
    }
  }

  get paths(): readonly string[] {
    return [...this.#entries.keys()];
  }

  has(path: string): boolean {
    return this.#entries.has(path);
  }

  /** In bytes, as the directory says. What is read is never longer. */
  sizeOf(path: string): number {
    return this.#entries.get(path)?.size ?? 0;
  }

  /** The bytes of an existing file. @throws BundleError when they cannot be unpacked */
  async *read(path: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(path);
    if (!entry) throw new RangeError(`there is no ${path}`);
    const pieces = this.#pieces(path, entry);
    try {
      for (;;) {
        // Not `for await`: errors of the consumer of the pieces must not be caught here.
        const piece = await pieces.next().catch((error) => {
          throw unreadable(this.#file, error, path);
        });
        if (piece.done) break;
        yield piece.value;
      }
    } finally {
      await pieces.return(undefined);
    }
  }

  async close(): Promise<void> {
    await this.#archive.close();
  }

  /** @throws Error when the bytes are not what the directory says */
  async *#pieces(path: string, entry: Entry): AsyncGenerator<Buffer, undefined> {
    const packed = this.#packed(await this.#dataStart(path, entry), entry.compressedSize);
    const inflate =
      entry.method === DEFLATED ? pipeline(packed, createInflateRaw(), () => undefined) : undefined;
    let size = 0;
    let checksum = 0;
    try {
      for await (const piece of inflate ?? packed) {
        size += piece.length;
        if (size > entry.size) throw new Error('it is longer than the directory of the archive says');
        checksum = crc32(piece, checksum);
        yield piece;
      }
    } finally {
      inflate?.destroy();
    }
    if (size !== entry.size || (inflate?.bytesWritten ?? size) !== entry.compressedSize)
      throw new Error('its sizes are not those in the directory of the archive');
    if (checksum !== entry.crc32) throw new Error('its checksum differs');
    return undefined;
  }

  async *#packed(start: number, bytes: number): AsyncGenerator<Buffer> {
    for (let done = 0; done < bytes; done += PIECE_BYTES)
      yield await this.#bytes(start + done, Math.min(PIECE_BYTES, bytes - done));
  }

  /** Where the bytes of a file begin, behind a header that repeats what the directory says. */
  async #dataStart(path: string, { offset, compressedSize }: Entry): Promise<number> {
    const header = await this.#bytes(offset, HEADER_BYTES);
    const nameBytes = header.readUInt16LE(26);
    const start = offset + HEADER_BYTES + nameBytes + header.readUInt16LE(28);
    const name = await this.#bytes(offset + HEADER_BYTES, nameBytes);
    if (header.readUInt32LE(0) !== 0x04034b50 || name.toString('latin1') !== path)
      throw new Error('it does not begin where the directory of the archive says');
    if (start + compressedSize > this.#filesEnd) throw new Error('it ends behind the end of the files');
    return start;
  }

  async #list(): Promise<void> {
    const { size } = await this.#archive.stat();
    if (size < END_BYTES) throw new Error('it is too short');
    const end = await this.#bytes(size - END_BYTES, END_BYTES);
    const [count, bytes, offset] = [end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)];
    const isOneDisk = end.readUInt32LE(4) === 0 && end.readUInt16LE(8) === count;
    const isLast = offset + bytes + END_BYTES === size && end.readUInt16LE(20) === 0;
    if (end.readUInt32LE(0) !== 0x06054b50 || !isOneDisk || !isLast)
      throw new Error('it does not end with its directory');
    if (count > MAX_FILES) throw new Error(`it holds more than ${MAX_FILES} files`);
    if (bytes > MAX_DIRECTORY_BYTES)
      throw new Error(`its directory has more than ${MAX_DIRECTORY_BYTES} bytes`);
    this.#filesEnd = offset;
    this.#listEntries(await this.#bytes(offset, bytes), count);
  }

  #listEntries(directory: Buffer, count: number): void {
    let from = 0;
    let first = count === 0 ? 0 : ELSEWHERE;
    for (let listed = 0; listed < count; listed++) {
      const [entry, name, length] = entryAt(directory.subarray(from));
      if (this.#entries.has(name)) this.duplicates.add(name);
      this.#entries.set(name, entry);
      first = Math.min(first, entry.offset);
      from += length;
    }
    if (from !== directory.length) throw new Error('its directory has another length than it says');
    if (first !== 0) throw new Error('something stands before its first file');
  }

  async #bytes(position: number, length: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#archive.read(Buffer.alloc(length), 0, length, position);
    if (bytesRead < length) throw new Error('it is shorter than its directory says');
    return buffer;
  }
}

const ENTRY_BYTES = 46;
const FILE_NAME = /^[A-Za-z0-9._/-]+$/;

/** The entry with which these bytes of the directory begin, its name, and its length. */
function entryAt(bytes: Buffer): [Entry, string, number] {
  if (bytes.length < ENTRY_BYTES || bytes.readUInt32LE(0) !== 0x02014b50)
    throw new Error('its directory is damaged');
  const nameEnd = ENTRY_BYTES + bytes.readUInt16LE(28);
  const length = nameEnd + bytes.readUInt16LE(30) + bytes.readUInt16LE(32);
  const name = bytes.toString('latin1', ENTRY_BYTES, nameEnd);
  const entry = {
    method: bytes.readUInt16LE(10),
    crc32: bytes.readUInt32LE(16),
    compressedSize: bytes.readUInt32LE(20),
    size: bytes.readUInt32LE(24),
    offset: bytes.readUInt32LE(42),
  };
  const isEncrypted = (bytes.readUInt16LE(8) & 1) === 1;
  const isLarge = [entry.compressedSize, entry.size, entry.offset].includes(ELSEWHERE);
  if (length > bytes.length || !FILE_NAME.test(name)) throw new Error('its directory is damaged');
  if (isEncrypted || isLarge || ![STORED, DEFLATED].includes(entry.method))
    throw new Error(`${name} is packed in a way that bundles are not`);
  return [entry, name, length];
}

/** A file cannot be read as a bundle. The message names the file and says what to do. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
}

function unreadable(file: string, error: unknown, path?: string): BundleError {
  const { code, message } = error as NodeJS.ErrnoException;
  const isSystems = ['ENOENT', 'EACCES', 'EISDIR', 'EPERM'].includes(code ?? '');
  const what = isSystems ? `cannot read ${file}` : `${file} is not a complete zip archive`;
  return new BundleError(
    `${what}${path === undefined ? '' : ` (${path})`}: ${message}${isSystems ? '' : ' (hint: was it copied completely?)'}`,
  );
}
