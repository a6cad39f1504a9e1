/**
 * Writes a bundle, or only its report. A bundle is one file with a study's records and everything needed to verify them, a
 * report, and a verifier that does not need this software. docs/bundle.md describes the format. Every record is read once and goes straight into the
 * archive. In memory are a page of the store, the tree (some 64 bytes per record), the study's keys and the report's data (some
 * 200 bytes per participant).
 */
import { createHash, hash, randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import {
  type Content,
  decodeRecord,
  isSectionIncluded,
  type LogEvent,
  type PartialEvent,
} from '../../../events/record.ts';
import { historyAfter, lastRecovery, logHistory } from '../../../projections/log.ts';
import { createOnce } from '../../base/files.ts';
import type { LogIdentity } from '../../core/log/identity.ts';
import type { LastCheckpoints, Rollback } from '../../core/log/last-checkpoints.ts';
import { Ledger } from '../../core/log/ledger.ts';
import type { WriteGate } from '../../core/log/write-gate.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { FORMAT, otherLine, studyLine, withheldLine } from './bundle-files.ts';
import type { ReportParts, StreamSummary } from './report-html.ts';
import { StudySummary } from './study-summary.ts';

export interface BundleRequest {
  readonly store: EventStore;
  readonly identity: LogIdentity;
  /** Of the open log, whose stream `log` must have been read. */
  readonly gate: WriteGate;
  /** Read before the log is read. Undefined for a log in memory. */
  readonly lastCheckpoints: LastCheckpoints | undefined;
  /** Stream of the study. */
  readonly stream: string;
  readonly content: Content;
  /** Signed notes to include, as somebody kept them. They need not be signed by this log's key. */
  readonly checkpoints: readonly string[];
  /** Version of this software. */
  readonly version: string;
  readonly out: string;
  /** Gets the number of records written so far. */
  onProgress?(records: number): void;
}

export interface Bundle {
  readonly study: string;
  readonly participants: number;
  /** By stream. */
  readonly streams: readonly StreamSummary[];
  readonly publicKey: string;
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
  readonly verifierSha256: string;
  /** Streams that do not extend what the log signed of them. If there are any, no new checkpoints are signed. */
  readonly rolledBack: readonly Rollback[];
}

/**
 * Writes the bundle of a study that has records.
 * @throws RecordError when a record is not valid; StoreError; Error with code `EEXIST` when the file exists already
 */
export async function writeBundle(request: BundleRequest): Promise<Bundle> {
  const composition = new Composition(request);
  const { summary, streams, verifier, rolledBack, written } = composition;
  const sha256 = await writeArchive(request.out, composition.files(), (file) => written.push(file));
  return {
    study: summary.configuration?.name ?? '',
    participants: summary.participants,
    streams,
    publicKey: request.identity.signingKey.publicKey,
    sha256,
    verifierSha256: verifier.sha256,
    rolledBack,
  };
}

/**
 * Writes only the report of such a bundle, as a file that only its owner can read.
 * @returns the number of participants and the revision of the study that the report shows
 * @throws as `writeBundle`
 */
export async function writeReport(
  request: Omit<BundleRequest, 'checkpoints' | 'lastCheckpoints'>,
): Promise<{ readonly participants: number; readonly revision: number }> {
  const composition = new Composition({ ...request, checkpoints: [], lastCheckpoints: undefined });
  const { summary, streams } = composition;
  let html = '';
  for (const { path, parts } of composition.files()) {
    // Reading the records collects what the report shows.
    if (path.startsWith('records/')) for await (const _ of parts());
    if (path === REPORT) for await (const part of parts()) html += part;
  }
  createOnce(request.out, (draft) => writeFileSync(draft, html));
  const records = streams.find(({ stream }) => stream === request.stream)?.records ?? 0;
  return { participants: summary.participants, revision: records - 1 };
}

const REPORT = 'report.html';

interface RecordLine {
  readonly text: Buffer;
  readonly isWithheld?: boolean;
}

/** The files of a bundle, made while the records are being written. */
class Composition {
  readonly verifier = readVerifier();
  /** The files that the manifest lists: all that were written before it. */
  readonly written: WrittenFile[] = [];
  /** Like `streams` and `rolledBack`, complete once the record files have been written. */
  readonly summary: StudySummary;
  readonly streams: StreamSummary[] = [];
  readonly rolledBack: Rollback[] = [];
  readonly #request: BundleRequest;
  readonly #ledger: Ledger;
  /** Ids of the keys that the study's events name. */
  readonly #keyIds = new Set<string>();
  #history = logHistory.initial();
  #records = 0;

  constructor(request: BundleRequest) {
    this.#request = request;
    this.summary = new StudySummary({ namesArms: request.content !== 'blinded' });
    this.#ledger = new Ledger(
      request.identity,
      () => lastRecovery(this.#history),
      (name) => request.gate.refusal(name, 'sign'),
    );
  }

  /** The files in order: a file can depend on those before it. */
  files(): ArchiveFile[] {
    const { summary, streams, verifier } = this;
    const { identity, stream, content, version, checkpoints } = this.#request;
    const report = { summary, content, identity, streams, version, verifierSha256: verifier.sha256 };
    return [
      // The study comes first, so that every key that it names is in the part of `access` that is read afterwards.
      { path: `records/${stream}.txt`, parts: () => this.#lines(stream, this.#studyLine) },
      { path: 'records/access.txt', parts: () => this.#lines('access', this.#accessLine) },
      { path: 'records/log.txt', parts: () => this.#lines('log', this.#logLine) },
      { path: 'checkpoints.txt', parts: () => [[...this.#sign(), ...checkpoints].join('\n')] },
      { path: 'public-key.txt', parts: () => [`${identity.signingKey.publicKey}\n`] },
      { path: 'configuration.json', parts: () => [jsonText(summary.configuration)] },
      { path: REPORT, parts: () => reportPieces(report) },
      { path: 'README.txt', parts: () => [readme(content, verifier.sha256)] },
      { path: 'verify_bundle.py', parts: () => [verifier.source] },
      { path: 'manifest.json', parts: () => [jsonText(this.#manifest())] },
    ];
  }

  async *#lines(
    stream: string,
    lineOf: (stored: StoredRecord, event: LogEvent) => RecordLine,
  ): AsyncGenerator<Buffer> {
    const { store, onProgress } = this.#request;
    let withheld = 0;
    for await (const page of store.readStream(stream, 0)) {
      const texts: Buffer[] = [];
      for (const stored of page) {
        const { text, isWithheld = false } = lineOf(stored, decodeRecord(stored));
        this.#ledger.append(stream, stored.leaf);
        texts.push(text);
        if (isWithheld) withheld++;
      }
      this.#records += page.length;
      onProgress?.(this.#records);
      yield Buffer.concat(texts);
    }
    const tree = this.#ledger.tree(stream);
    const root = Buffer.from(tree.root()).toString('base64');
    this.streams.push({ stream, records: tree.size, withheld, root });
  }

  readonly #studyLine = (stored: StoredRecord, event: LogEvent): RecordLine => {
    const { content } = this.#request;
    // The report is made only from what the bundle includes.
    this.summary.take(includedIn(content, event));
    if ('keyId' in event.actor) this.#keyIds.add(event.actor.keyId);
    return { text: studyLine(stored, content) };
  };

  readonly #accessLine = (stored: StoredRecord, event: LogEvent): RecordLine =>
    concernsKey(event, this.#keyIds)
      ? { text: otherLine(stored) }
      : { text: withheldLine(stored), isWithheld: true };

  readonly #logLine = (stored: StoredRecord, event: LogEvent): RecordLine => {
    this.#history = historyAfter(this.#history, event);
    return { text: otherLine(stored) };
  };

  /** Signs what the store has acknowledged, unless it contradicts what was signed before. @returns the notes */
  #sign(): string[] {
    const { gate, lastCheckpoints } = this.#request;
    const ledger = this.#ledger;
    const streams = ledger.streams();
    const isRead = (name: string) => streams.includes(name);
    const found = lastCheckpoints?.rollbacks(ledger, this.#history.recoveries, isRead) ?? [];
    this.rolledBack.push(...found);
    gate.compared(streams, found);
    return streams.filter((name) => ledger.maySign(name)).map((name) => ledger.checkpoint(name).note);
  }

  #manifest() {
    const { identity, stream, content, version } = this.#request;
    return {
      format: FORMAT,
      software: `urn ${version}`,
      content,
      log: { id: identity.logId, name: identity.logName },
      study: { id: this.summary.studyId, name: this.summary.configuration?.name, stream },
      streams: this.streams,
      files: this.written,
    };
  }
}

/** The stand-alone verifier that goes into every bundle: verifier/verify_bundle.py. */
function readVerifier(): { readonly source: Buffer; readonly sha256: string } {
  const source = readFileSync(createRequire(import.meta.url).resolve('#verifier'));
  return { source, sha256: hash('sha256', source) };
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The charts are loaded when the first report is written: a service starts without them. */
async function* reportPieces(parts: ReportParts): AsyncGenerator<string> {
  const { reportHtml } = await import('./report-html.ts');
  yield* reportHtml(parts);
}

/** The README.txt of a bundle: what it contains, who may see it, and how to verify it. */
function readme(content: Content, verifierSha256: string): string {
  return `A bundle of one randomized study (content: ${content})

${FOR_WHOM[content]}

report.html        to read and to print
configuration.json the study as it was registered, without its amendments (these are records)
records/*.txt      the records of three streams, one line each: leaf hash, record and sealed sections, separated by tabs
checkpoints.txt    signed checkpoints (C2SP tlog-checkpoint): one for each stream, and any that were added
public-key.txt     the log's public key (C2SP signed-note)
manifest.json      SHA-256 of every file
verify_bundle.py   the verifier: one file of plain Python, to read before you run it

To verify, with python3 and numpy (and the package cryptography, for signatures):

    python3 verify_bundle.py BUNDLE.zip --trust KEY --checkpoint FILE

KEY is the log's public key and FILE holds checkpoints. Get both from elsewhere: a key or a checkpoint that comes with a
bundle proves nothing. Neither does a verifier: take it from the software's release, or compare its SHA-256 with the one
in the CHANGELOG of the release that you trust. The verifier in this bundle has

    ${verifierSha256}
`;
}

const FOR_WHOM: Record<Content, string> = {
  full: `THIS BUNDLE IS UNBLINDING MATERIAL. It holds every treatment, and the seed and states of the random generator or the
entries of lists, from which later assignments can be computed. Keep it from everyone who enrols or assesses participants.`,
  open: `THIS BUNDLE IS UNBLINDING MATERIAL. It holds the treatment of every participant. It holds no state of the random
generator and no entry of a list, so its draws cannot be replayed.`,
  blinded: `This bundle holds no participant's treatment and no state of the random generator or entry of a list, so its
draws cannot be replayed. The registered configuration names the treatments.`,
};

/** A study's event without the sections that the content leaves out. */
function includedIn(content: Content, event: LogEvent): PartialEvent {
  const sections = Object.entries(event.sections).filter(([section]) => isSectionIncluded(section, content));
  return { ...event, sections: Object.fromEntries(sections) } as PartialEvent;
}

function concernsKey(event: LogEvent, keyIds: ReadonlySet<string>): boolean {
  return (event.type === 'ApiKeyIssued' || event.type === 'ApiKeyRevoked') && keyIds.has(event.data.keyId);
}

interface ArchiveFile {
  readonly path: string;
  /** Called when all files before it have been written, so it can use their results. */
  parts(): AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;
}

/** A file that has been written. */
interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/**
 * Writes a zip archive file by file as the parts come in, with only a piece of each file in memory. The timestamps are
 * fixed, so the same contents give the same bytes. Only its owner can read it. It appears under its name once it is
 * complete, and never replaces another file.
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
    zip.addReadStreamLazy(file.path, FIXED_OPTIONS, (begin) => {
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

/** The first day that a zip archive can hold, in any time zone. */
const FIXED_OPTIONS = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true, mode: 0o100600 };

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
