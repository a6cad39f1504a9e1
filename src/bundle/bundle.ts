/**
 * One file to hand over: a study's records, what belongs to them, a report, and a verifier that needs nothing of ours.
 * docs/bundle.md describes the format. Every record passes once, from the store through the archive: what is in memory
 * is a page of the store, the tree (some 64 bytes for each record), the study's keys and what the report tells.
 */
import { writeFileSync } from 'node:fs';
import type { Content } from '../../events/content.ts';
import { decodeRecord, type LogEvent } from '../../events/record.ts';
import { lastRecovery, logHistory } from '../../projections/log.ts';
import { isMoveEvent } from '../../projections/movement.ts';
import { createOnce } from '../base/create-once.ts';
import type { LogIdentity } from '../ledger/identity.ts';
import type { LastCheckpoints, Rollback } from '../ledger/last-checkpoints.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { EventStore, StoredRecord } from '../store/event-store.ts';
import { type ArchiveFile, type WrittenFile, writeArchive } from './archive.ts';
import { readme } from './readme.ts';
import { otherLine, studyLine, withheldLine } from './record-lines.ts';
import { reportHtml } from './report-html.ts';
import { type StreamSummary, StudySummary } from './study-summary.ts';
import { readVerifier } from './verifier.ts';

export interface BundleRequest {
  readonly store: EventStore;
  readonly identity: LogIdentity;
  /** As they were before the log is read; undefined for a log in memory. */
  readonly lastCheckpoints: LastCheckpoints | undefined;
  /** Stream of the study. */
  readonly stream: string;
  readonly content: Content;
  /** Signed notes that go along: what somebody kept, and this log's key need not have signed. */
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
  /** Streams that do not extend what the log signed of them. If there are any, nothing is signed anew. */
  readonly rolledBack: readonly Rollback[];
}

/**
 * Writes the bundle of a study that has records.
 * @throws RecordError when a record is not what it should be; StoreError; Error with code `EEXIST` when the file exists
 */
export async function writeBundle(request: BundleRequest): Promise<Bundle> {
  const { files, written, summary, streams, verifierSha256, rolledBack } = compose(request);
  const sha256 = await writeArchive(request.out, files, (file) => written.push(file));
  return {
    study: summary.configuration?.name ?? '',
    participants: summary.participants,
    streams,
    publicKey: request.identity.signingKey.publicKey,
    sha256,
    verifierSha256,
    rolledBack,
  };
}

const REPORT = 'report.html';

/**
 * Writes the report that such a bundle would have, as a file of its own, readable by its owner alone.
 * @returns the number of participants, and the revision of the study that it shows
 * @throws as `writeBundle`
 */
export async function writeReport(
  request: Omit<BundleRequest, 'checkpoints' | 'lastCheckpoints'>,
): Promise<{ readonly participants: number; readonly revision: number }> {
  const { files, summary, streams } = compose({ ...request, checkpoints: [], lastCheckpoints: undefined });
  let html = '';
  for (const { path, parts } of files) {
    // What is read of the records is what the report tells.
    if (path.startsWith('records/')) for await (const _ of parts());
    if (path === REPORT) for await (const part of parts()) html += part;
  }
  createOnce(request.out, (draft) => writeFileSync(draft, html));
  const records = streams.find(({ stream }) => stream === request.stream)?.records ?? 0;
  return { participants: summary.participants, revision: records - 1 };
}

interface Composition {
  readonly files: readonly ArchiveFile[];
  /** What the manifest lists: each file that was written before it. */
  readonly written: WrittenFile[];
  /** These are whole when the files of the records are written. */
  readonly summary: StudySummary;
  readonly streams: readonly StreamSummary[];
  readonly rolledBack: readonly Rollback[];
  readonly verifierSha256: string;
}

/** The files of a bundle, in their order. */
function compose(request: BundleRequest): Composition {
  const { identity, stream, content, version } = request;
  const summary = new StudySummary();
  const keyIds = new Set<string>();
  const streams: StreamSummary[] = [];
  const written: WrittenFile[] = [];
  let history = logHistory.initial();
  const ledger = new Ledger(identity, () => lastRecovery(history));
  const rolledBack: Rollback[] = [];
  const verifier = readVerifier();
  let records = 0;

  /** The records of a stream. */
  async function* lines(
    name: string,
    lineOf: (
      stored: StoredRecord,
      event: LogEvent,
    ) => { readonly text: Buffer; readonly isWithheld?: boolean },
  ): AsyncGenerator<Buffer> {
    let withheld = 0;
    for await (const page of request.store.readStream(name, 0)) {
      const texts: Buffer[] = [];
      for (const stored of page) {
        const { text, isWithheld = false } = lineOf(stored, decodeRecord(stored));
        ledger.append(name, stored.leaf);
        texts.push(text);
        if (isWithheld) withheld++;
      }
      records += page.length;
      request.onProgress?.(records);
      yield Buffer.concat(texts);
    }
    const tree = ledger.tree(name);
    streams.push({
      stream: name,
      records: tree.size,
      withheld,
      root: Buffer.from(tree.root()).toString('base64'),
    });
  }

  /** What the store has acknowledged is signed, unless that contradicts what was signed before. */
  const fresh = () => {
    const isRead = (name: string) => ledger.streams().includes(name);
    rolledBack.push(...(request.lastCheckpoints?.rollbacks(ledger, history.recoveries, isRead) ?? []));
    return rolledBack.length > 0 ? [] : ledger.streams().map((name) => ledger.checkpoint(name).note);
  };

  const files: ArchiveFile[] = [
    // The study first: then every key that it names is in what is read of `access` afterwards.
    {
      path: `records/${stream}.txt`,
      parts: () =>
        lines(stream, (stored, event) => {
          summary.take(event);
          if ('keyId' in event.actor) keyIds.add(event.actor.keyId);
          return { text: studyLine(stored, content) };
        }),
    },
    {
      path: 'records/access.txt',
      parts: () =>
        lines('access', (stored, event) =>
          concernsKey(event, keyIds) || isMoveEvent(event)
            ? { text: otherLine(stored) }
            : { text: withheldLine(stored), isWithheld: true },
        ),
    },
    {
      path: 'records/log.txt',
      parts: () =>
        lines('log', (stored, event) => {
          history = logHistory.apply(history, event);
          return { text: otherLine(stored) };
        }),
    },
    { path: 'checkpoints.txt', parts: () => [[...fresh(), ...request.checkpoints].join('\n')] },
    { path: 'public-key.txt', parts: () => [`${identity.signingKey.publicKey}\n`] },
    { path: 'configuration.json', parts: () => [json(summary.configuration)] },
    {
      path: REPORT,
      parts: () =>
        reportHtml({ summary, content, identity, streams, version, verifierSha256: verifier.sha256 }),
    },
    { path: 'README.txt', parts: () => [readme(content, verifier.sha256)] },
    { path: 'verify_bundle.py', parts: () => [verifier.source] },
    {
      path: 'manifest.json',
      parts: () => [
        json({
          format: 'urn-bundle@1',
          software: `urn ${version}`,
          content,
          log: { id: identity.logId, name: identity.logName },
          study: { id: summary.studyId, name: summary.configuration?.name, stream },
          streams,
          files: written.slice(),
        }),
      ],
    },
  ];
  return { files, written, summary, streams, rolledBack, verifierSha256: verifier.sha256 };
}

function concernsKey(event: LogEvent, keyIds: ReadonlySet<string>): boolean {
  return (event.type === 'ApiKeyIssued' || event.type === 'ApiKeyRevoked') && keyIds.has(event.data.keyId);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
