/** A zip archive, read file by file in any order: of each file only a piece is in memory. */
import { crc32 } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { BundleError } from './bundle-error.ts';

/** A bundle has ten files; whoever made one with millions means to fill the memory. */
const MOST_FILES = 1000;

export class ZipReader {
  readonly #zip: ZipFile;
  readonly #file: string;
  readonly #entries = new Map<string, Entry>();
  /** Paths that stand in the archive more than once. */
  readonly twice = new Set<string>();

  private constructor(zip: ZipFile, file: string) {
    this.#zip = zip;
    this.#file = file;
  }

  /** @throws BundleError for a file that cannot be read, or is no zip archive, or only a part of one */
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

  /** The bytes of a file that is there. @throws BundleError when they cannot be unpacked */
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
        // Not a loop over the stream: what the reader of the pieces throws is its own.
        const piece = await pieces.next().catch((error) => {
          throw unreadable(this.#file, error, path);
        });
        if (piece.done) break;
        checksum = crc32(piece.value, checksum);
        yield piece.value;
      }
      // The library does not compare it, and Python's does: what one of the two takes, the other must take, too.
      if (checksum !== entry.crc32)
        throw unreadable(this.#file, new Error('its checksum is another one'), path);
    } finally {
      await pieces.return?.();
    }
  }

  close(): void {
    this.#zip.close();
  }

  async #list(): Promise<void> {
    for await (const entry of this.#zip.eachEntry()) {
      if (this.#entries.has(entry.fileName)) this.twice.add(entry.fileName);
      this.#entries.set(entry.fileName, entry);
      if (this.#entries.size > MOST_FILES) throw new Error(`it holds more than ${MOST_FILES} files`);
    }
  }
}

function unreadable(file: string, error: unknown, path?: string): BundleError {
  const { code, message } = error as NodeJS.ErrnoException;
  const isSystems = ['ENOENT', 'EACCES', 'EISDIR', 'EPERM'].includes(code ?? '');
  const what = isSystems ? `cannot read ${file}` : `${file} is no whole zip archive`;
  return new BundleError(
    `${what}${path === undefined ? '' : ` (${path})`}: ${message}${isSystems ? '' : ' (hint: was it copied completely?)'}`,
  );
}
