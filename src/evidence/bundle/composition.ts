/** Makes the files of a bundle while the records are being written. */
import {
  type Content,
  decodeRecord,
  isIncluded,
  type LogEvent,
  type PartialEvent,
} from '../../../events/record.ts';
import { lastRecovery, logHistory } from '../../../projections/log.ts';
import { isMoveEvent } from '../../../projections/runner.ts';
import type { LogIdentity } from '../../core/log/identity.ts';
import type { LastCheckpoints, Rollback } from '../../core/log/last-checkpoints.ts';
import { Ledger } from '../../core/log/ledger.ts';
import type { WriteGate } from '../../core/log/write-gate.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import type { ArchiveFile, WrittenFile } from './archive.ts';
import { readme } from './readme.ts';
import { otherLine, studyLine, withheldLine } from './record-lines.ts';
import type { ReportParts } from './report-html.ts';
import { type StreamSummary, StudySummary } from './study-summary.ts';
import { readVerifier } from './verifier.ts';

export const REPORT = 'report.html';

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

interface Line {
  readonly text: Buffer;
  readonly isWithheld?: boolean;
}

export class Composition {
  readonly verifier = readVerifier();
  /** The files that the manifest lists: all that were written before it. */
  readonly written: WrittenFile[] = [];
  /** This and the next two are complete once the record files have been written. */
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
      { path: 'configuration.json', parts: () => [json(summary.configuration)] },
      { path: REPORT, parts: () => reportPieces(report) },
      { path: 'README.txt', parts: () => [readme(content, verifier.sha256)] },
      { path: 'verify_bundle.py', parts: () => [verifier.source] },
      { path: 'manifest.json', parts: () => [json(this.#manifest())] },
    ];
  }

  async *#lines(
    stream: string,
    lineOf: (stored: StoredRecord, event: LogEvent) => Line,
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

  readonly #studyLine = (stored: StoredRecord, event: LogEvent): Line => {
    const { content } = this.#request;
    // The report is made only from what the bundle includes.
    this.summary.take(includedIn(content, event));
    if ('keyId' in event.actor) this.#keyIds.add(event.actor.keyId);
    return { text: studyLine(stored, content) };
  };

  readonly #accessLine = (stored: StoredRecord, event: LogEvent): Line =>
    concernsKey(event, this.#keyIds) || isMoveEvent(event)
      ? { text: otherLine(stored) }
      : { text: withheldLine(stored), isWithheld: true };

  readonly #logLine = (stored: StoredRecord, event: LogEvent): Line => {
    this.#history = logHistory.apply(this.#history, event);
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
      format: 'urn-bundle@1',
      software: `urn ${version}`,
      content,
      log: { id: identity.logId, name: identity.logName },
      study: { id: this.summary.studyId, name: this.summary.configuration?.name, stream },
      streams: this.streams,
      files: this.written,
    };
  }
}

/** A study's event without the sections that the content leaves out. */
function includedIn(content: Content, event: LogEvent): PartialEvent {
  const sections = Object.entries(event.sections).filter(([section]) => isIncluded(section, content));
  return { ...event, sections: Object.fromEntries(sections) } as PartialEvent;
}

function concernsKey(event: LogEvent, keyIds: ReadonlySet<string>): boolean {
  return (event.type === 'ApiKeyIssued' || event.type === 'ApiKeyRevoked') && keyIds.has(event.data.keyId);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The charts are loaded when the first report is written: a service starts without them. */
async function* reportPieces(parts: ReportParts): AsyncGenerator<string> {
  const { reportHtml } = await import('./report-html.ts');
  yield* reportHtml(parts);
}
