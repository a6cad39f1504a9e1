/**
 * Verifying a log, or some of its studies: every record checked and every event decided again, and the tree of each
 * stream compared with the checkpoints that were kept of it.
 *
 * The streams `log` and `access` come first, because studies refer to them. Of each stream no event is kept; see
 * replay-study.ts for what is.
 */
import { v5 } from 'uuid';
import { streamKind } from '../../events/catalogue.ts';
import type { Recovery } from '../../projections/log.ts';
import type { KeptCheckpoint } from '../ledger/checkpoint-file.ts';
import type { VerifierKey } from '../ledger/verifier-key.ts';
import { sortEvidence } from './evidence.ts';
import { KeyHistory } from './key-history.ts';
import { type ClaimedIdentity, readIdentity, trustedKeys } from './log-identity.ts';
import type { Replay } from './replay.ts';
import { AccessReplay } from './replay-access.ts';
import { LogReplay } from './replay-log.ts';
import { type Recovered, StudyReplay } from './replay-study.ts';
import type { Report, StreamReport } from './report.ts';
import type { RecordSource } from './source.ts';
import { StreamAudit } from './stream-audit.ts';
import { Warnings } from './warnings.ts';

export interface Verification {
  readonly source: RecordSource;
  /** From outside; empty: the log's own key is taken, and the report says what that is worth. */
  readonly trusted: readonly VerifierKey[];
  readonly checkpoints: readonly KeptCheckpoint[];
  /** Names of the studies to verify, beside `log` and `access`; undefined: every stream. */
  readonly studies?: readonly string[] | undefined;
  /** Gets the number of records verified so far. */
  readonly onProgress?: (records: number) => void;
}

/** A study was named that the log does not have, and of which no checkpoint was given either. */
export class UnknownStudyError extends Error {
  override readonly name = 'UnknownStudyError';
}

/** @throws UnknownStudyError, and whatever the source throws */
export async function verifyLog(verification: Verification): Promise<Report> {
  const started = performance.now();
  const { source, trusted, checkpoints } = verification;
  const identity = await readIdentity(source);
  const own = identity?.keys ?? [];
  const recoveries = identity?.recoveries ?? [];
  const keys = trustedKeys(trusted, own);
  // A log that was replaced may bear any name; the receipts are those of the log that the trusted key names.
  const logName = trusted[0]?.name ?? identity?.logName;
  const there = await source.streams();
  const chosen = chooseStreams(verification, there, identity);
  const evidence = sortEvidence(checkpoints, keys, logName, recoveries, (stream) =>
    chosen.includes(stream) ? 'compare' : there.includes(stream) ? 'not-asked-for' : 'no-such-stream',
  );

  const history = new KeyHistory();
  let done = 0;
  const audit = async <R extends Replay>(stream: string, warnings: Warnings, replay: R) => {
    const records = new StreamAudit({
      stream,
      logId: identity?.logId,
      replay,
      warnings,
      checkpoints: evidence.byStream.get(stream) ?? [],
      lost: evidence.lost.get(stream) ?? [],
    });
    for await (const page of source.read(stream)) {
      for (const record of page) records.take(record);
      done += page.length;
      verification.onProgress?.(done);
    }
    return records;
  };

  const streams: StreamReport[] = [];
  const log = await audit('log', new Warnings(), new LogReplay(trusted, own));
  streams.push(log.finish({}));
  if (chosen.includes('access')) {
    const access = await audit('access', new Warnings(), new AccessReplay(history));
    history.records = access.records;
    history.brokenAt = access.divergesAt;
    streams.push(access.finish({}));
  }
  for (const stream of chosen.filter((name) => name !== 'log' && name !== 'access')) {
    const warnings = new Warnings();
    if (streamKind(stream) === 'study') {
      const replay = new StudyReplay(history, warnings, recoveredPlaces(stream, recoveries));
      const records = await audit(stream, warnings, replay);
      streams.push(records.finish({ study: replay.name, participants: replay.participants }));
    } else {
      // Of a stream that this build does not know no record can be read; of one whose events follow from nothing
      // there is nothing to decide again.
      streams.push((await audit(stream, warnings, { take: () => [] })).finish({}));
    }
  }

  const { unused } = evidence;
  const proven = streams.some(({ evidence: { matchingSize } }) => matchingSize > 0);
  return {
    ok: streams.every(({ sound }) => sound) && unused.every(({ because }) => because === 'not-asked-for'),
    selfConsistentOnly: trusted.length === 0 || !proven,
    log: identity && {
      id: identity.logId,
      name: identity.logName,
      publicKey: identity.publicKey,
      laterKeys: own.slice(1).map(({ text }) => text),
      recoveries: recoveries.map(({ recovery, at, reason }) => ({ recovery, at, reason })),
    },
    trusted: trusted.map(({ text }) => text),
    untrustedKey: trusted.length > 0 && !trusted.some(({ text }) => own.some((key) => key.text === text)),
    streams,
    unusedCheckpoints: unused,
    seconds: (performance.now() - started) / 1000,
  };
}

/** By revision: where a study's generator must begin anew, directly behind what a recovery kept of it. */
function recoveredPlaces(stream: string, recoveries: readonly Recovery[]): ReadonlyMap<number, Recovered> {
  const places = new Map<number, Recovered>();
  for (const { recovery, streams } of recoveries) {
    const of = streams.get(stream);
    // A study of which nothing was kept is registered first. Of two recoveries in a row the later one counts.
    if (of)
      places.set(Math.max(of.kept, 1), { recovery, kept: of.kept, ...(of.signed && { signed: of.signed }) });
  }
  return places;
}

/** `log`, `access` and the studies to verify. @throws UnknownStudyError */
function chooseStreams(
  { studies, checkpoints }: Verification,
  there: readonly string[],
  identity: ClaimedIdentity | undefined,
): string[] {
  const kinds = ['log', ...there.filter((stream) => stream === 'access')];
  const others = there.filter((stream) => stream !== 'log' && stream !== 'access');
  if (studies === undefined || identity === undefined) return [...kinds, ...others];
  const wanted = studies.map((name) => {
    const stream = `study-${v5(name, identity.logId)}`;
    const isWitnessed = checkpoints.some(({ claims }) => claims.origin.endsWith(`/${stream}`));
    if (!there.includes(stream) && !isWitnessed) throw new UnknownStudyError(name);
    return stream;
  });
  return [...kinds, ...others.filter((stream) => wanted.includes(stream))];
}
