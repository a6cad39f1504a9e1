/** Verifies a bundle (docs/bundle.md): its records like those of a database, as far as they are included, and its files. */
import { type Content, canonicalJson } from '../../../events/record.ts';
import { secondsSince } from '../../base/waiting.ts';
import { CheckpointFileError, CheckpointReader, type KeptCheckpoint } from '../../core/log/formats.ts';
import { BundleFiles, parseLine, parseStrictly, refuseManyParts } from '../bundle/bundle-files.ts';
import { BundleError } from '../bundle/zip-reader.ts';
import type { FileProblem, Report } from './report/report.ts';
import type { RecordSource, SourceRecord } from './source.ts';
import { type Verification, verifyLog } from './verify.ts';

interface BundleVerification extends Omit<Verification, 'source' | 'studies'> {
  readonly file: string;
}

/** @throws BundleError for a file that is not a bundle or cannot be read to its end */
export async function verifyBundle({ file, ...verification }: BundleVerification): Promise<Report> {
  const started = performance.now();
  const files = await BundleFiles.open(file);
  try {
    const source = new BundleSource(files);
    const bundled = (await source.checkpoints()).map((one) => ({ ...one, from: 'bundle' as const }));
    const report = await verifyLog({
      ...verification,
      source,
      // A checkpoint that was kept elsewhere counts as such even if the bundle holds it too.
      checkpoints: [...verification.checkpoints, ...bundled],
    });
    const keys = report.log && [report.log.publicKey, ...report.log.laterKeys];
    const problems = await source.problems(keys);
    const notReplayed = NOT_REPLAYED[source.content];
    return {
      ...report,
      ok: report.ok && problems.length === 0,
      bundle: {
        content: source.content,
        ...(notReplayed !== undefined && { notReplayed }),
        notKnown: notKnown(report),
        files: problems,
      },
      seconds: secondsSince(started),
    };
  } finally {
    await files.close();
  }
}

/** Why the draws of a bundle of this content are not decided again; nothing for `full`. */
const NOT_REPLAYED: Partial<Record<Content, string>> = {
  open: 'the content is open: it includes the treatments but not the states of the generator, so the draws themselves are not checked',
  blinded:
    'the content is blinded: it includes neither the treatments nor the states of the generator, so neither the treatments nor the draws are checked',
};

/** What remains unknown because the bundle withholds it. */
function notKnown({ streams, log }: Report): string[] {
  const withheld = streams.reduce((sum, stream) => sum + (stream.withheld ?? 0), 0);
  return [
    ...(withheld > 0
      ? [
          `${withheld} ${withheld === 1 ? 'record' : 'records'} of access ${withheld === 1 ? 'is' : 'are'} withheld: a key that the study used may have been revoked there`,
        ]
      : []),
    ...(log && log.recoveries.length > 0
      ? [
          'what the recoveries of the log say about the study is withheld: the report relies on the study itself for where its generator was restarted, so a missing restart would go unnoticed',
        ]
      : []),
  ];
}

const CHECKPOINTS_FILE = 'checkpoints.txt';
const CONFIGURATION_FILE = 'configuration.json';
const PUBLIC_KEY_FILE = 'public-key.txt';
/** The files of a bundle besides its records (docs/bundle.md). Any other file could be mistaken for a part of it. */
const OTHER_FILES = new Set([
  CHECKPOINTS_FILE,
  CONFIGURATION_FILE,
  'README.txt',
  'manifest.json',
  PUBLIC_KEY_FILE,
  'report.html',
  'verify_bundle.py',
]);
const LINE_FEED = 0x0a;
/** No record is this long: the largest part, a configuration, is written by people. */
const MAX_LINE_BYTES = 64 * 2 ** 20;
/** Enough for some 1,000,000 checkpoints. */
const MAX_CHECKPOINTS_BYTES = 256 * 2 ** 20;
/** A signed checkpoint has six lines and at least 150 bytes, so this is more than the largest file can have. */
const MAX_CHECKPOINTS_LINES = 12_000_000;

/** Reads the records of a bundle line by line, holding one piece of a file and one partial line in memory. */
export class BundleSource implements RecordSource {
  readonly content: Content;
  readonly #files: BundleFiles;
  readonly #study: string;
  /** Files that do not end with a line feed. */
  readonly #open = new Set<string>();
  /** The study's first record. */
  #registration: Uint8Array | undefined;
  /** Issued by records of `access` that are included, and named by no record of the study so far. */
  readonly #idleKeys = new Set<string>();

  constructor(files: BundleFiles) {
    this.#files = files;
    this.content = files.manifest.content;
    this.#study = files.manifest.study.stream;
  }

  async streams(): Promise<readonly string[]> {
    // If no key was ever issued, there is no such stream. `problems` reports a missing file.
    const access = fileOf('access');
    const isThere = this.#files.sizeOf(access) > 0;
    return ['log', ...(isThere ? ['access'] : []), this.#study];
  }

  async *read(stream: string): AsyncGenerator<readonly SourceRecord[]> {
    const path = fileOf(stream);
    if (!this.#files.has(path)) return;
    const mayBeWithheld = stream === 'access';
    let revision = 0;
    for await (const lines of this.#lines(path))
      yield lines.map((line) => {
        refuseManyParts(line, `a line of ${path}`);
        const record = { stream, revision: revision++, ...parseLine(line, mayBeWithheld) };
        if (stream === 'access') this.#noteKey(record.record);
        if (stream === this.#study) this.#noteStudy(record);
        return record;
      });
  }

  /** The lines of an existing file, page by page, without their line feeds. */
  async *#lines(path: string): AsyncGenerator<readonly Buffer[]> {
    let begun: Buffer[] = [];
    let begunBytes = 0;
    for await (const piece of this.#files.read(path)) {
      const page: Buffer[] = [];
      let from = 0;
      for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
        const rest = piece.subarray(from, end);
        page.push(begun.length === 0 ? rest : Buffer.concat([...begun, rest]));
        begun = [];
        begunBytes = 0;
        from = end + 1;
      }
      if (from < piece.length) begun.push(piece.subarray(from));
      begunBytes += piece.length - from;
      if (begunBytes > MAX_LINE_BYTES)
        throw new BundleError(`${path} has a line of more than ${MAX_LINE_BYTES} bytes`);
      if (page.length > 0) yield page;
    }
    if (begun.length === 0) return;
    this.#open.add(path);
    yield [Buffer.concat(begun)];
  }

  /** The checkpoints in the bundle, for what they are worth. @throws BundleError when the file holds anything else */
  async checkpoints(): Promise<KeptCheckpoint[]> {
    const size = this.#files.sizeOf(CHECKPOINTS_FILE);
    if (size === 0) return [];
    if (size > MAX_CHECKPOINTS_BYTES)
      throw new BundleError(`${CHECKPOINTS_FILE} has more than ${MAX_CHECKPOINTS_BYTES} bytes`);
    const reader = new CheckpointReader(`${CHECKPOINTS_FILE} of the bundle`);
    try {
      let count = 0;
      for await (const lines of this.#lines(CHECKPOINTS_FILE)) {
        count += lines.length;
        if (count > MAX_CHECKPOINTS_LINES)
          throw new BundleError(`${CHECKPOINTS_FILE} has more than ${MAX_CHECKPOINTS_LINES} lines`);
        for (const line of lines) reader.take(line);
      }
      if (!this.#open.has(CHECKPOINTS_FILE)) reader.take(Buffer.alloc(0));
      return reader.finish();
    } catch (error) {
      if (error instanceof CheckpointFileError) throw new BundleError(error.message);
      throw error;
    }
  }

  /**
   * What is wrong with the files. Call it after the streams have been read.
   * @param keys of the log; undefined if its first record does not say one
   */
  async problems(keys: readonly string[] | undefined): Promise<FileProblem[]> {
    const problems: FileProblem[] = await this.#files.problems((path) => this.#belongs(path));
    const note = (path: string, why: string) => {
      if (!problems.some((known) => known.path === path)) problems.push({ path, why });
    };
    for (const path of [...this.#records, CHECKPOINTS_FILE, CONFIGURATION_FILE])
      if (!this.#files.has(path)) note(path, 'is missing');
    for (const path of this.#records) if (this.#open.has(path)) note(path, 'does not end with a line feed');
    if (!(await this.#showsConfiguration()))
      note(CONFIGURATION_FILE, "does not say what the study's first record says");
    if (keys && this.#files.has(PUBLIC_KEY_FILE)) {
      const shown = (await this.#files.readWhole(PUBLIC_KEY_FILE)).toString('utf8');
      if (!keys.some((key) => shown === `${key}\n`)) note(PUBLIC_KEY_FILE, 'is not a key of this log');
    }
    for (const key of this.#idleKeys)
      problems.push({ path: fileOf('access'), why: `shows the key ${key}, which did nothing in this study` });
    return problems;
  }

  #noteKey(record: Uint8Array): void {
    const { type, data } = parsed(record);
    if (type === 'ApiKeyIssued' && typeof data?.keyId === 'string') this.#idleKeys.add(data.keyId);
  }

  #noteStudy({ revision, record }: SourceRecord): void {
    if (revision === 0) this.#registration = record;
    // Most keys act early, so most records are not parsed here.
    if (this.#idleKeys.size > 0) this.#idleKeys.delete(parsed(record).actor?.keyId);
  }

  get #records(): readonly string[] {
    return ['log', 'access', this.#study].map(fileOf);
  }

  #belongs(path: string): boolean {
    return OTHER_FILES.has(path) || this.#records.includes(path);
  }

  async #showsConfiguration(): Promise<boolean> {
    const shown = await this.#files.readWhole(CONFIGURATION_FILE);
    try {
      const { data } = parsed(this.#registration ?? Buffer.alloc(0));
      const registered = canonicalJson(data.configuration);
      // Indenting makes a configuration at most four times as long. What is longer may be too large to be parsed.
      if (shown.length > 8 * Buffer.byteLength(registered) + 1024) return false;
      return canonicalJson(parseStrictly(shown)) === registered;
    } catch {
      return false;
    }
  }
}

/** Whatever the JSON text of a record says; nothing if it is withheld or damaged. */
// biome-ignore lint/suspicious/noExplicitAny: nothing is known of it
function parsed(record: Uint8Array): any {
  try {
    return Object(JSON.parse(Buffer.from(record).toString('utf8')));
  } catch {
    return {};
  }
}

function fileOf(stream: string): string {
  return `records/${stream}.txt`;
}
