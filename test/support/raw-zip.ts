/** Zip archives byte by byte, so that each may say what no library would write. */
import { createHash } from 'node:crypto';
import { constants, crc32, deflateRawSync } from 'node:zlib';

export interface RawFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** In place of what a library would make of the bytes. */
  readonly packed?: Uint8Array | undefined;
  /** What the directory says, where that is not so. */
  readonly size?: number;
  readonly packedSize?: number;
  readonly checksum?: number;
  readonly method?: number;
  readonly flags?: number;
  /** The name in the header before the bytes. */
  readonly header?: string;
  /** Behind the packed bytes, and counted with them. */
  readonly garbage?: Uint8Array;
}

export interface RawArchive {
  readonly before?: Uint8Array;
  /** Whether the offsets count the bytes before the first file. */
  readonly countsBefore?: boolean;
  readonly behind?: Uint8Array;
  readonly comment?: string;
  /** How many files the end of the archive says that there are. */
  readonly count?: number;
}

const numbers =
  (bytes: 2 | 4) =>
  (...values: readonly number[]): Buffer => {
    const fields = Buffer.alloc(bytes * values.length);
    for (const [i, value] of values.entries()) fields.writeUIntLE(value, i * bytes, bytes);
    return fields;
  };
const [shorts, longs] = [numbers(2), numbers(4)];

export function rawZip(files: readonly RawFile[], archive: RawArchive = {}): Buffer {
  const before = archive.before ?? Buffer.alloc(0);
  const parts: Uint8Array[] = [before];
  const directory: Buffer[] = [];
  let offset = archive.countsBefore ? before.length : 0;
  for (const file of files) {
    const { path, bytes, method = 8, flags = 0, garbage = Buffer.alloc(0) } = file;
    const deflated = method === 0 ? bytes : (file.packed ?? deflateRawSync(bytes));
    const packed = Buffer.concat([deflated, garbage]);
    const header = Buffer.from(file.header ?? path);
    const sizes = [file.packedSize ?? packed.length, file.size ?? bytes.length];
    const about = [shorts(flags, method, 0, 33), longs(file.checksum ?? crc32(bytes), ...sizes)];
    const head = [longs(0x04034b50), shorts(20), ...about, shorts(header.length, 0), header];
    const local = Buffer.concat(head);
    const name = Buffer.from(path);
    directory.push(
      ...[longs(0x02014b50), shorts(20, 20), ...about],
      ...[shorts(name.length, 0, 0, 0, 0), longs(0, offset), name],
    );
    parts.push(local, packed);
    offset += local.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const { count = files.length, comment = '' } = archive;
  const end = [longs(0x06054b50), shorts(0, 0, count, count), longs(listed.length, offset)];
  const last = [shorts(comment.length), Buffer.from(comment), archive.behind ?? Buffer.alloc(0)];
  return Buffer.concat([...parts, listed, ...end, ...last]);
}

/** A file of many mebibytes of the same text, of which only one is ever made, and its SHA-256. */
export function large(text: string, mebibytes: number): { file: Omit<RawFile, 'path'>; sha256: string } {
  const piece = Buffer.alloc(3 * 2 ** 18, text);
  const times = Math.ceil((mebibytes * 2 ** 20) / piece.length);
  const deflated = deflateRawSync(piece, { finishFlush: constants.Z_FULL_FLUSH });
  const sha256 = createHash('sha256');
  let checksum = 0;
  for (let n = 0; n < times; n++) {
    sha256.update(piece);
    checksum = crc32(piece, checksum);
  }
  const packed = Buffer.concat([...Array<Buffer>(times).fill(deflated), deflateRawSync(Buffer.alloc(0))]);
  const file = { bytes: Buffer.alloc(0), packed, size: times * piece.length, checksum };
  return { file, sha256: sha256.digest('hex') };
}
