/** Reads a zip archive file by file, in any order, with only a piece of each file in memory. */
import { crc32 } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { BundleError } from './bundle-error.ts';

/** A bundle has ten files. One with millions would be an attempt to fill the memory. */
const MAX_FILES = 1000;

export class ZipReader {
  readonly #zip: ZipFile;
  readonly #file: string;
  readonly #entries = new Map<string, Entry>();
  /** Paths that occur more than once in the archive. */
  readonly duplicates = new Set<string>();

  private constructor(zip: ZipFile, file: string) {
    this.#zip = zip;
    this.#file = file;
  }

  /** @throws BundleError for a file that cannot be read or is not a complete zip archive */
  static async open(file: string): Promise<ZipReader> {
    const options = { autoClose: false, lazyEntries: true, strictFileNames: true };
    const zip = await openPromise(file, options).catch((error) => {
      throw unreadable(file, error);
    });
    const reader = new ZipReader(zip, file);
    try {
      await reader.#list();
      return reader;
    } catch (error) {
      reader.close();
      throw unreadable(file, error);
    }
  }

  get paths(): readonly string[] {
    return [...this.#entries.keys()];
  }

  has(path: string): boolean {
    return this.#entries.has(path);
  }

  isEmpty(path: string): boolean {
    return this.#entries.get(path)?.uncompressedSize === 0;
  }

  /** The bytes of an existing file. @throws BundleError when they cannot be unpacked */
  async *read(path: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(path);
    if (!entry) throw new RangeError(`there is no ${path}`);
    let pieces: AsyncIterator<Buffer>;
    try {
      pieces = (await this.#zip.openReadStreamPromise(entry))[Symbol.asyncIterator]();
    } catch (error) {
      throw unreadable(this.#file, error, path);
    }
    let checksum = 0;
    try {
      for (;;) {
        // Not `for await`: errors of the consumer of the pieces must not be caught here.
        const piece = await pieces.next().catch((error) => {
          throw unreadable(this.#file, error, path);
        });
        if (piece.done) break;
        checksum = crc32(piece.value, checksum);
        yield piece.value;
      }
      // The library does not compare it, but Python's does. Both must accept the same archives.
      if (checksum !== entry.crc32) throw unreadable(this.#file, new Error('its checksum differs'), path);
    } finally {
      await pieces.return?.();
    }
  }

  close(): void {
    this.#zip.close();
  }

  async #list(): Promise<void> {
    for await (const entry of this.#zip.eachEntry()) {
      if (this.#entries.has(entry.fileName)) this.duplicates.add(entry.fileName);
      this.#entries.set(entry.fileName, entry);
      if (this.#entries.size > MAX_FILES) throw new Error(`it holds more than ${MAX_FILES} files`);
    }
  }
}

function unreadable(file: string, error: unknown, path?: string): BundleError {
  const { code, message } = error as NodeJS.ErrnoException;
  const isSystems = ['ENOENT', 'EACCES', 'EISDIR', 'EPERM'].includes(code ?? '');
  const what = isSystems ? `cannot read ${file}` : `${file} is not a complete zip archive`;
  return new BundleError(
    `${what}${path === undefined ? '' : ` (${path})`}: ${message}${isSystems ? '' : ' (hint: was it copied completely?)'}`,
  );
}
