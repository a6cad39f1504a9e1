/**
 * Writes a bundle: one file with a study's records and everything needed to verify them, a report, and a verifier that
 * does not need this software. docs/bundle.md describes the format. Every record is read once and goes straight into the
 * archive. In memory are a page of the store, the tree (some 64 bytes per record), the study's keys and the report's data (some 200 bytes per participant).
 */
import { writeFileSync } from 'node:fs';
import { createOnce } from '../../base/files.ts';
import type { Rollback } from '../../core/log/last-checkpoints.ts';
import { writeArchive } from './archive.ts';
import { type BundleRequest, Composition, REPORT } from './composition.ts';
import type { StreamSummary } from './study-summary.ts';

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
