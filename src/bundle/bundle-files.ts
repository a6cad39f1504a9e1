/**
 * The files of a bundle, each compared with the manifest while it is read. The manifest guards against damage, not against
 * people. But a file that is in the archive and not in the manifest could be mistaken for a part of the bundle.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CONTENTS } from '../../events/content.ts';
import { BundleError } from './bundle-error.ts';
import { ZipReader } from './zip-reader.ts';

const FORMAT = 'urn-bundle@1';
const MANIFEST = 'manifest.json';
/** Limit for files that are read as a whole. Enough for some 500,000 checkpoints. */
const MAX_WHOLE_BYTES = 256 * 2 ** 20;

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
      zip.close();
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

  isEmpty(path: string): boolean {
    return this.#zip.isEmpty(path);
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
    return this.has(path) ? whole(this.read(path), path) : Buffer.alloc(0);
  }

  /** What is wrong with the files, by path. Reads all files that have not been read yet. */
  async problems(): Promise<{ readonly path: string; readonly why: string }[]> {
    const listed = new Map<string, string>();
    const problems: { path: string; why: string }[] = [];
    for (const { path, sha256 } of this.manifest.files) {
      if (listed.has(path)) problems.push({ path, why: `is listed in ${MANIFEST} twice` });
      else listed.set(path, sha256);
    }
    for (const path of this.#zip.duplicates) problems.push({ path, why: 'is in the archive twice' });
    for (const path of new Set([...listed.keys(), ...this.#zip.paths])) {
      const why = path === MANIFEST ? undefined : await this.#problem(path, listed.get(path));
      if (why !== undefined) problems.push({ path, why });
    }
    return problems;
  }

  close(): void {
    this.#zip.close();
  }

  async #problem(path: string, listed: string | undefined): Promise<string | undefined> {
    if (listed === undefined) return `is not listed in ${MANIFEST}`;
    if (!this.has(path)) return `is listed in ${MANIFEST}, but missing`;
    if (!this.#found.has(path)) for await (const _ of this.read(path));
    const found = this.#found.get(path);
    return found === listed ? undefined : `is not what ${MANIFEST} lists: its SHA-256 is ${found}`;
  }
}

/** @throws BundleError */
async function readManifest(zip: ZipReader, file: string): Promise<Manifest> {
  if (!zip.has(MANIFEST)) throw new BundleError(`${file} is not a bundle: it has no ${MANIFEST}`);
  const json = parse(await whole(zip.read(MANIFEST), MANIFEST));
  const { format } = z.object({ format: z.string() }).safeParse(json).data ?? {};
  if (format !== undefined && format !== FORMAT)
    throw new BundleError(
      `${file} is a bundle of the format ${JSON.stringify(format)}, and this version reads ${FORMAT} (hint: run the version that made it)`,
    );
  const manifest = Manifest.safeParse(json);
  if (format === undefined || !manifest.success)
    throw new BundleError(`${file} is not a bundle: its ${MANIFEST} is not one of ${FORMAT}`);
  return manifest.data;
}

async function whole(pieces: AsyncIterable<Buffer>, path: string): Promise<Buffer> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    all.push(piece);
    bytes += piece.length;
    if (bytes > MAX_WHOLE_BYTES) throw new BundleError(`${path} has more than ${MAX_WHOLE_BYTES} bytes`);
  }
  return Buffer.concat(all);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
