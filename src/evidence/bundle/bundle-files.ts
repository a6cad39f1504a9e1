/**
 * The files of a bundle, each compared with the manifest while it is read. The manifest guards against damage, not against
 * people. But a file that is in the archive and not in the manifest could be mistaken for a part of the bundle.
 * docs/bundle.md describes the format, and that of the lines of records, which are written and split here too.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  CONTENTS,
  type Content,
  includedSections,
  NO_SECTIONS,
  type RecordBytes,
} from '../../../events/record.ts';
import { jsonProblem } from '../../base/json.ts';
import { decodeUtf8 } from '../../core/log/formats.ts';
import { BundleError, ZipReader } from './zip-reader.ts';

const MANIFEST = 'manifest.json';
/** Limit for files that are read as a whole. The manifest has its own. */
const MAX_WHOLE_BYTES = 64 * 2 ** 20;

/** The members that are used. The others repeat what the records say. */
const Manifest = z.object({
  content: z.enum(CONTENTS),
  study: z.object({ stream: z.string().regex(/^study-[^/]+$/) }),
  files: z.array(z.object({ path: z.string(), sha256: z.string() })),
});
type Manifest = z.infer<typeof Manifest>;

export class BundleFiles {
  readonly #zip: ZipReader;
  /** SHA-256 in hex of each file that has been read, by path. */
  readonly #found = new Map<string, string>();
  readonly manifest: Manifest;

  private constructor(zip: ZipReader, manifest: Manifest) {
    this.#zip = zip;
    this.manifest = manifest;
  }

  /** @throws BundleError for a file that is not a bundle in the format of this build */
  static async open(file: string): Promise<BundleFiles> {
    const zip = await ZipReader.open(file);
    try {
      return new BundleFiles(zip, await readManifest(zip, file));
    } catch (error) {
      await zip.close();
      throw error;
    }
  }

  has(path: string): boolean {
    return this.#zip.has(path);
  }

  /** All paths in the archive, listed or not. */
  get paths(): readonly string[] {
    return this.#zip.paths;
  }

  sizeOf(path: string): number {
    return this.#zip.sizeOf(path);
  }

  /** The bytes of an existing file, piece by piece. @throws BundleError when they cannot be unpacked */
  async *read(path: string): AsyncGenerator<Buffer> {
    const sha256 = createHash('sha256');
    for await (const piece of this.#zip.read(path)) {
      sha256.update(piece);
      yield piece;
    }
    this.#found.set(path, sha256.digest('hex'));
  }

  /** All bytes of a file; empty if it is missing. @throws BundleError when there are too many, and as `read` */
  async readWhole(path: string): Promise<Buffer> {
    return this.has(path) ? readToEnd(this.read(path), path, MAX_WHOLE_BYTES) : Buffer.alloc(0);
  }

  /** What is wrong with the files, by path. Reads all files that belong in a bundle and have not been read yet. */
  async problems(
    belongs: (path: string) => boolean,
  ): Promise<{ readonly path: string; readonly why: string }[]> {
    const listed = new Map<string, string>();
    const problems: { path: string; why: string }[] = [];
    for (const { path, sha256 } of this.manifest.files) {
      if (listed.has(path)) problems.push({ path, why: `is listed in ${MANIFEST} twice` });
      else listed.set(path, sha256);
    }
    for (const path of this.#zip.duplicates) problems.push({ path, why: 'is in the archive twice' });
    for (const path of new Set([...listed.keys(), ...this.#zip.paths])) {
      if (path === MANIFEST) continue;
      const why = await this.#problem(path, listed.get(path), belongs(path));
      if (why !== undefined) problems.push({ path, why });
    }
    return problems;
  }

  async close(): Promise<void> {
    await this.#zip.close();
  }

  async #problem(path: string, listed: string | undefined, belongs: boolean): Promise<string | undefined> {
    if (listed === undefined) return `is not listed in ${MANIFEST}`;
    if (!this.has(path)) return `is listed in ${MANIFEST}, but missing`;
    if (!belongs) return 'does not belong in a bundle';
    if (!this.#found.has(path)) for await (const _ of this.read(path));
    const found = this.#found.get(path);
    return found === listed ? undefined : `is not what ${MANIFEST} lists: its SHA-256 is ${found}`;
  }
}

/** What the manifest of every bundle says. */
export const FORMAT = 'urn-bundle@2';
const MAX_MANIFEST_BYTES = 2 ** 20;

/** @throws BundleError */
async function readManifest(zip: ZipReader, file: string): Promise<Manifest> {
  if (!zip.has(MANIFEST)) throw new BundleError(`${file} is not a bundle: it has no ${MANIFEST}`);
  const json = parseStrictly(await readToEnd(zip.read(MANIFEST), MANIFEST, MAX_MANIFEST_BYTES));
  const { format } = z.object({ format: z.string() }).safeParse(json).data ?? {};
  if (format === 'urn-bundle@1')
    throw new BundleError(
      `${file} was written before 1.0.0; nothing was changed (hint: the verifier inside it, verify_bundle.py, reads it)`,
    );
  if (format !== undefined && format !== FORMAT)
    throw new BundleError(
      `${file} is a bundle of the format ${JSON.stringify(format)}, and this version reads ${FORMAT} (hint: run the version that made it)`,
    );
  const manifest = Manifest.safeParse(json);
  if (format === undefined || !manifest.success)
    throw new BundleError(`${file} is not a bundle: its ${MANIFEST} is not one of ${FORMAT}`);
  return manifest.data;
}

async function readToEnd(pieces: AsyncIterable<Buffer>, path: string, maxBytes: number): Promise<Buffer> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    all.push(piece);
    bytes += piece.length;
    if (bytes > maxBytes) throw new BundleError(`${path} has more than ${maxBytes} bytes`);
  }
  const whole = Buffer.concat(all);
  refuseManyParts(whole, path);
  return whole;
}

/** Of lists, objects, members and lines. Small texts of many parts would take gigabytes when they are parsed. */
const MAX_PARTS = 4_000_000;
const SEPARATORS = Buffer.from('[{,\n');

/** @throws BundleError */
export function refuseManyParts(bytes: Uint8Array, path: string): void {
  if (bytes.length <= MAX_PARTS) return;
  let parts = 0;
  for (const byte of bytes) if (SEPARATORS.includes(byte)) parts++;
  if (parts > MAX_PARTS) throw new BundleError(`${path} has more than ${MAX_PARTS} parts`);
}

/** No file of a bundle is nearly as deep. */
const MAX_DEPTH = 100;

/** JSON that can be read in one way only: UTF-8 without a mark, no member twice. Undefined for anything else. */
export function parseStrictly(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  try {
    const json = JSON.parse(text);
    return jsonProblem(text, MAX_DEPTH) === undefined ? json : undefined;
  } catch {
    return undefined;
  }
}

const TAB = Buffer.from('\t');
const LINE_FEED = Buffer.from('\n');

/**
 * A record of a study, as a line of the bundle's record files, which are in order of revision:
 *
 *   <leaf hash, lower-case hex> TAB <record> TAB <sealed sections> LF
 *
 * Record and sections are the exact bytes of the log. Canonical JSON escapes control characters, so it never contains a
 * tab or a line feed.
 */
export function studyLine(stored: RecordBytes, content: Content): Buffer {
  return recordLine(stored, includedSections(stored.sealed, content));
}

/** A record of `log` or `access`. Its sections are never included, because they hold credentials. */
export function otherLine(stored: RecordBytes): Buffer {
  return recordLine(stored, NO_SECTIONS);
}

/** A record of which only the existence is shown: its leaf hash alone, which keeps the tree complete. */
export function withheldLine({ leaf }: RecordBytes): Buffer {
  return Buffer.from(`${hex(leaf)}\t\t\n`);
}

function recordLine({ leaf, record }: RecordBytes, sections: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(hex(leaf)), TAB, record, TAB, sections, LINE_FEED]);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** The fields of a line, unchecked. Only a record of `access` may be withheld. */
interface LineFields extends RecordBytes {
  readonly isWithheld?: boolean;
}

const WITHHELD_LINE = /^[0-9a-f]{64}\t\t$/;
const LEAF_HASH = /^[0-9a-f]{64}$/;
const NOTHING = Buffer.alloc(0);

/**
 * Splits a line without its line feed. A line without three valid fields gives a record that fails verification: an
 * invalid leaf hash becomes an empty leaf, and everything after the second tab is taken as the sections.
 */
export function parseLine(line: Buffer, mayBeWithheld: boolean): LineFields {
  if (mayBeWithheld && line.length === 66 && WITHHELD_LINE.test(line.toString('latin1')))
    return { leaf: leafOf(line.subarray(0, 64)), record: NOTHING, sealed: NOTHING, isWithheld: true };
  const first = line.indexOf(TAB);
  if (first < 0) return { leaf: leafOf(line), record: NOTHING, sealed: NOTHING };
  const second = line.indexOf(TAB, first + 1);
  const end = second < 0 ? line.length : second;
  return {
    leaf: leafOf(line.subarray(0, first)),
    record: line.subarray(first + 1, end),
    sealed: second < 0 ? NOTHING : line.subarray(second + 1),
  };
}

function leafOf(field: Buffer): Buffer {
  const text = field.toString('latin1');
  return LEAF_HASH.test(text) ? Buffer.from(text, 'hex') : NOTHING;
}
