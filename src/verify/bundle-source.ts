/**
 * Reads the records of a bundle (docs/bundle.md) line by line, holding one piece of a file and one partial line in
 * memory.
 */

import type { Content } from '../../events/content.ts';
import { canonicalJson } from '../../events/record.ts';
import { BundleError } from '../bundle/bundle-error.ts';
import { type BundleFiles, parseStrictly, refuseManyParts } from '../bundle/bundle-files.ts';
import { parseLine } from '../bundle/record-lines.ts';
import { CheckpointFileError, type KeptCheckpoint, parseCheckpointFile } from '../ledger/checkpoint-file.ts';
import type { FileProblem } from './report.ts';
import type { RecordSource, SourceRecord } from './source.ts';

const CHECKPOINTS = 'checkpoints.txt';
const CONFIGURATION = 'configuration.json';
const PUBLIC_KEY = 'public-key.txt';
/** The files of a bundle besides its records (docs/bundle.md). Any other file could be mistaken for a part of it. */
const OTHER_FILES = new Set([
  CHECKPOINTS,
  CONFIGURATION,
  'README.txt',
  'manifest.json',
  PUBLIC_KEY,
  'report.html',
  'verify_bundle.py',
]);
const LINE_FEED = 0x0a;
/** No record is this long: the largest part, a configuration, is written by people. */
const MAX_LINE_BYTES = 64 * 2 ** 20;

export class BundleSource implements RecordSource {
  readonly content: Content;
  readonly #files: BundleFiles;
  readonly #study: string;
  /** Streams whose file does not end as it should. */
  readonly #open = new Set<string>();
  /** The study's first record. */
  #registration: Uint8Array | undefined;

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
    if (!this.#files.has(fileOf(stream))) return;
    const mayBeWithheld = stream === 'access';
    let revision = 0;
    let begun: Buffer[] = [];
    let begunBytes = 0;
    const recordOf = (line: Buffer): SourceRecord => {
      refuseManyParts(line, `a line of ${fileOf(stream)}`);
      const record = { stream, revision: revision++, ...parseLine(line, mayBeWithheld) };
      if (record.revision === 0 && stream === this.#study) this.#registration = record.record;
      return record;
    };
    for await (const piece of this.#files.read(fileOf(stream))) {
      const page: SourceRecord[] = [];
      let from = 0;
      for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
        const rest = piece.subarray(from, end);
        page.push(recordOf(begun.length === 0 ? rest : Buffer.concat([...begun, rest])));
        begun = [];
        begunBytes = 0;
        from = end + 1;
      }
      if (from < piece.length) begun.push(piece.subarray(from));
      begunBytes += piece.length - from;
      if (begunBytes > MAX_LINE_BYTES)
        throw new BundleError(`${fileOf(stream)} has a line of more than ${MAX_LINE_BYTES} bytes`);
      if (page.length > 0) yield page;
    }
    if (begun.length === 0) return;
    this.#open.add(stream);
    yield [recordOf(Buffer.concat(begun))];
  }

  /** The checkpoints in the bundle, for what they are worth. @throws BundleError when the file holds anything else */
  async checkpoints(): Promise<KeptCheckpoint[]> {
    const bytes = await this.#files.readWhole(CHECKPOINTS);
    if (bytes.length === 0) return [];
    try {
      return parseCheckpointFile(bytes, `${CHECKPOINTS} of the bundle`);
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
    for (const path of [...this.#records, CHECKPOINTS, CONFIGURATION])
      if (!this.#files.has(path)) note(path, 'is missing');
    for (const stream of this.#open) note(fileOf(stream), 'does not end with a line feed');
    if (!(await this.#showsConfiguration()))
      note(CONFIGURATION, "does not say what the study's first record says");
    if (keys && this.#files.has(PUBLIC_KEY)) {
      const shown = (await this.#files.readWhole(PUBLIC_KEY)).toString('utf8');
      if (!keys.some((key) => shown === `${key}\n`)) note(PUBLIC_KEY, 'is not a key of this log');
    }
    return problems;
  }

  get #records(): readonly string[] {
    return ['log', 'access', this.#study].map(fileOf);
  }

  #belongs(path: string): boolean {
    return OTHER_FILES.has(path) || this.#records.includes(path);
  }

  async #showsConfiguration(): Promise<boolean> {
    const shown = await this.#files.readWhole(CONFIGURATION);
    try {
      const { data } = JSON.parse(Buffer.from(this.#registration ?? []).toString('utf8'));
      const registered = canonicalJson(data.configuration);
      // Indenting makes a configuration at most four times as long. What is longer may be too large to be parsed.
      if (shown.length > 8 * Buffer.byteLength(registered) + 1024) return false;
      return canonicalJson(parseStrictly(shown)) === registered;
    } catch {
      return false;
    }
  }
}

function fileOf(stream: string): string {
  return `records/${stream}.txt`;
}
